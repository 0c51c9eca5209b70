"""Find-dbs: what MIOpen's Find measured, by problem: `key=Solver:time_ms,workspace_bytes,algorithm;...`.

The legacy form (v1), of most shipped files, is `key=algorithm:Solver,time_ms,workspace_bytes,kernel algorithm,kernel
key;...`; it is recognised by its id, part for part, and written as v2. The two kernel-cache words of v1 are dropped:
nothing reads them any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pytest_miopen_perf.database.record_lines import (
    Fault,
    FaultKind,
    file_lines,
    join_record,
    shortened,
    split_lines,
)
from pytest_miopen_perf.errors import DatabaseError
from pytest_miopen_perf.problem import Direction
from pytest_miopen_perf.statistics import MAX_TIME_MS, MIN_TIME_MS

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike

    from pytest_miopen_perf.database.record_lines import RecordLine

_DIRECTION_WORDS = {
    Direction.FORWARD: "Fwd",
    Direction.BACKWARD_DATA: "BwdData",
    Direction.BACKWARD_WEIGHTS: "BwdWeights",
}
_LEGACY_ID = "miopenConvolution"
"""What an id begins with in the legacy form: an algorithm stands there, which no solver is named like."""


class FindEntry(NamedTuple):
    """One solver of a record.

    Attributes:
        solver: The solver's name.
        stated_ms: The time as it stands in the file, whatever it is.
        workspace_bytes: The workspace that the solver had.
        algorithm: MIOpen's word, such as `miopenConvolutionFwdAlgoGEMM`.
    """

    solver: str
    stated_ms: float
    workspace_bytes: int
    algorithm: str

    @property
    def time_ms(self) -> float | None:
        """The time; None when what is stated is no measurement: zero, negative, not finite, or the largest float."""
        return self.stated_ms if MIN_TIME_MS <= self.stated_ms <= MAX_TIME_MS else None


class FindRecord(NamedTuple):
    """One problem of a find-db; the order of its entries means nothing.

    Attributes:
        file: Where it stands.
        line: The line, from 1.
        key: The find-db key, as it stands.
        entries: The solvers, at least one, each once.
        version: 1 when a part is in the legacy form, else 2.
    """

    file: str
    line: int
    key: str
    entries: tuple[FindEntry, ...]
    version: int

    @property
    def best(self) -> FindEntry | None:
        """The fastest entry; None when none holds a measurement."""
        return fastest(self.entries)


def fastest(entries: Iterable[FindEntry]) -> FindEntry | None:
    """The entry with the least time, the first of equals; None when none holds a measurement."""
    measured = [entry for entry in entries if entry.time_ms is not None]
    return min(measured, key=lambda entry: entry.stated_ms, default=None)


def algorithm_word(family: str, direction: Direction) -> str:
    """MIOpen's word of an algorithm: `miopenConvolutionBwdDataAlgoWinograd`.

    Args:
        family: GEMM, Direct, FFT, Winograd or ImplicitGEMM.
        direction: Of the plain problem, as the key states it.
    """
    return f"miopenConvolution{_DIRECTION_WORDS[direction]}Algo{family}"


def read_find_db(path: str | PathLike[str]) -> Iterator[FindRecord | Fault]:
    """The records of a find-db in order, and between them what could not be read; one record in memory at a time.

    Raises:
        DatabaseError: the file cannot be read.
    """
    return find_records(file_lines(path), str(path))


def find_records(lines: Iterable[bytes], file: str) -> Iterator[FindRecord | Fault]:
    """The records of the lines of a find-db; see `split_lines` for how records and faults add up to lines."""
    for item in split_lines(lines, file):
        if isinstance(item, Fault):
            yield item
        else:
            yield from _find_record(item)


def format_find_record(key: str, entries: Iterable[FindEntry]) -> str:
    """The line of a record in today's form (v2), without its end; times have six significant digits.

    Raises:
        DatabaseError: the line would not be read back as it is.
    """
    return join_record(key, [(entry.solver, format_value(entry)) for entry in entries])


def parse_value(solver: str, value: str) -> FindEntry | None:
    """The entry of a solver from the text `time_ms,workspace_bytes,algorithm`; None when it is something else."""
    words = value.split(",")
    return _numbers(solver, words[0], words[1], words[2]) if len(words) == 3 else None


def format_value(entry: FindEntry) -> str:
    """The text behind the solver's name, with a time of six significant digits.

    Raises:
        DatabaseError: the text would not be read back as it is.
    """
    if "," in entry.algorithm or not entry.algorithm:
        raise DatabaseError(f"the algorithm {shortened(entry.algorithm)!r} is empty or holds a comma")
    if entry.workspace_bytes < 0 or entry.solver.startswith(_LEGACY_ID):
        raise DatabaseError(f"{entry} would not be read back from a find-db")
    return f"{entry.stated_ms:.6g},{entry.workspace_bytes},{entry.algorithm}"


def _find_record(line: RecordLine) -> Iterator[FindRecord | Fault]:
    entries: dict[str, FindEntry] = {}
    version = 2
    for name, value in line.parts:
        is_legacy = name.startswith(_LEGACY_ID)
        entry = _legacy_entry(name, value) if is_legacy else parse_value(name, value)
        if is_legacy:
            version = 1
        if entry is None:
            yield Fault(line.file, line.line, FaultKind.BAD_VALUE, shortened(value), _value_fault(name, value, version))
        elif entry.solver in entries:
            sentence = f"{shortened(entry.solver)} stands twice in the record; the first one counts"
            yield Fault(line.file, line.line, FaultKind.DUPLICATE_ID, shortened(f"{name}:{value}"), sentence)
        else:
            entries[entry.solver] = entry
    if entries:
        yield FindRecord(line.file, line.line, line.key, tuple(entries.values()), version)
    else:
        sentence = "the record has no entry that can be used"
        yield Fault(line.file, line.line, FaultKind.NO_ENTRY, shortened(line.key), sentence)


def _legacy_entry(algorithm: str, value: str) -> FindEntry | None:
    words = value.split(",", 4)
    return _numbers(words[0], words[1], words[2], algorithm) if len(words) == 5 else None


def _numbers(solver: str, time: str, workspace: str, algorithm: str) -> FindEntry | None:
    """None where a number is none; Python would also take 1_0."""
    if not solver or not algorithm or "_" in time or not (workspace.isascii() and workspace.isdigit()):
        return None
    try:
        return FindEntry(solver, float(time), int(workspace), algorithm)
    except ValueError:
        return None


def _value_fault(name: str, value: str, version: int) -> str:
    form = "solver,time,workspace,word,word" if version == 1 else "time,workspace,algorithm"
    return f"{shortened(value)!r} of {shortened(name)} is not {form}"
