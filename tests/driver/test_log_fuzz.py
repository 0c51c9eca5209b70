"""Whatever the readers are given: no exception, no hang, and counts that add up."""

import io
import json
import random
import time
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from log_samples import EVERY_LINE, S2, S4, A

from pytest_miopen_perf.driver.log_item import ItemKind
from pytest_miopen_perf.driver.log_reader import read_log, read_unsound
from pytest_miopen_perf.driver.semantics import check_log
from pytest_miopen_perf.driver.text_reader import read_driver_text
from pytest_miopen_perf.driver.text_runs import text_runs
from pytest_miopen_perf.records import ConfigRecord, KernelPhase, KernelRecord, SolutionRecord
from pytest_miopen_perf.statistics import float32

SAMPLES = Path(__file__).parents[2] / ".." / "shared" / "samples"
LOG = "\n".join(EVERY_LINE).encode()
PIECES = (
    *(b'{"solution":', b'{"command":"', b'{"error":"', b'{"performance":{', b'"}', b"}", b"]}]}", b'"', b"\\", b"nan"),
    *(b"-inf", b"1e999", b"\\u", b"\\uffffffc3", b"\\ud800", b"\x00", b"\xff\xfe", b"\xef\xbb\xbf", b"\r", b"\n"),
    *(b"MIOpen(HIP): Info [x] ", b"18446744073709551616", b"9" * 5000, b"[" * 3000, b'{"a":' * 3000, b"stats: "),
    *(b"MIOpenDriver conv -F 0 -i ", b"null", b"true", b"-", b",", b":", "é\u2028".encode()),
)


def read_everything(data):
    """Both readers on the bytes; their rules hold whatever the bytes are."""
    items = list(read_log(io.BytesIO(data)))
    lines = data.count(b"\n") + (not data.endswith(b"\n") and bool(data))
    assert max((item.last_line_number for item in items), default=0) == lines
    for item in items:
        assert (item.record is not None) is (item.kind is ItemKind.RECORD)
        assert (item.reason is not None) is (item.kind in (ItemKind.CORRUPT, ItemKind.FOREIGN))
        assert 1 <= item.line_number <= item.last_line_number <= lines
        if item.record is not None:
            item.record.to_line()
    for finding in check_log(items):
        assert finding.message
        str(finding).encode()
    sound = Counter()
    unsound = list(read_unsound(io.BytesIO(data), sound))
    assert unsound == [item for item in items if item in unsound], "in the same order, and nothing else"
    left = Counter(item.record.KEY for item in unsound if item.record is not None)
    assert sound + left == Counter(item.record.KEY for item in items if item.record is not None)
    assert len(unsound) + sound.total() == len(items)
    text = list(read_driver_text(io.BytesIO(data)))
    assert len(text) == lines
    list(text_runs(text))
    return items


def mutated(data, numbers):
    data = bytearray(data)
    for _ in range(numbers.randint(1, 8)):
        at, length = numbers.randrange(len(data) + 1), numbers.randint(1, 200)
        action = numbers.randrange(6)
        if action == 0:
            del data[at : at + length]
        elif action == 1:
            data[at:at] = numbers.choice(PIECES)
        elif action == 2:
            start = numbers.randrange(len(data) + 1)
            data[at:at] = data[start : start + length]
        elif action == 3 and at < len(data):
            data[at] = numbers.randrange(256)
        elif action == 4 and at < len(data):
            data[at] ^= 1 << numbers.randrange(8)
        else:
            del data[at:]
    return bytes(data)


@pytest.mark.parametrize("seed", range(40))
def test_mutated_logs(seed):
    numbers = random.Random(seed)
    for _ in range(3):
        read_everything(mutated(LOG, numbers))


@pytest.mark.parametrize("seed", range(150))
def test_mutated_lines(seed):
    numbers = random.Random(seed)
    lines = [line.encode() for line in numbers.choices(EVERY_LINE, k=6)]
    read_everything(b"\n".join(mutated(line, numbers) for line in lines))


@settings(deadline=None)
@given(st.binary(max_size=300))
def test_any_bytes(data):
    read_everything(data)


@settings(deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join))
def test_any_pieces_of_logs(data):
    read_everything(data)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=10,
)


@settings(deadline=None)
@given(st.data())
def test_lines_with_any_value_anywhere(data):
    line = json.loads(data.draw(st.sampled_from([line for line in EVERY_LINE if _is_json(line)])))
    part = line
    while True:
        keys = list(part) if isinstance(part, dict) else range(len(part))
        key = data.draw(st.sampled_from(list(keys)))
        if not isinstance(part[key], dict | list) or not part[key] or data.draw(st.booleans()):
            break
        part = part[key]
    if isinstance(part, dict) and data.draw(st.booleans()):
        del part[key]
    else:
        part[key] = data.draw(JSON)
    read_everything(json.dumps(line).encode())


def _is_json(line):
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


TIMES = st.floats(2**-13, 2**17, width=32).map(lambda time: float(f"{float32(time):.6g}"))
# Latin-1 letters in a row may be the UTF-8 bytes of one letter, as MIOpen prints it, and are read as that letter.
LETTERS = st.characters(exclude_categories=("Cs",), exclude_characters=[chr(byte) for byte in range(0x80, 0x100)])
NAMES = st.text(LETTERS, min_size=1, max_size=12)
KERNELS = st.builds(
    KernelRecord,
    kernel_name=NAMES,
    time_executions_ms=st.lists(TIMES, max_size=4).map(tuple),
    is_transformation=st.booleans(),
)
CONFIGS = st.builds(
    ConfigRecord,
    config_name=NAMES,
    config_descriptor=st.one_of(st.just(""), NAMES),
    exec_number=st.just(1),
    time_executions_ms=st.lists(TIMES, min_size=1, max_size=5).map(tuple),
    time_ms=TIMES,
    time_std_ms=TIMES,
    time_min_ms=TIMES,
    time_max_ms=TIMES,
    number_of_transformations=st.integers(0, 5),
    kernels=st.none() | st.lists(KERNELS, max_size=3).map(tuple),
)
SOLUTIONS = st.builds(
    SolutionRecord,
    solution=NAMES,
    solver_id=st.integers(0, 2**64 - 1),
    workspace_bytes=st.integers(0, 2**64 - 1),
    phase=st.sampled_from(KernelPhase),
    performance_configs=st.lists(CONFIGS, min_size=1, max_size=3).map(tuple),
)


@settings(deadline=None, max_examples=40)
@given(st.lists(SOLUTIONS, max_size=3), st.sampled_from(["", "noise ", "MIOpen(HIP): Info [x] {y}"]))
def test_any_records_are_read_back_loss_free_also_behind_text_and_glued(records, prefix):
    apart = [item.record for item in read_log(f"{prefix}{record.to_line()}\n" for record in records)]
    glued = [item.record for item in read_log([prefix + "".join(record.to_line() for record in records)])]
    assert [record for record in apart if record] == records
    assert [record for record in glued if record] == records


@settings(deadline=None, max_examples=40)
@given(SOLUTIONS, SOLUTIONS, st.data())
def test_a_record_torn_anywhere_by_a_library_line_is_put_together(first, second, data):
    line = first.to_line()
    at = data.draw(st.integers(1, len(line) - 1))
    items = read_everything(f"{line[:at]}MIOpen(HIP): Info [X] y\n{line[at:]}\n{second.to_line()}\n".encode())
    assert items[-1].record == second
    found = [item.record for item in items[:-1] if item.record]
    assert found in ([first], [])
    if not found:
        assert any(item.kind is ItemKind.CORRUPT for item in items) or at < 12


def test_every_character_is_in_one_item():
    for seed in range(30):
        data = mutated(LOG, random.Random(seed)).decode("utf-8", "replace").replace("\0", "").replace("\r", "")
        items = list(read_log(io.StringIO(data, newline="\n")))
        kept = "".join(item.raw for item in items).replace("\n", "")
        assert sorted(kept) == sorted(data.replace("\n", "").removeprefix("\ufeff"))


@pytest.mark.parametrize(
    "line",
    [
        '{"solution":' * 5_000,
        '{"solution":"A' * 5_000,
        '{"error":"' + '"} ' * 5_000,
        '{"command":"' + '\\"' * 12_000,
        '{"solution":"' + '\\"' * 12_000,
        '{"solution":[' + "nan," * 5_000,
        A[:-1] + "}" * 5_000,
        '"' * 12_501,
        "{" * 12_000,
        "MIOpen(HIP): " * 1_500,
        "stats: " * 1_500,
        "GPU Kernel Time Forward Conv. Elapsed: " + "1" * 12_000,
        "Forward Convolution Verifies " + "1" * 12_000,
        "Forward Convolution Verifies " + "1e" * 5_000,
        '{"find_time_conv_ms":1,' + '"MIOPEN_DEVICE_ARCH":"' * 5_000,
        "1/1/1 1, best within recent 1: 1 #1 " * 1_500,
        "MIOpen(HIP): Info [x] " + "1/1/1 1, best within recent 1: 1 #1 " * 1_500,
        '{"hostname":"' * 5_000,
    ],
    ids=lambda line: line[:25],
)
def test_no_line_takes_more_than_its_length(line):
    """Four times the length may take four times as long, and by far not sixteen times."""
    read_everything(b"")
    short = seconds(line)
    assert seconds(line * 4) < 9 * short + 0.5


def seconds(text):
    start = time.process_time()
    read_everything(text.encode())
    return time.process_time() - start


def test_many_torn_records_take_no_more_than_their_length():
    torn = f"{S4[:300]}\n" * 300
    assert seconds(torn * 4) < 9 * seconds(torn) + 0.5


# --- Files of others, where they are at hand --------------------------------------------------------------------------


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the sample files are kept outside of the project")
@pytest.mark.parametrize("name", sorted(path.name for path in SAMPLES.glob("*.txt")))
def test_sample_files_are_read_and_so_are_their_mutations(name):
    data = (SAMPLES / name).read_bytes()
    read_everything(data)
    numbers = random.Random(name)
    for _ in range(25):
        read_everything(mutated(data, numbers))


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the sample files are kept outside of the project")
def test_the_sample_of_public_driver_outputs():
    data = (SAMPLES / "driver_logs.txt").read_bytes()
    (record,) = [item for item in read_log(io.BytesIO(data)) if item.record]
    assert [note.code for note in record.doubts] == ["no-kernels"]
    runs = list(text_runs(read_driver_text(io.BytesIO(data))))
    told = [(run.results[0].direction.value, run.results[0].time_ms, run.results[0].passed) for run in runs]
    assert told == [
        ("F", 0.056871, True),
        ("B", 1.730399, True),
        ("B", 244.816223, None),
        ("F", 10.839644, True),
        ("W", None, False),
        ("W", None, False),
    ]
    assert not any(run.findings for run in runs[:4])


def test_s2_is_the_same_from_a_file_of_many_megabytes():
    items = list(read_log(io.BytesIO((S2 + "\n").encode() * 2000)))
    assert {item.raw for item in items} == {S2}
