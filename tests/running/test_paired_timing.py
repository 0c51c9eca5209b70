"""Two versions in blocks, under every launch mode: as long in both arms, with a delay in B alone."""

import pytest

from pytest_miopen_perf.canary import calibrated
from pytest_miopen_perf.checking.reference import Distribution, make_operands
from pytest_miopen_perf.devices.script import KernelScript, Script
from pytest_miopen_perf.devices.scripted import ScriptedDevice
from pytest_miopen_perf.measuring.batching import LaunchRule
from pytest_miopen_perf.measuring.execution import ConvBuffers, prepare
from pytest_miopen_perf.measuring.instruments import Instruments
from pytest_miopen_perf.measuring.timing import Timing
from pytest_miopen_perf.running.paired_timing import measure_pair
from pytest_miopen_perf.solvers import naive
from pytest_miopen_perf.telemetry.script import ScriptSensor

SCRIPT = Script(
    rules=(
        KernelScript(kernel="canary_delay", seconds=1e-7, seconds_per_iteration=1e-9),
        KernelScript(seconds=1e-4),
    )
)
TIMING = {
    "isolated": Timing(),
    "batched": Timing(launches=LaunchRule(timer_step_seconds=1e-5)),
    "back-to-back": Timing(launches=LaunchRule(mode="back-to-back")),
}


@pytest.fixture
def arms(make_problem):
    """One solution as both arms, on a scripted device."""
    device, problem = ScriptedDevice(SCRIPT), make_problem()
    operands = make_operands(problem, seed=1, distribution=Distribution.INTEGERS)
    solver = next(solver for solver in naive.SOLVERS if solver.refusal(problem, device.info) is None)
    solution = solver.solution(problem, device.info, solver.default_config(problem, device.info))
    with ConvBuffers(device, problem, operands, 0) as buffers:
        yield {arm: prepare(device, solution, buffers) for arm in ("A", "B")}


@pytest.mark.parametrize(("mode", "batch"), [("isolated", 1), ("batched", 10), ("back-to-back", 20)])
def test_both_arms_are_taken_alike(arms, mode, batch):
    measured = measure_pair(TIMING[mode], arms, ["ABBA", "BAAB"], 2)
    assert [block.order for block in measured.blocks] == ["ABBA", "BAAB"]
    assert all(slot == pytest.approx((1e-4, 1e-4)) for block in measured.blocks for slot in block.slots_seconds)
    for measurement in measured.arms.values():
        assert measurement.sample.batch == batch
        assert len(measurement.sample.counted) == 8
        assert measurement.counted_executions
        assert all(len(execution) == 1 for execution in measurement.executions)


@pytest.mark.parametrize("mode", list(TIMING))
def test_a_delay_slows_arm_b_by_as_much_in_every_mode(arms, mode):
    delay = calibrated(arms["B"].device, 2e-6)
    measured = measure_pair(TIMING[mode], arms, ["ABBA"], 3, delay)
    medians = {arm: measurement.sample.median_seconds for arm, measurement in measured.arms.items()}
    assert medians["A"] == pytest.approx(1e-4)
    assert medians["B"] == pytest.approx(1.02e-4)


def test_each_block_has_its_readings(arms):
    timing = Timing(instruments=Instruments(sensor=ScriptSensor(1)))
    measured = measure_pair(timing, arms, ["ABBA", "BAAB", "ABBA"], 1)
    for measurement in measured.arms.values():
        assert [block.other_processes for block in measurement.blocks] == [1, 1, 1]
