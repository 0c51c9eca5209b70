"""One timed section a device at a time, over all processes of this user on this machine."""

from __future__ import annotations

import contextlib
import getpass
import re
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_miopen_perf.launch import DeviceInfo


@contextlib.contextmanager
def timed_section(info: DeviceInfo) -> Iterator[None]:
    """Hold the device while times are taken, so that workers of pytest-xdist do not measure each other.

    A scripted device is each process's own, and its clock knows nothing of the machine: nobody waits for it.
    """
    with contextlib.nullcontext() if info.backend == "scripted" else FileLock(_lock_path(info)):
        yield


def _lock_path(info: DeviceInfo) -> Path:
    device = re.sub(r"\W+", "-", f"{info.backend}-{info.uid or info.ordinal}")
    user = re.sub(r"\W+", "-", getpass.getuser())
    return Path(tempfile.gettempdir()) / f"pytest-miopen-perf-{user}-{device}.lock"
