"""Lines that are no JSON as they stand: unescaped text, glued and torn records, text in other encodings."""

import io
import json

import pytest
from driver.reading import CORRUPT, NOISE, RECORD, codes, kinds, only, read
from log_samples import (
    COMMAND,
    FIND,
    S1,
    S2,
    S4,
    S5,
    S12,
    S13,
    S13_TAIL,
    S18,
    S18_BACKSLASH,
    SEED,
    VERIFIED,
    A,
    B,
)

from pytest_miopen_perf.driver.log_reader import read_log
from pytest_miopen_perf.records import (
    CommandLine,
    ErrorLine,
)

# --- Escapes ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("printed", "meant", "repairs"),
    [
        (r"\uffffffc3\uffffffa9", "é", ["signed-escapes"]),
        (r"x\uffffffe2\uffffff82\uffffffac1", "x€1", ["signed-escapes"]),
        (r"\uffffffc3", "\ufffd", ["broken-escapes"]),
        (r"\u00c3\u00a9", "é", ["latin1-escapes"]),
        (r"\u00e9", "é", []),
        (r"\ud83d\ude00", "😀", []),
        (r"\ud83d", "\ufffd", ["lone-surrogates"]),
        (r"\\uffffffc3", r"\uffffffc3", []),
        (r"\u0001\u007f", "\x01\x7f", []),
        (r"\"\\\/\b\f\n\r\t", '"\\/\b\f\n\r\t', []),
    ],
)
def test_escapes_of_bytes_become_the_text_again(printed, meant, repairs):
    item = only(A.replace('"solution":"A"', f'"solution":"{printed}"'))
    assert item.record.solution == meant
    assert codes(item.repairs) == repairs
    assert printed in item.raw


def test_a_line_in_another_encoding_is_read_as_latin_1():
    (item,) = read_log(io.BytesIO(A.replace('"A"', '"é"').encode("latin-1")))
    assert item.record.solution == "é"
    assert codes(item.repairs) == ["not-utf8"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_files_of_windows_shells_are_read(encoding):
    items = list(read_log(io.BytesIO(f"{S1}\r\n{S5}\r\n".encode(encoding))))
    assert [item.record.to_line() for item in items if item.record] == [S1, S5]
    assert {item.kind for item in items} <= {RECORD, NOISE}


# --- Text that is not escaped -----------------------------------------------------------------------------------------


def test_s18_quotes_in_a_command():
    item = only(S18)
    assert item.record == CommandLine(command='MIOpenDriver conv -d "my file.bin" -F 1')
    assert codes(item.repairs) == ["unescaped-text"]


def test_s18_a_backslash_in_a_command_is_no_escape():
    item = only(S18_BACKSLASH)
    assert item.record == CommandLine(command=r"MIOpenDriver conv -d a\new.bin")
    assert codes(item.doubts) == ["raw-command"]


def test_a_command_that_our_own_logger_wrote_is_unescaped():
    record = CommandLine(command='MIOpenDriver conv -d "my file.bin" C:\\dir é')
    assert only(record.to_line()).record == record


def test_an_error_text_over_two_lines():
    item = only('{"error":"miopen/a.cpp:12: no "kernel"', '"}')
    assert item.record == ErrorLine(error='miopen/a.cpp:12: no "kernel"\n')
    assert (item.line_number, item.last_line_number) == (1, 2)
    assert "several-lines" in codes(item.repairs)


def test_an_error_text_that_never_ends_takes_no_other_record():
    items = read('{"error":"cut off', VERIFIED, SEED)
    assert kinds(items) == [CORRUPT, RECORD, RECORD]
    assert items[0].reason.code == "no-end"


def test_a_cut_error_text_does_not_take_a_command():
    assert kinds(read('{"error":"cut off', COMMAND)) == [CORRUPT, RECORD]


def test_environment_values_are_not_escaped_either():
    item = only(FIND.replace('"MIOPEN_DEVICE_ARCH":""', r'"MIOPEN_DEVICE_ARCH":"gfx"9\0a"'))
    assert dict(item.record.environment_variables)["MIOPEN_DEVICE_ARCH"] == r'gfx"9\0a'
    assert codes(item.repairs) == ["unescaped-values"]


# --- Glued, torn, cut off ---------------------------------------------------------------------------------------------


def test_s12_two_records_in_a_line_and_the_text_before():
    items = read(S12)
    assert kinds(items) == [NOISE, RECORD, RECORD]
    assert items[0].raw == "MIOpen(HIP): Info [Find] x"
    assert [item.record.solution for item in items[1:]] == ["A", "B"]


def test_s13_a_line_of_another_thread_inside_a_record():
    items = read(*S13, B)
    assert kinds(items) == [RECORD, NOISE, RECORD]
    assert items[0].record.to_line() == A
    assert codes(items[0].repairs) == ["stitched"]
    assert (items[0].line_number, items[0].last_line_number) == (1, 2)
    assert items[1].raw == "MIOpen(HIP): Info [X] y"
    assert items[2].line_number == 3


def test_a_whole_record_inside_another_one():
    head, tail = A[:40], A[40:]
    items = read(head + B, tail)
    assert [item.record.solution for item in items] == ["A", "B"]


def test_a_record_that_a_log_driver_has_split_at_a_fixed_width():
    width = 60
    parts = [S4[i : i + width] for i in range(0, len(S4), width)]
    item = only(*parts)
    assert item.record.to_line() == S4
    assert item.last_line_number == len(parts)


def test_a_beginning_without_its_end_and_an_end_without_its_beginning():
    items = read(A[:40], B, S13_TAIL, B)
    assert kinds(items) == [CORRUPT, RECORD, CORRUPT, RECORD]
    assert [item.reason.code for item in items if item.reason] == ["no-end", "no-beginning"]


@pytest.mark.parametrize("length", range(1, len(A)))
def test_a_file_that_ends_anywhere_loses_one_record_and_says_so(length):
    items = read(S1, A[:length])
    assert items[0].record.to_line() == S1
    assert items[1].kind is (NOISE if length == 1 else CORRUPT)


def test_text_around_a_record_is_kept():
    items = read(f"2026-01-01T00:00:00Z {S1} done")
    assert [item.raw for item in items] == ["2026-01-01T00:00:00Z ", S1, " done"]


def test_records_that_a_json_tool_has_reformatted():
    spaced = json.dumps(json.loads(S2))
    backwards = json.dumps(json.loads(S2), sort_keys=True)
    assert [item.record.to_line() for item in read(spaced, backwards, f"  {S2}  ")[:2]] == [S2, S2]
