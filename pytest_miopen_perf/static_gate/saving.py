"""Whether a code-object baseline can be saved, asked before anything is compiled."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_miopen_perf.codeobject.baseline_file import load_baseline
from pytest_miopen_perf.errors import BaselineError
from pytest_miopen_perf.gate.store import check_writable

if TYPE_CHECKING:
    from pathlib import Path


def check_savable(path: Path) -> None:
    """Refuse now what could only be refused when every kernel has been compiled.

    Raises:
        BaselineError: the file cannot be written, or what is there is no code-object baseline.
    """
    check_writable(path)
    if path.exists():
        if not path.is_file():
            raise BaselineError(f"{path} is a device or a pipe, which keeps no baseline; give the path of a file")
        load_baseline(path)
