"""A program that may do anything: run with limits, its two streams in files, and nothing of it left behind.

Its streams are files and not pipes, so that no amount of output can block it, and no grandchild that holds a stream
open can block us.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

MOST_OUTPUT_BYTES = 512 * 2**20
"""Of both streams together; more than that is no log, and would fill the disk."""

_GRACE_SECONDS = 2.0
_FIRST_PAUSE_SECONDS = 0.001
_LONGEST_PAUSE_SECONDS = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramEnd:
    """How a program ended.

    Attributes:
        status: Its exit status, or minus the number of the signal that ended it.
        stopped: Why it was stopped, in words; "" where it ended by itself.
    """

    status: int
    stopped: str = ""

    @property
    def signal_name(self) -> str:
        """The signal that ended it, "" where none did."""
        if self.status >= 0:
            return ""
        try:
            return signal.Signals(-self.status).name
        except ValueError:
            return f"signal {-self.status}"


def run_program(
    command: Sequence[str],
    environment: Mapping[str, str],
    streams: tuple[Path, Path],
    *,
    timeout_seconds: float,
    most_output_bytes: int = MOST_OUTPUT_BYTES,
) -> ProgramEnd:
    """Run a program to its end, or to that of its time.

    It runs in a session of its own; whatever it has started is ended with it.

    Args:
        command: Program and arguments.
        environment: All that it sees of an environment.
        streams: Where its stdout and its stderr go; the files are made anew.
        timeout_seconds: When it is stopped.
        most_output_bytes: Stopped when it has written more.

    Raises:
        OSError: it does not start.
    """
    with streams[0].open("wb") as stdout, streams[1].open("wb") as stderr:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            env=dict(environment),
            start_new_session=True,
        )
    try:
        stopped = _watched(process.pid, streams, time.monotonic() + timeout_seconds, most_output_bytes)
        if stopped:
            _signal_all(process.pid, signal.SIGTERM)
            _watched(process.pid, (), time.monotonic() + _GRACE_SECONDS, 0)
    finally:
        # Not reaped yet, so that its number, which is that of the group, cannot be another one's.
        _signal_all(process.pid, signal.SIGKILL)
        process.wait()
    return ProgramEnd(status=process.returncode, stopped=stopped and stopped.format(seconds=timeout_seconds))


def _watched(pid: int, streams: Sequence[Path], deadline: float, most_output_bytes: int) -> str:
    """Wait until the program ends, without reaping it; why it has to be stopped, or "" when it has ended."""
    pause = _FIRST_PAUSE_SECONDS
    while os.waitid(os.P_PID, pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
        if time.monotonic() >= deadline:
            return "its {seconds:g} s were over"
        if streams and sum(path.stat().st_size for path in streams) > most_output_bytes:
            return f"it wrote more than {most_output_bytes // 2**20} MiB"
        time.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
    return ""


def _signal_all(group: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # macOS refuses to signal a group of zombies
        os.killpg(group, number)
