"""Another Python process that measures for this one: run to its end, and what it said last."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

PATIENCE_SECONDS = 10.0
"""What an interrupted process gets to write down what it has."""

_TAIL_LINES = 15


def run_to_end(
    command: Sequence[str],
    variables: Mapping[str, str],
    log: Path,
    folder: Path | None = None,
    patience_seconds: float = PATIENCE_SECONDS,
) -> int:
    """Run a process to its end; an interrupt, which the terminal sends to it as well, waits for it a little.

    Args:
        command: Program and arguments.
        variables: Its whole environment.
        log: Where its output goes.
        folder: Where it runs; None is where this one does.
        patience_seconds: What it gets after an interrupt to write down what it has; then it is killed.

    Returns:
        Its exit code.

    Raises:
        OSError: it does not start.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(
            command, env=dict(variables), cwd=folder, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL
        )
        try:
            return process.wait()
        except BaseException:
            try:
                process.wait(patience_seconds)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            raise


def in_the_same_python(program: str) -> list[str]:
    """The command that runs a program with this interpreter, importing from where this process does.

    A folder that was added by hand, by pytest or by an ini file is thereby found, in its order. Python's own modules
    come first: this process has long had them when pytest put the folders of tests in front, where a `random.py` may
    lie; and the folder in which the session happens to run counts only if it did here.
    """
    library = os.path.dirname(os.__file__)  # noqa: PTH120 - compared with entries of sys.path, which are texts
    places = sorted(map(str, sys.path), key=lambda place: place not in (library, f"{library}/lib-dynload"))
    return [sys.executable, "-c", f"import sys; sys.path[:] = {places!r}; {program}"]


def last_words(log: Path) -> str:
    """The last lines of a process's output."""
    lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    return "\n".join(lines[-_TAIL_LINES:])
