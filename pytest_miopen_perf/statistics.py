"""The figures drawn from a list of times: MIOpen's own for the log, robust ones for measuring and judging.

Pure functions over plain sequences, in whatever unit the caller measures in. An empty list has no figure: the answer is
None, never a number that stands for "nothing". No function removes an outlier, except MIOpen's, which defines it so.
"""

from __future__ import annotations

import math
from array import array
from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Literal, TypeAlias

from pytest_miopen_perf.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

MIN_TIME_MS = 2.0**-126
"""The smallest normal float32; below it the six printed digits would not survive being read back."""

MAX_TIME_MS = 1e15
"""About 30,000 years. Above it (libraries use the largest float for "not measured") MIOpen's squares overflow."""

_WARM_UPS = 2
_HIGH_SCORE = 2.0
_SCORE_SCALE = 0.6745
_MAD_TO_SIGMA = 1.4826
_IQR_TO_SIGMA = 1 / 1.349
_MEDIAN_ERROR = math.sqrt(math.pi / 2)


def is_time(seconds: float) -> bool:
    """Whether a number can be a time: above zero and finite."""
    return 0 < seconds < math.inf


# --- MIOpen's own figures, in float32 ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class MiopenStatistics:
    """What MIOpen states of one performance config.

    Attributes:
        time_ms: Mean without warm-ups and without high outliers.
        std_ms: Population deviation around `time_ms`, without warm-ups, with outliers.
        min_ms: Least time, without warm-ups, with outliers.
        max_ms: Greatest time, without warm-ups, with outliers.
        exec_number: 1, the only count that MIOpen writes of a config that has times.
    """

    time_ms: float
    std_ms: float
    min_ms: float
    max_ms: float
    exec_number: int = 1


def float32(value: float) -> float:
    """Round to float32; what is too large becomes an infinity, as a C++ conversion makes it."""
    return array("f", (value,))[0]


def format_g6(value: float) -> str:
    """A float32 as the default C++ stream prints it: six significant digits.

    0.1 is `0.1`, 1e-5 is `1e-05`, 1234567 is `1.23457e+06`, 999999.5 is `1e+06`, 100 is `100`, -0.0 is `-0`.
    """
    return f"{float32(value):.6g}"


def measured_ms(times_ms: Iterable[float]) -> array[float]:
    """The times that are measurements, as float32 in run order.

    Zero, negative, infinite, not a number, and beyond `MIN_TIME_MS` .. `MAX_TIME_MS` are what timers and libraries
    return instead of a time. MIOpen averages them and may print `nan`, which is not JSON; here they are left out.
    """
    return array("f", [t for t in times_ms if MIN_TIME_MS <= t <= MAX_TIME_MS])


def miopen_statistics(times_ms: Iterable[float]) -> MiopenStatistics | None:
    """MIOpen's figures of one config, bit for bit as its performance log computes them in float32.

    More than two times lose the first two as warm-ups. Then high outliers (modified z score above 2) are left out of
    the mean, and of the mean only. Without any spread (MAD 0) nothing is an outlier, however large.

    Args:
        times_ms: Execution times in run order, warm-ups included; see `measured_ms` for what is skipped.

    Returns:
        The figures, or None when nothing was measured.
    """
    times = measured_ms(times_ms)
    if not times:
        return None
    steady = times[_WARM_UPS:] if len(times) > _WARM_UPS else times
    kept = _without_high_outliers(steady)
    # The sum is a double in MIOpen too; the built-in sum() compensates its rounding since Python 3.12.
    mean = float32(float32(list(accumulate(kept))[-1]) / len(kept))
    squares = array("f", [d * d for d in array("f", [t - mean for t in steady])])
    variance = float32(_float32_sum(squares) / len(steady))
    return MiopenStatistics(time_ms=mean, std_ms=float32(math.sqrt(variance)), min_ms=min(steady), max_ms=max(steady))


def driver_average_ms(times_ms: Iterable[float]) -> float | None:
    """`average_time_ms` of MIOpenDriver's performance line: the first of several times is dropped, outliers stay.

    Never comparable with `MiopenStatistics.time_ms`, which drops two and removes outliers.
    """
    times = measured_ms(times_ms)
    if len(times) < 2:
        return times[0] if times else None
    return float32(float32(_float32_sum(times) - times[0]) / (len(times) - 1))


def _without_high_outliers(times: array[float]) -> array[float]:
    middle = _float32_median(sorted(times))
    deviations = array("f", [t - middle for t in times])
    spread = _float32_median(sorted(map(abs, deviations)))
    if spread == 0:
        return times
    scores = array("f", [_SCORE_SCALE * d / spread for d in deviations])
    return array("f", [t for t, score in zip(times, scores, strict=True) if score <= _HIGH_SCORE])


def _float32_median(ordered: list[float]) -> float:
    half = len(ordered) // 2
    if len(ordered) % 2:
        return ordered[half]
    return float32(float32(ordered[half - 1] + ordered[half]) / 2)


def _float32_sum(values: array[float]) -> float:
    total = array("f", (0.0,))
    for value in values:
        total[0] += value
    return total[0]


# --- Robust figures ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval of a median.

    Attributes:
        low: An order statistic of the sample.
        high: Its mirror image.
        coverage: The probability, at least the one asked for, that the interval holds the true median.
    """

    low: float
    high: float
    coverage: float


def median(values: Sequence[float]) -> float | None:
    """The middle value, or the mean of the two middle ones."""
    return _quantile(sorted(values), 0.5) if values else None


def quartiles(values: Sequence[float]) -> tuple[float, float] | None:
    """The first and the third quartile, interpolated linearly between order statistics.

    Definition 7 of Hyndman and Fan (1996), the default of numpy, R and spreadsheets.
    """
    if not values:
        return None
    ordered = sorted(values)
    return _quantile(ordered, 0.25), _quantile(ordered, 0.75)


def robust_deviation(values: Sequence[float]) -> float | None:
    """An estimate of the standard deviation that outliers cannot carry away.

    The larger one of the two that MAD and interquartile range give, both scaled to agree with the standard deviation
    of a normal distribution: neither a skewed nor a coarsely clocked sample then looks quieter than it is.
    """
    if not values:
        return None
    ordered = sorted(values)
    middle = _quantile(ordered, 0.5)
    mad = _quantile(sorted(abs(v - middle) for v in ordered), 0.5)
    iqr = _quantile(ordered, 0.75) - _quantile(ordered, 0.25)
    return max(_MAD_TO_SIGMA * mad, _IQR_TO_SIGMA * iqr)


def relative_iqr(values: Sequence[float]) -> float | None:
    """The interquartile range over the median: the plain spread that a table shows. None as in `relative_noise`."""
    middle, quarters = median(values), quartiles(values)
    if middle is None or quarters is None or len(values) < 2 or middle <= 0:
        return None
    return (quarters[1] - quarters[0]) / middle


def relative_noise(values: Sequence[float]) -> float | None:
    """`robust_deviation` over the median, or None: one value has no noise, and a median of 0 no relative one."""
    middle, deviation = median(values), robust_deviation(values)
    if middle is None or deviation is None or len(values) < 2 or middle <= 0:
        return None
    return deviation / middle


def relative_noise_of_median(values: Sequence[float]) -> float | None:
    """The standard error of the median over the median: sqrt(pi/2) * relative noise / sqrt(n)."""
    noise = relative_noise(values)
    return None if noise is None else _MEDIAN_ERROR * noise / math.sqrt(len(values))


def median_interval(values: Sequence[float], confidence: float = 0.95) -> Interval | None:
    """The narrowest pair of mirrored order statistics that holds the true median with `confidence`.

    Free of any assumption on the distribution: the number of values below the median is binomial with p = 1/2. None
    when even the extremes of so few values do not reach the confidence (fewer than 6 values for 95 %).
    """
    n = len(values)
    ordered = sorted(values)
    found = None
    outside = choose = 1
    for rank in range(n // 2):
        coverage = 1 - outside / 2 ** (n - 1)
        if coverage < confidence:
            break
        found = Interval(ordered[rank], ordered[n - 1 - rank], coverage)
        choose = choose * (n - rank) // (rank + 1)
        outside += choose
    return found


def _quantile(ordered: Sequence[float], share: float) -> float:
    position = (len(ordered) - 1) * share
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    weight = position - below
    return ordered[below] * (1 - weight) + ordered[above] * weight


# --- When to stop measuring -------------------------------------------------------------------------------------------

StopReason: TypeAlias = Literal["noise", "no_progress", "max_samples", "budget"]
"""Why a measurement ended: the noise is small enough, it no longer falls, or the count or the time is used up."""

_FEWEST_SAMPLES = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class StoppingRule:
    """When a measurement has enough samples.

    Attributes:
        min_samples: Neither noise nor lack of progress ends a measurement below this count.
        max_samples: This count ends it.
        budget_seconds: After this time three samples are enough (one, if it alone took longer than the budget).
        target_relative_noise: `relative_noise_of_median` that is small enough; 0.005 is 0.5 %.
        patience: Lack of progress is judged once both halves of the samples are this long.

    Raises:
        SettingsError: a field is out of range.
    """

    min_samples: int = 10
    max_samples: int = 1000
    budget_seconds: float = 2.0
    target_relative_noise: float = 0.005
    patience: int = 50

    def __post_init__(self) -> None:
        if not 1 <= self.min_samples <= self.max_samples:
            raise SettingsError(f"min_samples {self.min_samples} must lie in 1 .. max_samples {self.max_samples}")
        if not self.budget_seconds > 0:
            raise SettingsError(f"budget_seconds is {self.budget_seconds}; it must be above 0")
        if not self.target_relative_noise >= 0:
            raise SettingsError(f"target_relative_noise is {self.target_relative_noise}; it must not be negative")
        if self.patience < 1:
            raise SettingsError(f"patience is {self.patience}; it must be at least 1")

    @classmethod
    def fixed(cls, samples: int) -> StoppingRule:
        """Exactly so many samples however long they take, as MIOpenDriver's `-i`."""
        return cls(min_samples=samples, max_samples=samples, budget_seconds=math.inf)


def why_stop(rule: StoppingRule, samples_seconds: Sequence[float], elapsed_seconds: float) -> StopReason | None:
    """Why the measurement ends here, or None while it goes on.

    To be asked after every sample. The noise is looked at eight times while the count doubles, so that a thousand
    samples cost a few dozen looks.

    Args:
        rule: When to stop.
        samples_seconds: The valid samples so far, in run order, without warm-ups.
        elapsed_seconds: Wall time since the measurement began.
    """
    n = len(samples_seconds)
    if n >= rule.max_samples:
        return "max_samples"
    if elapsed_seconds > rule.budget_seconds and n >= _enough_over_budget(rule, samples_seconds):
        return "budget"
    if n < rule.min_samples or not _is_time_to_look(n):
        return None
    noise = relative_noise_of_median(samples_seconds)
    if noise is None:
        return None
    if noise <= rule.target_relative_noise:
        return "noise"
    return "no_progress" if _has_stalled(rule, samples_seconds, noise) else None


def _is_time_to_look(n: int) -> bool:
    step = 1 << max(0, n.bit_length() - 4)
    return n % step == 0


def _enough_over_budget(rule: StoppingRule, samples_seconds: Sequence[float]) -> int:
    # Without a single valid sample the budget is the only thing that ends an endless retry.
    if not samples_seconds or max(samples_seconds) > rule.budget_seconds:
        return 0
    return min(rule.min_samples, _FEWEST_SAMPLES)


def _has_stalled(rule: StoppingRule, samples_seconds: Sequence[float], noise: float) -> bool:
    """Whether twice as many samples are no better than half of them: a steady source would gain a factor of 0.7."""
    half = len(samples_seconds) // 2
    if half < rule.patience:
        return False
    earlier = relative_noise_of_median(samples_seconds[:half])
    return earlier is not None and noise >= earlier
