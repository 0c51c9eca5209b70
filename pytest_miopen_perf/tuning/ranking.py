"""Which of several trials is the fastest, and which one is too slow to be worth another execution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_miopen_perf.results import TrialStatus

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_miopen_perf.results import Trial

MARGIN = 0.01
"""What stands stays unless another is faster by this share: below it the winner would be luck."""


def fastest(trials: Iterable[Trial]) -> Trial | None:
    """The measured trial with the least median; None when nothing was measured."""
    return min((trial for trial in trials if trial.status is TrialStatus.MEASURED), key=median_of, default=None)


class Tally:
    """The trials of a search in order, with what is asked after each one: thousands are not looked through again.

    Attributes:
        trials: What was tried.
        best: The fastest, as `fastest` says.
        failed: How many did not work.
        known_before: How many are of an earlier search.
    """

    def __init__(self) -> None:
        self.trials: list[Trial] = []
        self.best: Trial | None = None
        self.failed = 0
        self.known_before = 0

    def add(self, trial: Trial, *, is_known: bool) -> None:
        """Count one more; a known one took no time."""
        self.trials.append(trial)
        self.best = fastest(filter(None, (self.best, trial)))
        self.failed += trial.is_failed
        self.known_before += is_known


def median_of(trial: Trial) -> float:
    """The median of a measured trial, in seconds."""
    assert trial.median_seconds is not None, "a measured trial has a median"
    return trial.median_seconds


def slowest_worth_measuring(best: Trial, factor: float, noise_share: float = 5.0) -> float:
    """The time beyond which a candidate has lost to the best so far.

    Args:
        best: The fastest trial so far.
        factor: Of its median, where its own noise does not ask for more.
        noise_share: So many interquartile ranges above its median are noise: five for a single execution, which may
            be an outlier; one for a median.
    """
    return median_of(best) * max(factor, 1 + noise_share * (best.noise or 0.0))
