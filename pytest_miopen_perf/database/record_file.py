"""One text data base of our own as a table in memory, read again when it has changed, written all or nothing."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, TypeAlias

from pytest_miopen_perf.atomic_file import write_atomically
from pytest_miopen_perf.database.record_lines import (
    Fault,
    FaultKind,
    RecordLine,
    file_lines,
    join_record,
    shortened,
    split_lines,
)
from pytest_miopen_perf.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

Table: TypeAlias = dict[str, dict[str, str]]
"""By key, by solver: the value's text. Of a key that stands twice the first record counts, as in MIOpen."""

_Signature: TypeAlias = tuple[int, int, int]


class RecordFile:
    """A data base that may not exist yet. Any thread may read; who writes holds a lock around reading and writing.

    What cannot be read is told once, in one sentence, and is gone after the next writing.

    Args:
        path: Where it is.
        report: Is told that sentence.
        is_value: Whether a text can be the value of a solver.
    """

    def __init__(
        self,
        path: Path,
        report: Callable[[str], None],
        is_value: Callable[[str, str], bool] = lambda *_: True,
    ) -> None:
        self.path = path
        self._report = report
        self._is_value = is_value
        self._lock = threading.Lock()
        self._signature: _Signature | None = None
        self._table: Table = {}
        self._is_reported = False

    def table(self) -> Table:
        """What the file holds now, not to be changed; empty when there is no file.

        Raises:
            DatabaseError: the file exists and cannot be read.
        """
        with self._lock:
            signature = _signature(self.path)
            if signature != self._signature:
                self._table = {} if signature is None else self._read()
                self._signature = signature
            return self._table

    def fresh(self) -> Table:
        """What the file holds, read anew whatever its time stamp says: for who is about to change it.

        Raises:
            DatabaseError: the file exists and cannot be read.
        """
        return {} if _signature(self.path) is None else self._read()

    def write(self, table: Table) -> None:
        """Put a table in place of what the file holds.

        Raises:
            DatabaseError: the file cannot be written, and is as before; or a value would not be read back as it is.
        """
        text = "".join(f"{join_record(key, solvers.items())}\n" for key, solvers in table.items() if solvers)
        try:
            write_atomically(self.path, text)
        except OSError as error:
            raise DatabaseError(
                f"{self.path} cannot be written: {error.strerror or error}; nothing in it has changed, but results of "
                "this session are not kept there"
            ) from error

    def _read(self) -> Table:
        table: Table = {}
        faults: list[Fault] = []
        for item in split_lines(file_lines(self.path), str(self.path)):
            if isinstance(item, Fault):
                faults.append(item)
            else:
                wrong = [part for part in item.parts if not self._is_value(*part)]
                faults += [_value_fault(item, *part) for part in wrong]
                table.setdefault(item.key, {name: text for name, text in item.parts if (name, text) not in wrong})
        if faults and not self._is_reported:
            self._is_reported = True
            self._report(
                f"{self.path} holds {len(faults)} ill-formed records or entries, which are left out; the first is in "
                f"line {faults[0].line}: {faults[0].sentence}"
            )
        return table


def _value_fault(line: RecordLine, solver: str, text: str) -> Fault:
    sentence = f"{shortened(text)!r} is no value of {shortened(solver)}"
    return Fault(line.file, line.line, FaultKind.BAD_VALUE, shortened(text), sentence)


def _signature(path: Path) -> _Signature | None:
    """What changes with every writing, since each makes a new file."""
    try:
        status = os.stat(path)  # noqa: PTH116 - a path that is no file at all is as good as absent
    except FileNotFoundError:
        return None
    except OSError as error:
        raise DatabaseError(f"{path} cannot be read: {error.strerror or error}; name another directory") from error
    return status.st_ino, status.st_mtime_ns, status.st_size
