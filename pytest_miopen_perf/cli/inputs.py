"""Files and standard input, which is called `-`."""

from __future__ import annotations

import contextlib
import shutil
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from pytest_miopen_perf.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator

STDIN = "-"


@contextlib.contextmanager
def opened(name: str) -> Iterator[BinaryIO]:
    """Open a file, or standard input, for reading bytes; either can be read again from its beginning.

    Raises:
        InputError: it cannot be opened or read.
    """
    if name == STDIN and sys.stdin is None:
        raise InputError(f"{shown(name)} cannot be read: standard input is closed; name a file")
    try:
        if name == STDIN:
            # What comes through a pipe passes once, and some readers look twice.
            with tempfile.TemporaryFile() as copy:
                shutil.copyfileobj(sys.stdin.buffer, copy)
                copy.seek(0)
                yield copy
        else:
            with Path(name).open("rb") as file:
                yield file
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError(f"{shown(name)} cannot be read: {reason}; name a file, or {STDIN} for stdin") from error


def read_bytes(name: str) -> bytes:
    """All of a file, or of standard input.

    Raises:
        InputError: it cannot be read.
    """
    with opened(name) as file:
        return file.read()


def shown(name: str) -> str:
    """How messages call a source."""
    return "<stdin>" if name == STDIN else name


def check_stdin_once(names: list[str]) -> None:
    """Standard input can be read once.

    Raises:
        InputError: it is named twice.
    """
    if names.count(STDIN) > 1:
        raise InputError(f"{STDIN} is named {names.count(STDIN)} times; standard input can be read once")
