"""The search over the configs of one solver, and the choice among solvers.

Both rank by the median of what a trial measured; a config or solver whose numbers are wrong, or that does not compile
or run, is a row of the outcome and never ranked.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pytest_miopen_perf.results import Trial, TrialStatus, Tuning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pytest_miopen_perf.solvers import PerformanceConfig

MARGIN = 0.01
"""The default config stays unless another is faster by this share: below it the winner would be luck."""


class Clock(Protocol):
    """Something that tells the time in seconds."""

    def __call__(self) -> float:
        """Seconds since some fixed moment."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRule:
    """How long a search may go on.

    Attributes:
        max_configs: Most configs to try, the default included.
        budget_seconds: Time after which no further config is begun.
        seed: Of the shuffle.
    """

    max_configs: int
    budget_seconds: float
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a search has come: what a progress bar shows."""

    solver: str
    done: int
    total: int
    failed: int
    best_config: str
    best_seconds: float | None


def search(
    *,
    solver: str,
    default: PerformanceConfig,
    configs: Iterable[PerformanceConfig],
    trial: Callable[[PerformanceConfig], Trial],
    rule: SearchRule,
    clock: Clock,
    report: Callable[[Progress], None],
) -> Tuning:
    """Try the default, then the other configs in a seeded shuffle, until all are tried or the rule ends it.

    Args:
        solver: The solver's name.
        default: The config of an untuned run; it is tried first, so that every search can tell its gain.
        configs: Every valid config, the default among them.
        trial: Compiles, checks and measures one config; it reports failures, it does not raise them.
        rule: Limits and seed.
        clock: The time for the budget.
        report: Told of each step.
    """
    start = clock()
    order = [config for config in configs if config != default]
    random.Random(rule.seed).shuffle(order)  # noqa: S311 - a reproducible order, not a secret
    order = [default, *order]
    trials: list[Trial] = []
    stopped_by = "exhausted"
    for config in order:
        if len(trials) == rule.max_configs:
            stopped_by = "count"
            break
        if trials and clock() - start > rule.budget_seconds:
            stopped_by = "budget"
            break
        trials.append(trial(config))
        report(_progress(solver, trials, min(len(order), rule.max_configs)))
    winner = winner_over_default(trials)
    return Tuning(
        solver=solver,
        default_config=default.serialize(),
        best_config=default.serialize() if winner is None else winner.config,
        trials=tuple(trials),
        valid_configs=len(order),
        seconds=clock() - start,
        stopped_by=stopped_by,
        seed=rule.seed,
    )


def fastest(trials: Sequence[Trial]) -> Trial | None:
    """The measured trial with the least median; None when nothing was measured."""
    measured = [trial for trial in trials if trial.status is TrialStatus.MEASURED]
    return min(measured, key=_median, default=None)


def winner_over_default(trials: Sequence[Trial]) -> Trial | None:
    """The fastest trial, or the first one, the default, unless that is beaten by `MARGIN`."""
    leader = fastest(trials)
    default = trials[0] if trials else None
    if leader is None or default is None or default.status is not TrialStatus.MEASURED:
        return leader
    return default if _median(leader) > _median(default) * (1 - MARGIN) else leader


def _median(trial: Trial) -> float:
    assert trial.median_seconds is not None, "a measured trial has a median"
    return trial.median_seconds


def _progress(solver: str, trials: Sequence[Trial], total: int) -> Progress:
    leader = winner_over_default(trials)
    return Progress(
        solver=solver,
        done=len(trials),
        total=total,
        failed=sum(trial.status is not TrialStatus.MEASURED for trial in trials),
        best_config="" if leader is None else leader.config,
        best_seconds=None if leader is None else leader.median_seconds,
    )
