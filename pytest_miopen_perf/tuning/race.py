"""The end of a search: the last few configs are measured again, in turn, on fresh samples.

A search ranks medians that were taken at different times, and the least of many noisy figures is too good. Samples of
a race are taken in turn, so that whatever slows the device slows all alike, and compared round by round.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pytest_miopen_perf import statistics
from pytest_miopen_perf.errors import LaunchError
from pytest_miopen_perf.tuning.ranking import MARGIN, median_of, slowest_worth_measuring

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_miopen_perf.results import Trial

ROUNDS = 11
"""Enough that the interval of a median ratio at 95 % leaves out the highest and the lowest."""

MOST_ROUNDS = 51
"""As many are run while it is open who is faster."""

BUDGET_SECONDS = 3.0
"""Device time after which `FEWEST_ROUNDS` are enough."""

FEWEST_ROUNDS = 3
CLOSE = 0.10
"""Who is slower than the fastest by more than this share, and by more than its noise, does not race."""

MOST_RACERS = 4


class Racer(Protocol):
    """A config that can be executed again and again."""

    def sample(self) -> float:
        """Execute once; the device's seconds.

        Raises:
            LaunchError: it did not come to its end, or the device's clock cannot be believed.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class RaceTimes:
    """What a race measured.

    Attributes:
        seconds: The time of each round by config, of those that came through.
        failures: The reason by config of those that did not.
    """

    seconds: Mapping[str, tuple[float, ...]]
    failures: Mapping[str, str]


def finalists(trials: Sequence[Trial], standing: Iterable[str]) -> list[str]:
    """The configs that race: those close to the fastest, and always what stands; none when there is no contest.

    Args:
        trials: Measured trials, and no probes that were dropped.
        standing: The configs that stay unless beaten.
    """
    ranked = sorted(trials, key=median_of)
    if not ranked:
        return []
    limit_seconds = slowest_worth_measuring(ranked[0], 1 + CLOSE, noise_share=1.0)
    close = [trial.config for trial in ranked if median_of(trial) <= limit_seconds]
    measured = {trial.config for trial in trials}
    kept = [config for config in dict.fromkeys(standing) if config in measured]
    others = [config for config in close if config not in kept][: max(1, MOST_RACERS - len(kept))]
    return [*kept, *others] if len(kept) + len(others) > 1 else []


def race(racers: Mapping[str, Racer]) -> RaceTimes:
    """Execute all in turn, every other round in reverse, until nothing is open, or for as long as a race may last."""
    seconds: dict[str, list[float]] = {config: [] for config in racers}
    failures: dict[str, str] = {}
    spent = 0.0
    for number in range(MOST_ROUNDS):
        if (spent > BUDGET_SECONDS and number >= FEWEST_ROUNDS) or (number >= ROUNDS and not _is_open(seconds)):
            break
        for config in list(seconds)[:: -1 if number % 2 else 1]:
            try:
                seconds[config].append(racers[config].sample())
                spent += seconds[config][-1]
            except LaunchError as error:
                failures[config] = str(error)
                del seconds[config]
    return RaceTimes(seconds={config: tuple(times) for config, times in seconds.items()}, failures=failures)


def winner(times: Mapping[str, Sequence[float]], standing: Iterable[str]) -> str | None:
    """Who wins a race: the fastest that beats what stands, else what stands; None when nobody came through.

    Of several that stand the fastest does, by however little.
    """
    ranked = sorted(times, key=lambda config: _median(times[config]))
    holder = next((config for config in ranked if config in set(standing)), None)
    if holder is None:
        return ranked[0] if ranked else None
    ahead = ranked[: ranked.index(holder)]
    return next((config for config in ahead if _beats(times[config], times[holder])), holder)


def ties(times: Mapping[str, Sequence[float]], best: str) -> tuple[str, ...]:
    """The configs that the race cannot tell from the best: within `MARGIN`, or a ratio whose interval holds 1."""
    return tuple(config for config in times if config != best and not _is_clearly_slower(times[config], times[best]))


def _beats(challenger: Sequence[float], holder: Sequence[float]) -> bool:
    ratios = _ratios(challenger, holder)
    interval = statistics.median_interval(ratios)
    return _median(ratios) < 1 - MARGIN and (interval.high if interval else max(ratios)) < 1


def _is_clearly_slower(other: Sequence[float], best: Sequence[float]) -> bool:
    ratios = _ratios(other, best)
    interval = statistics.median_interval(ratios)
    return _median(ratios) > 1 + MARGIN and (interval.low if interval else min(ratios)) > 1


def _is_open(times: Mapping[str, Sequence[float]]) -> bool:
    """Whether some config is neither clearly slower than the fastest nor clearly as fast."""
    ranked = sorted(times, key=lambda config: _median(times[config]))
    return any(
        not _is_clearly_slower(times[config], times[ranked[0]])
        and not _is_clearly_equal(times[config], times[ranked[0]])
        for config in ranked[1:]
    )


def _is_clearly_equal(other: Sequence[float], best: Sequence[float]) -> bool:
    interval = statistics.median_interval(_ratios(other, best))
    return interval is not None and interval.low >= 1 - MARGIN and interval.high <= 1 + MARGIN


def _ratios(numerators: Sequence[float], denominators: Sequence[float]) -> list[float]:
    return [a / b for a, b in zip(numerators, denominators, strict=True)]


def _median(values: Sequence[float]) -> float:
    median = statistics.median(values)
    assert median is not None, "a race has rounds"
    return median
