import dataclasses
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import small_problems

from pytest_miopen_perf.errors import WorkloadError
from pytest_miopen_perf.problem import DType, Layout
from pytest_miopen_perf.problems.workload import bundled, bundled_path, distinct, read_workload

LINES = """\
# source: constructed

MIOpenDriver conv -n 1 -c 3 -H 8 -W 8 -k 4 -F 0
   # indented comment
MIOpenDriver bnorm -n 1 -c 3
MIOpenDriver convfp16 -n 0 -F 1
some words
MIOpenDriver conv -n 2 -c 3 -H 8 -W 8 -k 4 -F 1 -i 5
"""


@pytest.fixture
def write(tmp_path):
    def write(content: str | bytes, name: str = "net.txt"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_commands_and_skipped_lines_with_their_numbers(write):
    path = write(LINES)
    workload = read_workload(path)
    assert (workload.name, workload.path) == ("net", path)
    assert [(entry.line_number, len(entry.command.problems)) for entry in workload.entries] == [(3, 3), (8, 1)]
    assert workload.entries[0].text == LINES.splitlines()[2]
    assert [(skipped.line_number, skipped.text) for skipped in workload.skipped] == [
        (5, "MIOpenDriver bnorm -n 1 -c 3"),
        (6, "MIOpenDriver convfp16 -n 0 -F 1"),
        (7, "some words"),
    ]
    reasons = [skipped.reason for skipped in workload.skipped]
    assert "not a convolution" in reasons[0]
    assert "--batchsize" in reasons[1]
    assert "no MIOpenDriver command" in reasons[2]
    assert [str(problem)[:8] for problem in workload.problems] == ["fp32-F-1", "fp32-B-1", "fp32-W-1", "fp32-F-2"]


@pytest.mark.parametrize(
    "content",
    [
        LINES.replace("\n", "\r\n").encode(),
        LINES.replace("\n", "\r").encode(),
        LINES.rstrip("\n").encode(),
        LINES.encode("utf-8-sig"),
        LINES.encode("utf-16"),
    ],
    ids=["crlf", "cr", "no-newline", "bom", "utf-16"],
)
def test_ways_to_save_a_text(write, content):
    plain, other = read_workload(write(LINES, "plain.txt")), read_workload(write(content))
    assert (other.entries, other.skipped) == (plain.entries, plain.skipped)


def test_only_line_ends_end_a_line(write):
    workload = read_workload(write("conv -n 1 -F 1 # a\u2028conv -n 2 -F 1\nconv -n 3 -F 1\n"))
    assert [problem.n for problem in workload.problems] == [1, 3]


def test_a_backslash_joins_lines(write):
    workload = read_workload(write("# x\nMIOpenDriver conv -n 1 \\\n  -c 5 \\\n  -F 1\nMIOpenDriver conv -n 2 -F 1\n"))
    assert [(entry.line_number, entry.text) for entry in workload.entries] == [
        (2, "MIOpenDriver conv -n 1 -c 5 -F 1"),
        (5, "MIOpenDriver conv -n 2 -F 1"),
    ]


def test_a_backslash_at_the_end_of_the_file_is_no_command(write):
    workload = read_workload(write("conv -n 1 -F 1\nconv -n 2 \\"))
    assert [skipped.line_number for skipped in workload.skipped] == [2]


@pytest.mark.parametrize(
    ("file", "name"), [("net.txt", "net"), ("net.miopen.txt", "net"), ("net.v2.log", "net.v2.log"), ("net", "net")]
)
def test_names(write, file, name):
    assert read_workload(write("conv -F 1", file)).name == name


def test_a_log_of_the_library_is_a_workload(write):
    log = (
        "MIOpen(HIP): Info [get_device_name] Raw device name: gfx942\n"
        "MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver conv -n 1 -c 3 -F 1 -t 1\n"
        "MIOpen(HIP): Command [LogCmdBNorm] ./bin/MIOpenDriver bnorm -n 1\n"
        "MIOpen(HIP): Command [LogCmdConvolution] ./bin/MIOpenDriver conv -n 1 -c 3 -F 1 -t 1\n"
    )
    workload = read_workload(write(log))
    assert len(workload.problems) == 2
    assert len(distinct(workload.problems)) == 1
    assert len(workload.skipped) == 2


# --- refusals


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(WorkloadError, match=r"absent\.txt cannot be read: No such file"):
        read_workload(tmp_path / "absent.txt")


def test_a_folder_is_no_workload(tmp_path):
    with pytest.raises(WorkloadError, match="cannot be read: Is a directory"):
        read_workload(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads every file")
def test_a_file_without_permission(write):
    path = write(LINES)
    path.chmod(0)
    with pytest.raises(WorkloadError, match="Permission denied"):
        read_workload(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "it has only blank lines and comments"),
        (b"# a\n\n  \n# b\n", "it has only blank lines and comments"),
        (b"\n# a\nMIOpenDriver pool -n 1\nxyz\n", "2 lines were skipped, line 3 because: not a convolution"),
        (b"conv -F 1\n\x7fELF\0\0", "binary file"),
        (b"conv -F 1\n# caf\xe9\n", r"no UTF-8 text from byte 15 in line 2 on; save it as UTF-8"),
        (b"\xff\xfec", "no UTF-16 text"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(write, content, message):
    with pytest.raises(WorkloadError, match=message):
        read_workload(write(content))


@given(content=st.one_of(st.binary(), st.text().map(str.encode)))
def test_any_bytes_are_a_workload_or_a_typed_error(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.txt"
    path.write_bytes(content)
    try:
        workload = read_workload(path)
    except WorkloadError:
        return
    assert workload.entries


# --- distinct


@given(
    st.lists(small_problems(), max_size=4).flatmap(lambda few: st.lists(st.sampled_from(few)) if few else st.just([]))
)
def test_distinct_keeps_the_first_of_each_problem(problems):
    assert list(distinct(problems)) == [p for i, p in enumerate(problems) if p not in problems[:i]]


# --- bundled


def test_bundled_workloads_are_whole():
    assert {"smoke", "edge_shapes", "resnet50_batch1"} <= set(bundled())
    for name in bundled():
        workload = read_workload(bundled_path(name))
        assert workload.name == name
        assert workload.skipped == ()
        assert len(distinct(workload.problems)) == len(workload.problems)
        assert workload.path.read_text(encoding="utf-8").startswith("# source: ")


def test_an_unknown_name_lists_what_exists():
    with pytest.raises(WorkloadError, match=r"'vgg' is no file, no bundled workload and no MIOpenDriver line; .*smoke"):
        bundled_path("vgg")


@pytest.mark.parametrize("name", ["", "../smoke", "smoke.txt", "/etc/passwd"])
def test_names_are_no_paths(name):
    with pytest.raises(WorkloadError):
        bundled_path(name)


def test_the_smoke_workload_touches_every_kind():
    problems = read_workload(bundled_path("smoke")).problems
    assert {problem.dtype for problem in problems} == set(DType)
    assert {problem.direction.value for problem in problems} == {"F", "B", "W"}
    assert {problem.rank for problem in problems} == {2, 3}
    assert {problem.transposed for problem in problems} == {True, False}
    assert Layout.NHWC in {problem.in_layout for problem in problems}
    assert any(1 < problem.groups < problem.c for problem in problems)
    assert any(problem.groups == problem.c for problem in problems)


def resnet50() -> list[tuple[int, int, int, int, int]]:
    """The architecture as published: (c, input size, k, filter, stride) of each of the 53 convolutions in order."""
    layers = [(3, 224, 64, 7, 2)]
    channels, size = 64, 56
    for stage, blocks in enumerate((3, 4, 6, 3)):
        width = 64 * 2**stage
        for block in range(blocks):
            stride = 2 if stage > 0 and block == 0 else 1
            small = size // stride
            layers += [(channels, size, width, 1, 1), (width, size, width, 3, stride), (width, small, 4 * width, 1, 1)]
            if block == 0:
                layers.append((channels, size, 4 * width, 1, stride))
            channels, size = 4 * width, small
    return layers


def test_resnet50_is_the_published_network():
    problems = read_workload(bundled_path("resnet50_batch1")).problems
    shapes = {(p.c, p.spatial[0], p.k, p.filter[0], p.stride[0]): p for p in problems}
    layers = resnet50()
    assert len(layers) == 53
    assert set(shapes) == set(layers)
    assert len(problems) == len(shapes) == 23
    assert {(p.n, p.dtype, p.direction.value, p.groups) for p in problems} == {(1, DType.FP32, "F", 1)}
    assert all(p.pad == (p.filter[0] // 2,) * 2 for p in problems)
    # 4.09 billion multiply-adds, as published for 224x224
    assert sum(shapes[layer].flops for layer in layers) / 2 == pytest.approx(4.09e9, rel=0.002)


def test_entries_are_frozen(write):
    workload = read_workload(write(LINES))
    with pytest.raises(dataclasses.FrozenInstanceError):
        workload.name = "other"


def test_what_was_skipped_is_told_in_words(write):
    assert read_workload(write(b"conv -F 1\n")).loss == ""
    loss = read_workload(write(b"conv -F 1\nMIOpenDriver pool -n 1\n")).loss
    assert loss.startswith("1 line was skipped, line 2 because: ")
