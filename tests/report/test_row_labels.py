"""Rows of one problem that look alike say what tells them apart, and no others do."""

from dataclasses import replace

from pytest_miopen_perf.cases import Case
from pytest_miopen_perf.checking.check import Check, Reason
from pytest_miopen_perf.launch import DeviceInfo
from pytest_miopen_perf.measuring.circumstances import Circumstances
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.report.row_labels import row_labels
from pytest_miopen_perf.report.terminal import summary_lines
from pytest_miopen_perf.results import Result, Sample
from pytest_miopen_perf.settings import Settings

PLAIN = Result(
    problem=ConvProblem.from_driver("conv -n 1 -c 4 -H 6 -W 6 -k 4 -F 1")[0],
    device=DeviceInfo(
        backend="cpu", name="A CPU", arch="x86_64", compute_units=2, wavefront=1, lds_bytes=1, memory_bytes=2
    ),
    solver="HipConvNaiveFwd",
    solver_id=10001,
    algorithm=1,
    config="",
    config_origin="default",
    workspace_bytes=0,
    check=Check(
        reason=Reason.RIGHT, rms_error=0.0, rms_tolerance=1.0, worst=(), got=None, want=None, bound=None, sentence=""
    ),
    sample=Sample(seconds=(1e-3,) * 5),
    data="miopen",
)


def case(measured=PLAIN, nodeid="t", message=""):
    return Case(nodeid=nodeid, problem="p", outcome="error" if message else "passed", message=message, result=measured)


def test_a_lone_row_and_rows_that_differ_have_no_label():
    assert row_labels([]) == []
    assert row_labels([case()]) == [""]
    assert (
        row_labels([case(), case(replace(PLAIN, config="1,1"), "u"), case(replace(PLAIN, solver="S"), "v")]) == [""] * 3
    )


def test_rows_that_differ_in_their_caches_say_so_and_nothing_else():
    cold = replace(PLAIN, cache_mode="cold")
    assert row_labels([case(nodeid="a"), case(cold, "b")]) == ["caches warm", "caches cold"]
    assert row_labels([case(replace(PLAIN, cache_mode=None)), case(cold)]) == ["caches not known", "caches cold"]


def test_launches_data_and_device_tell_too():
    others = [
        replace(PLAIN, circumstances=Circumstances(launch_mode="batched")),
        replace(PLAIN, data="integers", seed=3),
        replace(PLAIN, device=replace(PLAIN.device, uid="second")),
    ]
    words = [row_labels([case(), case(other)])[1] for other in others]
    assert words == ["launches batched", "data integers, seed 3", "device A CPU second"]


def test_rows_measured_alike_name_their_tests():
    assert row_labels([case(nodeid="a.log:1"), case(nodeid="a.log:9")]) == ["from a.log:1", "from a.log:9"]
    cold = replace(PLAIN, cache_mode="cold")
    assert row_labels([case(nodeid="a"), case(nodeid="b"), case(cold, "c")]) == [
        "caches warm; from a",
        "caches warm; from b",
        "caches cold",
    ]


def test_one_test_that_measured_twice_has_no_more_to_say():
    assert row_labels([case(), case()]) == ["", ""]


def test_errors_in_the_same_words_name_their_tests():
    same = [case(None, "a", "broke"), case(None, "b", "broke"), case(None, "c", "melted")]
    assert row_labels(same) == ["from a", "from b", ""]


def test_the_table_shows_the_label_below_its_row():
    shown = [
        replace(case(measured, nodeid), problem=str(PLAIN.problem))
        for measured, nodeid in ((PLAIN, "a"), (replace(PLAIN, cache_mode="cold"), "b"))
    ]
    lines = summary_lines(shown, Settings(level=1), log_path=None, width=80, has_colour=False)
    for words in ("caches warm", "caches cold"):
        assert PLAIN.solver in lines[lines.index(f"    {words}") - 1]
