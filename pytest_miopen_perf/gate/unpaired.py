"""Two independent sets of times: the weak comparison, for a stored baseline.

Mann-Whitney against a margin, and the Hodges-Lehmann shift with the interval that belongs to the test. Where both sides
have enough processes the process is the unit. Where they have not, launches are, and what a whole session is off by
cannot be seen: the margin has to cover it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, cast

from pytest_miopen_perf import statistics
from pytest_miopen_perf.gate.estimators import CONFIDENCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

FEWEST_PROCESSES = 5
"""Five values against five can reach p = 1/252; four against four no less than 1/70, which refutes nothing at 1 %."""

_MOST_EXACT_PAIRS = 400

Unit = Literal["process", "launch"]


@dataclass(frozen=True, slots=True, kw_only=True)
class TwoSamples:
    """Log times of both sides, one value a unit.

    Attributes:
        base: Of the baseline.
        new: Of the version under test.
        unit: What a value stands for.
    """

    base: tuple[float, ...]
    new: tuple[float, ...]
    unit: Unit

    @staticmethod
    def of(base_seconds: Sequence[Sequence[float]], new_seconds: Sequence[Sequence[float]]) -> TwoSamples | None:
        """The samples of times that are grouped by process; None when a side has no valid time."""
        base, new = _valid(base_seconds), _valid(new_seconds)
        if not base or not new:
            return None
        if min(len(base), len(new)) >= FEWEST_PROCESSES:
            return TwoSamples(base=_log_medians(base), new=_log_medians(new), unit="process")
        return TwoSamples(base=_pooled_logs(base), new=_pooled_logs(new), unit="launch")

    def p_above(self, log_bound: float) -> float:
        """The one-sided Mann-Whitney p value that refutes "new is at most `log_bound` above base"."""
        return self._p_value(log_bound, "greater")

    def p_below(self, log_bound: float) -> float:
        """The one-sided Mann-Whitney p value that refutes "new is at least `log_bound` above base"."""
        return self._p_value(log_bound, "less")

    def _p_value(self, log_bound: float, alternative: Literal["greater", "less"]) -> float:
        from scipy.stats import mannwhitneyu

        shifted = [value - log_bound for value in self.new]
        return float(mannwhitneyu(shifted, self.base, alternative=alternative).pvalue)


@dataclass(frozen=True, slots=True, kw_only=True)
class Shift:
    """How far new is from base, on the logarithm.

    Attributes:
        log_ratio: The Hodges-Lehmann shift: the median of all differences.
        low: Lower end of the interval; None when so few values cannot reach the confidence.
        high: Upper end.
    """

    log_ratio: float
    low: float | None
    high: float | None

    @property
    def standard_error(self) -> float | None:
        """What a normal interval of that width would have; None without an interval."""
        if self.low is None or self.high is None:
            return None
        return (self.high - self.low) / 2 / _normal_quantile((1 + CONFIDENCE) / 2)


def shift_of(samples: TwoSamples, confidence: float = CONFIDENCE) -> Shift:
    """The shift and the interval of all shifts that a two-sided Mann-Whitney test at `confidence` would not refute."""
    import numpy as np

    differences = np.sort(np.subtract.outer(np.asarray(samples.new), np.asarray(samples.base)), axis=None)
    middle = float(np.median(differences))
    rank = _interval_rank(len(samples.base), len(samples.new), confidence)
    if rank is None:
        return Shift(log_ratio=middle, low=None, high=None)
    return Shift(log_ratio=middle, low=float(differences[rank]), high=float(differences[-1 - rank]))


def _interval_rank(base_count: int, new_count: int, confidence: float) -> int | None:
    """How many differences lie outside at each end: the greatest k with P(U <= k) <= (1 - confidence) / 2.

    From the exact distribution of U for small samples, else from its normal limit with continuity correction. None
    when there is no such k.
    """
    tail = (1 - confidence) / 2
    pairs = base_count * new_count
    if pairs <= _MOST_EXACT_PAIRS:
        import numpy as np

        rank = int(np.searchsorted(np.cumsum(_u_distribution(base_count, new_count)), tail, side="right")) - 1
    else:
        deviation = math.sqrt(pairs * (base_count + new_count + 1) / 12)
        rank = math.floor(pairs / 2 - 0.5 - _normal_quantile(1 - tail) * deviation)
    return rank if rank >= 0 else None


def _u_distribution(base_count: int, new_count: int) -> NDArray[np.float64]:
    """P(U = u) for u = 0 .. n m without ties: the coefficients of the Gaussian binomial, over their sum."""
    import numpy as np

    pairs = base_count * new_count
    counts = np.zeros(pairs + 1)
    counts[0] = 1
    for i in range(1, new_count + 1):
        # Multiply by (1 - q^(base + i)), then divide by (1 - q^i).
        factor = base_count + i
        counts[factor:] = counts[factor:] - counts[: max(0, pairs + 1 - factor)]
        for u in range(i, pairs + 1):
            counts[u] += counts[u - i]
    return cast("NDArray[np.float64]", counts / counts.sum())


def _normal_quantile(probability: float) -> float:
    from scipy.special import ndtri

    return float(ndtri(probability))


def _valid(groups: Sequence[Sequence[float]]) -> list[list[float]]:
    kept = [[t for t in group if statistics.is_time(t)] for group in groups]
    return [group for group in kept if group]


def _log_medians(groups: Sequence[Sequence[float]]) -> tuple[float, ...]:
    return tuple(math.log(cast("float", statistics.median(group))) for group in groups)


def _pooled_logs(groups: Sequence[Sequence[float]]) -> tuple[float, ...]:
    return tuple(math.log(t) for group in groups for t in group)
