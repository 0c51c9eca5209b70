"""Whether the figures of a config follow from its own printed times.

The times are printed with six digits, the figures were drawn from all of them. In about 7 of 100,000 configs that
rounding moves a time across the limit of an outlier, so that a figure cannot be had from the printed times though both
are right: such a figure is not reproducible, which is not the same as wrong.
"""

from __future__ import annotations

import enum
import math
from typing import TYPE_CHECKING

from pytest_miopen_perf.statistics import measured_ms, median, miopen_statistics

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_miopen_perf.records import ConfigRecord

_TOLERANCE = 1e-5
_ROUNDING = 1.02e-5  # of a difference of two values of six digits
_WARM_UPS = 2
_SCORE_SCALE = 0.6745
_HIGH_SCORE = 2.0


class Agreement(enum.Enum):
    """How stated figures relate to the printed times."""

    AGREE = "agree"
    NOT_REPRODUCIBLE = "not reproducible"
    DISAGREE = "disagree"


def steady_times(times_ms: Sequence[float]) -> Sequence[float]:
    """The times without MIOpen's warm-ups: more than two lose the first two."""
    return times_ms[_WARM_UPS:] if len(times_ms) > _WARM_UPS else times_ms


def is_measured(times_ms: Sequence[float]) -> bool:
    """Whether there are times, and every one of them is a measurement."""
    return 0 < len(times_ms) == len(measured_ms(times_ms))


def judge_figures(config: ConfigRecord) -> tuple[Agreement, str]:
    """Whether the four figures of a config follow from its times, and which figure does not.

    Args:
        config: One whose times are all measurements.
    """
    figures = miopen_statistics(config.time_executions_ms)
    assert figures is not None, "there are times"
    steady = steady_times(config.time_executions_ms)
    for name, stated, ours in (
        ("time_min_ms", config.time_min_ms, figures.min_ms),
        ("time_max_ms", config.time_max_ms, figures.max_ms),
    ):
        if not _near(stated, ours):
            return Agreement.DISAGREE, _contradiction(name, stated, ours)
    if not _near(config.time_ms, figures.time_ms):
        explained = any(_near(config.time_ms, mean) for mean in _possible_means(sorted(steady)))
        contradiction = _contradiction("time_ms", config.time_ms, figures.time_ms)
        return (Agreement.NOT_REPRODUCIBLE if explained else Agreement.DISAGREE), contradiction
    if not abs(config.time_std_ms - figures.std_ms) <= _TOLERANCE * figures.max_ms:
        return Agreement.DISAGREE, _contradiction("time_std_ms", config.time_std_ms, figures.std_ms)
    return Agreement.AGREE, ""


def _near(stated: float, ours: float) -> bool:
    return abs(stated - ours) <= _TOLERANCE * ours


def _contradiction(name: str, stated: float, ours: float) -> str:
    return f"{name} is {stated:.6g}, but its times give {ours:.6g}"


def _possible_means(ordered: Sequence[float]) -> Iterator[float]:
    """The means of all sets of times that may have been kept before the times were rounded."""
    middle = median(ordered)
    spread = median(sorted(abs(time - middle) for time in ordered)) if middle is not None else None
    if middle is None or spread is None:
        return
    error = _ROUNDING * ordered[-1]
    total = 0.0
    for kept, time in enumerate(ordered, 1):
        total += time
        lowest = _SCORE_SCALE * (time - middle - error) / (spread + error)
        if lowest > _HIGH_SCORE and spread > error:
            return
        is_all = kept == len(ordered) or spread <= error
        if is_all or _SCORE_SCALE * (ordered[kept] - middle + error) / (spread - error) > _HIGH_SCORE:
            yield total / kept


def dominating_time(config: ConfigRecord) -> float | None:
    """A time that carries the mean away from the middle of the times by more than a fifth, or None.

    Without any spread (MAD 0) MIOpen takes nothing for an outlier, however large.
    """
    steady = steady_times(config.time_executions_ms)
    middle = median(steady)
    if len(steady) < 3 or middle is None or not middle > 0 or math.isnan(config.time_ms):
        return None
    return max(steady) if config.time_ms > 1.2 * middle else None
