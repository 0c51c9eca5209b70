"""What can be wrong with a record that is well-formed: one generator of findings for each kind of record."""

from __future__ import annotations

import enum
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from pytest_miopen_perf.database.find_db import FindRecord, algorithm_word
from pytest_miopen_perf.database.key_shape import find_key_shape, perf_key_type
from pytest_miopen_perf.database.own_solvers import own_workspace_bytes
from pytest_miopen_perf.database.record_lines import FaultKind, shortened
from pytest_miopen_perf.database.solver_registry import config_fault, registered, served_directions
from pytest_miopen_perf.database.times_db import TimesRecord
from pytest_miopen_perf.database.workspace import possible_workspaces
from pytest_miopen_perf.errors import DatabaseKeyError
from pytest_miopen_perf.problem import Direction
from pytest_miopen_perf.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_miopen_perf.database.files import Record
    from pytest_miopen_perf.database.find_db import FindEntry
    from pytest_miopen_perf.database.key_shape import KeyShape
    from pytest_miopen_perf.database.perf_db import PerfRecord
    from pytest_miopen_perf.database.record_lines import Fault
    from pytest_miopen_perf.database.times_db import TimedConfig
    from pytest_miopen_perf.problem import DType

    AnyRecord: TypeAlias = Record | TimesRecord


class Code(enum.Enum):
    """What a finding is about, apart from the `FaultKind`s of reading."""

    KEY = "key"
    DUPLICATE_KEY = "duplicate-key"
    EMPTY_OUTPUT = "empty-output"
    DIRECTION = "direction"
    ALGORITHM = "algorithm"
    UNKNOWN_SOLVER = "unknown-solver"
    NO_MEASUREMENT = "no-measurement"
    WORKSPACE = "workspace"
    PARAMETERS = "parameters"


SEVERITIES: dict[Code | FaultKind, Severity] = {
    **dict.fromkeys(FaultKind, Severity.ERROR),
    **dict.fromkeys(Code, Severity.ERROR),
    Code.EMPTY_OUTPUT: Severity.WARNING,
    Code.ALGORITHM: Severity.WARNING,
    Code.WORKSPACE: Severity.WARNING,
    Code.UNKNOWN_SOLVER: Severity.INFO,
}


class Finding(NamedTuple):
    """One thing that is wrong.

    Attributes:
        code: What it is about.
        file: Where it stands.
        line: The line, from 1; in SQLite the id of the row.
        key: The record's key, "" when the line has none.
        solver: The solver's name, "" when it is about the whole record.
        sentence: What is wrong, in words.
    """

    code: Code | FaultKind
    file: str
    line: int
    key: str
    solver: str
    sentence: str

    @property
    def severity(self) -> Severity:
        """How bad it is."""
        return SEVERITIES[self.code]


def of_fault(fault: Fault) -> Finding:
    """What reading found."""
    return Finding(fault.kind, fault.file, fault.line, "", "", fault.sentence)


def of_record(record: AnyRecord) -> Iterator[Finding]:
    """What is wrong with a record by itself."""
    if isinstance(record, FindRecord):
        return of_find_record(record)
    return of_times_record(record) if isinstance(record, TimesRecord) else of_perf_record(record)


def of_find_record(record: FindRecord) -> Iterator[Finding]:
    """What is wrong with a record of a find-db by itself."""
    try:
        shape = find_key_shape(record.key)
    except DatabaseKeyError as error:
        yield _finding(record, Code.KEY, "", str(error))
        shape = None
    if shape is not None and shape.is_empty:
        sentence = "the convolution is empty: its output size of 1 is what MIOpen writes for less than 1"
        yield _finding(record, Code.EMPTY_OUTPUT, "", sentence)
    for entry in record.entries:
        yield from _of_time(record, entry)
        if shape is not None:
            yield from _of_find_entry(record, entry, shape)


def of_perf_record(record: PerfRecord) -> Iterator[Finding]:
    """What is wrong with a record of a perf-db by itself."""
    try:
        direction, dtype = perf_key_type(record.key)
    except DatabaseKeyError as error:
        yield _finding(record, Code.KEY, "", str(error))
        return
    for solver, config in record.entries:
        yield from _of_config(record, solver, config, direction, dtype)


def of_times_record(record: TimesRecord) -> Iterator[Finding]:
    """What is wrong with a record of the times of tuned configs by itself."""
    try:
        shape = find_key_shape(record.key)
    except DatabaseKeyError as error:
        yield _finding(record, Code.KEY, "", str(error))
        shape = None
    for entry in record.entries:
        yield from _of_time(record, entry)
        if shape is not None:
            yield from _of_config(record, entry.solver, entry.config, shape.direction, shape.dtype)


def _of_time(record: AnyRecord, entry: FindEntry | TimedConfig) -> Iterator[Finding]:
    if entry.time_ms is None:
        sentence = f"{shortened(entry.solver)} has a time of {entry.stated_ms:.6g} ms, which is no measurement"
        yield _finding(record, Code.NO_MEASUREMENT, entry.solver, sentence)


def _of_config(record: AnyRecord, solver: str, config: str, direction: Direction, dtype: DType) -> Iterator[Finding]:
    if direction not in served_directions(solver):
        yield _finding(record, Code.DIRECTION, solver, _direction_sentence(solver, direction))
    elif fault := config_fault(solver, config, direction, dtype):
        yield _finding(record, Code.PARAMETERS, solver, fault)


def _of_find_entry(record: FindRecord, entry: FindEntry, shape: KeyShape) -> Iterator[Finding]:
    solver = entry.solver
    serves, word = _expected(solver, shape.direction)
    if not serves:
        yield _finding(record, Code.DIRECTION, solver, _direction_sentence(solver, shape.direction))
        return
    if word and entry.algorithm != word:
        sentence = f"{solver} is stated as {shortened(entry.algorithm)}; MIOpen writes {word}"
        yield _finding(record, Code.ALGORITHM, solver, sentence)
    possible = possible_workspaces(solver, shape) or own_workspace_bytes(solver, record.key)
    if possible and entry.workspace_bytes not in possible and not shape.is_empty:
        sentence = f"{solver} needs {possible[0]} bytes of workspace here, not {entry.workspace_bytes}"
        yield _finding(record, Code.WORKSPACE, solver, sentence)


@lru_cache(maxsize=4096)
def _expected(solver: str, direction: Direction) -> tuple[bool, str]:
    """Whether a solver serves a direction, and the algorithm that records of it state, "" when that is not known."""
    known = registered(solver)
    return direction in served_directions(solver), algorithm_word(known.algorithm, direction) if known else ""


def _finding(record: AnyRecord, code: Code, solver: str, sentence: str) -> Finding:
    return Finding(code, record.file, record.line, record.key, solver, sentence)


def _direction_sentence(solver: str, direction: Direction) -> str:
    served = "".join(one.value for one in Direction if one in served_directions(solver))
    return f"{shortened(solver)} serves {'/'.join(served)}, but the key ends with {direction.value}"
