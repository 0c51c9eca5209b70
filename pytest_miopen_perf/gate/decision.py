"""The rules that turn evidence into verdicts.

A case is screened, process by process. At each look three statements are tested one-sided: slower than the margin,
faster than the margin, slower by less than the margin. Each look may spend its share of the error level, so that
looking often does not make a false verdict more likely: the p value of a look is divided by that share, and the least
one counts (a weighted Bonferroni bound, valid whatever the looks have to do with each other and whenever they end).

A slower case is only suspect. It is measured again in fresh processes, which know nothing of the suspicion; both stages
must agree. Of two independent p values the greater one, squared, is again a p value: it is small only when both are.
Over the suite these go through Benjamini and Hochberg.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.errors import SettingsError
from pytest_miopen_perf.gate.estimators import Estimate, estimate_over_units
from pytest_miopen_perf.gate.verdict import Decision, Reason, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence


@dataclass(frozen=True, slots=True, kw_only=True)
class GateRule:
    """When the gate looks, and what it takes as proof.

    The fourth look is reached only by cases that eight processes leave undecided, with the time that decided ones save.

    Attributes:
        looks: Processes of a stage after which it is judged; the last one ends the stage.
        spending: The share of the error level that each look may spend; they add up to 1.
        level: Chance of a wrong verdict on a case, were its true change exactly the margin.
        false_discovery_rate: Expected share of wrong ones among the regressions of a suite, and among the improvements.
        most_disturbed: Disturbed processes of a case that are measured again; one more makes it TAINTED.

    Raises:
        SettingsError: the fields contradict each other.
    """

    looks: tuple[int, ...] = (3, 5, 8, 12)
    spending: tuple[float, ...] = (0.05, 0.15, 0.30, 0.50)
    level: float = 0.01
    false_discovery_rate: float = 0.05
    most_disturbed: int = 3

    def __post_init__(self) -> None:
        if len(self.looks) != len(self.spending) or not self.looks:
            raise SettingsError(f"{len(self.looks)} looks need as many shares of the error level")
        if list(self.looks) != sorted(set(self.looks)) or self.looks[0] < 2:
            raise SettingsError(f"the looks {self.looks} must rise, from at least 2 processes")
        if min(self.spending) <= 0 or abs(sum(self.spending) - 1) > 1e-9:
            raise SettingsError(f"the shares {self.spending} of the error level must be above 0 and add up to 1")
        if not 0 < self.level < 0.5 or not 0 < self.false_discovery_rate < 0.5:
            raise SettingsError("level and false_discovery_rate must lie between 0 and 0.5")

    @property
    def agreement(self) -> float:
        """The level that each of two agreeing stages has to reach: their product is the level of the pair."""
        return math.sqrt(self.level)


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What is known of a case so far.

    Attributes:
        margin: The margin it is tested against, noise floor included; 0.01 is 1 %.
        screening: The log ratio of each process of the first stage.
        confirmation: The log ratio of each fresh process that ran after suspicion arose.
        disturbed: Why processes were left out, one sentence each: another process on the device, a clock that fell.
    """

    margin: float
    screening: tuple[float, ...] = ()
    confirmation: tuple[float, ...] = ()
    disturbed: tuple[str, ...] = ()


class Stage(enum.Enum):
    """What a case needs next."""

    SCREENING = "screening"
    CONFIRMATION = "confirmation"
    DECIDED = "decided"


@dataclass(frozen=True, slots=True, kw_only=True)
class StageResult:
    """What one stage shows, at its last look so far.

    Attributes:
        looks: How many looks there were.
        slower: P value that refutes "slower by the margin at most", spent over the looks.
        within: P value that refutes "slower by the margin at least".
        faster: P value that refutes "faster by the margin at most".
        is_last: Whether no look is left.
    """

    looks: int
    slower: float = 1.0
    within: float = 1.0
    faster: float = 1.0
    is_last: bool = False


def stage_result(log_ratios: Sequence[float], margin: float, rule: GateRule) -> StageResult:
    """Judge a stage at every look that it has reached."""
    reached = [(look, share) for look, share in zip(rule.looks, rule.spending, strict=True) if look <= len(log_ratios)]
    if not reached:
        return StageResult(looks=0)
    bound = math.log1p(margin)
    estimates = [(estimate_over_units(log_ratios[:look]), share) for look, share in reached]
    return StageResult(
        looks=len(reached),
        slower=_spent(estimates, lambda estimate: estimate.p_above(bound)),
        within=_spent(estimates, lambda estimate: estimate.p_below(bound)),
        faster=_spent(estimates, lambda estimate: estimate.p_below(-bound)),
        is_last=len(reached) == len(rule.looks),
    )


def _spent(estimates: Sequence[tuple[Estimate, float]], p_value: Callable[[Estimate], float]) -> float:
    return min(1.0, *(p_value(estimate) / share for estimate, share in estimates))


def next_stage(evidence: Evidence, rule: GateRule, suite_size: int) -> Stage:
    """What the case needs next, in a suite of so many cases.

    Suspicion ends the screening early only when it is strong enough to stand alone in the suite; the confirmation ends
    when it does, or when the fresh processes say that all is well.
    """
    if len(evidence.disturbed) > rule.most_disturbed:
        return Stage.DECIDED
    screening = stage_result(evidence.screening, evidence.margin, rule)
    if not _is_suspect(screening, rule, suite_size):
        # What looks faster goes on until that, too, stands alone: it should not end as a mere PASS.
        may_improve = _alone(rule, suite_size) < screening.faster <= rule.agreement
        is_over = screening.is_last or (screening.within <= rule.level and not may_improve)
        return Stage.DECIDED if is_over else Stage.SCREENING
    fresh = stage_result(evidence.confirmation, evidence.margin, rule)
    stands_alone = _both(screening, fresh) <= _alone(rule, suite_size)
    is_over = fresh.is_last or stands_alone or fresh.within <= rule.level
    return Stage.DECIDED if is_over else Stage.CONFIRMATION


def _is_suspect(screening: StageResult, rule: GateRule, suite_size: int) -> bool:
    bar = rule.agreement if screening.is_last else math.sqrt(_alone(rule, suite_size))
    return screening.slower <= bar


def _alone(rule: GateRule, suite_size: int) -> float:
    """The p value of a lone regression that Benjamini and Hochberg accept among so many cases."""
    return min(rule.level, rule.false_discovery_rate / suite_size)


def _both(screening: StageResult, fresh: StageResult) -> float:
    return max(screening.slower, fresh.slower) ** 2


def is_discovery(p_values: Sequence[float], rate: float) -> list[bool]:
    """Which of the p values Benjamini and Hochberg (1995) accept at a false discovery rate."""
    if not p_values:
        return []
    from scipy.stats import false_discovery_control

    return [bool(adjusted <= rate) for adjusted in false_discovery_control(p_values)]


def judge_suite(suite: Mapping[str, Evidence], rule: GateRule, suite_size: int | None = None) -> dict[str, Decision]:
    """The verdict of every case, with the evidence there is; what is not finished is INCONCLUSIVE.

    Args:
        suite: Evidence by case.
        rule: The rules that the evidence was gathered by.
        suite_size: How many cases the suite has; those that `suite` leaves out count as neither slower nor faster.
            None: all are there.
    """
    size = suite_size or len(suite)
    absent = [1.0] * (size - len(suite))
    screenings = {case: stage_result(e.screening, e.margin, rule) for case, e in suite.items()}
    confirmations = {case: stage_result(e.confirmation, e.margin, rule) for case, e in suite.items()}
    slower = [_both(screenings[case], confirmations[case]) for case in suite]
    faster = [screenings[case].faster for case in suite]
    regressed = dict(zip(suite, is_discovery(slower + absent, rule.false_discovery_rate), strict=False))
    improved = dict(zip(suite, is_discovery(faster + absent, rule.false_discovery_rate), strict=False))
    return {
        case: _decide(
            _Findings(
                evidence=evidence,
                stage=next_stage(evidence, rule, size),
                screening=screenings[case],
                confirmation=confirmations[case],
                is_regression=regressed[case],
                is_improvement=improved[case],
                is_suspect=_is_suspect(screenings[case], rule, size),
                rule=rule,
            )
        )
        for case, evidence in suite.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class _Findings:
    evidence: Evidence
    stage: Stage
    screening: StageResult
    confirmation: StageResult
    is_regression: bool
    is_improvement: bool
    is_suspect: bool
    rule: GateRule


def _decide(found: _Findings) -> Decision:
    if len(found.evidence.disturbed) > found.rule.most_disturbed:
        reasons = "; ".join(dict.fromkeys(found.evidence.disturbed))
        sentence = f"{len(found.evidence.disturbed)} processes were disturbed: {reasons}"
        return Decision(verdict=Verdict.TAINTED, reason=Reason.DISTURBED, sentence=sentence)
    return _decide_suspect(found) if found.is_suspect else _decide_screened(found)


def _decide_suspect(found: _Findings) -> Decision:
    p_value = _both(found.screening, found.confirmation)
    screened, fresh = len(found.evidence.screening), len(found.evidence.confirmation)
    counts = f"{screened} processes and again in {fresh} fresh ones"
    if p_value <= found.rule.level and found.is_regression:
        return _decision(Verdict.REGRESSION, Reason.SLOWER, f"beyond the margin in {counts}", p_value)
    if p_value <= found.rule.level:
        sentence = f"beyond the margin in {counts}, but too weak among all cases of the suite"
        return _decision(Verdict.INCONCLUSIVE, Reason.LOST_IN_THE_SUITE, sentence, p_value)
    if found.stage is Stage.CONFIRMATION:
        sentence = f"suspect after {screened} processes; the confirmation ended early, of fresh ones with {fresh}"
        return _decision(Verdict.INCONCLUSIVE, Reason.UNCONFIRMED, sentence, p_value)
    sentence = f"suspect after {screened} processes; {fresh} fresh ones do not confirm it"
    return _decision(Verdict.INCONCLUSIVE, Reason.NOT_CONFIRMED, sentence, p_value)


def _decide_screened(found: _Findings) -> Decision:
    screening, level = found.screening, found.rule.level
    count, p_value = len(found.evidence.screening), found.screening.slower
    if screening.faster <= level and found.is_improvement:
        return _decision(
            Verdict.IMPROVED, Reason.FASTER, f"faster by more than the margin in {count} processes", p_value
        )
    if screening.within <= level:
        return _decision(Verdict.PASS, Reason.WITHIN_MARGIN, f"within the margin in {count} processes", p_value)
    if not screening.looks:
        sentence = f"{count} of the {found.rule.looks[0]} processes that a verdict needs at least"
        return _decision(Verdict.INCONCLUSIVE, Reason.TOO_FEW_SAMPLES, sentence, None)
    bar = f"a slowdown by the margin is refuted with p = {screening.within:.2g}, and {level:g} is asked, one-sided"
    if found.stage is Stage.SCREENING:
        sentence = f"undecided after {count} processes, when the measuring ended: {bar}"
        return _decision(Verdict.INCONCLUSIVE, Reason.UNDECIDED, sentence, p_value)
    sentence = f"too noisy in {count} processes: {bar}"
    return _decision(Verdict.INCONCLUSIVE, Reason.TOO_NOISY, sentence, p_value)


def _decision(verdict: Verdict, reason: Reason, sentence: str, p_value: float | None) -> Decision:
    return Decision(verdict=verdict, reason=reason, sentence=sentence, p_value=p_value)


def shown_estimate(evidence: Evidence) -> Estimate | None:
    """The estimate that a report shows: from the fresh processes where they say enough, else from the screening.

    Suspicion picks cases whose screening came out high; the fresh processes are free of that choice.
    """
    log_ratios = evidence.confirmation if len(evidence.confirmation) >= 3 else evidence.screening
    return estimate_over_units(log_ratios) if log_ratios else None
