"""Kernel texts with one barrier taken out, and solutions that use them."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_miopen_perf.kernel_source.files import kernel_path

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_miopen_perf.solvers import Solution

BARRIER = "__syncthreads();"


def barriers_of(file: str) -> int:
    """How many barriers a kernel's text has."""
    return kernel_path(file).read_text().count(BARRIER)


def without_barrier(file: str, number: int) -> str:
    """A kernel's text without one of its barriers."""
    text = kernel_path(file).read_text()
    at = [match.start() for match in re.finditer(re.escape(BARRIER), text)][number]
    return text[:at] + text[at + len(BARRIER) :]


def with_text(solution: Solution, file: str, text: str, folder: Path) -> Solution:
    """A solution whose kernels of `file` are compiled from another text."""
    mutant = folder / file
    mutant.write_text(text)
    launches = tuple(
        replace(launch, kernel=replace(launch.kernel, file=str(mutant))) if launch.kernel.file == file else launch
        for launch in solution.launches
    )
    assert launches != solution.launches
    return replace(solution, launches=launches)
