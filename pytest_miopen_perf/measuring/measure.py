"""The measuring loop: warm-up, samples, and why it stopped."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeAlias

from pytest_miopen_perf import statistics
from pytest_miopen_perf.errors import LaunchError
from pytest_miopen_perf.results import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pytest_miopen_perf.measuring.batching import Batches
    from pytest_miopen_perf.telemetry import BlockReadings

Execution: TypeAlias = tuple[float, ...]
"""Seconds of each kernel of one execution of a solution, in launch order."""

WARMUPS = 2
"""Executions before the samples that count: as many as MIOpen's own figure leaves out."""

MAX_INVALID = 16
"""Invalid times in a row after which the device's clock is not believed."""

_ALONE = 3
"""Executions by themselves that tell the times of single kernels where a sample is taken in batches."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """A sample, and the times of each kernel.

    Attributes:
        sample: The times that count, and the warm-ups.
        executions: The execution behind each time of the sample. A batch has one time for all its kernels: there they
            are the few executions that were taken by themselves before, none of them a warm-up.
        blocks: What the device told of itself around it.
    """

    sample: Sample
    executions: tuple[Execution, ...]
    blocks: tuple[BlockReadings, ...] = ()

    @property
    def counted_executions(self) -> tuple[Execution, ...]:
        """Those without the warm-ups."""
        return self.executions if self.sample.batch > 1 else self.executions[self.sample.warmups :]


def measure(
    execute: Callable[[], Execution], rule: statistics.StoppingRule, batches: Batches | None = None
) -> Measurement:
    """Execute until the rule says stop.

    Args:
        execute: Runs the solution once and returns the device's times.
        rule: When to stop; its budget counts device time, warm-ups included, its samples count batches.
        batches: Whether and how executions share one time; None gives each its own.

    Raises:
        LaunchError: the device gave `MAX_INVALID` invalid times in a row, or a launch failed.
    """
    valid = ValidExecutions(execute)
    warm = _warmed_up(valid, rule)
    length = 1 if batches is None else batches.length(min(map(math.fsum, warm)))
    if batches is None or length == 1:
        return _measurement(valid, warm, rule)
    spent = math.fsum(map(math.fsum, warm))
    alone: list[Execution] = []
    while len(alone) < _ALONE and (not alone or spent < rule.budget_seconds / 4):
        alone.append(valid.next())
        spent += math.fsum(alone[-1])
    mean_of_batch = batches.execute
    in_batches = ValidExecutions(lambda: (mean_of_batch(length),))
    measured = _measurement(in_batches, [in_batches.next()], rule, spent=spent, length=length)
    sample = replace(measured.sample, invalid=valid.invalid + in_batches.invalid)
    return Measurement(sample=sample, executions=tuple(alone))


def _warmed_up(valid: ValidExecutions, rule: statistics.StoppingRule) -> list[Execution]:
    """As many warm-ups as there should be, or one where it takes a quarter of the budget by itself."""
    warm: list[Execution] = []
    spent = 0.0
    while len(warm) < WARMUPS and (not warm or spent < rule.budget_seconds / 4):
        warm.append(valid.next())
        spent += math.fsum(warm[-1])
    return warm


def _measurement(
    valid: ValidExecutions,
    warm: Sequence[Execution],
    rule: statistics.StoppingRule,
    *,
    spent: float = 0.0,
    length: int = 1,
) -> Measurement:
    """Executions, or batches of that length, behind warm-ups of the same kind."""
    executions = list(warm)
    spent += length * math.fsum(map(math.fsum, warm))
    counted: list[float] = []
    stopped_by = None
    while stopped_by is None:
        executions.append(valid.next())
        counted.append(math.fsum(executions[-1]))
        spent += length * counted[-1]
        stopped_by = statistics.why_stop(rule, counted, spent)
    sample = Sample(
        seconds=tuple(map(math.fsum, executions)),
        warmups=len(warm),
        invalid=valid.invalid,
        stopped_by=stopped_by,
        batch=length,
    )
    return Measurement(sample=sample, executions=tuple(executions))


class ValidExecutions:
    """Executions whose time is a time; the others are counted and taken again, never clamped."""

    def __init__(self, execute: Callable[[], Execution]) -> None:
        self._execute = execute
        self.invalid = 0

    def next(self) -> Execution:
        """The next execution with a time.

        Raises:
            LaunchError: `MAX_INVALID` of them in a row had none, or a launch failed.
        """
        for execution in self._attempts():
            if all(map(statistics.is_time, execution)):
                return execution
            self.invalid += 1
        raise LaunchError(
            f"the device's clock gave {MAX_INVALID} times in a row that are zero, negative or not finite; "
            "check the driver, or measure on another device"
        )

    def _attempts(self) -> Iterator[Execution]:
        for _ in range(MAX_INVALID):
            yield self._execute()
