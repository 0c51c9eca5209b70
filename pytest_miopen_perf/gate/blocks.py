"""Two versions in one process: their launches in blocks of A B B A, and what each of them was."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pytest_miopen_perf.errors import LaunchError
from pytest_miopen_perf.gate.estimators import Block, process_log_ratio
from pytest_miopen_perf.measuring.measure import WARMUPS, Measurement
from pytest_miopen_perf.results import Result, Sample
from pytest_miopen_perf.statistics import is_time

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from pytest_miopen_perf.gate.estimators import Order
    from pytest_miopen_perf.measuring.measure import Execution

ArmName = Literal["A", "B"]


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTimes:
    """A case of a paired comparison, as one process measured it; the result of arm B stands beside it.

    Attributes:
        base: The result of arm A.
        blocks: In run order; none when the numbers of an arm are wrong.
        record_seconds: Where the arms are two levels of the log: what a record takes of the host's time, block by
            block.
    """

    base: Result
    blocks: tuple[Block, ...]
    record_seconds: tuple[float, ...] = ()

    @property
    def log_ratio(self) -> float | None:
        """What the process says; None when no block is valid."""
        return process_log_ratio(self.blocks)

    def to_json(self) -> dict[str, Any]:
        """As builtins that every JSON reader takes: what is not finite, and so no time, is 0."""
        blocks = [
            {
                "order": block.order,
                "slots_seconds": [[t if math.isfinite(t) else 0.0 for t in slot] for slot in block.slots_seconds],
            }
            for block in self.blocks
        ]
        return {"base": self.base.to_json(), "blocks": blocks, "record_seconds": list(self.record_seconds)}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> PairedTimes:
        """The inverse of `to_json`."""
        blocks = (Block(order=b["order"], slots_seconds=tuple(map(tuple, b["slots_seconds"]))) for b in data["blocks"])
        return PairedTimes(
            base=Result.from_json(data["base"]), blocks=tuple(blocks), record_seconds=tuple(data["record_seconds"])
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MeasuredBlocks:
    """What the blocks came to.

    Attributes:
        blocks: In run order.
        arms: The launches of each arm, as if they had been measured alone.
    """

    blocks: tuple[Block, ...]
    arms: Mapping[ArmName, Measurement]


def measure_blocks(
    execute: Mapping[ArmName, Callable[[], Execution]],
    orders: Sequence[Order],
    launches: int,
    end_block: Callable[[], None] = lambda: None,
) -> MeasuredBlocks:
    """Execute both arms in blocks of four slots.

    Args:
        execute: Runs one arm once and returns the device's times.
        orders: Of the arms in each block.
        launches: Of one slot.
        end_block: Told after each block.

    Raises:
        LaunchError: a launch failed, or an arm has no valid time at all.
    """
    taken: dict[ArmName, list[Execution]] = {arm: [run() for _ in range(WARMUPS)] for arm, run in execute.items()}
    blocks = []
    for order in orders:
        slots = []
        for arm in _arms(order):
            executions = [execute[arm]() for _ in range(launches)]
            taken[arm] += executions
            slots.append(tuple(map(math.fsum, executions)))
        blocks.append(Block(order=order, slots_seconds=tuple(slots)))
        end_block()
    return MeasuredBlocks(blocks=tuple(blocks), arms={arm: _measurement(arm, all_) for arm, all_ in taken.items()})


def _arms(order: Order) -> tuple[ArmName, ...]:
    return tuple("A" if letter == "A" else "B" for letter in order)


def _measurement(arm: ArmName, executions: Sequence[Execution]) -> Measurement:
    """The valid launches of an arm; blocks keep the invalid ones as they came."""
    flags = [all(map(is_time, execution)) for execution in executions]
    valid = tuple(execution for execution, is_valid in zip(executions, flags, strict=True) if is_valid)
    warmups = sum(flags[:WARMUPS])
    if len(valid) == warmups:
        raise LaunchError(f"arm {arm} has no valid time in {len(executions)} launches; check the device's clock")
    sample = Sample(
        seconds=tuple(map(math.fsum, valid)), warmups=warmups, invalid=flags.count(False), stopped_by="plan"
    )
    return Measurement(sample=sample, executions=valid)
