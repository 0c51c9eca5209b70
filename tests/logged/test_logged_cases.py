"""Cases out of logs: what of a log is a process, a problem, a time, a verdict, and what is never made up."""

import io
import json

import pytest
from driver.log_samples import (
    COMMAND,
    FIND,
    S2,
    S5,
    S10,
    S10_BACKWARD,
    S10_FORWARD,
    S16,
    S21,
    SYSTEM,
    VERIFIED,
    config,
    performance,
    solution,
)

from pytest_miopen_perf.checking.check import Reason
from pytest_miopen_perf.driver.log_reader import read_log
from pytest_miopen_perf.driver.text_reader import read_driver_text
from pytest_miopen_perf.driver.text_runs import text_runs
from pytest_miopen_perf.gate.keys import CaseKey
from pytest_miopen_perf.logged.cases import logged_session, reported_check
from pytest_miopen_perf.logged.text import logged_text
from pytest_miopen_perf.problem import Direction
from pytest_miopen_perf.results import Result, TrialStatus


def session(*lines):
    return logged_session(read_log(io.StringIO("\n".join(lines))))


def text(*lines):
    return logged_text(text_runs(read_driver_text(io.StringIO("\n".join(lines)))))


def timed(name="ConvA", times="3,2.5,2,2,2", average=2.125, **how):
    return solution(name, config(name, times, "2 0 2 2"), **how), performance(name, average)


def only(found):
    (case,) = found.cases
    return case


def test_an_empty_log_has_no_case():
    assert session().processes == ()
    assert session("rubbish", S2).processes == ()


def test_a_run_is_a_case_with_all_that_the_log_says():
    case = only(session(COMMAND, SYSTEM, S5, FIND, *timed(), VERIFIED))
    result = case.result
    assert (case.outcome, case.nodeid) == ("passed", "log:1")
    assert (result.solver, result.solver_id, result.algorithm, result.config_origin) == ("ConvA", 137, 5, "logged")
    assert result.sample.seconds == pytest.approx([0.003, 0.0025, 0.002, 0.002, 0.002])
    assert (result.sample.warmups, len(result.sample.counted)) == (2, 3)
    assert (result.device.backend, result.device.name) == ("log", "AMD Instinct MI300X")
    assert result.check.reason is Reason.RIGHT
    assert result.check.rms_error == pytest.approx(2.19793e-08)
    assert result.problem.to_driver().endswith("-F 1 -t 1")
    (trial,) = result.find
    assert (trial.solver, trial.status) == ("ConvDirectNaiveConvFwd", TrialStatus.MEASURED)


NEVER_TOLD = ("workspace_bytes", "compile_seconds", "first_launch_seconds", "data", "cache_mode", "tune")


def test_what_a_log_does_not_tell_is_none():
    result = only(session(COMMAND, *timed(), VERIFIED)).result
    assert {getattr(result, name) for name in (*NEVER_TOLD, "seed")} == {None}
    assert (result.sample.stopped_by, result.circumstances.launch_mode) == ("", None)
    numbers = ("compute_units", "wavefront", "lds_bytes", "memory_bytes", "max_block", "max_grid")
    assert {result.to_json()["device"][name] for name in numbers} == {None}
    assert Result.from_json(json.loads(json.dumps(result.to_json()))) == result


def test_a_seed_is_that_of_its_run():
    stated = '{"prng_seed":7}'
    found = session(COMMAND, stated, *timed(), COMMAND, *timed())
    assert [case.result.seed for case in found.cases] == [7, None]


def test_classic_text_tells_no_more():
    driver = "MIOpenDriver conv -n 1 -c 3 -H 224 -W 224 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1 -t 1"
    result = only(text(driver, "GPU Kernel Time Forward Conv. Elapsed: 0.056871 ms (average)")).result
    assert {getattr(result, name) for name in (*NEVER_TOLD, "seed")} == {None}


def test_the_key_of_a_logged_case_does_not_say_that_caches_were_warm():
    key = CaseKey.of(only(session(COMMAND, *timed())).result)
    assert (key.cache_mode, key.data) == ("not known", "data not known, seed not known")
    assert "warm" not in key.sentence
    assert CaseKey.of(only(session(COMMAND, '{"prng_seed":7}', *timed())).result).data == "data not known, seed 7"


def test_every_command_is_a_process():
    found = session(COMMAND, *timed(), COMMAND, *timed(), COMMAND, *timed())
    assert [len(process) for process in found.processes] == [1, 1, 1]


def test_nothing_of_a_run_is_left_for_the_next():
    failed = VERIFIED.replace('"OK"', '"FAILED"').replace("2.19793e-08", "0.5")
    found = session(COMMAND, *timed(), failed, '{"error":"late"}', COMMAND, *timed())
    assert [case.outcome for case in found.cases] == ["error", "passed"]
    assert found.cases[1].result.check.reason is Reason.UNCHECKED


def test_a_log_of_our_own_is_one_process():
    own = timed("HipConvNaiveFwd", solver_id=10001)
    lines = (own[0], own[1].replace("137/", "10001/"))
    found = session(COMMAND, *lines, COMMAND, *lines)
    assert [len(process) for process in found.processes] == [2]
    assert found.cases[0].result.config_origin == "default"


def test_two_directions_are_two_cases():
    command = COMMAND.replace("-F 1", "-F 3")
    found = session(command, S10, S10_FORWARD, S10_BACKWARD)
    assert [case.result.problem.direction for case in found.cases] == [Direction.FORWARD, Direction.BACKWARD_DATA]
    assert [case.result.sample.median_seconds for case in found.cases] == pytest.approx([1e-4, 2e-4])


def test_a_comparison_counts_for_the_direction_that_its_solver_names():
    other = S5.replace("ConvDirectNaiveConvFwd", "ConvDirectNaiveConvBwd")
    command = COMMAND.replace("-F 1", "-F 3")
    found = session(command, S5, other, S10, S10_FORWARD, S10_BACKWARD)
    assert [[trial.solver for trial in case.result.find] for case in found.cases] == [
        ["ConvDirectNaiveConvFwd"],
        ["ConvDirectNaiveConvBwd"],
    ]


def test_without_a_record_the_average_is_the_time():
    case = only(session(COMMAND, performance("ConvA", 2.125)))
    assert case.result.sample.seconds == pytest.approx([0.002125])
    assert case.result.config == ""


def test_without_a_command_the_key_names_the_problem():
    case = only(session(*timed()))
    assert case.result.problem.find_db_key() == json.loads(performance("ConvA", 1))["performance"]["db_key"]


def test_a_key_that_names_nothing_is_an_error_unless_the_command_helps():
    broken = [line.replace("128-256-256-3x3", "128-256-3x3") for line in timed()]
    assert only(session(*broken)).outcome == "error"
    assert only(session(COMMAND, *broken)).outcome == "passed"


def test_numbers_that_nobody_looked_at_are_unchecked():
    check = only(session(COMMAND, *timed())).result.check
    assert (check.reason, check.passed, check.rms_error) == (Reason.UNCHECKED, True, None)


def test_a_verdict_is_of_its_direction():
    case = only(session(COMMAND, *timed(), S21))
    assert case.result.check.reason is Reason.UNCHECKED


def test_failed_numbers_fail_the_case():
    case = only(session(COMMAND, *timed(), VERIFIED.replace('"OK"', '"FAILED"').replace("2.19793e-08", "0.5")))
    assert (case.outcome, case.result.check.reason) == ("failed", Reason.RMS)
    assert "0.5" in case.message


def test_an_error_of_the_driver_is_the_cases():
    error = '{"error":"RunForwardGPU() FAILED, rc = 0x7"}'
    assert only(session(COMMAND, error)).message == "RunForwardGPU() FAILED, rc = 0x7"
    case = only(session(COMMAND, *timed(), error))
    assert (case.outcome, case.result) == ("error", None)


def test_a_command_without_figures_is_an_error():
    assert "no performance line" in only(session(COMMAND)).message


def test_a_time_that_is_none_is_an_error():
    lines = [solution("ConvA", config("ConvA", "", "0 0 0 0")), performance("ConvA", 1.0)]
    lines[1] = lines[1].replace('"average_time_ms":1.0', '"average_time_ms":0')
    case = only(session(COMMAND, *lines))
    assert case.outcome == "error"
    assert "no valid time" in case.message


def test_kernels_keep_their_times():
    case = only(session(COMMAND, S16.replace("solver_tuning", "execution"), performance("ConvA", 0.7)))
    assert len(case.result.kernels) == 3
    assert case.result.kernels[0].seconds == pytest.approx([0.0007] * 2), "those of the two warm-ups do not count"
    assert case.result.kernels[1].seconds == pytest.approx([0.0004] * 2), "of another run: which ones nobody knows"


def test_a_config_is_kept():
    line = solution("ConvA", config("k", "3,2,2,2", "2 0 2 2", descriptor="64,32"))
    assert only(session(COMMAND, line, performance("ConvA", 2))).result.config == "64,32"


def test_neither_host_nor_place_of_the_log_gets_into_a_case():
    found = session(COMMAND, SYSTEM.replace('"h1"', '"secret"'), *timed())
    assert "secret" not in json.dumps([case.to_json() for case in found.cases])
    assert dict(found.versions) == {"MIOpen": "3.5.1", "ROCm": "7.1.25424", "amdgpu": "6.14.15"}


def test_the_environment_is_of_the_last_find():
    assert dict(session(COMMAND, FIND, *timed()).environment)["MIOPEN_FIND_MODE"] == "5"


def test_cases_survive_json():
    for case in session(COMMAND, SYSTEM, S5, FIND, *timed(), VERIFIED).cases:
        assert type(case).from_json(json.loads(json.dumps(case.to_json(), allow_nan=False))) == case


@pytest.mark.parametrize(
    ("passed", "error", "reason"),
    [
        (None, 0.1, Reason.UNCHECKED),
        (True, 0.1, Reason.RIGHT),
        (True, None, Reason.RIGHT),
        (False, 0.1, Reason.RMS),
        (False, float("nan"), Reason.NOT_FINITE),
        (False, None, Reason.NOT_FINITE),
        (False, 1.79769e308, Reason.UNWRITTEN),
    ],
)
def test_what_a_program_says_of_its_numbers(passed, error, reason):
    check = reported_check(passed=passed, error=error, tolerance=1e-3)
    assert check.reason is reason
    assert check.passed is (passed is not False)
    json.dumps(check.to_json(), allow_nan=False)


# --- Classic text -----------------------------------------------------------------------------------------------------

TEXT = (
    "MIOpenDriver conv -n 1 -c 3 -H 224 -W 224 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1 -t 1",
    "MIOpen Forward Conv. Algorithm: 3, Solution: 139/ConvWinoFuryRxS<2-3>",
    "GPU Kernel Time Forward Conv. Elapsed: 0.056871 ms (average)",
    "Forward Convolution Verifies OK on GPU reference (2.19793e-08 < 1.5e-06)",
)


def test_a_text_is_a_case_with_its_average():
    result = only(text(*TEXT)).result
    assert (result.solver, result.solver_id, result.algorithm) == ("ConvWinoFuryRxS<2-3>", 139, 3)
    assert result.sample.seconds == pytest.approx([5.6871e-05])
    assert result.check.reason is Reason.RIGHT


def test_every_run_of_a_text_is_a_process():
    assert [len(process) for process in text(*TEXT, *TEXT).processes] == [1, 1]


def test_a_text_without_a_command_names_no_problem():
    found = text(*TEXT[1:])
    assert (found.processes, found.unnamed) == ((), 1)


def test_a_text_without_a_solution_is_of_an_unknown_solver():
    assert only(text(TEXT[0], *TEXT[2:])).result.solver == "UNKNOWN"


def test_a_failed_run_of_a_text_is_an_error():
    case = only(text(TEXT[0], "RunForwardGPU() FAILED, rc = 0x7"))
    assert (case.outcome, case.message) == ("error", "RunForwardGPU() failed with status 0x7")


def test_wrong_numbers_of_a_text_fail():
    case = only(text(*TEXT[:3], "Forward Convolution FAILED: 0.5 > 1.5e-06"))
    assert (case.outcome, case.result.check.reason) == ("failed", Reason.RMS)


# --- Logs of this project ---------------------------------------------------------------------------------------------


def own(name, times, *, descriptor="", phase="execution", solver_id=10011):
    figures = "1 0 1 1" if times else "0 0 0 0"
    tried = config(name, times, figures, descriptor=descriptor, exec_number=int(bool(times)))
    return solution(name, tried, phase=phase, solver_id=solver_id)


SEARCHED = own("HipConvAFwd", "9,3", descriptor="16", phase="solver_tuning")
FASTER = own("HipConvAFwd", "9,9,2,2.5,2", descriptor="32", phase="solver_tuning")
FAILED = own("HipConvAFwd", "", descriptor="64", phase="solver_tuning")
TIMED = own("HipConvAFwd", "3,3,2,2,2", descriptor="32")
LINE = performance("HipConvAFwd", 2.25, solver_id=10011)


def test_a_config_is_tuned_where_its_search_is_in_the_log():
    result = only(session(COMMAND, SEARCHED, FASTER, TIMED, LINE)).result
    assert (result.config, result.config_origin, result.tune) == ("32", "tuned", None)


def test_a_config_from_elsewhere_is_called_logged_and_none_is_the_default():
    assert only(session(COMMAND, SEARCHED, TIMED, LINE)).result.config_origin == "logged"
    assert only(session(COMMAND, TIMED, LINE)).result.config_origin == "logged"
    plain = only(session(COMMAND, own("HipConvAFwd", "3,2,2,2"), LINE)).result
    assert (plain.config, plain.config_origin, plain.tune) == ("", "default", None)


def test_a_search_is_told_with_its_trials_and_without_what_no_log_tells():
    (search,) = only(session(COMMAND, SEARCHED, FASTER, FAILED, FASTER, TIMED, LINE)).result.tuning
    assert [(trial.config, trial.median_seconds, trial.samples) for trial in search.trials] == [
        ("16", 0.003, 1),
        ("32", 0.002, 3),
        ("64", None, 0),
    ]
    assert (search.solver, search.best_config, search.failed) == ("HipConvAFwd", "32", 1)
    assert (search.default_config, search.valid_configs, search.seconds, search.stopped_by) == ("", 0, 0.0, "")


@pytest.mark.parametrize(
    ("times", "phase", "expected"),
    [
        ("5", "tuning", [(1, 0.005)]),
        ("5,4", "tuning", [(1, 0.004)]),
        ("9,9,4,4,4", "tuning", [(3, 0.004)]),
        ("5", "solver_tuning", [(1, 0.005)]),
        ("5,4", "solver_tuning", []),
        ("4,4,5", "solver_tuning", [(3, 0.004)]),
        ("", "tuning", []),
    ],
)
def test_a_solver_that_was_clearly_slower_once_was_compared_too(times, phase, expected):
    result = only(session(COMMAND, own("HipConvBFwd", times, phase=phase), TIMED, LINE)).result
    assert [(trial.samples, trial.median_seconds) for trial in result.find] == expected
