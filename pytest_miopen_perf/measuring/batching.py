"""How many executions share one pair of events.

Isolated, each execution has times of its own: the usual mode. A kernel shorter than a hundred steps of the timer cannot
be told that way, and is executed in batches all the same. Back-to-back, executions follow each other without a gap in
which a clock could drop, and one time is taken around them; what it says of one of them is the mean.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_miopen_perf.settings import LaunchMode

TakenMode: TypeAlias = Literal["isolated", "batched", "back-to-back"]
"""How a sample was taken; batched is isolated where the timer was too coarse for that."""

TIMER_STEPS = 100
"""A time is told to a percent when it is so many steps of the timer."""

_BATCH_SECONDS = 2e-3
_MOST_EXECUTIONS = 1000
_MOST_LAUNCHES = 512
"""What a GPU's queue takes without making the host wait; half of the 1024 of the smallest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LaunchRule:
    """What is batched.

    Attributes:
        mode: What was asked for.
        timer_step_seconds: Of the device's timer; 0 where it is not known, and nothing is too short.
        can_batch: False with cold caches, which only the first execution of a batch would meet.
    """

    mode: LaunchMode = "isolated"
    timer_step_seconds: float = 0.0
    can_batch: bool = True

    @property
    def may_batch(self) -> bool:
        """Whether any solution at all would be batched."""
        return self.can_batch and (self.mode == "back-to-back" or self.timer_step_seconds > 0)

    def length(self, seconds: float, *, launches: int, budget_seconds: float) -> int:
        """Executions of one batch; 1 is none.

        A batch lasts a hundred steps of the timer, and back-to-back two milliseconds, but never more than a quarter of
        the budget unless two executions do. A solution of very many launches is not batched.

        Args:
            seconds: Of one execution.
            launches: Of one execution.
            budget_seconds: Device time for the whole measurement.
        """
        most = min(_MOST_EXECUTIONS, _MOST_LAUNCHES // launches)
        enough = TIMER_STEPS * self.timer_step_seconds
        if not self.can_batch or most < 2:
            return 1
        if self.mode == "isolated":
            return 1 if seconds >= enough else min(math.ceil(enough / seconds), most)
        wanted = min(max(enough, _BATCH_SECONDS) / seconds, most)
        return max(2, math.ceil(min(wanted, budget_seconds / 4 / seconds)))

    def taken_mode(self, length: int) -> TakenMode:
        """How a sample of such batches was taken."""
        if length == 1:
            return "isolated"
        return "batched" if self.mode == "isolated" else self.mode


@dataclass(frozen=True, slots=True, kw_only=True)
class Batches:
    """What a measurement has to know to batch.

    Attributes:
        length: Executions of one batch, from the seconds of one execution.
        execute: Executes so many times; the device's mean of one.
    """

    length: Callable[[float], int]
    execute: Callable[[int], float]
