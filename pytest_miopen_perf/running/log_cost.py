"""What the performance log itself costs: the timed run of a case at two levels of the log, in blocks of A B B A."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.gate.estimators import Block
from pytest_miopen_perf.measuring.measure import Measurement
from pytest_miopen_perf.results import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_miopen_perf.gate.blocks import ArmName
    from pytest_miopen_perf.gate.estimators import Order

LEVELS = (0, 4)
"""Of arm A, which logs nothing, and of arm B, which logs all there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogCost:
    """What the blocks came to.

    Attributes:
        blocks: The kernel times, in run order.
        record_seconds: Of each block: the host's time of a run at level 4 beyond its kernels, less that at level 0. A
            run writes one record.
        arms: The executions of each arm, as if they had been measured alone.
    """

    blocks: tuple[Block, ...]
    record_seconds: tuple[float, ...]
    arms: Mapping[ArmName, Measurement]


def measure_log_cost(
    timed_run: Mapping[ArmName, Callable[[], Measurement]],
    orders: Sequence[Order],
    clock: Callable[[], float] = time.perf_counter,
) -> LogCost:
    """Run both arms in blocks of four slots, each slot a whole timed run with its record.

    The first run of each arm, which also loads what the log needs, does not count.

    Args:
        timed_run: Measures and logs a case at the level of an arm.
        orders: Of the arms in each block.
        clock: Seconds of the host.

    Raises:
        LaunchError: a kernel failed, or the device's clock cannot be believed.
    """
    for run in timed_run.values():
        run()
    blocks: list[Block] = []
    costs: list[float] = []
    taken: dict[ArmName, list[Measurement]] = {arm: [] for arm in timed_run}
    for order in orders:
        host: dict[ArmName, float] = dict.fromkeys(timed_run, 0.0)
        slots = []
        for letter in order:
            arm: ArmName = "A" if letter == "A" else "B"
            start = clock()
            measurement = timed_run[arm]()
            host[arm] += clock() - start - _device_seconds(measurement)
            taken[arm].append(measurement)
            slots.append(measurement.sample.counted)
        blocks.append(Block(order=order, slots_seconds=tuple(slots)))
        costs.append((host["B"] - host["A"]) / 2)
    return LogCost(
        blocks=tuple(blocks),
        record_seconds=tuple(costs),
        arms={arm: _together(measurements) for arm, measurements in taken.items()},
    )


def _device_seconds(measurement: Measurement) -> float:
    """What a timed run took of the device, a batch as many times as it has executions."""
    sample = measurement.sample
    alone = measurement.executions if sample.batch > 1 else ()
    return sample.batch * math.fsum(sample.seconds) + math.fsum(map(math.fsum, alone))


def _together(measurements: Sequence[Measurement]) -> Measurement:
    """The times that count of several runs, as one, with all that the device told of itself around them."""
    sample = Sample(
        seconds=tuple(seconds for one in measurements for seconds in one.sample.counted),
        invalid=sum(one.sample.invalid for one in measurements),
        stopped_by="plan",
        batch=max(one.sample.batch for one in measurements),
    )
    return Measurement(
        sample=sample,
        executions=tuple(execution for one in measurements for execution in one.counted_executions),
        blocks=tuple(block for one in measurements for block in one.blocks),
    )
