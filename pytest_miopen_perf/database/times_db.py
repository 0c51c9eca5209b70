"""What the tuned configs of this project were measured at: `find-db key=Solver:time_ms,config;...`.

It lies beside a perf-db, which has no room for times, and is called `<device>.times.txt`. MIOpen does not read it.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_miopen_perf.database.perf_db import PerfEntry
from pytest_miopen_perf.database.record_lines import Fault, FaultKind, file_lines, shortened, split_lines
from pytest_miopen_perf.errors import DatabaseKeyError
from pytest_miopen_perf.problems.db_key import parse_find_db_key, perf_db_key
from pytest_miopen_perf.statistics import MAX_TIME_MS, MIN_TIME_MS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

    from pytest_miopen_perf.database.record_lines import RecordLine

_SUFFIX = ".times.txt"
_PERF_SUFFIX = ".udb.txt"


class TimedConfig(NamedTuple):
    """The tuned config of one solver: its name, what the config was measured at, and the config's text."""

    solver: str
    stated_ms: float
    config: str

    @property
    def time_ms(self) -> float | None:
        """The time; None when what is stated is no measurement."""
        return self.stated_ms if MIN_TIME_MS <= self.stated_ms <= MAX_TIME_MS else None


class TimesRecord(NamedTuple):
    """One problem: where it stands, its find-db key, and its solvers, at least one, each once."""

    file: str
    line: int
    key: str
    entries: tuple[TimedConfig, ...]


def read_times_db(path: str | PathLike[str]) -> Iterator[TimesRecord | Fault]:
    """The records of the file in order, and between them what could not be read.

    Raises:
        DatabaseError: the file cannot be read.
    """
    for item in split_lines(file_lines(path), str(path)):
        if isinstance(item, Fault):
            yield item
        else:
            yield from _times_record(item)


def times_beside(perf_db: str | PathLike[str]) -> dict[tuple[str, PerfEntry], float]:
    """What the configs of a perf-db were measured at: milliseconds by perf-db key and entry; {} without such a file.

    Of problems that share a perf-db key the least time counts. What cannot be read is passed over.

    Raises:
        DatabaseError: the file beside it cannot be read.
    """
    path = Path(perf_db)
    beside = path.with_name(f"{path.name.removesuffix(_PERF_SUFFIX)}{_SUFFIX}")
    if not path.name.endswith(_PERF_SUFFIX) or not beside.is_file():
        return {}
    times: dict[tuple[str, PerfEntry], float] = {}
    for record in read_times_db(beside):
        key = None if isinstance(record, Fault) else _perf_key(record.key)
        if isinstance(record, Fault) or key is None:
            continue
        for entry in record.entries:
            if entry.time_ms is not None:
                case = key, PerfEntry(entry.solver, entry.config)
                times[case] = min(entry.time_ms, times.get(case, entry.time_ms))
    return times


def _perf_key(find_key: str) -> str | None:
    try:
        return perf_db_key(parse_find_db_key(find_key))
    except DatabaseKeyError:
        return None


def split_time(value: str) -> tuple[float, str] | None:
    """The time in ms and the config of an entry; None when it is something else."""
    time, comma, config = value.partition(",")
    try:
        time_ms = float(time)
    except ValueError:
        return None
    return (time_ms, config) if comma and math.isfinite(time_ms) else None


def _times_record(line: RecordLine) -> Iterator[TimesRecord | Fault]:
    entries = []
    for solver, value in line.parts:
        timed = split_time(value)
        if timed is None:
            sentence = f"{shortened(value)!r} of {shortened(solver)} is not time,config"
            yield Fault(line.file, line.line, FaultKind.BAD_VALUE, shortened(value), sentence)
        else:
            entries.append(TimedConfig(solver, *timed))
    if entries:
        yield TimesRecord(line.file, line.line, line.key, tuple(entries))
    else:
        sentence = "the record has no entry that can be used"
        yield Fault(line.file, line.line, FaultKind.NO_ENTRY, shortened(line.key), sentence)
