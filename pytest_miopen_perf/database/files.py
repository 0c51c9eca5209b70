"""Which kind of data base a file is, and its records, whatever the kind."""

from __future__ import annotations

import enum
import itertools
import re
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pytest_miopen_perf.atomic_file import write_atomically
from pytest_miopen_perf.database.find_db import FindRecord, format_find_record, read_find_db
from pytest_miopen_perf.database.perf_db import PerfRecord, format_perf_record, read_perf_db
from pytest_miopen_perf.database.record_lines import Fault, RecordLine, file_lines, split_lines
from pytest_miopen_perf.database.sqlite_db import SQLITE_MAGIC, read_sqlite_perf_db
from pytest_miopen_perf.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from os import PathLike

Record: TypeAlias = FindRecord | PerfRecord

_NAMES = re.compile(r"(?P<find>\.u?fdb\.txt)|(?P<perf>\.(?:udb|db|pdb)\.txt)|(?P<times>\.times\.txt)")
_SQLITE_SUFFIXES = {".db", ".udb"}
_SNIFFED_LINES = 100


class DatabaseKind(enum.Enum):
    """What a data base holds, and in which form."""

    FIND_TEXT = "find-db"
    PERF_TEXT = "perf-db"
    PERF_SQLITE = "SQLite perf-db"
    TIMES_TEXT = "times of tuned configs"


_KINDS = {"find": DatabaseKind.FIND_TEXT, "perf": DatabaseKind.PERF_TEXT, "times": DatabaseKind.TIMES_TEXT}


def database_kind(path: str | PathLike[str]) -> DatabaseKind:
    """The kind, by SQLite's mark, then by MIOpen's file names, then by the first keys.

    Raises:
        DatabaseError: the file cannot be read, or nothing in it tells.
    """
    path = Path(path)
    start = next(file_lines(path), b"")
    if start.startswith(SQLITE_MAGIC):
        return DatabaseKind.PERF_SQLITE
    if named := _NAMES.search(path.name):
        return _KINDS[str(named.lastgroup)]
    for item in itertools.islice(split_lines(file_lines(path), str(path)), _SNIFFED_LINES):
        if isinstance(item, RecordLine):
            return DatabaseKind.FIND_TEXT if "-" in item.key else DatabaseKind.PERF_TEXT
    raise DatabaseError(
        f"{path} is no data base of MIOpen: neither its name (such as gfx942130.ufdb.txt or gfx942130.udb.txt) nor its "
        f"first {_SNIFFED_LINES} lines tell which kind it is"
    )


def database_files(folder: str | PathLike[str]) -> list[Path]:
    """The data bases in a folder and below it, by their names, in order of their paths.

    Raises:
        DatabaseError: the folder cannot be read.
    """
    try:
        files = sorted(path for path in Path(folder).rglob("*") if path.is_file())
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise DatabaseError(f"the folder {folder} cannot be read: {reason}; name a readable one") from error
    return [path for path in files if _NAMES.search(path.name) or path.suffix in _SQLITE_SUFFIXES]


def read_records(path: str | PathLike[str]) -> Iterator[Record | Fault]:
    """The records of a data base of MIOpen's in order, and between them what could not be read.

    Raises:
        DatabaseError: the file cannot be read, is no data base, or holds the times of this project's configs.
    """
    kind = database_kind(path)
    if kind is DatabaseKind.TIMES_TEXT:
        raise DatabaseError(f"{path} holds {kind.value}, which MIOpen does not know; only miopen-perf db lint reads it")
    if kind is DatabaseKind.FIND_TEXT:
        return read_find_db(path)
    return read_perf_db(path) if kind is DatabaseKind.PERF_TEXT else read_sqlite_perf_db(path)


def format_record(record: Record) -> str:
    """The line of a record in MIOpen's present text form, without its end.

    Raises:
        DatabaseError: the line would not be read back as it is.
    """
    if isinstance(record, FindRecord):
        return format_find_record(record.key, record.entries)
    return format_perf_record(record.key, record.entries)


def write_records(path: Path, records: Iterable[Record]) -> None:
    """Write a text data base, all or nothing.

    Raises:
        DatabaseError: the file cannot be written, or a record would not be read back as it is.
    """
    text = "".join(f"{format_record(record)}\n" for record in records)
    try:
        write_atomically(path, text)
    except OSError as error:
        raise DatabaseError(
            f"the data base {path} cannot be written: {error.strerror or error}; what was there before is unchanged"
        ) from error
