"""The verdicts on the phases of a case beside its kernel time, and on the case as a whole.

Against a stored baseline a process has a single sample of each phase, and the baseline one of each session that saved
it. A sample is worse when it exceeds the median of the baseline by more than the share, by more than the least change,
and by more than the greatest sample that the baseline has seen. Between two arms there are as many samples as
processes: with three or more, the log ratios are tested as those of the time are, once and at the end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_miopen_perf.gate.estimators import estimate_over_units
from pytest_miopen_perf.gate.phases import Phase
from pytest_miopen_perf.gate.verdict import Decision, PhaseRow, Reason, Verdict
from pytest_miopen_perf.statistics import median

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pytest_miopen_perf.gate.phases import PhaseRule, PhaseValues
    from pytest_miopen_perf.gate.verdict import VerdictRow

FEWEST_TESTED = 3
"""Processes with a value in both arms below which a phase is judged by its medians alone."""

_LEVEL = 0.01

_WHY_NOT_MEASURED = {
    Phase.COMPILE: "the kernels came from a cache, so that no compiler was timed; give an empty --miopen-perf-cache",
    Phase.TUNING: "nothing was searched; give --miopen-perf-tune=force",
    Phase.FIRST_LAUNCH: "nobody timed the first launch",
    Phase.WORKSPACE: "the log does not tell the workspace",
    Phase.ACCURACY: "nobody looked at the numbers",
}

_HOW_TO_SAVE = {
    Phase.COMPILE: " with --miopen-perf-gate=compile, which compiles into an empty cache",
    Phase.TUNING: " with --miopen-perf-tune=force",
}


def judge_sessions(
    rules: Sequence[PhaseRule], base: Mapping[Phase, Sequence[float]], new: Sequence[PhaseValues]
) -> tuple[PhaseRow, ...]:
    """The verdicts against a stored baseline.

    Args:
        rules: What is judged.
        base: The samples of the baseline by phase, one a session.
        new: The values of each process of the session under test.
    """
    rows = (
        _judge(rule, base.get(rule.phase, ()), [values[rule.phase] for values in new if rule.phase in values])
        for rule in rules
        if rule.phase is not Phase.TIME
    )
    return tuple(row for row in rows if row is not None)


def with_taint(rows: Sequence[PhaseRow], taint: str) -> tuple[PhaseRow, ...]:
    """The rows of a run beside which others held the device, as a sentence says: it spares what is exact."""

    def tainted(row: PhaseRow) -> PhaseRow:
        sentence = f"{row.phase.value}: {taint}"
        return replace(row, decision=Decision(verdict=Verdict.TAINTED, reason=Reason.DISTURBED, sentence=sentence))

    return tuple(row if row.phase.is_exact else tainted(row) for row in rows)


def judge_arms(rules: Sequence[PhaseRule], pairs: Sequence[tuple[PhaseValues, PhaseValues]]) -> tuple[PhaseRow, ...]:
    """The verdicts on arm B against arm A.

    Args:
        rules: What is judged.
        pairs: The values of both arms in each process, or pair of processes.
    """
    rows: list[PhaseRow | None] = []
    for rule in (rule for rule in rules if rule.phase is not Phase.TIME):
        both = [(a[rule.phase], b[rule.phase]) for a, b in pairs if rule.phase in a and rule.phase in b]
        if len(both) >= FEWEST_TESTED and not rule.phase.is_exact:
            rows.append(_tested(rule, both))
        else:
            base = [a[rule.phase] for a, _ in pairs if rule.phase in a]
            rows.append(_judge(rule, base, [b[rule.phase] for _, b in pairs if rule.phase in b]))
    return tuple(row for row in rows if row is not None)


def _judge(rule: PhaseRule, base: Sequence[float], new: Sequence[float]) -> PhaseRow | None:
    """The verdict by medians; None where a case has no such phase, as one without configs is not tuned."""
    phase = rule.phase
    if not base and not new and phase is Phase.TUNING:
        return None
    if not new:
        sentence = f"{phase.value}: {_WHY_NOT_MEASURED[phase]}"
        decision = Decision(verdict=Verdict.INCONCLUSIVE, reason=Reason.NOT_MEASURED, sentence=sentence)
        return PhaseRow(phase=phase, decision=decision, base=_middle(base), units=0)
    if not base:
        how = _HOW_TO_SAVE.get(phase, "")
        what = f"{phase.value} {_shown(phase, _middle(new))}"
        sentence = f"{what}: the other side has nothing to compare it with; save that anew{how}"
        decision = Decision(verdict=Verdict.NO_BASELINE, reason=Reason.NOT_IN_BASELINE, sentence=sentence)
        return PhaseRow(phase=phase, decision=decision, new=_middle(new), units=len(new))
    return _compared(rule, base, new)


def _compared(rule: PhaseRule, base: Sequence[float], new: Sequence[float]) -> PhaseRow:
    sides = _Sides.of(rule, base, new)
    counts = f"{_samples(len(new))} against {len(base)}"
    allowed = f"{_shown(rule.phase, sides.base + sides.granted)} allowed"
    if sides.new > sides.base + sides.granted:
        decision = _decided(Verdict.REGRESSION, _worse(rule), f"{sides.sentence}, {allowed}: {counts}")
    elif sides.new < sides.base - sides.granted:
        decision = _decided(Verdict.IMPROVED, Reason.LESS, f"{sides.sentence}: {counts}")
    else:
        decision = _decided(Verdict.PASS, Reason.WITHIN_MARGIN, f"{sides.sentence}, {allowed}: {counts}")
    return sides.row(decision, len(new))


def _tested(rule: PhaseRule, both: Sequence[tuple[float, float]]) -> PhaseRow:
    """The verdict by the log ratios of the processes, and by the least change."""
    sides = _Sides.of(rule, [a for a, _ in both], [b for _, b in both])
    estimate = estimate_over_units([math.log(b / a) for a, b in both])
    bound = math.log1p(rule.share)
    counts = f"{len(both)} processes"
    words = f"{sides.sentence}, +{rule.share:.0%} and {_shown(rule.phase, rule.least)} allowed"
    if sides.new - sides.base > rule.least and estimate.p_above(bound) <= _LEVEL:
        decision = _decided(Verdict.REGRESSION, _worse(rule), f"{words}: {counts}")
    elif sides.base - sides.new > rule.least and estimate.p_below(-bound) <= _LEVEL:
        decision = _decided(Verdict.IMPROVED, Reason.LESS, f"{sides.sentence}: {counts}")
    elif sides.new - sides.base <= rule.least or estimate.p_below(bound) <= _LEVEL:
        decision = _decided(Verdict.PASS, Reason.WITHIN_MARGIN, f"{words}: {counts}")
    else:
        decision = _decided(Verdict.INCONCLUSIVE, Reason.TOO_NOISY, f"{words}: too noisy to tell in {counts}")
    return sides.row(decision, len(both))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Sides:
    """A phase of both sides, in the middle of their samples.

    Attributes:
        rule: What does not matter.
        base: Of the baseline or arm A.
        new: Of the version under test.
        granted: What the new side may be more by; the greatest sample of the base has been seen to happen.
    """

    rule: PhaseRule
    base: float
    new: float
    granted: float

    @staticmethod
    def of(rule: PhaseRule, base: Sequence[float], new: Sequence[float]) -> _Sides:
        middle = _middle(base)
        seen = max(base) - middle
        return _Sides(rule=rule, base=middle, new=_middle(new), granted=max(rule.share * middle, rule.least, seen))

    @property
    def sentence(self) -> str:
        phase = self.rule.phase
        change = f" ({self.new / self.base - 1:+.0%})" if self.base else ""
        return f"{phase.value} {_shown(phase, self.base)} -> {_shown(phase, self.new)}{change}"

    def row(self, decision: Decision, units: int) -> PhaseRow:
        return PhaseRow(phase=self.rule.phase, decision=decision, base=self.base, new=self.new, units=units)


def _decided(verdict: Verdict, reason: Reason, sentence: str) -> Decision:
    return Decision(verdict=verdict, reason=reason, sentence=sentence)


def _worse(rule: PhaseRule) -> Reason:
    return Reason.LESS_EXACT if rule.phase is Phase.ACCURACY else Reason.MORE


def _middle(values: Sequence[float]) -> float:
    return median(values) or 0.0


def _samples(count: int) -> str:
    return "a single sample" if count == 1 else f"{count} samples"


def _shown(phase: Phase, value: float) -> str:
    if phase is Phase.WORKSPACE:
        return f"{value:.0f} bytes"
    return f"rms error {value:.3g}" if phase is Phase.ACCURACY else f"{value:.3g} s"


# --- The case as a whole ----------------------------------------------------------------------------------------------

_WORST_FIRST = (Verdict.REGRESSION, Verdict.TAINTED, Verdict.INCONCLUSIVE, Verdict.NO_BASELINE)


def as_a_whole(row: VerdictRow, rules: Sequence[PhaseRule]) -> VerdictRow:
    """The row whose verdict is the worst of all that is judged.

    Args:
        row: With the verdicts on its time and on its phases.
        rules: What is judged; where the time is not, its figures are shown all the same.
    """
    is_timed = any(rule.phase is Phase.TIME for rule in rules)
    says_nothing = row.verdict is Verdict.NO_BASELINE or row.decision.reason is Reason.WRONG_NUMBERS
    if says_nothing or (is_timed and not row.phases):
        return row
    decision = replace(_worst(row, is_timed=is_timed), p_value=row.decision.p_value)
    return replace(row, decision=decision)


def _worst(row: VerdictRow, *, is_timed: bool) -> Decision:
    inexact = next((p for p in row.phases if p.decision.reason is Reason.LESS_EXACT), None)
    if inexact is not None and row.verdict is Verdict.IMPROVED:
        sentence = f"faster but less exact: {inexact.decision.sentence}; the time is {row.decision.sentence}"
        return _decided(Verdict.REGRESSION, Reason.FASTER_BUT_LESS_EXACT, sentence)
    judged = [*([row.decision] if is_timed else []), *(phase.decision for phase in row.phases)]
    open_ones = sorted((one for one in judged if one.verdict in _WORST_FIRST), key=_badness)
    if open_ones:
        return replace(open_ones[0], sentence="; ".join(decision.sentence for decision in open_ones))
    if is_timed:
        return row.decision
    sentence = "; ".join(phase.decision.sentence for phase in row.phases) or "it has none of the phases that are judged"
    return _decided(Verdict.PASS, Reason.WITHIN_MARGIN, sentence)


def _badness(decision: Decision) -> int:
    return _WORST_FIRST.index(decision.verdict)


def counted(rows: Sequence[VerdictRow]) -> Iterator[tuple[Phase, dict[Verdict, int]]]:
    """How many rows have each verdict on each phase that was judged; without zeros."""
    for phase in Phase:
        verdicts = [found.verdict for row in rows for found in row.phases if found.phase is phase]
        if verdicts:
            yield phase, {verdict: verdicts.count(verdict) for verdict in Verdict if verdict in verdicts}
