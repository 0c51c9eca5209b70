"""What the gate says of a case: a verdict, its reason as a code and as a sentence, and the row that a report shows."""

from __future__ import annotations

import enum
import math
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from pytest_miopen_perf.gate.estimators import smallest_detectable_change
from pytest_miopen_perf.gate.keys import CaseKey
from pytest_miopen_perf.gate.phases import Phase
from pytest_miopen_perf.gate.what_changed import WhatChanged

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_miopen_perf.gate.estimators import Estimate

Comparison = Literal["paired", "unpaired"]
"""Whether both versions ran interleaved in one job, or the other one's times come from a file."""


class Verdict(enum.Enum):
    """The outcome for one case; the value is the word that people and machines read."""

    REGRESSION = "REGRESSION"
    TAINTED = "TAINTED"
    INCONCLUSIVE = "INCONCLUSIVE"
    NO_BASELINE = "NO_BASELINE"
    PASS = "PASS"  # noqa: S105 - a verdict, not a password
    IMPROVED = "IMPROVED"


class Reason(enum.Enum):
    """Why; the value is a stable code for machines."""

    SLOWER = "slower"
    FASTER = "faster"
    WITHIN_MARGIN = "within_margin"
    TOO_NOISY = "too_noisy"
    TOO_FEW_SAMPLES = "too_few_samples"
    UNDECIDED = "undecided"
    UNCONFIRMED = "unconfirmed"
    NOT_CONFIRMED = "not_confirmed"
    LOST_IN_THE_SUITE = "lost_in_the_suite"
    DISTURBED = "disturbed"
    WRONG_NUMBERS = "wrong_numbers"
    NOT_TIMED = "not_timed"
    NEW_CASE = "new_case"
    OTHER_DEVICE = "other_device"
    MORE = "more"
    LESS = "less"
    LESS_EXACT = "less_exact"
    FASTER_BUT_LESS_EXACT = "faster_but_less_exact"
    NOT_MEASURED = "not_measured"
    NOT_IN_BASELINE = "not_in_baseline"


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """A verdict with its reason.

    Attributes:
        verdict: The outcome.
        reason: Its code.
        sentence: The reason in words.
        p_value: Of "no slower than the margin", both stages together; None when nothing was tested.
    """

    verdict: Verdict
    reason: Reason
    sentence: str
    p_value: float | None = None

    def to_json(self) -> dict[str, Any]:
        """As builtins."""
        return asdict(self) | {"verdict": self.verdict.value, "reason": self.reason.value}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Decision:
        """The inverse of `to_json`."""
        return Decision(**{**data, "verdict": Verdict(data["verdict"]), "reason": Reason(data["reason"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineReference:
    """The other side of an unpaired comparison.

    Attributes:
        name: Of the baseline.
        saved: When the case was saved, ISO 8601 in UTC.
        age_days: How long ago that was.
    """

    name: str
    saved: str
    age_days: float


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseRow:
    """What the gate says of one phase of a case beside its kernel time.

    Attributes:
        phase: Which.
        decision: The verdict and why.
        base: Of the baseline or of arm A: seconds, bytes, or an rms error; None where it is not known.
        new: Of the version under test or of arm B.
        units: How many processes the new value comes from; 1 is a single sample.
    """

    phase: Phase
    decision: Decision
    base: float | None = None
    new: float | None = None
    units: int = 0

    @property
    def verdict(self) -> Verdict:
        """The outcome."""
        return self.decision.verdict

    def to_json(self) -> dict[str, Any]:
        """As builtins."""
        return asdict(self) | {"phase": self.phase.value, "decision": self.decision.to_json()}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> PhaseRow:
        """The inverse of `to_json`."""
        return PhaseRow(**{**data, "phase": Phase(data["phase"]), "decision": Decision.from_json(data["decision"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordCost:
    """What one record of the performance log takes of the host's time.

    Attributes:
        seconds: Level 4 less level 0, a record.
        interval: Its 95 % interval; None of a single process.
        units: How many processes it is drawn from.
    """

    seconds: float
    interval: tuple[float, float] | None
    units: int

    def to_json(self) -> dict[str, Any]:
        """As builtins."""
        return asdict(self) | {"interval": None if self.interval is None else list(self.interval)}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> RecordCost:
        """The inverse of `to_json`."""
        return RecordCost(**{**data, "interval": None if data["interval"] is None else tuple(data["interval"])})


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictRow:
    """One case of a verdict report. Changes are relative: 0.02 is 2 % slower.

    Attributes:
        key: What was compared.
        name: The problem's short name.
        decision: The verdict and why.
        comparison: Paired or unpaired.
        margin: The margin it was tested against, noise floor included.
        unit: What the uncertainty is drawn from: "process" or "launch".
        units: How many of them the new side has.
        change: Of the time; None when nothing could be compared.
        interval: Its 95 % interval.
        smallest_detectable_change: The slowdown that this row would have seen.
        effect_over_noise: Change in standard errors, with its sign; None when the noise is unknown.
        base_seconds: Median of the baseline, or of arm A in the process that is nearest to the change.
        new_seconds: Median of the version under test, or of arm B in that process.
        what_changed: What is different in what ran; None when one side is missing.
        baseline: Of an unpaired comparison.
        reproducer: A command line that measures the case again; "" where nobody gave one.
        phases: What was judged beside the time; their verdicts are in that of the row.
        record_cost: Where the arms are two levels of the log: what it costs.
    """

    key: CaseKey
    name: str
    decision: Decision
    comparison: Comparison
    margin: float
    unit: str = ""
    units: int = 0
    change: float | None = None
    interval: tuple[float, float] | None = None
    smallest_detectable_change: float | None = None
    effect_over_noise: float | None = None
    base_seconds: float | None = None
    new_seconds: float | None = None
    what_changed: WhatChanged | None = None
    baseline: BaselineReference | None = None
    reproducer: str = ""
    phases: tuple[PhaseRow, ...] = ()
    record_cost: RecordCost | None = None

    @property
    def verdict(self) -> Verdict:
        """The outcome."""
        return self.decision.verdict

    def with_estimate(self, estimate: Estimate, level: float) -> VerdictRow:
        """The row with what an estimate says of the change.

        Args:
            estimate: Of the log ratio.
            level: The one-sided error level of the verdict.
        """
        return replace(
            self,
            change=estimate.change,
            interval=estimate.change_interval(),
            smallest_detectable_change=smallest_detectable_change(estimate, self.margin, level=level),
            effect_over_noise=None if estimate.standard_error is None else estimate.effect_over_noise,
        )

    @property
    def doubt(self) -> str:
        """That the medians contradict the change, which makes its times ones that no figure tells; "" where none does.

        They do where they differ by something outside the interval, and by more than the margin from the change.
        """
        if self.change is None or self.interval is None or not self.base_seconds or not self.new_seconds:
            return ""
        of_medians, (low, high) = self.new_seconds / self.base_seconds - 1, self.interval
        if low <= of_medians <= high or abs(of_medians - self.change) <= self.margin:
            return ""
        return f"the medians differ by {of_medians:+.1%}, so that the times are bimodal or noisy"

    def with_reproducer(self, reproducer: str) -> VerdictRow:
        """The row with a command line that measures the case again."""
        return replace(self, reproducer=reproducer)

    def to_json(self) -> dict[str, Any]:
        """As builtins that every JSON reader takes: an effect without noise is the largest float, not infinity."""
        effect = self.effect_over_noise
        return asdict(self) | {
            "decision": self.decision.to_json(),
            "interval": None if self.interval is None else list(self.interval),
            "effect_over_noise": None if effect is None else max(-_LARGEST, min(_LARGEST, effect)),
            "what_changed": None if self.what_changed is None else self.what_changed.to_json(),
            "phases": [phase.to_json() for phase in self.phases],
            "record_cost": None if self.record_cost is None else self.record_cost.to_json(),
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> VerdictRow:
        """The inverse of `to_json`."""
        interval, effect, cost = data["interval"], data["effect_over_noise"], data["record_cost"]
        kept = {
            "key": CaseKey(**data["key"]),
            "decision": Decision.from_json(data["decision"]),
            "interval": None if interval is None else (interval[0], interval[1]),
            "effect_over_noise": effect
            if effect is None or abs(effect) < _LARGEST
            else math.copysign(math.inf, effect),
            "what_changed": None if data["what_changed"] is None else WhatChanged.from_json(data["what_changed"]),
            "baseline": None if data["baseline"] is None else BaselineReference(**data["baseline"]),
            "phases": tuple(map(PhaseRow.from_json, data["phases"])),
            "record_cost": None if cost is None else RecordCost.from_json(cost),
        }
        return VerdictRow(**{**data, **kept})


_LARGEST = 1.7976931348623157e308


def worst_first(rows: Iterable[VerdictRow]) -> tuple[VerdictRow, ...]:
    """Regressions first, then by effect over noise, slower ones before faster ones; what has no noise comes last."""
    return tuple(sorted(rows, key=_badness))


def _badness(row: VerdictRow) -> tuple[bool, bool, float, str]:
    effect = row.effect_over_noise
    return row.verdict is not Verdict.REGRESSION, effect is None, -(effect or 0.0), row.name
