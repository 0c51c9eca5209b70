"""Text perf-dbs: the tuned performance configs, by problem: `key=Solver:config;Solver:config`."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pytest_miopen_perf.database.record_lines import Fault, file_lines, join_record, split_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike


class PerfEntry(NamedTuple):
    """The tuned config of one solver: its name and MIOpen's text of the config."""

    solver: str
    config: str


class PerfRecord(NamedTuple):
    """One problem of a perf-db.

    Attributes:
        file: Where it stands.
        line: The line, from 1; in SQLite the id of the row in `config`.
        key: The perf-db key in its text form.
        entries: The solvers, at least one, each once.
    """

    file: str
    line: int
    key: str
    entries: tuple[PerfEntry, ...]


def read_perf_db(path: str | PathLike[str]) -> Iterator[PerfRecord | Fault]:
    """The records of a text perf-db in order, and between them what could not be read.

    Raises:
        DatabaseError: the file cannot be read.
    """
    return perf_records(file_lines(path), str(path))


def perf_records(lines: Iterable[bytes], file: str) -> Iterator[PerfRecord | Fault]:
    """The records of the lines of a text perf-db; see `split_lines` for how records and faults add up to lines."""
    for item in split_lines(lines, file):
        if isinstance(item, Fault):
            yield item
        else:
            yield PerfRecord(item.file, item.line, item.key, tuple(PerfEntry(*part) for part in item.parts))


def format_perf_record(key: str, entries: Iterable[PerfEntry]) -> str:
    """The line of a record, without its end.

    Raises:
        DatabaseError: the line would not be read back as it is.
    """
    return join_record(key, entries)
