"""Which solver is chosen: stored comparisons that still hold, searches not repeated, workspaces too large."""

import itertools
import json
from dataclasses import dataclass, replace

import pytest

from pytest_miopen_perf import records
from pytest_miopen_perf.database.store import TunedStore
from pytest_miopen_perf.devices import DeviceOptions, cpu
from pytest_miopen_perf.devices.script import KernelScript, Script
from pytest_miopen_perf.devices.scripted import ScriptedDevice
from pytest_miopen_perf.errors import LaunchError, NotApplicableError
from pytest_miopen_perf.perflog import PerformanceLogger
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.results import Trial, TrialStatus
from pytest_miopen_perf.running.choosing import Choice, Chooser, Chosen
from pytest_miopen_perf.running.conv_run import ConvRun
from pytest_miopen_perf.running.runner import Runner
from pytest_miopen_perf.running.tuned import tried_configs, tuned_configs
from pytest_miopen_perf.settings import Settings, TunePolicy
from pytest_miopen_perf.solvers import builtin_solvers
from pytest_miopen_perf.solvers.planned import PlannedConfig

(FORWARD,) = ConvProblem.from_driver("conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1")
(WEIGHTS,) = ConvProblem.from_driver("conv -n 4 -c 8 -H 32 -W 32 -k 8 -y 3 -x 3 -p 1 -q 1 -F 4")
SOLVERS = {solver.name: solver for solver in builtin_solvers()}
NAIVE, GEMM, IM2COL = (SOLVERS[f"HipConv{name}Fwd"] for name in ("Naive", "ImplicitGemm", "Im2colGemm"))
SPLIT = SOLVERS["HipConvImplicitGemmWrw"]
SLOW_NAIVE = KernelScript(kernel="naive*", seconds=1e-2)
STEADY = KernelScript(seconds=1e-3)
RANKED = (SLOW_NAIVE, KernelScript(kernel="implicit*", seconds=5e-3), KernelScript(seconds=1e-6))
"""Im2col and GEMM are the fastest, the naive solver is the slowest."""


@dataclass(frozen=True)
class Bench:
    """Sessions one after the other on one data base."""

    settings: Settings

    def session(self, problem=FORWARD, solvers=(GEMM, NAIVE), rules=(SLOW_NAIVE, STEADY), log=None, **changes):
        return self.on(ScriptedDevice(Script(rules=tuple(rules))), problem, solvers, log, **changes)

    def on(self, device, problem, solvers, log=None, **changes):
        settings = replace(self.settings, **changes)
        tuned = tuned_configs(settings, device.info, list(solvers))
        runner = Runner(device, Chooser(tuned=tuned, tried=tried_configs(settings, device.info)))
        lines = [] if log is None else log
        try:
            return runner.run(
                problem, solvers=solvers, settings=settings, logger=PerformanceLogger(settings.level, lines.append)
            )
        finally:
            device.close()


@pytest.fixture
def bench(tmp_path):
    settings = Settings(
        level=4, tune=TunePolicy.MISSING, tune_max_configs=4, iterations=3, db_dir=tmp_path / "db", cache_dir=tmp_path
    )
    return Bench(settings)


# --- a stored Find


def test_an_unchanged_second_session_tunes_and_compares_nothing(bench):
    first, second = bench.session(), bench.session()
    assert (len(first.tuning), len(first.find)) == (1, 2)
    assert (second.tuning, second.find) == ((), ())
    assert (second.solver, second.config, second.config_origin) == (first.solver, first.config, "tuned")


def test_an_unchanged_second_session_compiles_nothing(bench, monkeypatch):
    compiled = []
    compile_unit = cpu.compile_unit

    def counted(compiler, unit, name, timeout_s):
        compiled.append(name)
        return compile_unit(compiler, unit, name, timeout_s)

    monkeypatch.setattr(cpu, "compile_unit", counted)

    def session():
        device = cpu.open_device(DeviceOptions(cache_dir=bench.settings.cache_dir / "kernels"))
        return bench.on(device, FORWARD, (GEMM, NAIVE), tune_max_configs=2)

    if reason := cpu.probe(DeviceOptions()):
        pytest.skip(reason)
    first = session()
    assert len(compiled) == 3, "two configs of one solver, and the other solver"
    second = session()
    assert len(compiled) == 3
    assert (first.compile_seconds > 0, second.compile_seconds) == (True, 0.0)


def test_a_solver_that_is_new_since_is_compared_with_the_others(bench):
    bench.session(rules=RANKED)
    later = bench.session(solvers=(GEMM, IM2COL, NAIVE), rules=RANKED)
    assert {trial.solver for trial in later.find} == {GEMM.name, IM2COL.name, NAIVE.name}
    assert later.solver == IM2COL.name


def test_a_solver_that_is_new_and_not_tunable_is_compared_too(bench):
    bench.session(solvers=(GEMM, IM2COL))
    later = bench.session(solvers=(GEMM, IM2COL, NAIVE), rules=(KernelScript(kernel="naive*", seconds=1e-6), STEADY))
    assert (later.tuning, len(later.find), later.solver) == ((), 3, NAIVE.name)


def test_a_solver_that_is_gone_since_leaves_the_ranking_of_the_others(bench):
    bench.session(solvers=(GEMM, IM2COL, NAIVE))
    later = bench.session(solvers=(GEMM, NAIVE), rules=(STEADY,))
    assert (later.find, later.solver) == ((), GEMM.name)


def test_a_solver_that_failed_is_compared_again(bench):
    broken = bench.session(rules=(KernelScript(kernel="naive*", compile_error="no"), STEADY))
    assert broken.find[1].status is TrialStatus.COMPILE_FAILED
    assert len(bench.session().find) == 2


def test_force_compares_anew(bench):
    bench.session()
    assert len(bench.session(tune=TunePolicy.FORCE).find) == 2


# --- what failed before


def failing(**fault):
    return (KernelScript(kernel="implicit*", defines=(("GEMM_K_PER_BLOCK", "16"),), **fault), STEADY)


@pytest.mark.parametrize(
    "fault", [{"compile_error": "error: no"}, {"launch_error": "refused"}, {"wrong": "nan"}, {"hang": True}]
)
def test_a_later_session_shows_what_failed_and_does_not_try_it(bench, fault):
    (first,) = bench.session(solvers=(GEMM,), rules=failing(**fault), tune_max_configs=100).tuning
    failed = [trial for trial in first.trials if trial.is_failed]
    assert failed
    TunedStore(bench.settings.db_dir, ScriptedDevice(Script()).info).forget(GEMM.name, FORWARD)
    (second,) = bench.session(solvers=(GEMM,), rules=(STEADY,), tune_max_configs=100).tuning
    assert second.known_before == len(failed)
    rows = {trial.config: trial for trial in second.trials}
    for trial in failed:
        assert rows[trial.config] == replace(trial, reason=f"failed before: {trial.reason}")
    (forced,) = bench.session(solvers=(GEMM,), rules=(STEADY,), tune_max_configs=100, tune=TunePolicy.FORCE).tuning
    assert (forced.known_before, forced.failed) == (0, 0)


def test_when_nothing_works_nothing_is_tried_twice(bench):
    broken = (KernelScript(kernel="implicit*", wrong="nan"), STEADY)
    first = bench.session(solvers=(GEMM, NAIVE), rules=broken)
    second = bench.session(solvers=(GEMM, NAIVE), rules=broken)
    assert [trial.config for trial in second.tuning[0].trials] == [trial.config for trial in first.tuning[0].trials]
    assert second.tuning[0].known_before == 4
    assert second.solver == NAIVE.name


def test_without_a_data_base_the_session_remembers(bench):
    settings = replace(bench.settings, db_dir=None)
    device = ScriptedDevice(Script(rules=(KernelScript(kernel="implicit*", wrong="nan"), STEADY)))
    tuned, tried = tuned_configs(settings, device.info, [GEMM, NAIVE]), tried_configs(settings, device.info)
    runner = Runner(device, Chooser(tuned=tuned, tried=tried))
    results = [
        runner.run(FORWARD, solvers=[GEMM, NAIVE], settings=settings, logger=PerformanceLogger(0, print))
        for _ in range(2)
    ]
    assert [result.tuning[0].known_before for result in results] == [0, 4]


@pytest.mark.parametrize("solvers", [(GEMM,), (GEMM, NAIVE)], ids=len)
@pytest.mark.parametrize("fault", [{"hang": True}, {"launch_error": "wrote address 0x8"}], ids=str)
def test_what_hung_or_crashed_in_a_search_is_not_executed_where_it_would_end_the_session(
    bench, monkeypatch, solvers, fault
):
    monkeypatch.setattr(ConvRun, "validate", lambda *_: pytest.fail("it is executed in this very process"))
    rules = (KernelScript(**fault),)
    with pytest.raises(LaunchError) as first:
        bench.session(solvers=solvers, rules=rules)
    with pytest.raises(LaunchError) as second:
        bench.session(solvers=solvers, rules=rules)
    assert str(first.value) in str(second.value)
    if len(solvers) == 1:
        assert str(second.value) == f"failed before: {first.value}; --miopen-perf-tune=force tries it again"


# --- few configs


@dataclass(frozen=True)
class WithConfigs:
    """A solver with only some of its configs."""

    solver: object
    most: int

    def __getattr__(self, name):
        return getattr(self.solver, name)

    def configs(self, problem, info):
        return itertools.islice(self.solver.configs(problem, info), self.most)


@pytest.mark.parametrize("most", [0, 1])
def test_a_space_of_no_config_or_of_one_is_searched_once(bench, most, recwarn):
    solver = WithConfigs(GEMM, most)
    first, second = bench.session(solvers=(solver,)), bench.session(solvers=(solver,))
    assert (first.tuning[0].valid_configs, second.tuning) == (most, ())
    assert (first.config_origin, second.config_origin) == ("tuned", "tuned")
    assert first.config == second.config
    assert not recwarn.list


# --- workspaces


def short_of(problem, solver, spare_bytes):
    """Memory for the tensors and a workspace of so many bytes less than the solver needs."""
    return sum(problem.tensor_bytes) + solver.workspace_bytes(problem) - spare_bytes


def test_a_solver_without_workspace_is_passed_over_and_the_next_one_runs(bench):
    log = []
    result = bench.session(solvers=(IM2COL, NAIVE), memory_bytes=short_of(FORWARD, IM2COL, 1), log=log)
    assert (result.solver, result.tuning) == (NAIVE.name, ())
    (row,) = result.find
    assert (row.solver, row.status, row.is_failed) == (IM2COL.name, TrialStatus.NO_MEMORY, False)
    assert "needs a workspace of" in row.reason
    assert result.memory_note == f"{IM2COL.name} is passed over: it {row.reason}"
    lines = [json.loads(line) for line in log]
    for line in lines:
        records.validate(line)
    (passed_over,) = [line for line in lines if line.get("solution") == IM2COL.name]
    assert (passed_over["phase"], passed_over["performance_configs"][0]["time_executions_ms"]) == ("tuning", [])


def test_with_just_enough_memory_nothing_is_passed_over(bench):
    result = bench.session(solvers=(IM2COL, NAIVE), memory_bytes=short_of(FORWARD, IM2COL, 0))
    assert (result.memory_note, len(result.find)) == ("", 2)


def test_of_a_stored_find_the_next_one_in_its_ranking_runs(bench):
    assert bench.session(solvers=(GEMM, IM2COL, NAIVE), rules=RANKED).solver == IM2COL.name
    later = bench.session(solvers=(GEMM, IM2COL, NAIVE), rules=RANKED, memory_bytes=short_of(FORWARD, IM2COL, 1))
    assert later.solver == GEMM.name
    assert [trial.status for trial in later.find] == [TrialStatus.NO_MEMORY], "and nothing was compared"
    assert IM2COL.name in later.memory_note


def test_a_lone_solver_without_workspace_is_a_skip_that_names_both_numbers(bench):
    with pytest.raises(
        NotApplicableError,
        match=r"cannot be computed: HipConvIm2colGemmFwd is passed over: it needs a workspace of .* and .* may be used",
    ):
        bench.session(solvers=(IM2COL,), memory_bytes=short_of(FORWARD, IM2COL, 1))


def test_a_tuned_config_without_workspace_falls_back_to_a_default_that_needs_none(bench):
    info = ScriptedDevice(Script()).info
    plain = next(one for one in SPLIT.configs(WEIGHTS, info) if not SPLIT.solution(WEIGHTS, info, one).uses_workspace)
    split = next(one for one in SPLIT.configs(WEIGHTS, info) if SPLIT.solution(WEIGHTS, info, one).uses_workspace)
    solver = WithDefault(SPLIT, plain)
    TunedStore(bench.settings.db_dir, info).remember(SPLIT.name, WEIGHTS, split.serialize(), 1e-6)
    full = bench.session(WEIGHTS, solvers=(solver,))
    assert (full.config, full.config_origin, full.memory_note) == (split.serialize(), "tuned", "")
    short = bench.session(WEIGHTS, solvers=(solver,), memory_bytes=short_of(WEIGHTS, SPLIT, 1))
    assert (short.config, short.config_origin, short.check.passed) == (plain.serialize(), "default", True)
    assert f"{SPLIT.name} runs with its default config: {split.serialize()} needs a workspace of" in short.memory_note


def test_a_tuned_config_that_needs_no_workspace_stays(bench):
    info = ScriptedDevice(Script()).info
    plain = next(one for one in SPLIT.configs(WEIGHTS, info) if not SPLIT.solution(WEIGHTS, info, one).uses_workspace)
    TunedStore(bench.settings.db_dir, info).remember(SPLIT.name, WEIGHTS, plain.serialize(), 1e-6)
    result = bench.session(WEIGHTS, solvers=(SPLIT,), memory_bytes=short_of(WEIGHTS, SPLIT, 1))
    assert (result.config, result.config_origin, result.memory_note) == (plain.serialize(), "tuned", "")


def test_a_solver_that_is_short_of_memory_is_not_searched(bench):
    info = ScriptedDevice(Script()).info
    plain = next(one for one in SPLIT.configs(WEIGHTS, info) if not SPLIT.solution(WEIGHTS, info, one).uses_workspace)
    solver = WithDefault(SPLIT, plain)
    result = bench.session(WEIGHTS, solvers=(solver,), memory_bytes=short_of(WEIGHTS, SPLIT, 1))
    assert (result.tuning, result.config_origin) == ((), "default")


@dataclass(frozen=True)
class WithDefault:
    """A solver with another default."""

    solver: object
    config: object

    def __getattr__(self, name):
        return getattr(self.solver, name)

    def default_config(self, problem, info):
        return self.config


def test_a_given_config_that_needs_a_workspace_is_never_replaced(bench):
    info = ScriptedDevice(Script()).info
    split = next(one for one in SPLIT.configs(WEIGHTS, info) if SPLIT.solution(WEIGHTS, info, one).uses_workspace)
    with pytest.raises(NotApplicableError, match="is passed over"):
        bench.session(WEIGHTS, solvers=(SPLIT,), memory_bytes=short_of(WEIGHTS, SPLIT, 1), config=split.serialize())


@pytest.mark.parametrize(
    ("status", "has_ended"),
    [
        (TrialStatus.MEASURED, True),
        (TrialStatus.CHECKED, True),
        (TrialStatus.LAUNCH_FAILED, False),
        (TrialStatus.COMPILE_FAILED, False),
    ],
)
def test_a_choice_has_ended_when_a_trial_of_that_very_config_has(status, has_ended):
    choice = Choice(solver=NAIVE, config=PlannedConfig("8"), origin="tuned")
    own = Trial(solver=NAIVE.name, config="8", status=status)
    other = Trial(solver=NAIVE.name, config="16", status=TrialStatus.MEASURED)
    assert not Chosen(choice=choice).has_ended
    assert not Chosen(choice=choice, trials=(other,)).has_ended
    assert Chosen(choice=choice, trials=(other, own)).has_ended is has_ended
