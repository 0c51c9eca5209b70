"""The verdict on one case when its test ends, before the rest of the suite is known.

A test can only fail while it runs, and Benjamini and Hochberg only speak at the end. So a case has to stand alone: its
p value, from two stages that both must agree, is held to the false discovery rate divided by the size of the suite.
Whatever passes that bar passes Benjamini and Hochberg in every suite of that size, so that the end never takes back
what a test has said.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_miopen_perf.gate.baseline import Baseline
from pytest_miopen_perf.gate.compare import compare_times
from pytest_miopen_perf.gate.keys import CaseKey
from pytest_miopen_perf.gate.phase_verdicts import as_a_whole
from pytest_miopen_perf.gate.phases import Phase
from pytest_miopen_perf.gate.verdict import Reason, Verdict

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_miopen_perf.gate.baseline import Run
    from pytest_miopen_perf.gate.compare import UnpairedRule
    from pytest_miopen_perf.gate.verdict import VerdictRow

STRICTLY_RED = frozenset({Verdict.REGRESSION, Verdict.TAINTED, Verdict.INCONCLUSIVE, Verdict.NO_BASELINE})
"""What fails a test under `--miopen-perf-strict`; without it only REGRESSION does."""


def is_red(verdict: Verdict, *, is_strict: bool) -> bool:
    """Whether a verdict fails its test."""
    return verdict in STRICTLY_RED if is_strict else verdict is Verdict.REGRESSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Opponent:
    """The other side of every comparison of a session.

    Attributes:
        baseline: The stored times.
        name: Of the baseline, for the reader.
    """

    baseline: Baseline
    name: str

    def entries_of(self, run: Run) -> Baseline:
        """What the baseline has of the cases of a run: a comparison looks at all that it is given."""
        keys = {CaseKey.of(case.result) for case in run.cases if case.result is not None}
        return Baseline(entries=tuple(entry for entry in self.baseline.entries if entry.key in keys))


def judge_item(
    run: Run, opponent: Opponent, *, rule: UnpairedRule, suite_size: int, measure_again: Callable[[], Run]
) -> VerdictRow:
    """Judge the one case of a run; what looks slower is measured again before it is called so.

    Args:
        run: A session of one case.
        opponent: What to hold it against.
        rule: Margins and error levels.
        suite_size: How many cases the suite has.
        measure_again: Measures the case afresh, in memory of its own.
    """
    entries = opponent.entries_of(run)
    (row,) = compare_times(entries, run, name=opponent.name, rule=rule).rows
    if any(phase.phase is Phase.TIME for phase in rule.phases):
        fresh = _time_row(row, entries, opponent.name, rule=rule, suite_size=suite_size, measure_again=measure_again)
        # What is no time has been measured once, by the run that also compiled.
        row = replace(fresh, phases=row.phases)
    return as_a_whole(row, rule.phases)


def _time_row(
    row: VerdictRow,
    entries: Baseline,
    name: str,
    *,
    rule: UnpairedRule,
    suite_size: int,
    measure_again: Callable[[], Run],
) -> VerdictRow:
    """The row with its verdict on the time, from two stages."""
    alone = min(rule.level, rule.false_discovery_rate / suite_size)
    p_value = row.decision.p_value
    if p_value is None:
        return row
    if p_value <= math.sqrt(alone):
        (fresh,) = compare_times(entries, measure_again(), name=name, rule=rule).rows
        return _second_opinion(p_value, fresh, alone)
    return _too_weak(row) if row.decision.reason in (Reason.SLOWER, Reason.LOST_IN_THE_SUITE) else row


def _second_opinion(first: float, fresh: VerdictRow, alone: float) -> VerdictRow:
    """The fresh row, which is free of the choice of what looked slow, with the verdict of both stages."""
    if fresh.decision.p_value is None:
        return fresh
    both = max(first, fresh.decision.p_value) ** 2
    if both <= alone:
        sentence = "beyond the margin, and again in fresh samples, unpaired"
        decision = replace(
            fresh.decision, verdict=Verdict.REGRESSION, reason=Reason.SLOWER, sentence=sentence, p_value=both
        )
    else:
        sentence = "beyond the margin at first, but not in fresh samples, unpaired"
        decision = replace(
            fresh.decision, verdict=Verdict.INCONCLUSIVE, reason=Reason.NOT_CONFIRMED, sentence=sentence, p_value=both
        )
    return replace(fresh, decision=decision)


def _too_weak(row: VerdictRow) -> VerdictRow:
    sentence = "beyond the margin, but too weak among all cases of the suite, unpaired"
    decision = replace(row.decision, verdict=Verdict.INCONCLUSIVE, reason=Reason.LOST_IN_THE_SUITE, sentence=sentence)
    return replace(row, decision=decision)
