"""One problem from the question to the result, on the scripted device."""

import contextlib
import json
from dataclasses import replace
from functools import partial

import pytest

from pytest_miopen_perf import records
from pytest_miopen_perf.devices.script import DEFAULT_SCRIPT, KernelScript, Script, Variation
from pytest_miopen_perf.devices.scripted import ScriptedDevice
from pytest_miopen_perf.errors import CompileError, NotApplicableError, SettingsError
from pytest_miopen_perf.gate.keys import CaseKey
from pytest_miopen_perf.measuring.circumstances import Circumstances
from pytest_miopen_perf.perflog import PerformanceLogger
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.results import Result, TrialStatus
from pytest_miopen_perf.running.choosing import Chooser
from pytest_miopen_perf.running.runner import Levels, Runner
from pytest_miopen_perf.running.tuned import SessionConfigs
from pytest_miopen_perf.settings import Settings, TunePolicy
from pytest_miopen_perf.solvers import builtin_solvers
from pytest_miopen_perf.telemetry import NoSensor
from pytest_miopen_perf.telemetry.household import Household
from pytest_miopen_perf.telemetry.opening import sensor_of

(PROBLEM,) = ConvProblem.from_driver("conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1")
NAIVE = [solver for solver in builtin_solvers() if solver.name == "HipConvNaiveFwd"]
IMPLICIT_GEMM = [solver for solver in builtin_solvers() if solver.name == "HipConvImplicitGemmFwd"]
TIMED = Settings(level=4, tune_max_configs=4)


def run(problem=PROBLEM, script=DEFAULT_SCRIPT, solvers=None, settings=TIMED, tuned=None, log=None):
    lines = [] if log is None else log
    device = ScriptedDevice(script)
    runner = Runner(device, Chooser(tuned=tuned or SessionConfigs()))
    logger = PerformanceLogger(settings.level, lines.append)
    try:
        return runner.run(problem, solvers=solvers or [*IMPLICIT_GEMM, *NAIVE], settings=settings, logger=logger)
    finally:
        device.close()


def test_the_fastest_solver_is_executed():
    fast_naive = Script(rules=(KernelScript(kernel="naive*", seconds=1e-6), KernelScript(seconds=1e-3)))
    result = run(script=fast_naive)
    assert result.solver == "HipConvNaiveFwd"
    assert [trial.solver for trial in result.find] == ["HipConvImplicitGemmFwd", "HipConvNaiveFwd"]
    assert result.sample.median_seconds == pytest.approx(1e-6)
    slow_naive = Script(rules=(KernelScript(kernel="naive*", seconds=1e-3), KernelScript(seconds=1e-6)))
    assert run(script=slow_naive).solver == "HipConvImplicitGemmFwd"


def test_a_single_candidate_is_not_compared():
    result = run(solvers=NAIVE)
    assert (result.solver, result.find, result.tuning) == ("HipConvNaiveFwd", (), ())


def test_a_transposed_problem_runs_as_its_mirror_and_keeps_its_name():
    (problem,) = ConvProblem.from_driver("conv -n 1 -c 4 -H 4 -W 4 -k 4 -y 2 -x 2 -u 2 -v 2 -m trans -F 1")
    result = run(problem, solvers=list(builtin_solvers()))
    assert result.problem == problem
    assert result.solver.endswith("Bwd")
    assert result.check.passed


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("conv -n 1 -c 4 -H 2 -W 2 -k 4 -y 5 -x 5 -F 1", "computes nothing: "),
        ("conv -n 1 -c 4 -H 6 -W 6 -k 4 -F 2", "no solver applies to fp32-B-.*: 2 solvers compute other directions"),
        ("conv -n 512 -c 512 -H 256 -W 256 -k 512 -F 1", r"is too big: it needs .* GiB of memory and .* may be used"),
    ],
)
def test_what_cannot_run_says_why(line, words):
    (problem,) = ConvProblem.from_driver(line)
    with pytest.raises(NotApplicableError, match=words):
        run(problem)


def test_the_host_counts_only_where_it_is_the_device():
    device_bytes = sum(PROBLEM.tensor_bytes)
    assert run(settings=replace(TIMED, memory_bytes=device_bytes)).check.passed
    with pytest.raises(NotApplicableError, match="too big"):
        run(settings=replace(TIMED, memory_bytes=device_bytes - 1))


def test_wrong_numbers_are_a_result_without_a_sample():
    result = run(script=Script(rules=(KernelScript(wrong="zeros"),)), solvers=NAIVE)
    assert not result.check.passed
    assert result.sample is None


def test_a_wrong_solver_is_never_ranked_however_fast():
    script = Script(rules=(KernelScript(kernel="implicit*", seconds=1e-9, wrong="nan"), KernelScript(seconds=1e-3)))
    result = run(script=script)
    assert result.solver == "HipConvNaiveFwd"
    assert result.find[0].status is TrialStatus.WRONG


def test_a_single_kernel_that_does_not_compile_is_raised_in_full():
    script = Script(rules=(KernelScript(compile_error="error: no such thing"),))
    with pytest.raises(CompileError, match="no such thing"):
        run(script=script, solvers=NAIVE)


def test_at_level_0_every_candidate_is_checked_and_nothing_timed():
    result = run(settings=Settings())
    assert (result.sample, [trial.status for trial in result.find]) == (None, [TrialStatus.CHECKED] * 2)
    wrong = Script(rules=(KernelScript(kernel="naive*", wrong="zeros"), KernelScript()))
    assert run(script=wrong, settings=Settings()).find[1].status is TrialStatus.WRONG


def test_a_results_file_is_reason_enough_to_time(tmp_path):
    assert run(settings=Settings(json_path=tmp_path / "r.json")).sample is not None


def test_a_fixed_count_of_runs():
    assert len(run(settings=replace(TIMED, iterations=6)).sample.counted) == 6


def test_tuning_is_remembered_by_whoever_keeps_it():
    tuned = SessionConfigs()
    settings = replace(TIMED, tune=TunePolicy.MISSING)
    first = run(settings=settings, tuned=tuned, solvers=IMPLICIT_GEMM)
    second = run(settings=settings, tuned=tuned, solvers=IMPLICIT_GEMM)
    assert len(first.tuning) == 1
    assert second.tuning == ()
    assert first.config == second.config == tuned.config("HipConvImplicitGemmFwd", PROBLEM)


def find_lines(log):
    return [json.loads(line) for line in log if "find_time_conv_ms" in line]


def test_a_comparison_writes_its_time_with_the_environment():
    log = []
    run(log=log, settings=replace(TIMED, level=1, tune=TunePolicy.MISSING))
    (line,) = find_lines(log)
    assert line["find_time_conv_ms"] > 0
    assert (line["direction"], line["environment_variables"]["MIOPEN_FIND_MODE"]) == ("forward", 5)
    assert log.index(next(text for text in log if "find_time" in text)) < len(log) - 2


def test_the_direction_of_a_find_is_the_one_that_was_asked_for():
    (problem,) = ConvProblem.from_driver("conv -n 1 -c 4 -H 4 -W 4 -k 4 -y 2 -x 2 -u 2 -v 2 -m trans -F 1")
    log = []
    result = run(problem, solvers=list(builtin_solvers()), log=log)
    assert (len(result.find) > 1, [line["direction"] for line in find_lines(log)]) == (True, ["forward"])


@pytest.mark.parametrize("what", [{"solvers": NAIVE}, {"settings": Settings()}])
def test_without_a_comparison_by_time_there_is_no_find_line(what):
    log = []
    run(log=log, **what)
    assert find_lines(log) == []


def test_tuning_anew_starts_from_what_is_known():
    device = ScriptedDevice(DEFAULT_SCRIPT)
    default = IMPLICIT_GEMM[0].default_config(PROBLEM, device.info)
    known = [config for config in IMPLICIT_GEMM[0].configs(PROBLEM, device.info) if config != default][-1].serialize()
    tuned = SessionConfigs()
    tuned.remember("HipConvImplicitGemmFwd", PROBLEM, known, 1e-5)
    (tuning,) = run(settings=replace(TIMED, tune=TunePolicy.FORCE), tuned=tuned, solvers=IMPLICIT_GEMM).tuning
    assert [trial.config for trial in tuning.trials[:2]] == [default.serialize(), known]


def test_an_interrupted_search_keeps_what_earlier_ones_found():
    tuned = SessionConfigs()
    settings = replace(TIMED, tune=TunePolicy.MISSING)
    run(settings=settings, tuned=tuned, solvers=IMPLICIT_GEMM)
    (other,) = ConvProblem.from_driver("conv -n 1 -c 4 -H 8 -W 8 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1")

    @contextlib.contextmanager
    def interrupting():
        def report(step):
            if step.done == 2:
                raise KeyboardInterrupt

        yield report

    runner = Runner(ScriptedDevice(DEFAULT_SCRIPT), Chooser(tuned=tuned, display=interrupting))
    with pytest.raises(KeyboardInterrupt):
        runner.run(other, solvers=IMPLICIT_GEMM, settings=settings, logger=PerformanceLogger(0, print))
    assert tuned.config("HipConvImplicitGemmFwd", PROBLEM) is not None
    assert tuned.config("HipConvImplicitGemmFwd", other) is None


def test_a_given_config_must_be_valid():
    valid = next(IMPLICIT_GEMM[0].configs(PROBLEM, ScriptedDevice(DEFAULT_SCRIPT).info)).serialize()
    result = run(settings=replace(TIMED, config=valid), solvers=IMPLICIT_GEMM)
    assert (result.config, result.config_origin) == (valid, "given")
    with pytest.raises(SettingsError, match="is not valid for HipConvImplicitGemmFwd"):
        run(settings=replace(TIMED, config=valid.replace(valid[:2], "7", 1)), solvers=IMPLICIT_GEMM)


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_every_line_of_the_log_is_valid_and_closes_with_the_figures_of_the_result(level):
    log = []
    result = run(settings=replace(TIMED, level=level, tune=TunePolicy.FORCE), log=log)
    lines = [json.loads(line) for line in log]
    for line in lines:
        records.validate(line)
    performance, verification = lines[-2]["performance"], lines[-1]["verification"]
    assert performance["solution"] == f"{result.solver_id}/{result.solver}"
    assert performance["db_key"] == PROBLEM.find_db_key()
    assert performance["results"]["flop_count"] == PROBLEM.flops
    assert (verification["status"], verification["reference"]) == ("OK", "CPU")


def test_one_seed_gives_one_answer():
    assert run(settings=replace(TIMED, seed=5)).check == run(settings=replace(TIMED, seed=5)).check


SHORT = Script(
    empty_launch_seconds=2.3e-6,
    timer_step_seconds=1e-6,
    rules=(KernelScript(seconds=2.5e-6, variation=Variation(noise=0.01)),),
)


def run_with_instruments(script, settings=TIMED, device=None, solvers=NAIVE, log=None):
    """As in a session: with the device's clock and sensors."""
    device = device or ScriptedDevice(script)
    sensor = partial(sensor_of, household=Household.of_process())
    lines = [] if log is None else log
    runner = Runner(device, Chooser(tuned=SessionConfigs()), sensor)
    return runner.run(
        PROBLEM, solvers=solvers, settings=settings, logger=PerformanceLogger(settings.level, lines.append)
    )


def test_a_kernel_that_the_timer_is_too_coarse_for_is_batched_and_told_finer_than_its_step():
    result = run_with_instruments(SHORT)
    assert result.circumstances.timer_step_seconds == pytest.approx(1e-6, rel=1e-6)
    assert result.circumstances.launch_mode == "batched"
    assert result.sample.batch * 2e-6 >= 100e-6 * 0.99
    assert result.sample.median_seconds == pytest.approx(2.5e-6, rel=0.02)
    assert {round(time * 1e6) for kernel in result.kernels for time in kernel.seconds} <= {2, 3}


def test_a_batched_run_logs_its_times_and_the_kernels_that_ran_by_themselves():
    log = []
    result = run_with_instruments(SHORT, log=log)
    for line in log:
        records.validate(json.loads(line))
    (kernel,) = result.kernels
    assert len(kernel.seconds) == 3 < len(result.sample.counted)


@pytest.mark.parametrize("launch_mode", ["isolated", "back-to-back"])
@pytest.mark.parametrize("cache_state", ["warm", "rotating", "cold"])
def test_the_result_says_how_it_was_taken(cache_state, launch_mode):
    if (cache_state, launch_mode) == ("cold", "back-to-back"):
        with pytest.raises(SettingsError, match="exclude each other"):
            replace(TIMED, cache_state=cache_state, launch_mode=launch_mode)
        return
    settings = replace(TIMED, cache_state=cache_state, launch_mode=launch_mode)
    result = run_with_instruments(Script(cache_bytes=2**15), settings)
    assert result.check.passed
    assert (result.cache_mode, result.circumstances.launch_mode) == (cache_state, launch_mode)
    assert (result.sample.batch > 1) == (launch_mode == "back-to-back")
    assert (cache_state == "warm") == (result.circumstances.cache_note == "")
    assert Result.from_json(result.to_json()) == result


def test_cold_caches_keep_a_short_kernel_by_itself():
    result = run_with_instruments(SHORT, replace(TIMED, cache_state="cold"))
    assert (result.sample.batch, result.circumstances.launch_mode) == (1, "isolated")


def test_a_device_that_tells_of_no_cache_runs_warm_alone():
    with pytest.raises(NotApplicableError, match="cannot be made rotating: the device does not tell how large"):
        run_with_instruments(Script(cache_bytes=0), replace(TIMED, cache_state="rotating"))
    assert run_with_instruments(Script(cache_bytes=0)).sample is not None


def test_at_level_0_nothing_is_asked_of_the_clock_and_no_cache_is_touched():
    device = ScriptedDevice(Script(cache_bytes=0, empty_launch_seconds=1.0))
    settings = Settings(cache_state="rotating")
    result = run_with_instruments(None, settings, device)
    assert (result.sample, result.circumstances, result.cache_mode) == (None, Circumstances(), "warm")
    assert device._empty_launches == 0


def test_the_clock_is_looked_at_once_a_session():
    device = ScriptedDevice(Script())
    runner = Runner(device, Chooser(tuned=SessionConfigs()), lambda _: NoSensor("none"))
    compiled = []
    compile_kernel = device.compile
    device.compile = lambda source: (compiled.append(source.entry), compile_kernel(source))[1]
    for _ in range(2):
        runner.run(PROBLEM, solvers=NAIVE, settings=TIMED, logger=PerformanceLogger(0, print))
    assert compiled.count("empty_launch") == 1


def test_others_on_the_device_taint_the_result():
    result = run_with_instruments(Script(other_processes=2))
    assert result.taint == "2 other processes held the device while it was measured"
    assert result.circumstances.sensor == "its script"
    assert run_with_instruments(Script()).taint == ""


def test_the_log_begins_with_the_question_and_the_seed_of_data_and_searches():
    log = []
    result = run(log=log, settings=replace(TIMED, seed=7, tune=TunePolicy.FORCE))
    command, seed = (json.loads(line) for line in log[:2])
    assert command == {"command": PROBLEM.to_driver()}
    assert seed == {"prng_seed": 7}
    assert (result.seed, result.tuning[0].seed) == (7, 7)


@pytest.mark.parametrize("launch_mode", ["isolated", "back-to-back"])
def test_two_levels_of_the_log_are_timed_as_one_version_is(launch_mode):
    device = ScriptedDevice(replace(SHORT, other_processes=1))
    sensor = partial(sensor_of, household=Household.of_process())
    runner = Runner(device, Chooser(tuned=SessionConfigs()), sensor)
    levels = Levels(base=0, new=4, orders=("ABBA", "BAAB"), launches=3, sink=lambda _: None)
    settings = replace(TIMED, launch_mode=launch_mode)
    result, paired = runner.run_levels(PROBLEM, solvers=NAIVE, settings=settings, levels=levels)
    alone = runner.run(PROBLEM, solvers=NAIVE, settings=settings, logger=PerformanceLogger(0, print))
    for arm in (result, paired.base):
        assert CaseKey.of(arm) == CaseKey.of(alone)
        assert arm.sample.batch > 1
        assert arm.sample.median_seconds == pytest.approx(2.5e-6, rel=0.02)
        assert "another process held the device" in arm.taint
        assert len(arm.circumstances.blocks) == 4
