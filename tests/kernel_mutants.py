"""Copies of the kernels in which a text is another one, for example without a barrier, and solutions from them."""

from __future__ import annotations

import re
import shutil
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_miopen_perf.kernel_source.directives import inclusions
from pytest_miopen_perf.kernel_source.files import kernels_dir

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_miopen_perf.solvers import Solution

BARRIER = "__syncthreads();"


@dataclass(frozen=True, kw_only=True)
class Barrier:
    """One of a kernel's: the file below the kernels folder that holds it, and which of those there it is."""

    file: str
    number: int

    def __str__(self) -> str:
        return f"{self.file} {self.number}"


def barriers_of(file: str) -> tuple[Barrier, ...]:
    """The barriers of a kernel's text and of the headers that it includes, directly or through others."""
    counts = {each: (kernels_dir() / each).read_text().count(BARRIER) for each in (file, *headers_of(file))}
    return tuple(Barrier(file=each, number=number) for each, count in counts.items() for number in range(count))


def headers_of(file: str) -> tuple[str, ...]:
    """The headers of the kernels folder that a file includes, each once."""
    found = [file]
    for each in found:
        names = (f"include/{inclusion.name}" for inclusion in inclusions((kernels_dir() / each).read_text()))
        found += [name for name in names if name not in found and (kernels_dir() / name).is_file()]
    return tuple(found[1:])


def without_barrier(barrier: Barrier) -> dict[str, str]:
    """The text that held a barrier, by its file, without it."""
    text = (kernels_dir() / barrier.file).read_text()
    at = [match.start() for match in re.finditer(re.escape(BARRIER), text)][barrier.number]
    return {barrier.file: text[:at] + text[at + len(BARRIER) :]}


def edited(file: str, old: str, new: str) -> dict[str, str]:
    """The text of a file of the kernels folder, by the file, with another one in the place of the only `old`."""
    text = (kernels_dir() / file).read_text()
    assert text.count(old) == 1
    return {file: text.replace(old, new)}


def kernels_with(texts: Mapping[str, str], folder: Path) -> Path:
    """A copy of the kernels folder below `folder`, in which some files have other texts."""
    kernels = folder / "kernels"
    shutil.copytree(kernels_dir(), kernels)
    for file, text in texts.items():
        (kernels / file).write_text(text)
    return kernels


def with_texts(solution: Solution, file: str, texts: Mapping[str, str], folder: Path) -> Solution:
    """A solution whose kernels of `file` are compiled from a copy of the kernels in which some texts are others."""
    mutant = str(kernels_with(texts, folder) / file)
    launches = tuple(
        replace(launch, kernel=replace(launch.kernel, file=mutant)) if launch.kernel.file == file else launch
        for launch in solution.launches
    )
    assert launches != solution.launches
    return replace(solution, launches=launches)


def with_text(solution: Solution, file: str, text: str, folder: Path) -> Solution:
    """A solution whose kernels of `file` are compiled from another text of it."""
    return with_texts(solution, file, {file: text}, folder)
