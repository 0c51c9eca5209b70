"""The unpaired comparison: a session against a stored baseline.

It is the weak one. Two sessions differ by more than their launches tell, so that either both sides bring enough
processes, or the margin covers what whole sessions are off by.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from pytest_miopen_perf.gate.baseline import median_of_processes, seconds_of, timed_results
from pytest_miopen_perf.gate.decision import is_discovery
from pytest_miopen_perf.gate.estimators import Estimate
from pytest_miopen_perf.gate.keys import CaseKey, Fingerprint
from pytest_miopen_perf.gate.margins import DEFAULT_MARGIN, effective_margin
from pytest_miopen_perf.gate.phase_verdicts import as_a_whole, judge_sessions, with_taint
from pytest_miopen_perf.gate.phases import TIME_ALONE, phase_values
from pytest_miopen_perf.gate.report import SuiteChange, VerdictReport
from pytest_miopen_perf.gate.unpaired import TwoSamples, shift_of
from pytest_miopen_perf.gate.verdict import BaselineReference, Decision, Reason, Verdict, VerdictRow, worst_first
from pytest_miopen_perf.gate.what_changed import (
    Execution,
    WhatChanged,
    stated_variable_differences,
    variable_differences,
    what_changed,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_miopen_perf.gate.baseline import Baseline, Entry, EntryKey, Run
    from pytest_miopen_perf.gate.phases import PhaseRule, PhaseValues
    from pytest_miopen_perf.gate.verdict import PhaseRow
    from pytest_miopen_perf.results import Result

ASSUMED_SESSION_NOISE = 0.05
"""What two sessions of one version may differ by where nobody has measured it: public reports show 3 to 9 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnpairedRule:
    """How a session is held against a baseline.

    Attributes:
        margin: For cases that have none of their own.
        margins: Own margins.
        noise_floors: What sessions of one version differ by, as an A/A run measured it.
        level: Chance of a wrong verdict on a case, were its true change exactly the margin.
        false_discovery_rate: Expected share of wrong ones among the regressions of a suite, and among the improvements.
        phases: What is judged.
    """

    margin: float = DEFAULT_MARGIN
    margins: Mapping[CaseKey, float] = field(default_factory=dict)
    noise_floors: Mapping[CaseKey, float] = field(default_factory=dict)
    level: float = 0.01
    false_discovery_rate: float = 0.05
    phases: Sequence[PhaseRule] = TIME_ALONE

    def margin_of(self, key: CaseKey, samples: TwoSamples) -> float:
        """The margin of a case; with too few processes it covers what sessions are off by, measured or assumed."""
        floor = self.noise_floors.get(key, ASSUMED_SESSION_NOISE if samples.unit == "launch" else None)
        return effective_margin(self.margins.get(key, self.margin), floor)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    """One case that both sides have measured on the same kind of device."""

    entry: Entry
    results: Sequence[Sequence[Result]]
    environment: tuple[tuple[str, str], ...]
    samples: TwoSamples
    margin: float
    slower: float
    within: float
    faster: float


def compare(baseline: Baseline, run: Run, *, name: str, rule: UnpairedRule) -> VerdictReport:
    """The verdict of every case of a run against a baseline.

    Args:
        baseline: The other side; ratios are against it.
        run: The session under test.
        name: Of the baseline, for the reader.
        rule: Margins, error levels, and what is judged.
    """
    report = compare_times(baseline, run, name=name, rule=rule)
    return replace(report, rows=worst_first(as_a_whole(row, rule.phases) for row in report.rows))


def compare_times(baseline: Baseline, run: Run, *, name: str, rule: UnpairedRule) -> VerdictReport:
    """As `compare`, but the verdict of a row is that on its time, and those on its phases stand beside it."""
    entries = baseline.by_key()
    measured = timed_results(run)
    pairs = [_pair(entries[key], results, run, rule) for key, results in measured.items() if key in entries]
    lonely = [_no_baseline(key, results, baseline, rule) for key, results in measured.items() if key not in entries]
    rows = [*_judged(pairs, rule, name, run.ended), *lonely, *_unjudged(run, rule, entries)]
    return VerdictReport(
        comparison="unpaired",
        versus=name,
        rows=worst_first(rows),
        suite=SuiteChange.of([_estimate(pair.samples) for pair in pairs]),
        vanished=_vanished(baseline, run),
        unmeasured=tuple(f"{case.problem}: {case.message}" for case in run.cases if case.result is None),
    )


def _pair(entry: Entry, results: Sequence[Sequence[Result]], run: Run, rule: UnpairedRule) -> _Pair:
    samples = TwoSamples.of(entry.seconds, seconds_of(results))
    assert samples is not None, "an entry and a timed result have valid times"
    margin = rule.margin_of(entry.key, samples)
    bound = math.log1p(margin)
    return _Pair(
        entry=entry,
        results=results,
        environment=run.environment,
        samples=samples,
        margin=margin,
        slower=samples.p_above(bound),
        within=samples.p_below(bound),
        faster=samples.p_below(-bound),
    )


def _judged(pairs: Sequence[_Pair], rule: UnpairedRule, name: str, now: str) -> list[VerdictRow]:
    slower = is_discovery([pair.slower for pair in pairs], rule.false_discovery_rate)
    faster = is_discovery([pair.faster for pair in pairs], rule.false_discovery_rate)
    return [
        _row(pair, _decide(pair, rule.level, is_regression=worse, is_improvement=better), rule, name, now)
        for pair, worse, better in zip(pairs, slower, faster, strict=True)
    ]


def _decide(pair: _Pair, level: float, *, is_regression: bool, is_improvement: bool) -> Decision:
    samples = pair.samples
    plural = "processes" if samples.unit == "process" else "launches"
    counts = f"{len(samples.new)} against {len(samples.base)} {plural}, unpaired"

    def decision(verdict: Verdict, reason: Reason, what: str) -> Decision:
        return Decision(verdict=verdict, reason=reason, sentence=f"{what}: {counts}", p_value=pair.slower)

    if pair.slower <= level and is_regression:
        return decision(Verdict.REGRESSION, Reason.SLOWER, "beyond the margin")
    if pair.slower <= level:
        what = "beyond the margin, but too weak among all cases of the suite"
        return decision(Verdict.INCONCLUSIVE, Reason.LOST_IN_THE_SUITE, what)
    if pair.faster <= level and is_improvement:
        return decision(Verdict.IMPROVED, Reason.FASTER, "faster by more than the margin")
    if pair.within <= level:
        return decision(Verdict.PASS, Reason.WITHIN_MARGIN, "within the margin")
    if 1 / math.comb(len(samples.new) + len(samples.base), len(samples.new)) > level:
        return decision(
            Verdict.INCONCLUSIVE, Reason.TOO_FEW_SAMPLES, f"too few to refute anything at {level:g}, one-sided"
        )
    bar = f"a slowdown by the margin is refuted with p = {pair.within:.2g}, and {level:g} is asked, one-sided"
    return decision(Verdict.INCONCLUSIVE, Reason.TOO_NOISY, f"too noisy: {bar}")


def _row(pair: _Pair, decision: Decision, rule: UnpairedRule, name: str, now: str) -> VerdictRow:
    new_seconds = seconds_of(pair.results)
    shift = shift_of(pair.samples)
    row = VerdictRow(
        key=pair.entry.key,
        name=pair.entry.key.name,
        decision=decision,
        comparison="unpaired",
        margin=pair.margin,
        unit=pair.samples.unit,
        units=len(pair.samples.new),
        base_seconds=pair.entry.median_seconds,
        new_seconds=median_of_processes(new_seconds),
        what_changed=_what_changed(pair),
        phases=judge_sessions(rule.phases, dict(pair.entry.phases), _phase_values(pair.results)),
        baseline=BaselineReference(name=name, saved=pair.entry.saved, age_days=_age_days(pair.entry.saved, now)),
    ).with_estimate(_estimate(pair.samples), rule.level)
    if shift.low is None or shift.high is None:
        return replace(row, interval=None)
    return replace(row, interval=(math.expm1(shift.low), math.expm1(shift.high)))


def _phase_values(processes: Sequence[Sequence[Result]]) -> list[PhaseValues]:
    """Of each process what its first run of the case tells: that is the one that compiles."""
    return [phase_values(results[0]) for results in processes]


def _what_changed(pair: _Pair) -> WhatChanged:
    changed = what_changed(pair.entry.execution, Execution.of([r for process in pair.results for r in process]))
    differences = stated_variable_differences if pair.entry.device.backend == "log" else variable_differences
    variables = differences(pair.entry.environment, pair.environment)
    return replace(changed, sentence="; ".join((changed.sentence, *variables)))


def _estimate(samples: TwoSamples) -> Estimate:
    shift = shift_of(samples)
    return Estimate(
        log_ratio=shift.log_ratio,
        standard_error=shift.standard_error,
        degrees=max(1, len(samples.base) + len(samples.new) - 2),
        units=len(samples.new),
    )


def _age_days(saved: str, now: str) -> float:
    return (datetime.fromisoformat(now) - datetime.fromisoformat(saved)).total_seconds() / 86400


def _no_baseline(
    key: EntryKey, results: Sequence[Sequence[Result]], baseline: Baseline, rule: UnpairedRule
) -> VerdictRow:
    case, device = key
    return VerdictRow(
        key=case,
        name=case.name,
        decision=_why_no_baseline(device, [entry.device for entry in baseline.entries if entry.key == case]),
        comparison="unpaired",
        margin=rule.margins.get(case, rule.margin),
        unit="process",
        units=len(results),
        new_seconds=median_of_processes(seconds_of(results)),
    )


def _why_no_baseline(device: Fingerprint, others: Sequence[Fingerprint]) -> Decision:
    if not others:
        sentence = "a new case: the baseline does not have it"
        return Decision(verdict=Verdict.NO_BASELINE, reason=Reason.NEW_CASE, sentence=sentence)
    nearest = min(others, key=lambda other: len(other.differences(device)))
    changes = ", ".join(nearest.differences(device))
    sentence = f"another device: {changes} (baseline: {nearest.sentence}; this run: {device.sentence})"
    return Decision(verdict=Verdict.NO_BASELINE, reason=Reason.OTHER_DEVICE, sentence=sentence)


def _unjudged(run: Run, rule: UnpairedRule, entries: Mapping[EntryKey, Entry]) -> list[VerdictRow]:
    """Cases with a result that has no right time, or a tainted one and no other; their phases are judged still."""
    rows = []
    clean = {key for key, _ in timed_results(run)}
    for case in run.cases:
        result = case.result
        if result is None or (result.sample is not None and result.check.passed and not result.taint):
            continue
        key = CaseKey.of(result)
        if result.taint and key in clean:
            continue
        entry = entries.get((key, Fingerprint.of(result.device)))
        rows.append(
            VerdictRow(
                key=key,
                name=key.name,
                decision=_why_unjudged(result),
                comparison="unpaired",
                margin=rule.margins.get(key, rule.margin),
                phases=_phases_without_time(result, entry, rule),
            )
        )
    return rows


def _phases_without_time(result: Result, entry: Entry | None, rule: UnpairedRule) -> tuple[PhaseRow, ...]:
    """What is judged of a result whose time is not: of wrong numbers nothing, of a tainted run what is exact."""
    if not result.check.passed:
        return ()
    base = {} if entry is None else dict(entry.phases)
    rows = judge_sessions(rule.phases, base, [phase_values(result)])
    return with_taint(rows, result.taint) if result.taint else rows


def _why_unjudged(result: Result) -> Decision:
    if not result.check.passed:
        sentence = f"its numbers are wrong, so that its time says nothing: {result.check.sentence}"
        return Decision(verdict=Verdict.TAINTED, reason=Reason.WRONG_NUMBERS, sentence=sentence)
    if result.taint:
        sentence = f"{result.taint}, so that its time says nothing; run it again when nobody else does"
        return Decision(verdict=Verdict.TAINTED, reason=Reason.DISTURBED, sentence=sentence)
    sentence = "checked, but not timed; run at level 1 or above"
    return Decision(verdict=Verdict.INCONCLUSIVE, reason=Reason.NOT_TIMED, sentence=sentence)


def _vanished(baseline: Baseline, run: Run) -> tuple[str, ...]:
    """Cases of the baseline, on the kinds of device of this run, that did not run in any way."""
    devices = {Fingerprint.of(case.result.device) for case in run.cases if case.result is not None}
    ran = {CaseKey.of(case.result) for case in run.cases if case.result is not None}
    failed = {case.problem for case in run.cases if case.result is None}
    gone = [e for e in baseline.entries if e.device in devices and e.key not in ran and e.key.name not in failed]
    return tuple(entry.key.sentence for entry in gone)
