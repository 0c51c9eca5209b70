"""Data bases by name; one on stdin is put into a file first, since its readers go over it more than once."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_miopen_perf.cli.inputs import STDIN, check_stdin_once, opened, shown
from pytest_miopen_perf.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_miopen_perf.cli.screen import Screen
    from pytest_miopen_perf.database.record_lines import Fault

_BZIP2_MAGIC = b"BZh"


class Databases:
    """The files of a command, and how to call them.

    Attributes:
        paths: One a name.
    """

    def __init__(self, names: Sequence[str], paths: Sequence[str]) -> None:
        self.paths = list(paths)
        self._names = dict(zip(paths, names, strict=True))

    def name(self, file: str) -> str:
        """What messages call a file that a reader names."""
        return shown(self._names.get(file, file))


@contextlib.contextmanager
def databases(names: Sequence[str]) -> Iterator[Databases]:
    """The paths of data bases.

    Raises:
        InputError: stdin is named twice, or cannot be read.
    """
    check_stdin_once(list(names))
    if STDIN not in names:
        yield Databases(names, names)
        return
    with tempfile.TemporaryDirectory(prefix="miopen-perf-db-") as folder:
        copy = _copy_of_stdin(Path(folder))
        yield Databases(names, [str(copy) if name == STDIN else name for name in names])


def files_of(names: Sequence[str]) -> list[str]:
    """The names with those of the data bases of a folder in its place.

    Raises:
        InputError: there is none in a folder.
        DatabaseError: a folder cannot be read.
    """
    from pytest_miopen_perf.database.files import database_files

    found: list[str] = []
    for name in names:
        is_folder = name != STDIN and Path(name).is_dir()
        files = [str(path) for path in database_files(name)] if is_folder else [name]
        if not files:
            raise InputError(f"the folder {name} holds no data base, such as gfx942130.ufdb.txt or gfx942130.udb.txt")
        found += files
    return list(dict.fromkeys(found))


def _copy_of_stdin(folder: Path) -> Path:
    copy = folder / "stdin"
    with opened(STDIN) as source, copy.open("wb") as target:
        shutil.copyfileobj(source, target)
    with copy.open("rb") as file:
        is_packed = file.read(len(_BZIP2_MAGIC)) == _BZIP2_MAGIC
    return copy.rename(copy.with_suffix(".bz2")) if is_packed else copy


def remark_faults(faults: Sequence[Fault], found: Databases, screen: Screen, most: int) -> None:
    """Tell on stderr what could not be read."""
    for fault in faults[:most]:
        screen.remark(f"{found.name(fault.file)}:{fault.line}: {fault.sentence}")
    if len(faults) > most:
        screen.remark(f"{len(faults) - most} more lines could not be read; miopen-perf db lint tells them")


def fault_json(fault: Fault, found: Databases) -> dict[str, object]:
    """What could not be read, as builtins."""
    return {
        "file": found.name(fault.file),
        "line": fault.line,
        "code": fault.kind.value,
        "sentence": fault.sentence,
    }
