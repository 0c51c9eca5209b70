"""A compiler as a child process: with a time limit, and nothing of it left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_HIDDEN_INPUTS = {"CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "CCC_OVERRIDE_OPTIONS"}
"""Variables that would change a binary behind the back of the compile cache's key."""


def run_compiler(
    command: Sequence[str], folder: Path, timeout_s: float, environment: Mapping[str, str] | None = None
) -> str:
    """Run in a session of its own, so that a stop reaches the programs that a compiler driver has started too.

    Args:
        command: Program and arguments.
        folder: The working directory.
        timeout_s: Seconds after which it is stopped.
        environment: All that the compiler sees of an environment; None gives it this process's own,
            without what changes binaries.

    Returns:
        What it printed, on both streams.

    Raises:
        OSError: it does not start.
        subprocess.TimeoutExpired: it was stopped.
        subprocess.CalledProcessError: it failed; `output` is what it printed.
    """
    process = subprocess.Popen(
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        env={**(_own_environment() if environment is None else environment), "LC_ALL": "C"},
        start_new_session=True,
    )
    with process:
        try:
            output, _ = process.communicate(timeout=max(timeout_s, 0.0))
        except BaseException:
            with contextlib.suppress(ProcessLookupError):  # an interrupted `communicate` may have waited for it
                os.killpg(process.pid, signal.SIGKILL)
            raise
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, list(command), output)
    return output


def _own_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _HIDDEN_INPUTS}
