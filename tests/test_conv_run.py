"""The phases of one problem: what a search and a comparison do to their candidates, and what the log has of both."""

import json
from collections import Counter
from dataclasses import dataclass, replace

import pytest

from pytest_miopen_perf.candidate import FindCandidate, SearchCandidate
from pytest_miopen_perf.conv_run import ConvRun
from pytest_miopen_perf.devices import DeviceOptions, cpu
from pytest_miopen_perf.devices.script import KernelScript, Script
from pytest_miopen_perf.devices.scripted import ScriptedDevice
from pytest_miopen_perf.execution import ConvBuffers
from pytest_miopen_perf.judge import Judge
from pytest_miopen_perf.perflog import PerformanceLogger
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.reference import Distribution
from pytest_miopen_perf.results import TrialStatus
from pytest_miopen_perf.solvers import PerformanceConfig, builtin_solvers
from pytest_miopen_perf.solvers.naive import SOLVERS as NAIVE
from pytest_miopen_perf.tuning.rule import SearchRule

(PROBLEM,) = ConvProblem.from_driver("conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1")
IMPLICIT_GEMM = next(solver for solver in builtin_solvers() if solver.name == "HipConvImplicitGemmFwd")
NAIVE_FORWARD = NAIVE[0]
RULE = SearchRule(max_configs=6, budget_seconds=60.0, seed=1)


@pytest.fixture
def opened(tmp_path):
    """Make a run on a device; the log's lines are in `log`."""
    closers = []

    def make(device, level=4):
        judge = Judge(PROBLEM, seed=1, distribution=Distribution.INTEGERS, tolerance_factor=1.0, folder=tmp_path)
        buffers = ConvBuffers(device, PROBLEM, judge.operands, 0)
        closers.extend((device.close, buffers.free))
        log = []
        run = ConvRun(
            device=device,
            problem=PROBLEM,
            asked=PROBLEM,
            buffers=buffers,
            judge=judge,
            logger=PerformanceLogger(level, log.append),
        )
        return run, log

    yield make
    for close in reversed(closers):
        close()


def scripted(*rules):
    return ScriptedDevice(Script(rules=rules or (KernelScript(seconds=1e-3),)))


def searched(run, solver=IMPLICIT_GEMM, rule=RULE, **more):
    return run.search(solver, rule, lambda step: None, **more)


def test_a_search_on_a_steady_device(opened):
    run, log = opened(scripted())
    tuning = searched(run)
    assert (len(tuning.trials), tuning.failed, tuning.stopped_by) == (6, 0, "count")
    assert tuning.best_config == tuning.default_config
    assert len(tuning.ties) == 3
    configs = json.loads(log[0])["performance_configs"]
    assert [config["config_descriptor"] for config in configs[:6]] == [trial.config for trial in tuning.trials]
    raced = {config["config_descriptor"]: len(config["time_executions_ms"]) for config in configs[6:]}
    assert raced == dict.fromkeys({tuning.best_config, *tuning.ties}, 11)


def test_one_probe_tells_a_clear_loser_and_is_its_measure(opened):
    run, log = opened(scripted(KernelScript(kernel="naive*", seconds=5e-3), KernelScript(seconds=1e-3)))
    trials = run.compare(
        [(IMPLICIT_GEMM, IMPLICIT_GEMM.default_config(PROBLEM, run.device.info)), (NAIVE_FORWARD, PerformanceConfig())]
    )
    assert [(trial.samples, trial.median_seconds) for trial in trials] == [(3, 1e-3), (1, 5e-3)]
    loser = json.loads(log[1])["performance_configs"][0]
    assert loser["time_executions_ms"] == [5.0]


def test_a_close_solver_is_measured_in_full(opened):
    run, _ = opened(scripted(KernelScript(kernel="naive*", seconds=2e-3), KernelScript(seconds=1e-3)))
    trials = run.compare(
        [(IMPLICIT_GEMM, IMPLICIT_GEMM.default_config(PROBLEM, run.device.info)), (NAIVE_FORWARD, PerformanceConfig())]
    )
    assert [trial.samples for trial in trials] == [3, 3]


def test_a_cold_first_execution_is_not_held_against_a_solver(opened):
    cold = KernelScript(kernel="naive*", times_seconds=(50e-3, *[0.5e-3] * 20))
    run, _ = opened(scripted(cold, KernelScript(seconds=1e-3)))
    trials = run.compare(
        [(IMPLICIT_GEMM, IMPLICIT_GEMM.default_config(PROBLEM, run.device.info)), (NAIVE_FORWARD, PerformanceConfig())]
    )
    assert trials[1].median_seconds == pytest.approx(0.5e-3)


@pytest.mark.parametrize(
    ("rule", "status"),
    [
        (KernelScript(compile_error="error: no"), TrialStatus.COMPILE_FAILED),
        (KernelScript(wrong="nan"), TrialStatus.WRONG),
        (KernelScript(launch_error="refused"), TrialStatus.LAUNCH_FAILED),
    ],
)
def test_what_goes_wrong_is_a_row_for_each_config(opened, rule, status):
    run, log = opened(scripted(rule))
    tuning = searched(run)
    assert {trial.status for trial in tuning.trials} == {status}
    assert all(trial.reason for trial in tuning.trials)
    assert tuning.best_config == tuning.default_config
    assert len(json.loads(log[0])["performance_configs"]) == 6


@dataclass(frozen=True)
class NeedsMore:
    """A solver that breaks its word on the workspace."""

    solver: object

    def __getattr__(self, name):
        return getattr(self.solver, name)

    def solution(self, problem, info, config):
        return replace(self.solver.solution(problem, info, config), workspace_bytes=64)


def test_a_config_that_needs_more_workspace_than_its_solver_declares_is_not_run(opened):
    run, _ = opened(scripted())
    (trial, *_) = searched(run, NeedsMore(IMPLICIT_GEMM)).trials
    assert trial.status is TrialStatus.LAUNCH_FAILED
    assert "needs a workspace of 64 bytes, its solver declares 0" in trial.reason


FAULTY = """
extern "C" __global__ void naive_conv_fwd(const float* x, const float* w, float* y) {
    volatile int spin = 1;
    if(FAULT == 1) while(spin) {}
    if(FAULT == 2) for(long i = 0; i < (1L << 40); i += 512) y[i] = 0.0f;
    if(FAULT == 3) { for(int i = 0; i < 4 * 4 * 9; ++i) ((float*)w)[i] = 7.0f; *(volatile int*)8 = 1; }
    RIGHT
}
"""
"""Kernels that hang, run wild, or spoil the weights and crash; and one that computes."""

RIGHT = """
    for(int k = 0; k < 4; ++k) for(int h = 0; h < 6; ++h) for(int v = 0; v < 6; ++v) {
        float sum = 0;
        for(int c = 0; c < 4; ++c) for(int i = 0; i < 3; ++i) for(int j = 0; j < 3; ++j)
            if(h + i >= 1 && h + i < 7 && v + j >= 1 && v + j < 7)
                sum += x[(c * 6 + h + i - 1) * 6 + v + j - 1] * w[((k * 4 + c) * 3 + i) * 3 + j];
        y[(k * 6 + h) * 6 + v] = sum;
    }
"""


@dataclass(frozen=True, slots=True)
class Fault(PerformanceConfig):
    """Which fault the kernel has; 0 is none."""

    number: int


@dataclass(frozen=True)
class FaultySolver:
    """The naive solver with kernels of its own."""

    path: str
    name = "Faulty"
    solver_id = 10999
    algorithm = NAIVE_FORWARD.algorithm

    def workspace_bytes(self, problem):
        return 0

    def default_config(self, problem, info):
        return Fault(0)

    def configs(self, problem, info):
        return iter([Fault(number) for number in range(4)])

    def solution(self, problem, info, config):
        naive = NAIVE_FORWARD.solution(problem, info, NAIVE_FORWARD.default_config(problem, info))
        kernel = replace(
            naive.launches[0].kernel, file=self.path, entry="naive_conv_fwd", defines=(("FAULT", str(config.number)),)
        )
        args = [argument for argument in naive.launches[0].args if hasattr(argument, "slot")]
        launch = replace(naive.launches[0], kernel=kernel, grid=(1, 1, 1), block=(1, 1, 1), args=tuple(args))
        return replace(naive, config=config, launches=(launch,))


def test_a_config_that_hangs_or_crashes_costs_one_config(opened, tmp_path, monkeypatch):
    monkeypatch.setattr(SearchCandidate, "LEAST_LIMIT_SECONDS", 0.3)
    path = tmp_path / "faulty.hip"
    path.write_text(FAULTY.replace("RIGHT", RIGHT))
    run, _ = opened(cpu.open_device(DeviceOptions(cache_dir=tmp_path)))
    tuning = searched(run, FaultySolver(str(path)))
    assert Counter(trial.status for trial in tuning.trials) == {TrialStatus.MEASURED: 1, TrialStatus.LAUNCH_FAILED: 3}
    reasons = {trial.config: trial.reason for trial in tuning.trials}
    assert "did not end within" in reasons["1"]
    assert "wrote" in reasons["2"]
    assert "wrote address 0x8" in reasons["3"]
    check, _ = run.validate(FaultySolver(str(path)), run.prepare(FaultySolver(str(path)), Fault(0)))
    assert check.passed, "the operands that a config spoilt are whole again"
