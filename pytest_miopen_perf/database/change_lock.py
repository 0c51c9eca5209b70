"""One writer at a time for the files of a device in a data base, whatever process it is in."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from pytest_miopen_perf.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

LOCK_TIMEOUT_SECONDS = 30.0
"""Far more than a change takes; who waits longer waits for a process that hangs."""


@contextlib.contextmanager
def changing(directory: Path, device_name: str) -> Iterator[None]:
    """Nobody else changes the files meanwhile; the directory is made when it is not there.

    Raises:
        DatabaseError: the directory cannot be made or locked.
    """
    path = directory / f"{device_name}.lock"
    try:
        directory.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path, timeout=LOCK_TIMEOUT_SECONDS)
        lock.acquire()
    except Timeout as error:
        raise DatabaseError(
            f"another process has held {path} for {LOCK_TIMEOUT_SECONDS:g} s; end it, or name another directory"
        ) from error
    except (OSError, NotImplementedError) as error:
        reason = getattr(error, "strerror", None) or error
        raise DatabaseError(
            f"{directory} cannot hold tuned configs: {reason}; name a directory that can be written, on a "
            "file system with locks"
        ) from error
    try:
        yield
    finally:
        lock.release()
