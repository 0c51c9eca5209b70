"""Performance logs as they are: every sample of the format's description with its right answer, and what tears them."""

import io
import math
import tracemalloc
from collections import Counter, deque

import pytest
from driver.reading import CORRUPT, FOREIGN, NOISE, RECORD, codes, kinds, only
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
    S16,
    S21,
    SEED,
    SYSTEM,
    VERIFIED,
    A,
    config,
    solution,
)

from pytest_miopen_perf.driver.log_reader import read_log, read_unsound
from pytest_miopen_perf.records import (
    FindTime,
    KernelPhase,
    PrngSeed,
    SolutionRecord,
    SystemInfo,
    Verification,
)

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
        lines = (f"{line}\n" for _ in range(count) for line in (COMMAND, S1, "noise", A[:40]))
        deque(read_log(lines), maxlen=0)
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
