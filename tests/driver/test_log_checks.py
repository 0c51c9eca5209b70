"""What is wrong with logs, line by line: the right answers of the format's samples."""

import re

import pytest
from log_findings import check, codes, message
from log_samples import (
    COMMAND,
    DRAFTS,
    FIND,
    S1,
    S2,
    S4,
    S5,
    S7,
    S9,
    S10,
    S13,
    S16,
    S21,
    SYSTEM,
    VERIFIED,
    A,
    config,
    kernel,
    performance,
    solution,
)

from pytest_miopen_perf.driver.finding import Finding, capped
from pytest_miopen_perf.driver.log_reader import read_log
from pytest_miopen_perf.driver.semantics import MOST_OF_A_KIND, check_log
from pytest_miopen_perf.perflog import PerformanceLogger
from pytest_miopen_perf.perflog.sinks import ListSink
from pytest_miopen_perf.records import CommandLine, KernelPhase
from pytest_miopen_perf.severity import Severity

# --- One record -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        (S1, []),
        (S2, []),
        (S4, ["not-measured", "cold-run"]),
        (S5, []),
        (S7, ["mean-dominated"]),
        (S9, ["bare-nan", "non-finite", "no-measurement"]),
        (S10, []),
        (S16, ["foreign-kernels"]),
        (S21, ["run-failed"]),
        (DRAFTS[0], ["draft"]),
        (SYSTEM, []),
        (FIND, []),
        ('{"foo":1}', ["foreign"]),
        ('{"error":"RunForwardGPU() FAILED, rc = 0x7"}', ["error-line"]),
        (A.replace('"phase":"execution"', '"phase":"unknown"'), ["phase-unknown"]),
        (A.replace('"phase":"execution",', ""), ["no-phase"]),
        (A.replace('"solver_id":1', '"solver_id":0'), ["unknown-solver"]),
        (A.replace('"time_ms":1.5', '"time_ms":1.6'), ["figures-disagree"]),
        (A.replace('"time_std_ms":0.5', '"time_std_ms":0.4'), ["figures-disagree"]),
        (A.replace('"time_min_ms":1', '"time_min_ms":0.5'), ["figures-disagree"]),
        (A.replace("[1,2]", "[0,2]"), ["no-measurement"]),
        (A.replace("[1,2]", "[-1.5,2]"), ["negative", "no-measurement"]),
        (A.replace('"time_ms":1.5', '"time_ms":0'), ["time-not-positive"]),
        (A.replace('"number_of_transformations":0', '"number_of_transformations":2'), []),
        (A[:50], ["no-end"]),
    ],
)
def test_findings_of_one_line(line, expected):
    assert codes(line) == expected


def test_s4_says_what_the_warm_time_is_and_that_the_failed_config_is_not_fast():
    failed, probe = check(S4)
    assert failed.message.startswith("1 of 3 configs")
    assert "2.15 ms holds the cold run, the warm time is 1.1 ms" in probe.message
    assert {failed.severity, probe.severity} == {Severity.INFO}


def test_s7_names_the_time_that_carries_the_mean():
    assert "50 ms" in message(S7)


def test_s16_names_the_foreign_kernels_and_the_config_name():
    text = message(S16)
    assert "igemm_fwd_gtcx3_nhwc_fp32, naive_conv_ab_nonpacked_fwd_nchw_float_double_float belong to" in text
    assert "igemm_bwd" not in text
    assert "kernels and config_name are unreliable" in text


def test_s21_is_a_failed_run_and_no_measured_error():
    assert "direction B" in message(S21)
    assert "not a measured one" in message(S21)


@pytest.mark.parametrize(
    ("status", "error", "expected"),
    [
        ("OK", "1e-7", []),
        ("FAILED", "0.5", ["verification-failed"]),
        ("OK", "0.5", ["verdict-mismatch"]),
        ("FAILED", "1e-9", ["verification-failed", "verdict-mismatch"]),
        ("OK", "nan", ["bare-nan", "non-finite", "verdict-mismatch"]),
        ("FAILED", "-nan", ["bare-nan", "non-finite", "verification-failed"]),
    ],
)
def test_verdicts_are_held_against_their_figures(status, error, expected):
    assert codes(VERIFIED.replace('"OK"', f'"{status}"').replace("2.19793e-08", error)) == expected


def with_kernels(*kernels, transformations=0, times="1,1", solver="ConvFwd"):
    figures = "1 0 1 1"
    return solution(
        solver, config("k", times, figures, kernels=f"[{','.join(kernels)}]", transformations=transformations)
    )


@pytest.mark.parametrize(
    ("kernels", "expected"),
    [
        ((kernel("k", "1,1"),), []),
        ((kernel("k", "1,1,1,1"),), []),  # twice an execution
        ((kernel("k", "1,1,1"),), []),  # Find stores one execution less
        ((kernel("k", "1"),), ["kernel-count"]),
        ((kernel("k", "1,1,1,1,1"),), ["kernel-count"]),
        ((kernel("t", "1,1", is_transformation=True), kernel("k", "1,1")), ["transformation-count"]),
        ((kernel("k", "1,1"), kernel("k", "1,1")), ["kernel-twice"]),
        ((kernel("k", "1,1"), kernel("naive_conv_x", "1")), ["foreign-kernels"]),
        ((kernel("k", "1,1"), kernel("igemm_bwd_x", "1,1")), ["foreign-kernels"]),
        ((kernel("k", "1,1"), kernel("DeviceGroupedConvBwdWeight<64>", "1,1")), ["foreign-kernels"]),
        ((kernel("k", "1,1"), kernel("DeviceGroupedConvFwd<64>", "1,1")), []),
    ],
)
def test_kernels_against_times_and_solver(kernels, expected):
    assert codes(with_kernels(*kernels)) == expected


def test_naive_kernels_belong_to_the_naive_solver():
    assert codes(with_kernels(kernel("naive_conv_x", "1,1"), solver="ConvDirectNaiveConvFwd")) == []


# --- Levels -----------------------------------------------------------------------------------------------------------


def test_levels_that_change_within_a_log():
    assert codes(S1, S2) == ["mixed-levels"]
    assert codes(A.replace("null}]", f"null}},{config('x', '1,2', '1.5 0.5 1 2', kernels='[]')}]")) == ["mixed-levels"]


@pytest.mark.parametrize(
    ("line", "level", "expected"),
    [
        (S1, 1, []),
        (S1, 2, ["level-mismatch"]),
        (S2, 2, []),
        (S5, 3, []),
        (S5, 1, ["level-mismatch"]),
        (S5, 4, ["level-mismatch"]),
        (S5, 5, ["level-acts-as-3"]),
        (S2, 7, ["level-acts-as-3", "level-mismatch"]),
    ],
)
def test_the_level_that_was_asked_for_against_the_content(line, level, expected):
    assert codes(line, level=level) == expected


def test_a_record_that_stands_twice():
    assert codes(A, A) == ["doubled"]


def test_a_torn_record_is_no_finding_beyond_its_repair():
    assert codes(*S13) == ["stitched"]


# --- Performance lines ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("direction", ["forward", "backward", "backward-weights"])
def test_right_counts_have_no_findings(direction):
    assert codes(performance("X", 2, direction)) == ["no-solution-records"]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('"137/X"', '"0/UNKNOWN"', "unknown-solver"),
        ('"gflops":[0-9.]+', '"gflops":7', "rate-mismatch"),
        ('"flop_count":[0-9]+', '"flop_count":1', "rate-mismatch count-mismatch"),
        ('"bytes_written":[0-9]+', '"bytes_written":16777217', "count-mismatch"),
        ('"k":128', '"k":64', "problem-mismatch"),
        ('"name":"fwd', '"name":"bwdd', "direction-mismatch problem-mismatch"),
        ("BF16-F", "BF16-W", "direction-mismatch"),
        ('"db_key":"128-256', '"db_key":"128', "db-key"),
        ('"137/X"', '"87/ConvDirectNaiveConvWrw"', "solver-direction"),
        ('"average_time_ms":2', '"average_time_ms":0', "time-not-positive"),
    ],
)
def test_a_performance_line_against_itself(old, new, expected):
    line = re.sub(old, new, performance("X", 2))
    assert codes(COMMAND, line) == [*expected.split(), "no-solution-records"]


def test_a_transposed_convolution_is_filed_under_the_other_direction():
    command = COMMAND.replace("-F 1", "-m trans -F 1")
    line = performance("ConvBwd", 2).replace("BF16-F", "BF16-B")
    assert codes(command, line) == ["no-solution-records"]


# --- Bounds and our own logs ------------------------------------------------------------------------------------------


def test_findings_of_a_kind_are_counted_beyond_a_limit():
    findings = check(*[A[:30]] * (MOST_OF_A_KIND + 50))
    assert len(findings) == MOST_OF_A_KIND + 1
    assert findings[-1].message.startswith("50 more of this kind")
    assert findings[-1].line_number == MOST_OF_A_KIND + 50


def test_the_limit_is_one_of_each_kind():
    made = [Finding(code=code, severity=Severity.INFO, message="m", line_number=1) for code in "aabab"]
    assert [finding.code for finding in capped(made, 2)] == ["a", "a", "b", "b", "a"]


def test_a_finding_as_text():
    finding = Finding(code="c", severity=Severity.WARNING, message="It is so", line_number=7, source="log")
    assert str(finding) == "log:7: warning: It is so [c]"
    assert str(Finding(code="c", severity=Severity.INFO, message="It is so", line_number=0)) == "info: It is so [c]"


def test_a_log_of_our_own_logger_reads_back_loss_free_and_without_findings():
    sink = ListSink()
    logger = PerformanceLogger(4, sink)
    logger.write(CommandLine(command="MIOpenDriver convbfp16 -n 1 -c 128 -H 256 -W 256 -k 128 -p 1 -q 1 -F 1 -t 1"))
    for phase, name, descriptor, time in (
        (KernelPhase.VALIDATION, "ConvImplicitGemm", "64,16", 1.25),
        (KernelPhase.SOLVER_TUNING, "ConvImplicitGemm", "32,16", 1.5),
        (KernelPhase.TUNING, 'Conv"Naive" é€😀\\', "", 9.0),
        (KernelPhase.TUNING, "ConvImplicitGemm", "64,16", 1.25),
        (KernelPhase.EXECUTION, "ConvImplicitGemm", "64,16", 1.25),
    ):
        with logger.scoped_kernel_phase(phase), logger.solution(name, 10001, 4096):
            logger.add_performance_config(name, descriptor)
            for _ in range(5):
                logger.add_kernel("batched_transpose", time / 4)
                logger.add_kernel(f"kernel_of_{descriptor}", time * 3 / 4)
            logger.add_invoker_times([time * 1.3, time, time * 1.01, time, time * 0.99])
    items = list(read_log(sink.lines))
    assert [item.record for item in items] == sink.records()
    assert [f"{item.record.to_line()}\n" for item in items] == sink.lines
    assert not any(item.repairs or item.doubts for item in items)
    assert check_log(items) == []
