"""The measuring loop: warm-up, samples, and why it stopped."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pytest_miopen_perf import statistics
from pytest_miopen_perf.errors import LaunchError
from pytest_miopen_perf.results import Sample

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

Execution: TypeAlias = tuple[float, ...]
"""Seconds of each kernel of one execution of a solution, in launch order."""

WARMUPS = 2
"""Executions before the samples that count: as many as MIOpen's own figure leaves out."""

MAX_INVALID = 16
"""Invalid times in a row after which the device's clock is not believed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurement:
    """A sample, and the times of each kernel in each execution, warm-ups included."""

    sample: Sample
    executions: tuple[Execution, ...]


def measure(execute: Callable[[], Execution], rule: statistics.StoppingRule) -> Measurement:
    """Execute until the rule says stop.

    Args:
        execute: Runs the solution once and returns the device's times.
        rule: When to stop; its budget counts device time, warm-ups included.

    Raises:
        LaunchError: the device gave `MAX_INVALID` invalid times in a row, or a launch failed.
    """
    valid = ValidExecutions(execute)
    executions: list[Execution] = []
    warmups = 0
    spent = 0.0
    while warmups < WARMUPS and (not executions or spent < rule.budget_seconds / 4):
        executions.append(valid.next())
        spent += math.fsum(executions[-1])
        warmups += 1
    counted: list[float] = []
    stopped_by = None
    while stopped_by is None:
        executions.append(valid.next())
        counted.append(math.fsum(executions[-1]))
        spent += counted[-1]
        stopped_by = statistics.why_stop(rule, counted, spent)
    seconds = tuple(math.fsum(execution) for execution in executions)
    sample = Sample(seconds=seconds, warmups=warmups, invalid=valid.invalid, stopped_by=stopped_by)
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
            if all(math.isfinite(seconds) and seconds > 0 for seconds in execution):
                return execution
            self.invalid += 1
        raise LaunchError(
            f"the device's clock gave {MAX_INVALID} times in a row that are zero, negative or not finite; "
            "check the driver, or measure on another device"
        )

    def _attempts(self) -> Iterator[Execution]:
        for _ in range(MAX_INVALID):
            yield self._execute()
