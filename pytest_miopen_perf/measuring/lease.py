"""One timed section a device at a time, over all processes of this user on this machine."""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from pytest_miopen_perf.errors import DeviceError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from filelock import BaseFileLock

    from pytest_miopen_perf.launch import DeviceInfo

PATIENCE_SECONDS = 3.0
"""How long one waits for the device before saying so."""


def in_silence(sentence: str) -> None:
    """Say nothing."""


@contextlib.contextmanager
def timed_section(info: DeviceInfo, tell: Callable[[str], None] = in_silence) -> Iterator[None]:
    """Hold the device while times are taken, so that workers of pytest-xdist do not measure each other.

    A scripted device is each process's own, and its clock knows nothing of the machine: nobody waits for it.

    Args:
        info: The device.
        tell: Shows a sentence at once when the wait for it is long.

    Raises:
        DeviceError: there is no way to hold it.
    """
    with contextlib.nullcontext() if info.backend == "scripted" else _turn(info, tell):
        yield


@contextlib.contextmanager
def _turn(info: DeviceInfo, tell: Callable[[str], None]) -> Iterator[None]:
    lock = FileLock(_lock_path(info))
    try:
        _acquire(lock, info, tell)
    except (OSError, NotImplementedError) as error:  # the latter where a file system knows no locks
        raise DeviceError(
            f"no times are taken on {info.name}, since others cannot be kept from it meanwhile ({error}); remove "
            f"{lock.lock_file}, or set TMPDIR to a local folder that can be written"
        ) from error
    try:
        yield
    finally:
        lock.release()


def _acquire(lock: BaseFileLock, info: DeviceInfo, tell: Callable[[str], None]) -> None:
    try:
        lock.acquire(timeout=PATIENCE_SECONDS)
    except Timeout:
        tell(
            f"waiting for {info.name}: another session takes times on it, and each would disturb the other; "
            f"`fuser {lock.lock_file}` names its process"
        )
        lock.acquire()


def _lock_path(info: DeviceInfo) -> Path:
    device = re.sub(r"\W+", "-", f"{info.backend}-{info.uid or info.ordinal}")
    return Path(tempfile.gettempdir()) / f"pytest-miopen-perf-{os.getuid()}-{device}.lock"
