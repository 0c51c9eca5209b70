"""When a search ends, and how far it has come."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from pytest_miopen_perf.results import TrialStatus
from pytest_miopen_perf.tuning.ranking import MARGIN, median_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_miopen_perf.results import Trial
    from pytest_miopen_perf.tuning.ranking import Tally

SearchEnd: TypeAlias = Literal["exhausted", "count", "budget", "patience"]
"""Why a search ended: every config was tried, or a limit of the rule."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRule:
    """How long a search may go on.

    Attributes:
        max_configs: Most configs to try, the default included.
        budget_seconds: Time after which no further config is begun, compiling included.
        patience: Configs in a row without improvement that end it; None is no such limit.
        seed: Of the shuffle.
        strategy: A name of `order.ORDERS`.
    """

    max_configs: int
    budget_seconds: float
    patience: int | None = None
    seed: int
    strategy: str = "neighbours"

    def why_stop(self, trials: Sequence[Trial], elapsed_seconds: float) -> SearchEnd | None:
        """Why no further config is to be tried although there is one; None to go on. The first is always tried.

        Args:
            trials: What was tried, in order.
            elapsed_seconds: Since the search began.
        """
        if not trials:
            return None
        if elapsed_seconds > self.budget_seconds:
            return "budget"
        if self.patience is not None and trials_without_improvement(trials) >= self.patience:
            return "patience"
        return None


def trials_without_improvement(trials: Sequence[Trial]) -> int:
    """How many trials at the end did not beat the best before them by `MARGIN`; the first measured one does."""
    best = None
    since = 0
    for trial in trials:
        since += 1
        if trial.status is TrialStatus.MEASURED and (best is None or median_of(trial) < best * (1 - MARGIN)):
            best = median_of(trial)
            since = 0
    return since


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a search has come: what a progress bar shows.

    Attributes:
        solver: The solver's name.
        done: Configs tried.
        total: Configs that will be tried, unless time or patience end it before.
        failed: Those of the tried ones that did not work.
        best_config: The fastest so far, "" for none.
        best_seconds: Its median.
        seconds_left: At the pace so far, within the budget; None before the first config is done.
        finalists: How many are being measured again side by side; 0 before that.
        most_seconds: What the search may take in all, before anything is known of its pace.
    """

    solver: str
    done: int
    total: int
    failed: int = 0
    best_config: str = ""
    best_seconds: float | None = None
    seconds_left: float | None = None
    finalists: int = 0
    most_seconds: float = math.inf


def progress_of(
    solver: str, tally: Tally, total: int, elapsed_seconds: float, rule: SearchRule, *, finalists: int = 0
) -> Progress:
    """The progress after some trials, of which those that were known before took no time."""
    done, known = len(tally.trials), tally.known_before
    leader = tally.best
    return Progress(
        solver=solver,
        done=done,
        total=total,
        failed=tally.failed,
        best_config="" if leader is None else leader.config,
        best_seconds=None if leader is None else leader.median_seconds,
        seconds_left=_seconds_left(done - known, total - known, elapsed_seconds, rule.budget_seconds),
        finalists=finalists,
        most_seconds=rule.budget_seconds,
    )


def _seconds_left(done: int, total: int, elapsed_seconds: float, budget_seconds: float) -> float | None:
    if not done:
        return None
    return max(0.0, min(elapsed_seconds / done * (total - done), budget_seconds - elapsed_seconds))
