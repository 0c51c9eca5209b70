import bz2
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf.database import record_lines
from pytest_miopen_perf.database.record_lines import (
    Fault,
    FaultKind,
    RecordLine,
    file_lines,
    join_record,
    split_lines,
)
from pytest_miopen_perf.errors import DatabaseError


def read(*lines):
    return list(split_lines(lines, "db"))


def printable(*, without):
    seen = st.characters(exclude_categories=("C", "Z"), include_characters=" ", exclude_characters=without)
    return st.text(seen, max_size=20)


KEYS = printable(without="=").filter(bool)
NAMES = printable(without=":;").filter(bool)
VALUES = printable(without=";")


# --- the grammar


def test_a_line_is_split_at_the_first_equals_sign_and_a_part_at_its_first_colon():
    (record,) = read(b"a-b=S<2-3>:Name<1, 2, Sched: Intra, v3>+2;T:x=y,z\n")
    assert record == RecordLine("db", 1, "a-b", (("S<2-3>", "Name<1, 2, Sched: Intra, v3>+2"), ("T", "x=y,z")))


@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b";\n"])
def test_line_ends_do_not_belong_to_the_last_value(end):
    (record,) = read(b"k=S:1" + end)
    assert record.parts == (("S", "1"),)


def test_blank_lines_are_passed_over_and_counted_as_lines():
    assert [item.line for item in read(b"\n", b"k=S:1\n", b"  \n", b"l=S:1\n")] == [2, 4]


@pytest.mark.parametrize(
    ("line", "kind", "words"),
    [
        (b"no equals sign", FaultKind.NO_KEY, "no = behind"),
        (b"=S:1", FaultKind.NO_KEY, "no key in front"),
        (b"k=", FaultKind.NO_ENTRY, "no entry"),
        (b"k=;", FaultKind.NO_ENTRY, "no entry"),
        (b"k=S:1\xff", FaultKind.NOT_TEXT, "byte 5"),
        (b"k=S:" + b"1" * record_lines.LONGEST_LINE_BYTES, FaultKind.TOO_LONG, "longer"),
    ],
)
def test_a_line_that_cannot_be_used_is_one_fault(line, kind, words):
    good = b"k=S:1\n"
    first, fault, last = read(good, line, good)
    assert (fault.kind, fault.line, fault.file, fault.loses_record) == (kind, 2, "db", True)
    assert words in fault.sentence
    assert len(fault.text) < 200
    assert isinstance(first, RecordLine)
    assert isinstance(last, RecordLine)


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        (b"k=S 1;T:2", FaultKind.NO_ID),
        (b"k=:1;T:2", FaultKind.NO_ID),
        (b"k=;T:2", FaultKind.NO_ID),
        (b"k=T:2;;U:3", FaultKind.NO_ID),
        (b"k=T:2;T:3", FaultKind.DUPLICATE_ID),
    ],
)
def test_a_part_that_cannot_be_used_leaves_the_others(line, kind):
    fault, record = read(line)
    assert fault.kind is kind
    assert not fault.loses_record
    assert ("T", "2") in record.parts


# --- files


def test_a_line_without_end_is_not_read_into_memory(tmp_path, monkeypatch):
    monkeypatch.setattr(record_lines, "LONGEST_LINE_BYTES", 10)
    path = tmp_path / "db"
    path.write_bytes(b"x" * 95 + b"\nk=S:1\n" + b"y" * 33)
    lines = list(file_lines(path))
    assert lines == [b"x" * 11, b"k=S:1\n", b"y" * 11]
    assert [getattr(item, "kind", None) for item in split_lines(lines, "db")] == [
        FaultKind.TOO_LONG,
        None,
        FaultKind.TOO_LONG,
    ]


def test_packed_files_are_unpacked(tmp_path):
    path = tmp_path / "gfx942130.fdb.txt.bz2"
    path.write_bytes(bz2.compress(b"a\nb\n"))
    assert list(file_lines(path)) == [b"a\n", b"b\n"]


@pytest.mark.parametrize("content", [None, b"no bzip2", bz2.compress(b"a\n" * 1000)[:-20]])
def test_a_file_that_cannot_be_read_is_one_typed_error(tmp_path, content):
    path = tmp_path / "db.bz2"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(DatabaseError, match=r"db\.bz2 cannot be read: ."):
        list(file_lines(path))


def test_a_directory_is_one_typed_error(tmp_path):
    with pytest.raises(DatabaseError, match="Is a directory"):
        list(file_lines(tmp_path))


# --- both ways


@given(KEYS, st.dictionaries(NAMES, VALUES, min_size=1, max_size=5))
def test_what_is_joined_is_read_back(key, parts):
    line = join_record(key, parts.items())
    if not line.isspace():
        assert read(line.encode() + b"\n") == [RecordLine("db", 1, key, tuple(parts.items()))]


@pytest.mark.parametrize(
    ("key", "parts"),
    [
        ("", {"S": "1"}),
        ("a=b", {"S": "1"}),
        ("a\nb", {"S": "1"}),
        ("a", {"": "1"}),
        ("a", {"S:T": "1"}),
        ("a", {"S;T": "1"}),
        ("a", {"S": "1;2"}),
        ("a", {"S": "1\r"}),
        ("a", {}),
    ],
)
def test_what_would_not_be_read_back_is_refused(key, parts):
    with pytest.raises(DatabaseError):
        join_record(key, parts.items())


@given(st.lists(st.binary(max_size=40)))
def test_any_bytes_give_one_record_or_one_lost_line_for_each_line(lines):
    items = list(split_lines(lines, "db"))
    whole = [item.line for item in items if isinstance(item, RecordLine) or item.loses_record]
    blank = [number for number, line in enumerate(lines, 1) if is_blank(line)]
    assert sorted(whole + blank) == list(range(1, len(lines) + 1))


def test_a_damaged_file_never_stops_the_reading():
    good = b"64-56-56=GemmFwdRest:1.0,0,miopenConvolutionFwdAlgoGEMM;B:2,3,c\n" * 20
    choice = random.Random(5)
    for _ in range(300):
        damaged = bytearray(good)
        for _ in range(choice.randint(1, 8)):
            damaged[choice.randrange(len(damaged))] = choice.randrange(256)
        lines = bytes(damaged).split(b"\n")
        items = list(split_lines(lines, "db"))
        lost = sum(isinstance(item, Fault) and item.loses_record for item in items)
        records = sum(isinstance(item, RecordLine) for item in items)
        assert records + lost == sum(not is_blank(line) for line in lines)


def is_blank(line):
    try:
        return not line.decode().strip()
    except UnicodeDecodeError:
        return False
