"""A performance log as a test file: one item a record of a solver, and one a direction that ran."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_miopen_perf.errors import DriverRunError, LogFindingError, PerfWarning, WrongResultError
from pytest_miopen_perf.items.own_errors import LineItem
from pytest_miopen_perf.logged.entries import LogContent, read_entries
from pytest_miopen_perf.moments import when_written
from pytest_miopen_perf.plugin import session_of
from pytest_miopen_perf.session.harness import record_properties
from pytest_miopen_perf.session.marker import case_rule
from pytest_miopen_perf.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_miopen_perf.cases import Case
    from pytest_miopen_perf.gate.keys import CaseKey
    from pytest_miopen_perf.gate.verdict import VerdictRow
    from pytest_miopen_perf.logged.entries import LogEntry
    from pytest_miopen_perf.session import PerfSession


class LogFile(pytest.File):
    """Collects the entries of a log."""

    content: LogContent | None = None
    _verdicts: dict[CaseKey, VerdictRow] | None = None

    def collect(self) -> Iterator[pytest.Item]:
        """One item an entry."""
        try:
            with self.path.open("rb") as file:
                self.content = read_entries(file, self.nodeid)
        except OSError as error:
            reason = error.strerror or type(error).__name__
            raise self.CollectError(f"the log {self.path.name} cannot be read: {reason}") from error
        if not self.content.entries:
            raise self.CollectError(f"{self.path.name} is no log of MIOpenDriver: nothing in it is a record or a time")
        for entry in self.content.entries:
            yield LogEntryItem.from_parent(self, name=entry.name, entry=entry)

    def take_verdict(self, session: PerfSession, case: Case) -> VerdictRow | None:
        """What the gate says of a case; of one that ran several times, all runs are judged together and once."""
        if case.result is None or session.gate is None or session.gate.opponent is None:
            return None
        from pytest_miopen_perf.gate.keys import CaseKey

        if self._verdicts is None:
            self._verdicts = dict(self._judged(session))
        return self._verdicts.pop(CaseKey.of(case.result), None)

    def _judged(self, session: PerfSession) -> Mapping[CaseKey, VerdictRow]:
        """The verdicts on the whole log, as `miopen-perf compare` gives them: a command is a process."""
        from pytest_miopen_perf.gate.compare import compare

        gate, content = session.gate, self.content
        assert gate is not None, "asked only where there is one"
        assert gate.opponent is not None, "and something to compare with"
        assert content is not None, "an item comes from a file that was collected"
        run = replace(
            gate.run_of([]),
            processes=content.processes,
            ended=when_written(self.path),
            environment=content.environment,
        )
        device = next((case.result.device for case in run.cases if case.result is not None), None)
        rule = gate.rule(device, case_rule(session, self))
        report = compare(gate.opponent.baseline, run, name=gate.opponent.name, rule=rule)
        verdicts: dict[CaseKey, VerdictRow] = {}
        for row in report.rows:  # the worst come first
            verdicts.setdefault(row.key, row)
        return verdicts


class LogEntryItem(LineItem):
    """One record of a solver, one direction that ran, or one piece that cannot be read."""

    parent: LogFile

    def __init__(self, *, name: str, parent: pytest.File, entry: LogEntry) -> None:
        super().__init__(name=name, parent=parent, line_number=entry.line_number)
        self.entry = entry

    def runtest(self) -> None:
        """Show the warnings, keep the figures for summary, files and gate, and fail for what is wrong.

        Raises:
            WrongResultError: the verification failed.
            DriverRunError: the run has no figures.
            LogFindingError: the log contradicts itself, or cannot be read here.
        """
        case = self.entry.case
        if case is not None:
            self._keep(case)
        for finding in self.entry.findings:
            if finding.severity is Severity.WARNING:
                self.warn(PerfWarning(str(finding)))
        errors = [str(finding) for finding in self.entry.findings if finding.severity is Severity.ERROR]
        if case is not None and case.outcome != "passed":
            failure = WrongResultError if case.outcome == "failed" else DriverRunError
            raise failure("\n".join([f"{case.problem}: {case.message}", *errors]))
        if errors:
            raise LogFindingError("\n".join(errors))

    def _keep(self, case: Case) -> None:
        session = session_of(self.config)
        verdict = self.parent.take_verdict(session, case)
        session.keep(replace(case, nodeid=self.nodeid, verdict=verdict))
        if case.result is not None:
            record_properties(self, case.result)
