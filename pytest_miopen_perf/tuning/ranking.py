"""Which of several trials is the fastest, and which one is too slow to be worth another execution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_miopen_perf.results import TrialStatus

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_miopen_perf.results import Trial

MARGIN = 0.01
"""What stands stays unless another is faster by this share: below it the winner would be luck."""

_NOISE_SHARE = 5.0
"""A probe counts as worse only beyond so many interquartile ranges of the best."""


def fastest(trials: Iterable[Trial]) -> Trial | None:
    """The measured trial with the least median; None when nothing was measured."""
    return min((trial for trial in trials if trial.status is TrialStatus.MEASURED), key=median_of, default=None)


def median_of(trial: Trial) -> float:
    """The median of a measured trial, in seconds."""
    assert trial.median_seconds is not None, "a measured trial has a median"
    return trial.median_seconds


def slowest_worth_measuring(best: Trial | None, factor: float) -> float | None:
    """The time beyond which one execution tells that a candidate has lost; None while there is nothing to lose to.

    Args:
        best: The fastest trial so far.
        factor: Of its median, where its own noise does not ask for more.
    """
    if best is None:
        return None
    return median_of(best) * max(factor, 1 + _NOISE_SHARE * (best.noise or 0.0))
