"""The summary: worst news first, 80 columns, nothing cut off."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import small_problems

from pytest_miopen_perf.cases import Case
from pytest_miopen_perf.checking.check import Check, Reason
from pytest_miopen_perf.launch import DeviceInfo
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.report.terminal import summary_lines
from pytest_miopen_perf.results import KernelTimes, Result, Sample, Trial, TrialStatus, Tuning
from pytest_miopen_perf.settings import Settings

DEVICE = DeviceInfo(
    backend="cpu",
    name="A CPU",
    arch="x86_64",
    compute_units=2,
    wavefront=1,
    lds_bytes=1,
    memory_bytes=2,
    compiler="clang 22",
)
RIGHT = Check(
    reason=Reason.RIGHT, rms_error=1e-8, rms_tolerance=1e-6, worst=(0,), got=1.0, want=1.0, bound=0.1, sentence=""
)
WRONG = replace(RIGHT, reason=Reason.RMS, sentence="rms error 1 of 1e-06")
QUIET = (1e-3,) * 9
NOISY = (1e-3, 2e-3, 3e-3, 4e-3)


def problem(channels=4):
    return ConvProblem.from_driver(f"conv -n 1 -c {channels} -H 6 -W 6 -k 4 -F 1")[0]


def case(result, outcome="passed", message=""):
    return Case(nodeid="t", problem=str(result.problem), outcome=outcome, message=message, result=result)


def result(channels=4, seconds=QUIET, check=RIGHT, **more):
    return Result(
        problem=problem(channels),
        device=DEVICE,
        solver="HipConvImplicitGemmFwd",
        solver_id=10011,
        algorithm=5,
        config="64,128,128,16,8,8",
        config_origin="tuned",
        workspace_bytes=0,
        check=check,
        sample=Sample(seconds=seconds) if seconds else None,
        **more,
    )


TUNED = result(
    kernels=(KernelTimes(name="implicit_gemm_conv_fwd", seconds=QUIET),),
    tuning=(
        Tuning(
            solver="HipConvImplicitGemmFwd",
            default_config="a",
            best_config="b",
            trials=(
                Trial(solver="S", config="a", status=TrialStatus.MEASURED, median_seconds=2.0),
                Trial(solver="S", config="b", status=TrialStatus.MEASURED, median_seconds=1.0),
                Trial(solver="S", config="c", status=TrialStatus.COMPILE_FAILED),
            ),
            valid_configs=40,
            seconds=12.0,
            stopped_by="count",
            seed=1,
            ties=("d",),
        ),
    ),
    find=(
        Trial(solver="HipConvImplicitGemmFwd", config="b", status=TrialStatus.MEASURED, median_seconds=1e-3, samples=7),
        Trial(solver="HipConvNaiveFwd", config="", status=TrialStatus.LAUNCH_FAILED, reason="no"),
    ),
)


def summary(*cases, level=1, width=80, **settings):
    return summary_lines(cases, Settings(level=level, **settings), log_path=None, width=width, has_colour=False)


def test_a_timed_case():
    lines = summary(case(TUNED))
    assert [line.split() for line in lines[:4]] == [
        ["problem,", "solver,", "config", "n", "median", "noise", "MIOpen", "GFLOP/s", "check"],
        ["fp32-F-1x4x6x6-k4-3x3"],
        ["HipConvImplicitGemmFwd", "9", "1.00", "ms", "0.00%", "1.00", "ms", "0.005", "ok"],
        ["config", "64,128,128,16,8,8", "(tuned)"],
    ]
    assert "times are of this CPU running the HIP text, never of a GPU" in lines[-4]
    assert lines[-2:] == ["searches 1 of 3 configs failed; level 3 tells which, and why", "cases    1 passed"]
    assert not any(line.startswith("searches") for line in summary(case(TUNED), level=3))


def test_levels_add_kernels_and_what_was_tried():
    def has(level):
        text = "\n".join(summary(case(TUNED), level=level))
        return (
            "implicit_gemm_conv_fwd" in text,
            "of 40 valid, 1 failed, by count" in text,
            "find HipConvNaive" in text,
        )

    assert [has(level) for level in (1, 2, 3, 4)] == [
        (False, False, False),
        (True, False, False),
        (False, True, True),
        (True, True, True),
    ]


def test_the_gain_and_the_failure_of_what_was_tried_are_told():
    text = "\n".join(summary(case(TUNED), level=3))
    assert "best 2.00x of the default's speed" in text
    assert "launch failed" in text
    assert "d is as fast" in text


def test_a_search_in_which_nothing_worked_says_that_the_default_stays():
    (tuning,) = TUNED.tuning
    failed = tuple(replace(trial, status=TrialStatus.WRONG, median_seconds=None) for trial in tuning.trials)
    lines = summary(case(replace(TUNED, tuning=(replace(tuning, trials=failed, best_config="a", ties=()),))), level=3)
    assert "nothing was measured, the default config stays" in " ".join(line.strip() for line in lines)


def test_worst_news_first():
    lines = summary(
        case(result(1)),
        case(result(2, seconds=NOISY)),
        Case(nodeid="t", problem="p3", outcome="error", message="no such entry\nlog"),
        case(result(4, seconds=None, check=WRONG), "failed"),
    )
    order = [line for line in lines if line.startswith(("fp32", "p3"))]
    assert order == ["fp32-F-1x4x6x6-k4-3x3", "p3", "fp32-F-1x2x6x6-k4-3x3", "fp32-F-1x1x6x6-k4-3x3"]
    text = "\n".join(lines)
    assert "WRONG" in text
    assert "no such entry" in text
    assert "%!" in text
    assert lines[-1] == "cases    1 failed, 1 error, 2 passed"


def test_at_level_0_only_what_went_wrong_has_rows():
    assert summary(case(result(seconds=None)), level=0)[0].startswith("device")
    assert "WRONG" in "\n".join(summary(case(result(seconds=None, check=WRONG), "failed"), level=0))


def test_nothing_to_say_says_nothing():
    assert summary() == []
    assert summary(Case(nodeid="t", log=("x\n",))) == []


def test_files_are_named():
    lines = summary_lines(
        [case(result())], Settings(json_path=Path("/a/r.json")), log_path=Path("/a/l.jsonl"), width=80, has_colour=False
    )
    assert "log      /a/l.jsonl" in lines
    assert "results  /a/r.json" in lines


def test_colour_only_where_there_is_colour():
    plain = summary_lines([case(result())], Settings(level=1), log_path=None, width=80, has_colour=False)
    coloured = summary_lines([case(result())], Settings(level=1), log_path=None, width=80, has_colour=True)
    assert "\x1b" not in "".join(plain)
    assert "\x1b" in "".join(coloured)


@given(st.lists(small_problems(), min_size=1, max_size=4), st.sampled_from([1, 2, 3, 4]))
def test_the_table_fits_80_columns_and_loses_no_word(problems, level):
    cases = [case(replace(TUNED, problem=problem)) for problem in problems]
    lines = summary(*cases, level=level)
    table = lines[: lines.index("")]
    assert max(map(len, table)) <= 80
    text = "".join(line.strip() for line in table)
    for one in problems:
        assert str(one) in text
    assert "…" not in text


@pytest.mark.parametrize("width", [80, 120, 200])
def test_wider_terminals_change_nothing_but_folding(width):
    assert "HipConvImplicitGemmFwd" in "\n".join(summary(case(TUNED), width=width))


def trials_of(*reasons):
    return tuple(
        Trial(solver="S", config=f"c{number}", status=TrialStatus.COMPILE_FAILED, reason=reason)
        for number, reason in enumerate(reasons)
    )


def test_the_first_failures_of_a_search_are_rows_and_the_rest_is_counted():
    (tuning,) = TUNED.tuning
    failed = trials_of("failed before: it hung\nwith a log", "no", "", "no", "no")
    text = "\n".join(summary(case(replace(TUNED, tuning=(replace(tuning, trials=failed),))), level=3, width=120))
    assert "c0: failed before: it hung" in text
    assert "with a log" not in text
    assert "c2: compile failed" in text
    assert "c3" not in text
    assert "and 2 more" in text


def test_what_an_earlier_search_left_is_told():
    (tuning,) = TUNED.tuning
    text = "\n".join(summary(case(replace(TUNED, tuning=(replace(tuning, known_before=2),))), level=3))
    assert "2 known from before" in text


def test_a_solver_that_was_passed_over_for_want_of_memory_is_told_at_every_level_and_is_no_failure():
    short = replace(
        TUNED,
        tuning=(),
        find=(Trial(solver="Big", config="", status=TrialStatus.NO_MEMORY, reason="needs 3 GiB"),),
        memory_note="Big is passed over: it needs 3 GiB",
    )
    assert "short of memory: Big is passed over" in "\n".join(summary(case(short), level=1))
    text = "\n".join(summary(case(short), level=3))
    assert "out of memory" in text
    assert "FAILED" not in text


# --- What a log tells -------------------------------------------------------------------------------------------------


def logged(**changes):
    device = replace(TUNED.device, backend="log", arch="", compiler="")
    return replace(TUNED, device=device, seed=7, **changes)


def test_of_a_log_the_settings_of_the_reader_are_not_told():
    lines = summary(case(logged()), case(replace(logged(), seed=8)))
    assert "data     seed 7, seed 8" in lines
    assert "level 1" not in "\n".join(lines)


def test_the_conditions_of_another_session_are_those_that_are_given():
    lines = summary_lines(
        [case(TUNED)], Settings(level=1), log_path=None, width=80, has_colour=False, conditions="of old"
    )
    assert "data     of old" in lines


def test_a_search_in_a_log_has_neither_a_time_nor_a_reason_to_end():
    (tuning,) = TUNED.tuning
    search = replace(tuning, default_config="", valid_configs=0, seconds=0.0, stopped_by="", ties=())
    lines = summary(case(logged(tuning=(search,))), level=3)
    row = next(line for line in lines if "tuned HipConv" in line)
    assert row.split() == ["tuned", "HipConvImplicitGemmFwd", "3"]
    assert "valid" not in "\n".join(lines)
    assert "      1 failed" in lines
