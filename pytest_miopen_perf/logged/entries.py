"""What a log of MIOpenDriver has to be tested: its records, its runs, and what in it cannot be read; in one pass."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pytest_miopen_perf.driver.log_item import ItemKind
from pytest_miopen_perf.driver.log_reader import read_log
from pytest_miopen_perf.driver.record_checks import check_item
from pytest_miopen_perf.driver.semantics import LinesTogether
from pytest_miopen_perf.driver.text_reader import read_driver_text
from pytest_miopen_perf.driver.text_runs import text_runs
from pytest_miopen_perf.logged.cases import CaseReader, session_of_runs
from pytest_miopen_perf.logged.text import logged_text
from pytest_miopen_perf.records import SolutionRecord
from pytest_miopen_perf.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from typing import BinaryIO

    from pytest_miopen_perf.cases import Case
    from pytest_miopen_perf.driver.finding import Finding
    from pytest_miopen_perf.driver.log_item import LogItem
    from pytest_miopen_perf.driver.text_runs import TextRun
    from pytest_miopen_perf.logged.cases import LoggedCase

_UNPRINTABLE = re.compile(r"[^\x21-\x7e]+|::+")
_LONGEST_NAME = 150


@dataclass(frozen=True, slots=True, kw_only=True)
class LogEntry:
    """Something of a log that can be right or wrong.

    Attributes:
        line_number: Where it stands.
        name: What it is called; no other entry of the log has the same.
        findings: What is wrong with it, or not to be trusted; what is but worth knowing is left out.
        case: The figures and the verification of a direction that ran; None for all else.
    """

    line_number: int
    name: str
    findings: tuple[Finding, ...] = ()
    case: Case | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogContent:
    """A log, read.

    Attributes:
        entries: By line.
        processes: The cases of its entries, by the processes that have measured them.
        environment: The variables that the log states.
    """

    entries: tuple[LogEntry, ...]
    processes: tuple[tuple[Case, ...], ...]
    environment: tuple[tuple[str, str], ...]


def read_entries(file: BinaryIO, source: str) -> LogContent:
    """Read a log: JSON lines and, where it holds other lines, the classic text.

    Memory holds the entries and their cases, never the lines.

    Args:
        file: Opened for reading bytes, at its beginning, and seekable.
        source: Its name, for findings.
    """
    records = _Records()
    for item in read_log(file, source):
        records.add(item)
    records.end()
    session = session_of_runs(records.runs, records.reader)
    entries, processes = list(records.entries()), session.processes
    if records.has_other_lines:
        file.seek(0)
        runs = [run for run in text_runs(read_driver_text(file, source)) if run.results or not records.has_records]
        entries += _text_entries(runs)
        processes += logged_text(runs).processes
    return LogContent(entries=tuple(_ordered(entries)), processes=processes, environment=session.environment)


@dataclass(slots=True)
class _Records:
    """The JSON lines of a log, item by item.

    Attributes:
        solutions: The records of solvers, each an entry.
        stray: What was found at lines that are no records of solvers.
        runs: The cases of each run.
    """

    reader: CaseReader = field(default_factory=CaseReader)
    together: LinesTogether = field(default_factory=LinesTogether)
    solutions: dict[int, list[LogEntry]] = field(default_factory=dict)
    stray: dict[int, list[Finding]] = field(default_factory=lambda: defaultdict(list))
    runs: list[tuple[LoggedCase, ...]] = field(default_factory=list)
    has_records: bool = False
    has_other_lines: bool = False

    def add(self, item: LogItem) -> None:
        found = tuple(_serious(check_item(item)))
        if isinstance(item.record, SolutionRecord):
            name = f"{item.record.solution}-{item.record.phase.value}"
            entry = LogEntry(line_number=item.line_number, name=name, findings=found)
            self.solutions.setdefault(item.line_number, []).append(entry)
        elif found:
            self.stray[item.line_number] += found
        self._note(_serious(self.together.add(item)))
        if cases := self.reader.add(item):
            self.runs.append(cases)
        self.has_records |= item.record is not None
        self.has_other_lines |= item.kind is ItemKind.NOISE and not item.raw.isspace() and bool(item.raw)

    def end(self) -> None:
        self._note(_serious(self.together.end()))
        self.runs.append(self.reader.end())

    def _note(self, findings: Iterable[Finding]) -> None:
        for finding in findings:
            entries = self.solutions.get(finding.line_number)
            if entries:
                entries[0] = replace(entries[0], findings=(*entries[0].findings, finding))
            else:
                self.stray[finding.line_number].append(finding)

    def entries(self) -> Iterator[LogEntry]:
        told: set[int] = set()
        for entries in self.solutions.values():
            yield from entries
        for case, lines in (logged for run in self.runs for logged in run):
            told.update(lines)
            findings = [finding for line in dict.fromkeys(lines) for finding in self.stray.get(line, ())]
            yield LogEntry(line_number=lines[0], name=case.problem, findings=tuple(findings), case=case)
        yield from _stray_entries(
            finding for line, found in self.stray.items() if line not in told for finding in found
        )


def _serious(findings: Iterable[Finding]) -> Iterator[Finding]:
    return (finding for finding in findings if finding.severity is not Severity.INFO)


def _stray_entries(findings: Iterable[Finding]) -> Iterator[LogEntry]:
    """What belongs to no record of a solver and to no run: torn lines above all."""
    for finding in findings:
        yield LogEntry(line_number=finding.line_number, name=finding.code, findings=(finding,))


def _text_entries(runs: Sequence[TextRun]) -> Iterator[LogEntry]:
    for run in runs:
        cases = iter(logged_text([run]).cases)
        lines = {result.line_number for result in run.results}
        for result in run.results:
            found = [finding for finding in _serious(run.findings) if finding.line_number == result.line_number]
            yield LogEntry(
                line_number=result.line_number,
                name=str(result.problem or f"direction-{result.direction.value}"),
                findings=tuple(found),
                case=None if result.problem is None else next(cases),
            )
        yield from _stray_entries(f for f in _serious(run.findings) if f.line_number not in lines)


def _ordered(entries: Iterable[LogEntry]) -> Iterator[LogEntry]:
    """By line, each under a name of its own that can stand in a test's id."""
    seen: Counter[str] = Counter()
    for entry in sorted(entries, key=lambda entry: entry.line_number):
        name = f"{_UNPRINTABLE.sub('_', entry.name)[:_LONGEST_NAME]}@line{entry.line_number}"
        seen[name] += 1
        yield replace(entry, name=name if seen[name] == 1 else f"{name}-{seen[name]}")
