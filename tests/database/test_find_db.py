import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf.database.find_db import (
    FindEntry,
    FindRecord,
    algorithm_word,
    fastest,
    find_records,
    format_find_record,
    format_value,
    parse_value,
    read_find_db,
)
from pytest_miopen_perf.database.record_lines import Fault, FaultKind
from pytest_miopen_perf.errors import DatabaseError
from pytest_miopen_perf.problem import Direction

GEMM = "miopenConvolutionFwdAlgoGEMM"
WORDS = st.text(st.sampled_from("abcXYZ019_<>-. "), min_size=1).map(str.strip).filter(bool)


def read(*lines):
    return list(find_records([line.encode() for line in lines], "db"))


def test_a_record_of_today():
    (record,) = read(
        f"k=ConvWinoRageRxS<2-3>:0.828925,0,miopenConvolutionFwdAlgoWinograd;GemmFwdRest:3.75,2415919104,{GEMM}"
    )
    assert record == FindRecord(
        "db",
        1,
        "k",
        (
            FindEntry("ConvWinoRageRxS<2-3>", 0.828925, 0, "miopenConvolutionFwdAlgoWinograd"),
            FindEntry("GemmFwdRest", 3.75, 2415919104, GEMM),
        ),
        version=2,
    )
    assert record.best == record.entries[0]


@pytest.mark.parametrize("last", ["<unused>", "not used", "kernel,with,commas: and colons"])
def test_a_record_of_the_legacy_form(last):
    (record,) = read(f"k={GEMM}:rocBlas,1.5,72,{GEMM},{last}")
    assert record == FindRecord("db", 1, "k", (FindEntry("rocBlas", 1.5, 72, GEMM),), version=1)
    assert format_find_record(record.key, record.entries) == f"k=rocBlas:1.5,72,{GEMM}"


def test_samples_are_read_without_a_fault(sample):
    legacy = list(read_find_db(sample("sample_v1.fdb.txt")))
    assert [(record.version, len(record.entries)) for record in legacy] == [(1, 3), (1, 3), (1, 2), (1, 3), (1, 4)]
    today = list(read_find_db(sample("sample_v2.ufdb.txt")))
    assert [record.version for record in today] == [2] * 7
    assert [record.line for record in today] == list(range(1, 8))
    assert today[4].best.solver == "ConvWinoRageRxS<2-3>"


def test_every_line_of_the_broken_sample_is_accounted_for(sample):
    path = sample("sample_broken.ufdb.txt")
    items = list(read_find_db(path))
    faults = [item for item in items if isinstance(item, Fault)]
    assert [(fault.line, fault.kind) for fault in faults] == [
        (2, FaultKind.NO_KEY),
        (3, FaultKind.NO_KEY),
        (4, FaultKind.NO_ID),
        (9, FaultKind.DUPLICATE_ID),
    ]
    assert len(items) - len(faults) + 2 == len(path.read_text().splitlines())


@pytest.mark.parametrize(
    "value",
    [
        "",
        "1.0",
        f"1.0,{GEMM}",
        f"1.0,0,{GEMM},more",
        f"fast,0,{GEMM}",
        f"1_0,0,{GEMM}",
        f",0,{GEMM}",
        f"1.0,-5,{GEMM}",
        f"1.0,0.5,{GEMM}",
        f"1.0,\u0663,{GEMM}",
        f"1.0,{'9' * 5000},{GEMM}",
        "1.0,0,",
    ],
)
def test_a_value_of_another_form_loses_its_entry_only(value):
    fault, record = read(f"k=Bad:{value};Good:1,0,{GEMM}")
    assert (fault.kind, fault.line, fault.loses_record) == (FaultKind.BAD_VALUE, 1, False)
    assert "Bad" in fault.sentence
    assert [entry.solver for entry in record.entries] == ["Good"]
    lost = read(f"k=Bad:{value}")
    assert [fault.kind for fault in lost] == [FaultKind.BAD_VALUE, FaultKind.NO_ENTRY]


def test_one_solver_under_two_algorithms_of_the_legacy_form_is_a_duplicate():
    fault, record = read(f"k={GEMM}:S,1,0,a,b;miopenConvolutionFwdAlgoDirect:S,2,0,a,b")
    assert fault.kind is FaultKind.DUPLICATE_ID
    assert [entry.stated_ms for entry in record.entries] == [1.0]


@pytest.mark.parametrize("stated", ["0", "0.0", "-1", "nan", "inf", "-inf", "3.40282e+38", "1e300", "1e-300"])
def test_what_is_no_measurement_has_no_time_and_never_wins(stated):
    (record,) = read(f"k=Bad:{stated},0,{GEMM};Good:9,0,{GEMM}")
    assert record.entries[0].time_ms is None
    assert record.best.solver == "Good"
    assert fastest(record.entries[:1]) is None


def test_the_first_of_equal_times_wins():
    entries = [FindEntry("A", 2.0, 0, "a"), FindEntry("B", 1.0, 0, "a"), FindEntry("C", 1.0, 0, "a")]
    assert fastest(entries).solver == "B"


def test_algorithm_words():
    assert algorithm_word("GEMM", Direction.FORWARD) == GEMM
    assert algorithm_word("Winograd", Direction.BACKWARD_DATA) == "miopenConvolutionBwdDataAlgoWinograd"
    assert algorithm_word("Direct", Direction.BACKWARD_WEIGHTS) == "miopenConvolutionBwdWeightsAlgoDirect"


@pytest.mark.parametrize(
    ("time_ms", "text"), [(0.1234567, "0.123457"), (1e-5, "1e-05"), (1234567.0, "1.23457e+06"), (3.0, "3")]
)
def test_times_have_six_digits_as_a_stream_prints_them(time_ms, text):
    assert format_value(FindEntry("S", time_ms, 7, "a")) == f"{text},7,a"


@given(
    key=WORDS,
    entries=st.dictionaries(
        WORDS,
        st.tuples(st.floats(width=32), st.integers(0, 2**64), WORDS),
        min_size=1,
    ),
)
def test_what_is_written_is_read_back(key, entries):
    rows = [FindEntry(name, float(f"{time:.6g}"), workspace, word) for name, (time, workspace, word) in entries.items()]
    (record,) = read(format_find_record(key, rows))
    assert record.key == key
    assert record.version == 2
    assert all(same(row, entry) for row, entry in zip(rows, record.entries, strict=True))
    assert all(parse_value(row.solver, format_value(row)).workspace_bytes == row.workspace_bytes for row in rows)


def same(one, other):
    times_are_nan = math.isnan(one.stated_ms) and math.isnan(other.stated_ms)
    return (one._replace(stated_ms=0) == other._replace(stated_ms=0)) and (
        times_are_nan or one.stated_ms == other.stated_ms
    )


@pytest.mark.parametrize(
    "entry",
    [
        FindEntry("S", 1.0, 0, "a,b"),
        FindEntry("S", 1.0, 0, ""),
        FindEntry("S", 1.0, -1, "a"),
        FindEntry("S", 1.0, 0, "a;b"),
        FindEntry("S:T", 1.0, 0, "a"),
        FindEntry(GEMM, 1.0, 0, "a"),
    ],
)
def test_what_would_not_be_read_back_is_refused(entry):
    with pytest.raises(DatabaseError):
        format_find_record("k", [entry])


@given(st.lists(st.text(st.sampled_from("kS=:;,019.-<nan")), max_size=5))
def test_any_line_is_a_record_or_lost(lines):
    items = read(*lines)
    whole = [item.line for item in items if isinstance(item, FindRecord) or item.loses_record]
    assert whole == [number for number, line in enumerate(lines, 1) if line]


def test_records_come_one_at_a_time():
    endless = find_records(itertools.repeat(f"k=S:1,0,{GEMM}\n".encode()), "db")
    assert [record.line for record in itertools.islice(endless, 3)] == [1, 2, 3]
