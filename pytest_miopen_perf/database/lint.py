"""Everything that is wrong with a data base: counted in full, told by examples."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.database.files import DatabaseKind, database_kind, read_records
from pytest_miopen_perf.database.find_db import FindRecord
from pytest_miopen_perf.database.findings import SEVERITIES, Code, Finding, of_fault, of_record
from pytest_miopen_perf.database.own_solvers import own_solver
from pytest_miopen_perf.database.record_lines import Fault, FaultKind
from pytest_miopen_perf.database.solver_registry import registered
from pytest_miopen_perf.database.times_db import read_times_db

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike

    from pytest_miopen_perf.database.findings import AnyRecord
    from pytest_miopen_perf.severity import Severity

EXAMPLES = 20
"""Findings of one code that a report keeps: a million bad records must not fill the memory, nor a terminal."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LintReport:
    """What a data base holds and what is wrong with it.

    Attributes:
        file: The data base.
        records: Records that could be read; with `lost` they are all lines that are not blank.
        entries: Solvers in these records.
        legacy_records: Records in the legacy form (v1).
        lost: Lines of which nothing could be used.
        counts: How often each code was found, all findings counted; codes that were not found are left out.
        findings: The first `EXAMPLES` of each code, in the order of the file.
    """

    file: str
    records: int
    entries: int
    legacy_records: int
    lost: int
    counts: dict[Code | FaultKind, int]
    findings: tuple[Finding, ...]

    def total(self, severity: Severity) -> int:
        """How many findings have a severity."""
        return sum(count for code, count in self.counts.items() if SEVERITIES[code] is severity)


def lint_database(path: str | PathLike[str], examples: int = EXAMPLES) -> LintReport:
    """Check a data base of any kind, one record in memory at a time, and its keys to tell those that repeat.

    Raises:
        DatabaseError: the file cannot be read, or is no data base.
    """
    is_of_times = database_kind(path) is DatabaseKind.TIMES_TEXT
    return lint_records(read_times_db(path) if is_of_times else read_records(path), str(path), examples)


def lint_records(items: Iterable[AnyRecord | Fault], file: str, examples: int = EXAMPLES) -> LintReport:
    """Check what was read.

    Args:
        items: Records and faults in the order of the file.
        file: The name for the report.
        examples: How many findings of a code to keep.
    """
    checks = _Checks()
    counts: Counter[Code | FaultKind] = Counter()
    findings: list[Finding] = []
    for finding in checks.findings(items):
        counts[finding.code] += 1
        if counts[finding.code] <= examples:
            findings.append(finding)
    return LintReport(
        file=file,
        records=checks.records,
        entries=checks.entries,
        legacy_records=checks.legacy_records,
        lost=checks.lost,
        counts=dict(counts),
        findings=tuple(findings),
    )


class _Checks:
    """What spans records: keys and names that were seen, and how many."""

    def __init__(self) -> None:
        self.records = self.entries = self.legacy_records = self.lost = 0
        self._first_lines: dict[str, int] = {}
        self._names: set[str] = set()

    def findings(self, items: Iterable[AnyRecord | Fault]) -> Iterator[Finding]:
        for item in items:
            if isinstance(item, Fault):
                self.lost += item.loses_record
                yield of_fault(item)
                continue
            self.records += 1
            self.entries += len(item.entries)
            if isinstance(item, FindRecord):
                self.legacy_records += item.version == 1
            yield from of_record(item)
            yield from self._repeated(item)
            yield from self._unregistered(item)

    def _repeated(self, record: AnyRecord) -> Iterator[Finding]:
        first = self._first_lines.setdefault(record.key, record.line)
        if first != record.line:
            sentence = f"the key stands in line {first} already, where MIOpen finds it; this record is never read"
            yield Finding(Code.DUPLICATE_KEY, record.file, record.line, record.key, "", sentence)

    def _unregistered(self, record: AnyRecord) -> Iterator[Finding]:
        """Once for each name."""
        for entry in record.entries:
            solver = entry.solver
            if solver in self._names:
                continue
            self._names.add(solver)
            if registered(solver) is None and own_solver(solver) is None:
                sentence = (
                    f"{solver[:80]} is no convolution solver of MIOpen's registry nor of this package; "
                    "other entries of it are not told"
                )
                yield Finding(Code.UNKNOWN_SOLVER, record.file, record.line, record.key, solver, sentence)
