"""From launch times to a change with its uncertainty, the process being the unit of replication.

Everything is computed on logarithms, so that twice as fast and twice as slow are equally far from no change. A log
ratio is that of B over A: above zero B, the version under test, is slower.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TYPE_CHECKING, Literal, cast

from pytest_miopen_perf import statistics

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

Order = Literal["ABBA", "BAAB"]
"""Which arm runs in each of the four slots of a block; either order cancels a drift that is linear over the block."""

CONFIDENCE = 0.95
"""Of every interval that a report shows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Four slots of a few launches each, run one after the other.

    Attributes:
        order: The arm of each slot.
        slots_seconds: The launch times of each slot in run order; a time that is not above zero and finite is no time.
    """

    order: Order
    slots_seconds: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        if self.order not in ("ABBA", "BAAB") or len(self.slots_seconds) != 4:
            raise ValueError(f"a block is ABBA or BAAB with 4 slots, not {self.order} with {len(self.slots_seconds)}")

    @property
    def log_ratio(self) -> float | None:
        """Mean log time of the two B slots minus that of the two A slots; None when a slot has no valid time."""
        medians = [statistics.median([t for t in slot if statistics.is_time(t)]) for slot in self.slots_seconds]
        if None in medians:
            return None
        logs = [math.log(cast("float", median)) for median in medians]
        outer_minus_inner = (logs[0] - logs[1] - logs[2] + logs[3]) / 2
        return -outer_minus_inner if self.order == "ABBA" else outer_minus_inner


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A mean log ratio over independent units, normally processes.

    Attributes:
        log_ratio: The mean.
        standard_error: Of the mean; None of a single unit, which says nothing about its own noise.
        degrees: Degrees of freedom of the standard error.
        units: How many units it is drawn from.
    """

    log_ratio: float
    standard_error: float | None
    degrees: float
    units: int

    @property
    def change(self) -> float:
        """The relative change of time: 0.02 is 2 % slower."""
        return math.expm1(self.log_ratio)

    @property
    def effect_over_noise(self) -> float:
        """The log ratio in standard errors, with its sign; 0 when nothing is known about the noise."""
        if self.standard_error is None or self.log_ratio == 0:
            return 0.0
        return self.log_ratio / self.standard_error if self.standard_error else math.copysign(math.inf, self.log_ratio)

    def change_interval(self, confidence: float = CONFIDENCE) -> tuple[float, float] | None:
        """The t interval of the change, symmetric on the logarithm; None of a single unit."""
        interval = self.interval(confidence)
        return None if interval is None else (math.expm1(interval[0]), math.expm1(interval[1]))

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float] | None:
        """The t interval of the mean itself; None of a single unit."""
        if self.standard_error is None:
            return None
        half = t_quantile((1 + confidence) / 2, self.degrees) * self.standard_error
        return self.log_ratio - half, self.log_ratio + half

    def p_above(self, log_bound: float) -> float:
        """The one-sided p value that refutes "the log ratio is at most `log_bound`"; 1 when the noise is unknown."""
        return 1.0 if self.standard_error is None else t_tail(self.log_ratio - log_bound, self.standard_error, self)

    def p_below(self, log_bound: float) -> float:
        """The one-sided p value that refutes "the log ratio is at least `log_bound`"; 1 when the noise is unknown."""
        return 1.0 if self.standard_error is None else t_tail(log_bound - self.log_ratio, self.standard_error, self)


def t_tail(distance: float, standard_error: float, estimate: Estimate) -> float:
    """The chance of a t value at least so far out; without any spread the distance's sign decides."""
    from scipy.special import stdtr

    if standard_error == 0:
        return 0.5 if distance == 0 else float(distance < 0)
    return float(stdtr(estimate.degrees, -distance / standard_error))


def t_quantile(probability: float, degrees: float) -> float:
    """The quantile of Student's t."""
    from scipy.special import stdtrit

    return float(stdtrit(degrees, probability))


def hodges_lehmann(values: Sequence[float]) -> float | None:
    """The median of the means of all pairs, each value also paired with itself.

    Nearly as precise as the mean on normal values, and unmoved by up to 29 % of outliers (Hodges and Lehmann, 1963).
    """
    return statistics.median([(a + b) / 2 for a, b in combinations_with_replacement(values, 2)])


def process_log_ratio(blocks: Iterable[Block]) -> float | None:
    """What one process says: Hodges-Lehmann over the log ratios of its blocks; None when no block is valid."""
    return hodges_lehmann([ratio for block in blocks if (ratio := block.log_ratio) is not None])


def estimate_over_units(log_ratios: Sequence[float]) -> Estimate:
    """Mean and standard error over independent units.

    Raises:
        ValueError: there is no unit.
    """
    count = len(log_ratios)
    if not count:
        raise ValueError("an estimate needs at least one unit")
    mean = math.fsum(log_ratios) / count
    if count == 1:
        return Estimate(log_ratio=mean, standard_error=None, degrees=0, units=1)
    variance = math.fsum((x - mean) ** 2 for x in log_ratios) / (count - 1)
    return Estimate(log_ratio=mean, standard_error=math.sqrt(variance / count), degrees=count - 1, units=count)


def smallest_detectable_change(
    estimate: Estimate, margin: float, *, level: float = 0.01, power: float = 0.95
) -> float | None:
    """The true slowdown that a test with this noise would call beyond the margin with probability `power`.

    What a green verdict could have seen. None when the noise is unknown.
    """
    if estimate.standard_error is None:
        return None
    return math.expm1(math.log1p(margin) + _reach(level, power, estimate.degrees) * estimate.standard_error)


@functools.lru_cache(maxsize=256)
def _reach(level: float, power: float, degrees: float) -> float:
    """How many standard errors a truth must lie beyond the bound: the noncentrality at which t has that power."""
    from scipy.special import nctdtrinc

    return float(nctdtrinc(degrees, 1 - power, t_quantile(1 - level, degrees)))


def geometric_mean(estimates: Sequence[Estimate]) -> Estimate | None:
    """The geometric mean of the ratios of a suite, each case weighing the same; None of an empty suite.

    The standard error is that of the measurement, its degrees of freedom those of Welch and Satterthwaite: it does not
    say how other kernels would fare. Cases of unknown noise leave it unknown.
    """
    count = len(estimates)
    if not count:
        return None
    mean = math.fsum(e.log_ratio for e in estimates) / count
    units = sum(e.units for e in estimates)
    if any(e.standard_error is None for e in estimates):
        return Estimate(log_ratio=mean, standard_error=None, degrees=0, units=units)
    variances = [(cast("float", e.standard_error) ** 2, e.degrees) for e in estimates]
    total = math.fsum(v for v, _ in variances)
    spread = math.fsum(v * v / degrees for v, degrees in variances)
    # Without any spread every number of degrees gives the same interval.
    degrees = total * total / spread if spread else 1.0
    return Estimate(log_ratio=mean, standard_error=math.sqrt(total) / count, degrees=degrees, units=units)
