"""Which problems of a workload a data base knows, so that they need no search."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.database.files import DatabaseKind, database_kind, read_records
from pytest_miopen_perf.database.find_db import FindRecord
from pytest_miopen_perf.database.record_lines import Fault
from pytest_miopen_perf.errors import ProblemError
from pytest_miopen_perf.problems.db_key import find_db_key, perf_db_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from os import PathLike

    from pytest_miopen_perf.database.files import Record
    from pytest_miopen_perf.problem import ConvProblem


class CoverageState(enum.Enum):
    """What a data base knows of a problem.

    UNMEASURED: a find-db has a record, but no time in it is a measurement. NO_KEY: the problem is transposed and empty,
    which no key can state.
    """

    COVERED = "covered"
    UNMEASURED = "unmeasured"
    MISSING = "missing"
    NO_KEY = "no key"


@dataclass(frozen=True, slots=True, kw_only=True)
class CoverageRow:
    """One problem.

    Attributes:
        problem: As it stands in the workload.
        key: What to look for in the data base, "" when no key can state it.
        state: What was found.
        solvers: The solvers of the record: of a find-db those with a time, the fastest first.
    """

    problem: ConvProblem
    key: str
    state: CoverageState
    solvers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """A workload against a data base.

    Attributes:
        rows: Each problem once, in the order of the workload.
        records: Records of the data base.
        faults: What could not be read in it.
    """

    rows: tuple[CoverageRow, ...]
    records: int
    faults: tuple[Fault, ...]

    @property
    def share(self) -> float | None:
        """Covered problems over all; None for an empty workload."""
        return self.count(CoverageState.COVERED) / len(self.rows) if self.rows else None

    def count(self, state: CoverageState) -> int:
        """How many problems are in a state."""
        return sum(row.state is state for row in self.rows)


def coverage(problems: Iterable[ConvProblem], path: str | PathLike[str]) -> Coverage:
    """Look a workload up in a data base of any kind; of a key that stands twice the first record counts.

    Raises:
        DatabaseError: the file cannot be read, or is no data base.
    """
    make_key = find_db_key if database_kind(path) is DatabaseKind.FIND_TEXT else perf_db_key
    keys = {problem: _key(problem, make_key) for problem in problems}
    wanted = set(keys.values())
    found: dict[str, Record] = {}
    faults: list[Fault] = []
    records = 0
    for item in read_records(path):
        if isinstance(item, Fault):
            faults.append(item)
            continue
        records += 1
        if item.key in wanted:
            found.setdefault(item.key, item)
    rows = tuple(_row(problem, key, found.get(key)) for problem, key in keys.items())
    return Coverage(rows=rows, records=records, faults=tuple(faults))


def _key(problem: ConvProblem, make_key: Callable[[ConvProblem], str]) -> str:
    try:
        return make_key(problem)
    except ProblemError:
        return ""


def _row(problem: ConvProblem, key: str, record: Record | None) -> CoverageRow:
    if record is None:
        state = CoverageState.MISSING if key else CoverageState.NO_KEY
        return CoverageRow(problem=problem, key=key, state=state)
    solvers = _solvers(record)
    state = CoverageState.COVERED if solvers else CoverageState.UNMEASURED
    return CoverageRow(problem=problem, key=key, state=state, solvers=solvers)


def _solvers(record: Record) -> tuple[str, ...]:
    if not isinstance(record, FindRecord):
        return tuple(entry.solver for entry in record.entries)
    measured = [entry for entry in record.entries if entry.time_ms is not None]
    return tuple(entry.solver for entry in sorted(measured, key=lambda entry: entry.stated_ms))
