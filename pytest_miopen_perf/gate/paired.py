"""Rows of a paired comparison."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.gate.decision import judge_suite, shown_estimate
from pytest_miopen_perf.gate.estimators import estimate_over_units
from pytest_miopen_perf.gate.phase_verdicts import as_a_whole, judge_arms
from pytest_miopen_perf.gate.phases import TIME_ALONE
from pytest_miopen_perf.gate.report import SuiteChange, VerdictReport
from pytest_miopen_perf.gate.verdict import RecordCost, VerdictRow, worst_first
from pytest_miopen_perf.gate.what_changed import Execution, what_changed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_miopen_perf.gate.decision import Evidence, GateRule
    from pytest_miopen_perf.gate.keys import CaseKey
    from pytest_miopen_perf.gate.phases import PhaseRule, PhaseValues
    from pytest_miopen_perf.gate.verdict import Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedCase:
    """One case of a paired comparison, as far as it was measured.

    Attributes:
        key: What was compared.
        evidence: The log ratios of the processes.
        base: What ran in arm A; None when it never ran.
        new: What ran in arm B; None when it never ran.
        base_seconds: Median time of arm A in the process whose ratio is nearest to the estimate.
        new_seconds: Median time of arm B in that process.
        rules: What is judged.
        phases: What both arms took beside the time, process by process.
        record_seconds: Where the arms are two levels of the log: what a record takes, process by process.
    """

    key: CaseKey
    evidence: Evidence
    base: Execution | None = None
    new: Execution | None = None
    base_seconds: float | None = None
    new_seconds: float | None = None
    rules: Sequence[PhaseRule] = TIME_ALONE
    phases: Sequence[tuple[PhaseValues, PhaseValues]] = ()
    record_seconds: Sequence[float] = ()


def paired_report(cases: Sequence[PairedCase], rule: GateRule, *, versus: str) -> VerdictReport:
    """Judge all cases of a suite, worst first.

    Args:
        cases: Each key once.
        rule: The rule that the evidence was gathered by.
        versus: What arm A is, for the reader.
    """
    names = [case.key.sentence for case in cases]
    decisions = judge_suite({name: case.evidence for name, case in zip(names, cases, strict=True)}, rule)
    rows = [_row(case, decisions[name], rule) for name, case in zip(names, cases, strict=True)]
    estimates = [estimate for case in cases if (estimate := shown_estimate(case.evidence)) is not None]
    return VerdictReport(comparison="paired", versus=versus, rows=worst_first(rows), suite=SuiteChange.of(estimates))


def _row(case: PairedCase, decision: Decision, rule: GateRule) -> VerdictRow:
    estimate = shown_estimate(case.evidence)
    row = VerdictRow(
        key=case.key,
        name=case.key.name,
        decision=decision,
        comparison="paired",
        margin=case.evidence.margin,
        unit="process",
        units=0 if estimate is None else estimate.units,
        base_seconds=case.base_seconds,
        new_seconds=case.new_seconds,
        what_changed=None if case.base is None or case.new is None else what_changed(case.base, case.new),
        phases=judge_arms(case.rules, case.phases),
        record_cost=_record_cost(case.record_seconds),
    )
    return as_a_whole(row if estimate is None else row.with_estimate(estimate, rule.level), case.rules)


def _record_cost(seconds: Sequence[float]) -> RecordCost | None:
    """The mean over processes with its t interval."""
    if not seconds:
        return None
    estimate = estimate_over_units(seconds)
    interval = estimate.interval()
    return RecordCost(seconds=estimate.log_ratio, interval=interval, units=estimate.units)
