"""One data base out of several: one entry for each problem and solver, the best one, and a list of what disagreed."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from pytest_miopen_perf.database.files import DatabaseKind, database_kind, read_records
from pytest_miopen_perf.database.find_db import FindEntry
from pytest_miopen_perf.database.perf_db import PerfEntry
from pytest_miopen_perf.database.record_lines import Fault
from pytest_miopen_perf.database.times_db import times_beside
from pytest_miopen_perf.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
    from os import PathLike

    from pytest_miopen_perf.database.files import Record

Entry: TypeAlias = FindEntry | PerfEntry
TunedTimes: TypeAlias = dict[tuple[str, PerfEntry], float]
"""Milliseconds by perf-db key and tuned config."""


class Candidate(NamedTuple):
    """An entry and where it stands; of a tuned config also what it was measured at, where a file beside it says so."""

    entry: Entry
    file: str
    line: int
    tuned_ms: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Entries of one problem and solver that differ.

    Attributes:
        key: The problem.
        solver: The solver's name.
        kept: The entry that stays.
        dropped: The others, each once, in the order of the inputs.
    """

    key: str
    solver: str
    kept: Candidate
    dropped: tuple[Candidate, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """What a merge gives.

    Attributes:
        records: One a key, in the order in which the keys first came; file and line are of that first record.
        conflicts: What disagreed, in the order of the records.
        faults: What could not be read; it is in no record.
    """

    records: tuple[Record, ...]
    conflicts: tuple[Conflict, ...]
    faults: tuple[Fault, ...]


def merge_databases(paths: Sequence[str | PathLike[str]]) -> Merge:
    """Merge data bases of the same device, such as the user data bases of several workers.

    Of find-db entries the fastest measured one stays, the first of equals. Perf-dbs hold no times: of their entries the
    fastest stays by the file of times that lies beside, as in `store`; where there is none, the one named last, which
    is taken as the newest. Text and SQLite perf-dbs merge with each other.

    Raises:
        DatabaseError: a file cannot be read, or find-dbs and perf-dbs are mixed.
    """
    kinds = {path: database_kind(path) for path in paths}
    finds = [path for path, kind in kinds.items() if kind is DatabaseKind.FIND_TEXT]
    if finds and len(finds) != len(kinds):
        other = next(path for path in kinds if path not in finds)
        raise DatabaseError(f"{finds[0]} is a find-db and {other} a perf-db; merge each kind for itself")
    items = (item for path in paths for item in read_records(path))
    if finds:
        return merge_records(items, choose=fastest_measured)
    return merge_records(items, choose=fastest_tuned, times={str(path): times_beside(path) for path in paths})


def merge_records(
    items: Iterable[Record | Fault],
    choose: Callable[[Sequence[Candidate]], Candidate],
    times: Mapping[str, TunedTimes] | None = None,
) -> Merge:
    """Merge records of one kind.

    Args:
        items: What was read, in the order of the inputs.
        choose: Picks the entry that stays out of several that differ.
        times: What tuned configs were measured at, by file.
    """
    times = times or {}
    faults: list[Fault] = []
    firsts: dict[str, Record] = {}
    table: dict[str, dict[str, list[Candidate]]] = {}
    for item in items:
        if isinstance(item, Fault):
            faults.append(item)
            continue
        firsts.setdefault(item.key, item)
        solvers = table.setdefault(item.key, {})
        for entry in item.entries:
            of_file = times.get(item.file, {})
            tuned_ms = of_file.get((item.key, entry)) if isinstance(entry, PerfEntry) else None
            solvers.setdefault(entry.solver, []).append(Candidate(entry, item.file, item.line, tuned_ms))
    kept = {
        key: {solver: choose(candidates) for solver, candidates in solvers.items()} for key, solvers in table.items()
    }
    return Merge(
        records=tuple(_with_entries(first, [one.entry for one in kept[key].values()]) for key, first in firsts.items()),
        conflicts=tuple(_conflicts(table, kept)),
        faults=tuple(faults),
    )


def fastest_measured(candidates: Sequence[Candidate]) -> Candidate:
    """The least time of find-db entries; what is no measurement comes last."""
    return min(candidates, key=_stated_or_never)


def fastest_tuned(candidates: Sequence[Candidate]) -> Candidate:
    """The least time of tuned configs, the last of equals; where no time is known the entry that came last."""
    newest_first = candidates[::-1]
    return min(newest_first, key=lambda one: math.inf if one.tuned_ms is None else one.tuned_ms)


def _stated_or_never(candidate: Candidate) -> float:
    time_ms = candidate.entry.time_ms if isinstance(candidate.entry, FindEntry) else None
    return math.inf if time_ms is None else time_ms


def _with_entries(record: Record, entries: Iterable[Any]) -> Record:
    """The record with other entries, which are of its own kind."""
    return record._replace(entries=tuple(entries))


def _conflicts(
    table: dict[str, dict[str, list[Candidate]]], kept: dict[str, dict[str, Candidate]]
) -> Iterator[Conflict]:
    for key, solvers in table.items():
        for solver, candidates in solvers.items():
            best = kept[key][solver]
            distinct = {repr(other.entry): other for other in reversed(candidates)}  # nan differs from nan
            distinct.pop(repr(best.entry))
            if distinct:
                yield Conflict(key=key, solver=solver, kept=best, dropped=tuple(reversed(distinct.values())))
