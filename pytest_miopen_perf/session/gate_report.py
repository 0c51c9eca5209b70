"""What the gate leaves at the end of a session: the verdicts of all cases, their file, and a new baseline."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_miopen_perf.atomic_file import write_atomically
from pytest_miopen_perf.errors import BaselineError
from pytest_miopen_perf.gate.compare import compare
from pytest_miopen_perf.gate.items import is_red
from pytest_miopen_perf.gate.pooling import pooled_sentence
from pytest_miopen_perf.gate.report import SuiteChange, verdicts_text
from pytest_miopen_perf.gate.store import save_run
from pytest_miopen_perf.gate.verdict import worst_first
from pytest_miopen_perf.report.verdict_table import verdict_lines
from pytest_miopen_perf.wording import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_miopen_perf.ab.leading import Lead
    from pytest_miopen_perf.cases import Case
    from pytest_miopen_perf.gate.baseline import Run
    from pytest_miopen_perf.gate.items import Opponent
    from pytest_miopen_perf.gate.report import VerdictReport
    from pytest_miopen_perf.gate.verdict import VerdictRow
    from pytest_miopen_perf.session.gate import SessionGate
    from pytest_miopen_perf.settings import Settings


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnd:
    """How a session ended.

    Attributes:
        is_complete: It was not interrupted.
        is_green: No test failed.
        is_part: Options selected a part of the suite, so that an absent case says nothing.
    """

    is_complete: bool
    is_green: bool
    is_part: bool


class GateReport:
    """Verdicts and baseline of a whole session, on the process that reports."""

    def __init__(self, gate: SessionGate, settings: Settings) -> None:
        self._gate = gate
        self._settings = settings
        self._report: VerdictReport | None = None
        self._remarks: list[str] = []

    def finish(self, cases: Sequence[Case], end: SessionEnd) -> list[str]:
        """Gather the verdicts and write what was asked for; a sentence for each thing that is not as it should be."""
        run = self._gate.run_of(cases)
        problems: list[str] = []
        if self._gate.lead is not None:
            self._report = self._led(run, self._gate.lead)
            self._remarks += self._gate.lead.remarks
            problems += self._gate.lead.problems
            if self._gate.tells_what_was_led:
                problems += _untold(self._gate.lead.report.rows, run, is_strict=self._settings.strict)
            problems += self._strict_complaints(self._report)
            problems += self._write(self._report, run.ended)
        elif self._gate.opponent is not None:
            self._report = self._gathered(run, self._gate.opponent, end)
            problems += self._strict_complaints(self._report)
            problems += self._write(self._report, run.ended)
        if self._gate.lead is None:
            self._remarks += _pooled_logs(run)
        if self._gate.save_path is not None:
            problems += self._save(run, end)
        return problems

    def lines(self, *, width: int, has_colour: bool) -> list[str]:
        """The table and what is to be said beside it."""
        table = [] if self._report is None else verdict_lines(self._report, width=width, has_colour=has_colour)
        return [*table, *self._remarks]

    def _gathered(self, run: Run, opponent: Opponent, end: SessionEnd) -> VerdictReport:
        """Every verdict that a test was given; the rows of cases whose tests ended before one was."""
        judged = [case.verdict for case in run.cases if case.verdict is not None]
        device = next((case.result.device for case in run.cases if case.result is not None), None)
        whole = compare(opponent.baseline, run, name=opponent.name, rule=self._gate.rule(device))
        known = {row.key for row in judged}
        rows = worst_first([*judged, *(row for row in whole.rows if row.key not in known)])
        report = replace(whole, rows=rows, suite=SuiteChange.of_rows(rows))
        if end.is_complete and not end.is_part:
            return report
        if report.vanished:
            self._remarks.append("vanished: not looked for, since only a part of the suite has run")
        return replace(report, vanished=())

    def _led(self, run: Run, lead: Lead) -> VerdictReport:
        """The paired verdicts; what this session's tests were told has how to reproduce it."""
        told = {case.verdict.key: case.verdict for case in run.cases if case.verdict is not None}
        rows = [told.pop(row.key, row) for row in lead.report.rows]
        return replace(lead.report, rows=worst_first([*rows, *told.values()]))

    def _strict_complaints(self, report: VerdictReport) -> list[str]:
        if not self._settings.strict:
            return []
        if not report.rows:
            return ["no case was held against the baseline, which --miopen-perf-strict does not allow"]
        if not report.vanished:
            return []
        vanished = counted(len(report.vanished), "case")
        return [f"{vanished} of the baseline did not run, which --miopen-perf-strict does not allow"]

    def _write(self, report: VerdictReport, ended: str) -> list[str]:
        path = self._settings.verdicts_path
        if path is None:
            return []
        try:
            write_atomically(path, verdicts_text(report.to_json(ended)))
        except OSError as error:
            return [f"the verdict file {path} could not be written: {error}; give another --miopen-perf-verdicts"]
        self._remarks.append(f"written  {path}")
        return []

    def _save(self, run: Run, end: SessionEnd) -> list[str]:
        path = self._gate.save_path
        assert path is not None, "asked only where there is one"
        if not end.is_complete or not end.is_green:
            how = "failed" if end.is_complete else "was interrupted"
            return [f"no baseline is saved, since the session {how}; {path} is as it was"]
        try:
            saved = save_run(path, run)
        except BaselineError as error:
            return [str(error)]
        self._remarks.append(f"saved    {counted(len(saved.entries), 'case')} to {path}")
        return []


def _pooled_logs(run: Run) -> list[str]:
    """A line for each log that holds several runs of a case and cannot tell whether one session made them all."""
    logs = [process for process in run.processes if any(case.process for case in process)]
    sentences = (pooled_sentence(replace(run, processes=(log,)), log[0].process) for log in logs)
    return [f"pooled   {sentence}" for sentence in sentences if sentence]


def _untold(rows: Sequence[VerdictRow], run: Run, *, is_strict: bool) -> list[str]:
    """A sentence for each red row that no test of this session was told of, so that none has failed for it."""
    told = {case.verdict.key for case in run.cases if case.verdict is not None}
    untold = [row for row in rows if is_red(row.verdict, is_strict=is_strict) and row.key not in told]
    return [f"no test was told {row.verdict.value} {row.key.sentence}: {row.decision.sentence}" for row in untold]
