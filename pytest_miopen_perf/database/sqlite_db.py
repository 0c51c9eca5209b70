"""MIOpen's SQLite perf-dbs, read only.

Tables `config` (a problem a row, the fields of a text key as columns) and `perf_db` (solver, config, params). Records
come out as of a text perf-db, with the key in its text form. The file and its folder are never written: one in WAL
mode is read without shared memory, or from a private copy where a log waits to be merged.
"""

from __future__ import annotations

import contextlib
import shutil
import sqlite3
import tempfile
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.database.perf_db import PerfEntry, PerfRecord
from pytest_miopen_perf.database.record_lines import Fault, FaultKind, shortened
from pytest_miopen_perf.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

SQLITE_MAGIC = b"SQLite format 3\0"

KEY_COLUMNS = (
    "spatial_dim",
    "in_channels",
    "in_h",
    "in_w",
    "in_d",
    "fil_h",
    "fil_w",
    "fil_d",
    "out_channels",
    "batchsize",
    "pad_h",
    "pad_w",
    "pad_d",
    "conv_stride_h",
    "conv_stride_w",
    "conv_stride_d",
    "dilation_h",
    "dilation_w",
    "dilation_d",
    "bias",
    "group_count",
    "layout",
    "data_type",
    "direction",
)
"""Columns of `config` in the order of a text key."""

_ROWS = f"""
    SELECT perf_db.config, perf_db.solver, perf_db.params, config.id, {", ".join(f"config.{c}" for c in KEY_COLUMNS)}
    FROM perf_db LEFT JOIN config ON config.id = perf_db.config
    ORDER BY perf_db.config, perf_db.id
"""  # noqa: S608 - built from the names above alone
_WAL_VERSION = 2

_DAMAGE = (sqlite3.Error, UnicodeDecodeError)
"""What a damaged file raises; the second where SQLite's own message quotes bytes of it."""


def read_sqlite_perf_db(path: str | PathLike[str]) -> Iterator[PerfRecord | Fault]:
    """The records in the order of their ids, and between them what could not be read.

    A file that turns out to be damaged on the way ends with a fault; what came before it stands.

    Raises:
        DatabaseError: the file cannot be opened, or is no perf-db.
    """
    path = Path(path)
    with _connection(path) as connection:
        rows = _started(connection, path)
        yield from _records(_until_damage(rows, str(path)), str(path))


@contextlib.contextmanager
def _connection(path: Path) -> Iterator[sqlite3.Connection]:
    with contextlib.ExitStack() as stack:
        try:
            uri = stack.enter_context(_readable(path))
            connection = stack.enter_context(contextlib.closing(sqlite3.connect(uri, uri=True)))
        except (OSError, *_DAMAGE) as error:
            raise _unreadable(path, error) from error
        connection.text_factory = bytes
        yield connection


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[str]:
    """An URI through which nothing beside the file is created."""
    with path.open("rb") as file:
        header = file.read(20)
    log = path.with_name(f"{path.name}-wal")
    if header[18:20] != bytes((_WAL_VERSION,)) * 2:
        yield f"{path.resolve().as_uri()}?mode=ro"
    elif not log.exists() or not log.stat().st_size:
        yield f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    else:
        with tempfile.TemporaryDirectory(prefix="miopen-perf-db-") as folder:
            copy = Path(folder, "perf.db")
            shutil.copyfile(path, copy)
            shutil.copyfile(log, f"{copy}-wal")
            yield copy.as_uri()


def _started(connection: sqlite3.Connection, path: Path) -> sqlite3.Cursor:
    try:
        connection.execute("PRAGMA temp_store = MEMORY")
        return connection.execute(_ROWS)
    except _DAMAGE as error:
        raise _unreadable(path, error) from error


def _unreadable(path: Path, error: Exception) -> DatabaseError:
    reason = getattr(error, "strerror", None) or error
    return DatabaseError(
        f"{path} cannot be read as an SQLite perf-db: {reason}; name a file that MIOpen wrote, from a local disk if "
        "this one does not support file locks"
    )


def _until_damage(rows: sqlite3.Cursor, file: str) -> Iterator[tuple[Any, ...] | Fault]:
    last = 0
    try:
        for row in rows:
            last = row[0]
            yield row
    except _DAMAGE as error:
        sentence = f"the data base is damaged behind the rows of config {last}: {error}"
        yield Fault(file, last if isinstance(last, int) else 0, FaultKind.NO_RECORD, "", sentence)


def _records(rows: Iterator[tuple[Any, ...] | Fault], file: str) -> Iterator[PerfRecord | Fault]:
    for number, group in groupby(rows, key=itemgetter(0)):
        first, *others = group
        if isinstance(first, Fault):
            yield first
        else:
            yield from _record(file, number if isinstance(number, int) else 0, [first, *others])


def _record(file: str, number: int, rows: list[Any]) -> Iterator[PerfRecord | Fault]:
    """One problem: rows of (config, solver, params, config.id, key columns...)."""
    if rows[0][3] is None:
        sentence = f"{len(rows)} rows of perf_db name a config that does not exist"
        yield Fault(file, number, FaultKind.NO_KEY, shortened(str(rows[0][:3])), sentence)
        return
    key = "x".join(_text(value) for value in rows[0][4:])
    entries: dict[str, PerfEntry] = {}
    for _, solver, params, *_ in rows:
        entry = PerfEntry(_text(solver), _text(params))
        if solver is None or params is None or not entry.solver:
            yield Fault(file, number, FaultKind.BAD_VALUE, shortened(str(entry)), "a row has no solver or no params")
        elif entry.solver in entries:
            sentence = f"{shortened(entry.solver)} stands twice for one config; the first one counts"
            yield Fault(file, number, FaultKind.DUPLICATE_ID, shortened(entry.config), sentence)
        else:
            entries[entry.solver] = entry
    if entries:
        yield PerfRecord(file, number, key, tuple(entries.values()))
    else:
        yield Fault(file, number, FaultKind.NO_ENTRY, shortened(key), "the record has no entry that can be used")


def _text(value: object) -> str:
    """SQLite keeps any type in any column."""
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else str(value)
