"""Two versions timed in blocks, under the same rules as one: batches, a delay behind arm B, a look after each block."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_miopen_perf.gate.blocks import MeasuredBlocks, measure_blocks
from pytest_miopen_perf.measuring.measure import WARMUPS, ValidExecutions
from pytest_miopen_perf.telemetry import BlockWatch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_miopen_perf.canary import Delay
    from pytest_miopen_perf.gate.blocks import ArmName
    from pytest_miopen_perf.gate.estimators import Order
    from pytest_miopen_perf.measuring.execution import Prepared
    from pytest_miopen_perf.measuring.measure import Execution, Measurement
    from pytest_miopen_perf.measuring.timing import Timing


def measure_pair(
    timing: Timing,
    arms: Mapping[ArmName, Prepared],
    orders: Sequence[Order],
    launches: int,
    delay: Delay | None = None,
) -> MeasuredBlocks:
    """Execute both arms in blocks of four slots.

    Args:
        timing: How executions are timed.
        arms: What is executed.
        orders: Of the arms in each block.
        launches: Times of one slot.
        delay: One more launch of each execution of arm B.

    Raises:
        LaunchError: a kernel failed, or the device's clock cannot be believed.
    """
    delays: dict[ArmName, Delay | None] = {"A": None, "B": delay}
    watch = BlockWatch(timing.instruments.sensor)
    alone: dict[ArmName, list[Execution]] = {}
    if timing.launches.may_batch:
        alone = {arm: _alone(prepared) for arm, prepared in arms.items()}
    length = _length(timing, arms, alone)
    if length == 1:
        execute = {arm: _one(prepared, delays[arm]) for arm, prepared in arms.items()}
    else:
        execute = {arm: _batch(prepared, delays[arm], length) for arm, prepared in arms.items()}
    measured = measure_blocks(execute, orders, launches, watch.end_block)

    def completed(arm: ArmName, measurement: Measurement) -> Measurement:
        if length == 1:
            return replace(measurement, blocks=watch.blocks)
        sample = replace(measurement.sample, batch=length)
        return replace(measurement, sample=sample, executions=tuple(alone[arm]), blocks=watch.blocks)

    return replace(measured, arms={arm: completed(arm, each) for arm, each in measured.arms.items()})


def _alone(prepared: Prepared) -> list[Execution]:
    """Executions by themselves, behind one that may be cold."""
    valid = ValidExecutions(prepared.execute)
    valid.next()
    return [valid.next() for _ in range(WARMUPS)]


def _length(timing: Timing, arms: Mapping[ArmName, Prepared], alone: Mapping[ArmName, Sequence[Execution]]) -> int:
    """Executions of one batch, alike in both arms: the faster arm decides."""
    if not alone:
        return 1
    seconds = min(math.fsum(execution) for executions in alone.values() for execution in executions)
    launches = 1 + max(len(prepared.solution.launches) for prepared in arms.values())
    return timing.launches.length(seconds, launches=launches, budget_seconds=math.inf)


def _one(prepared: Prepared, delay: Delay | None) -> Callable[[], Execution]:
    """A delay runs behind the last kernel, as if that one had taken longer."""

    def execute() -> Execution:
        *others, last = prepared.execute()
        return (*others, last if delay is None else last + delay.execute())

    return execute


def _batch(prepared: Prepared, delay: Delay | None, length: int) -> Callable[[], Execution]:
    and_then = () if delay is None else (delay.call,)
    return lambda: (prepared.execute_batch(length, and_then),)
