"""The phases of one problem: what a search and a comparison do to their candidates, and what the log has of both."""

import collections
import json
import shutil
from dataclasses import dataclass, replace

import pytest

from pytest_miopen_perf.checking.judge import Judge
from pytest_miopen_perf.checking.reference import Distribution
from pytest_miopen_perf.devices import DeviceOptions, cpu
from pytest_miopen_perf.devices.script import KernelScript, Script
from pytest_miopen_perf.devices.scripted import ScriptedDevice
from pytest_miopen_perf.errors import LaunchError
from pytest_miopen_perf.kernel_source.files import kernels_dir
from pytest_miopen_perf.measuring.execution import ConvBuffers
from pytest_miopen_perf.perflog import PerformanceLogger
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.results import TrialStatus
from pytest_miopen_perf.running import candidate
from pytest_miopen_perf.running.conv_run import ConvRun
from pytest_miopen_perf.solvers import PerformanceConfig, builtin_solvers
from pytest_miopen_perf.solvers.naive import SOLVERS as NAIVE
from pytest_miopen_perf.statistics import StoppingRule
from pytest_miopen_perf.tuning.past_trials import SessionTrials
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
    faults: tuple = (0, 1, 2, 3)
    name = "Faulty"
    solver_id = 10999
    algorithm = NAIVE_FORWARD.algorithm

    def workspace_bytes(self, problem):
        return 0

    def default_config(self, problem, info):
        return Fault(0)

    def configs(self, problem, info):
        return iter([Fault(number) for number in self.faults])

    def solution(self, problem, info, config):
        naive = NAIVE_FORWARD.solution(problem, info, NAIVE_FORWARD.default_config(problem, info))
        kernel = replace(
            naive.launches[0].kernel, file=self.path, entry="naive_conv_fwd", defines=(("FAULT", str(config.number)),)
        )
        args = [argument for argument in naive.launches[0].args if hasattr(argument, "slot")]
        launch = replace(naive.launches[0], kernel=kernel, grid=(1, 1, 1), block=(1, 1, 1), args=tuple(args))
        return replace(naive, config=config, launches=(launch,))


def test_a_config_that_hangs_or_crashes_costs_one_config(opened, tmp_path, monkeypatch):
    monkeypatch.setattr(candidate, "_LEAST_LIMIT_SECONDS", 0.3)
    path = tmp_path / "faulty.hip"
    path.write_text(FAULTY.replace("RIGHT", RIGHT))
    run, _ = opened(cpu.open_device(DeviceOptions(cache_dir=tmp_path)))
    tuning = searched(run, FaultySolver(str(path)))
    assert collections.Counter(trial.status for trial in tuning.trials) == {
        TrialStatus.MEASURED: 1,
        TrialStatus.LAUNCH_FAILED: 3,
    }
    reasons = {trial.config: trial.reason for trial in tuning.trials}
    assert "did not end within" in reasons["1"]
    assert "wrote" in reasons["2"]
    assert "wrote address 0x8" in reasons["3"]
    check, _ = run.validate(FaultySolver(str(path)), run.prepare(FaultySolver(str(path)), Fault(0)))
    assert check.passed, "the operands that a config spoilt are whole again"


def test_in_a_comparison_too_a_solver_that_hangs_or_crashes_costs_one_row(opened, tmp_path, monkeypatch):
    monkeypatch.setattr(candidate, "FIRST_LIMIT_SECONDS", 0.3)
    path = tmp_path / "faulty.hip"
    path.write_text(FAULTY.replace("RIGHT", RIGHT))
    run, log = opened(cpu.open_device(DeviceOptions(cache_dir=tmp_path)))
    solver = FaultySolver(str(path))
    trials = run.compare([(solver, Fault(number)) for number in (1, 2, 0, 3)])
    assert [trial.status is TrialStatus.MEASURED for trial in trials] == [False, False, True, False]
    assert "did not end within" in trials[0].reason
    assert [bool(json.loads(line)["performance_configs"][0]["time_executions_ms"]) for line in log] == [
        trial.status is TrialStatus.MEASURED for trial in trials
    ]


@pytest.mark.parametrize(("number", "words"), [(1, "did not end within 0.3 s"), (2, "wrote"), (3, "wrote address 0x8")])
def test_what_nobody_has_seen_end_is_validated_in_isolation(opened, tmp_path, monkeypatch, number, words):
    """Nor does a case without a search or a comparison end the session."""
    monkeypatch.setattr(candidate, "FIRST_LIMIT_SECONDS", 0.3)
    path = tmp_path / "faulty.hip"
    path.write_text(FAULTY.replace("RIGHT", RIGHT))
    run, _ = opened(cpu.open_device(DeviceOptions(cache_dir=tmp_path)))
    solver = FaultySolver(str(path))
    with pytest.raises(LaunchError, match=words):
        run.validate(solver, run.prepare(solver, Fault(number)))


def test_what_failed_is_not_tried_again_until_the_text_changes(opened, tmp_path):
    path = tmp_path / "faulty.hip"
    path.write_text(FAULTY.replace("RIGHT", RIGHT))
    run, _ = opened(cpu.open_device(DeviceOptions(cache_dir=tmp_path)))
    solver, store = FaultySolver(str(path), faults=(0, 3)), SessionTrials()

    def search():
        return {trial.config: trial for trial in searched(run, solver, past=store.past("Faulty", PROBLEM)).trials}

    first = search()
    assert "wrote address 0x8" in first["3"].reason
    again = search()
    assert again["3"].reason == f"failed before: {first['3'].reason}"
    assert again["0"] == first["0"], "an interrupted search goes on with what it measured"
    path.write_text(FAULTY.replace("RIGHT", RIGHT).replace("FAULT == 3", "FAULT == 33"))
    assert search()["3"].status is TrialStatus.MEASURED


def test_a_search_that_knows_all_trials_compiles_only_what_races(opened):
    device = scripted()
    run, _ = opened(device)
    store = SessionTrials()
    first = searched(run, past=store.past("S", PROBLEM))
    compiled = []
    second = searched(replace(run, device=Watched(device, compiled)), past=store.past("S", PROBLEM))
    assert (second.known_before, len(second.trials)) == (6, 6)
    assert [trial.config for trial in second.trials] == [trial.config for trial in first.trials]
    assert len(compiled) == 1 + len(second.ties)


@dataclass(frozen=True)
class Watched:
    """A device that notes what is compiled."""

    device: object
    compiled: list

    def __getattr__(self, name):
        return getattr(self.device, name)

    def compile(self, source):
        self.compiled.append(source)
        return self.device.compile(source)


@pytest.mark.parametrize("what", ["driver", "compiler", "name", "tolerance", "kernels"])
def test_a_build_is_of_its_device_compiler_text_and_tolerance(opened, what, tmp_path):
    run, _ = opened(scripted())
    config = IMPLICIT_GEMM.default_config(PROBLEM, run.device.info)
    if what == "tolerance":
        judge = Judge(PROBLEM, seed=1, distribution=Distribution.INTEGERS, tolerance_factor=0.5, folder=tmp_path)
        changed = replace(run, judge=judge)
    elif what == "kernels":
        shutil.copytree(kernels_dir(), tmp_path / "kernels")
        header = tmp_path / "kernels" / "include" / "gathered_gemm.h"
        header.write_text(header.read_text() + "\n#define MORE 1\n")
        changed = replace(run, kernels=tmp_path / "kernels")
    else:
        script = Script(**{what: "another"})
        changed = replace(run, device=ScriptedDevice(script))
    assert changed.build_of(IMPLICIT_GEMM, config) != run.build_of(IMPLICIT_GEMM, config)
    same = replace(run, kernels=kernels_dir()) if what == "kernels" else run
    assert same.build_of(IMPLICIT_GEMM, config) == run.build_of(IMPLICIT_GEMM, config)


@pytest.mark.parametrize("phase", ["validation", "search", "comparison", "execution"])
def test_an_interrupted_measurement_leaves_no_config_without_times(opened, phase):
    device = scripted()
    run, log = opened(device)
    run = replace(run, device=Interrupted(device, after=7))
    config = IMPLICIT_GEMM.default_config(PROBLEM, device.info)
    phases = {
        "validation": lambda: run.validate(IMPLICIT_GEMM, run.prepare(IMPLICIT_GEMM, config)),
        "search": lambda: searched(run),
        "comparison": lambda: run.compare([(IMPLICIT_GEMM, config), (NAIVE_FORWARD, PerformanceConfig())]),
        "execution": lambda: run.execute(IMPLICIT_GEMM, run.prepare(IMPLICIT_GEMM, config), StoppingRule.fixed(20)),
    }
    with pytest.raises(KeyboardInterrupt):
        collections.deque(iter(phases[phase], None), maxlen=0)
    tried = [config for line in log for config in json.loads(line)["performance_configs"]]
    assert bool(tried) == (phase != "execution"), "that one was interrupted in its first config"
    assert all(config["time_executions_ms"] for config in tried)


class Interrupted:
    """A device on which somebody presses Ctrl-C during a launch."""

    def __init__(self, device, after):
        self._device, self._left = device, after

    def __getattr__(self, name):
        return getattr(self._device, name)

    def launch(self, *args, **more):
        self._left -= 1
        if self._left < 0:
            raise KeyboardInterrupt
        return self._device.launch(*args, **more)

    def launch_isolated(self, *args, limit_seconds, **more):
        return self.launch(*args, **more)
