"""Performance logs as they are: every sample of the format's description with its right answer, and what tears them."""

import io
import json
import math
import tracemalloc
from collections import Counter

import pytest
from log_samples import (
    COMMAND,
    DRAFTS,
    EVERY_LINE,
    FIND,
    S1,
    S2,
    S4,
    S5,
    S7,
    S9,
    S9_PERFORMANCE,
    S12,
    S13,
    S13_TAIL,
    S16,
    S18,
    S18_BACKSLASH,
    S21,
    SEED,
    SYSTEM,
    VERIFIED,
    A,
    B,
    config,
    solution,
)

from pytest_miopen_perf.driver.log_item import ItemKind
from pytest_miopen_perf.driver.log_reader import read_log, read_unsound
from pytest_miopen_perf.driver.summary import summarize
from pytest_miopen_perf.records import (
    CommandLine,
    ErrorLine,
    FindTime,
    KernelPhase,
    PrngSeed,
    SolutionRecord,
    SystemInfo,
    Verification,
)

RECORD, CORRUPT, FOREIGN, NOISE = ItemKind.RECORD, ItemKind.CORRUPT, ItemKind.FOREIGN, ItemKind.NOISE


def read(*lines):
    return list(read_log(io.BytesIO("".join(f"{line}\n" for line in lines).encode())))


def only(*lines):
    (item,) = read(*lines)
    return item


def codes(notes):
    return [note.code for note in notes]


def kinds(items):
    return [item.kind for item in items]


# --- Sound lines ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("line", [COMMAND, SEED, SYSTEM, FIND, VERIFIED, S1, S2, S4, S5, S7, S16, S21])
def test_a_sound_line_gives_the_record_that_prints_it(line):
    item = only(line)
    assert item.record.to_line() == line
    assert (item.raw, item.line_number, item.last_line_number) == (line, 1, 1)
    assert (item.kind, item.repairs, item.doubts, item.reason) == (RECORD, (), (), None)


def test_s1_has_ten_times_and_no_kernels():
    (found,) = only(S1).record.performance_configs
    assert len(found.time_executions_ms) == 10
    assert found.time_ms == 1.50429
    assert found.kernels is None


def test_s2_counts_names_of_transformations_and_not_launches():
    (found,) = only(S2).record.performance_configs
    assert found.number_of_transformations == 2
    assert sum(len(k.time_executions_ms) for k in found.kernels if k.is_transformation) == 6


def test_s4_keeps_the_failed_config_without_a_time():
    record = only(S4).record
    assert record.phase is KernelPhase.SOLVER_TUNING
    assert [len(found.time_executions_ms) for found in record.performance_configs] == [2, 11, 0]
    assert record.performance_configs[2].exec_number == 2**64 - 1


def test_windows_ends_and_blank_lines_change_nothing():
    items = list(read_log(io.BytesIO(f"{S1}\r\n\r\n{S5}\r\n".encode())))
    assert kinds(items) == [RECORD, NOISE, RECORD]
    assert items[0].raw == S1


def test_the_last_line_may_have_no_end():
    assert only_text(S1).record is not None


def only_text(text):
    (item,) = read_log(io.StringIO(text))
    return item


def test_lists_of_lines_and_text_files_are_read_alike():
    lines = [f"{line}\n" for line in EVERY_LINE]
    expected = [item.record for item in read_log(io.StringIO("".join(lines)))]
    assert str([item.record for item in read_log(lines)]) == str(expected)
    assert str([item.record for item in read_log([line.encode() for line in lines])]) == str(expected)


# --- Words that are no JSON -------------------------------------------------------------------------------------------


def test_s9_bare_words_become_nan_and_are_told_but_not_in_strings():
    item = only(S9)
    (found,) = item.record.performance_configs
    assert (item.record.solution, found.config_name) == ("note nan inf", "note ,nan,inf")
    assert found.time_executions_ms[::2] == (0.1, 0.1)
    assert all(map(math.isnan, (found.time_executions_ms[1], found.time_ms, found.time_std_ms, found.time_max_ms)))
    assert codes(item.repairs) == ["bare-nan"]
    (doubt,) = item.doubts
    assert doubt.code == "non-finite"
    assert "$.performance_configs[0].time_executions_ms[1]" in doubt.message
    assert "and 1 more" in doubt.message


def test_s9_rates_of_a_time_of_zero():
    record = only(S9_PERFORMANCE).record
    assert record.average_time_ms == 0
    assert math.isnan(record.gflops)
    assert math.isnan(record.gb_per_s)


@pytest.mark.parametrize("word", ["nan", "-nan", "inf", "-inf", "nan(ind)", "-nan(ind)", "NaN", "-Infinity", "1e999"])
def test_every_way_to_print_no_number(word):
    item = only(VERIFIED.replace("2.19793e-08", word))
    assert math.isnan(item.record.error)
    assert "non-finite" in codes(item.doubts)


def test_a_negative_time_is_kept_and_told():
    item = only(A.replace("[1,2]", "[-1.5,2]"))
    assert item.record.performance_configs[0].time_executions_ms == (-1.5, 2.0)
    assert codes(item.doubts) == ["negative"]


def test_numbers_that_no_float_holds_are_no_numbers():
    item = only(A.replace('"time_max_ms":2', f'"time_max_ms":{"9" * 400}'))
    assert math.isnan(item.record.performance_configs[0].time_max_ms)


@pytest.mark.parametrize("printed", ["18446744073709551616", "18446744073709552000", "1.8446744073709552e+19"])
def test_a_count_that_went_through_a_float_is_2_64_minus_1_again(printed):
    item = only(S4.replace(str(2**64 - 1), printed))
    assert item.record.performance_configs[2].exec_number == 2**64 - 1
    assert codes(item.doubts) == ["rounded-count"]


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


# --- Dialects ---------------------------------------------------------------------------------------------------------


def test_a_record_without_a_phase_is_of_an_unknown_one():
    item = only(A.replace('"phase":"execution",', ""))
    assert item.record.phase is KernelPhase.UNKNOWN
    assert codes(item.doubts) == ["no-phase"]


def test_a_phase_of_the_future_is_unknown():
    item = only(A.replace("execution", "warm_up", 1))
    assert item.record.phase is KernelPhase.UNKNOWN
    assert codes(item.doubts) == ["unknown-phase"]


def test_what_the_documented_example_leaves_out_is_filled_in():
    item = only(A.replace('"workspace_bytes":0,', "").replace(',"kernels":null', ""))
    assert item.record == only(A).record
    assert codes(item.doubts) == ["no-workspace", "no-kernels"]


def test_new_keys_are_left_out_and_told():
    item = only(A.replace('"phase"', '"device":3,"phase"').replace('"time_ms"', '"median_ms":1,"time_ms"'))
    assert item.record == only(A).record
    assert codes(item.doubts) == ["unknown-keys", "unknown-keys"]


def test_a_machine_of_another_release():
    item = only(SYSTEM.replace('"ram_size":"1511 GB",', "").replace('"rocm"', '"vram":"192 GB","rocm"'))
    assert isinstance(item.record, SystemInfo)
    assert item.record.ram_size == ""
    assert codes(item.doubts) == ["unknown-keys", "missing-keys"]


def test_environment_variables_of_another_release_are_kept():
    item = only(FIND.replace('"MIOPEN_DEBUG_CONV_FFT":0', '"MIOPEN_NEW":7'))
    assert isinstance(item.record, FindTime)
    assert ("MIOPEN_NEW", 7) in item.record.environment_variables
    assert codes(item.doubts) == ["other-variables"]


@pytest.mark.parametrize("line", DRAFTS)
def test_drafts_of_the_format_are_recognised_and_rejected(line):
    item = only(line)
    assert (item.kind, item.record, item.reason.code) == (FOREIGN, None, "draft")
    assert "never released" in item.reason.message


@pytest.mark.parametrize("line", ['{"foo":1}', "{}", '{"name":"x","values":[1,2,{"a":null}]}'])
def test_other_json_is_foreign(line):
    item = only(line)
    assert (item.kind, item.reason.code) == (FOREIGN, "foreign")


@pytest.mark.parametrize(
    "line",
    [
        A.replace('"solver_id":1', '"solver_id":"1"'),
        A.replace('"solver_id":1,', ""),
        A.replace('"exec_number":1', '"exec_number":7'),
        A.replace('"time_executions_ms":[1,2]', '"time_executions_ms":[]'),
        A.replace('"time_ms":1.5,', ""),
        SEED.replace("12345678", "-1"),
        '{"command":""}',
        '{"performance":{}}',
        '{"performance":7}',
        '{"solution":' + "[" * 100_000 + "]" * 100_000 + "}",
    ],
)
def test_what_does_not_fit_the_schema_is_corrupt_with_the_reason(line):
    item = only(line)
    assert item.kind is CORRUPT
    assert item.reason.message


@pytest.mark.parametrize(
    "line",
    ["MIOpen(HIP): Info [x] y", "Forward Conv solutions available: 3", "void f() {", "", "}", "# comment", "{", "\x00"],
)
def test_other_text_is_noise(line):
    assert only(line).kind is NOISE


def test_verification_and_seed_are_data():
    assert isinstance(only(VERIFIED).record, Verification)
    assert only(SEED).record == PrngSeed(prng_seed=12345678)


# --- The summary ------------------------------------------------------------------------------------------------------


def test_the_summary_counts_everything():
    summary = summarize(read(*EVERY_LINE))
    assert summary.lines == len(EVERY_LINE)
    assert summary.records + summary.corrupt + summary.foreign + summary.noise == summary.items
    assert sum(summary.kinds.values()) == summary.records
    assert summary.foreign == len(DRAFTS)
    assert summary.corrupt == 0
    assert summary.repaired == 4  # bare words twice, torn, unescaped
    assert summary.doubtful == 3
    assert summary.level == 4


def test_the_summary_of_two_streams_counts_the_lines_of_both():
    items = [*read_log([COMMAND, SEED], "out"), *read_log([S1], "err")]
    assert summarize(items).lines == 3


def test_the_summary_of_nothing():
    summary = summarize([])
    assert (summary.lines, summary.items, summary.level) == (0, 0, None)


@pytest.mark.parametrize(("lines", "level"), [([S1], 1), ([S2], 2), ([S1, S5], 3), ([S2, S5], 4)])
def test_the_level_is_seen_from_the_content(lines, level):
    assert summarize(read(*lines)).level == level


def test_sound_lines_can_be_counted_without_their_records():
    sound = Counter()
    lines = [COMMAND, S1, "noise", S2, S9, A[:40], "{}", S1]
    left = list(read_unsound(iter(lines), sound, "x"))
    assert sound == {"command": 1, "solution": 3}
    assert [(item.source, item.line_number, item.kind.value) for item in left] == [
        ("x", 3, "noise"),
        ("x", 5, "record"),
        ("x", 6, "corrupt"),
        ("x", 7, "foreign"),
    ]
    assert left[1].repairs


def test_a_line_that_had_to_be_repaired_to_be_text_is_not_sound():
    sound = Counter()
    (left,) = read_unsound([S1.replace("ConvHip", "\0ConvHip", 1)], sound)
    assert (sound, left.kind.value, [note.code for note in left.repairs]) == ({}, "record", ["nul-bytes"])


def test_memory_does_not_grow_with_the_log():
    def peak(count):
        tracemalloc.start()
        summarize(read_log(f"{line}\n" for _ in range(count) for line in (COMMAND, S1, "noise", A[:40])))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(10)
    assert peak(1000) < 2 * peak(100) + 50_000


def test_a_solution_of_a_thousand_configs_is_one_record():
    line = solution("X", *(config(f"c{i}", "1,2", "1.5 0.5 1 2", descriptor=str(i)) for i in range(1000)))
    record = only(line).record
    assert isinstance(record, SolutionRecord)
    assert len(record.performance_configs) == 1000
