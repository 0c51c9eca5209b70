"""What a kernel that turns a batch of matrices does, without running it: the scripted device moves the elements.

So a solver that transposes with wrong sizes, to a wrong place or in a wrong order gets wrong numbers here too.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_miopen_perf.devices.script import Corruption, WrongElement
    from pytest_miopen_perf.devices.script_memory import MemoryPlace
    from pytest_miopen_perf.launch import KernelSource

Walk: TypeAlias = tuple[int, int, int, int]
"""Matrices, rows, columns, and bytes of an element, of the source."""

_MACROS = tuple(f"TRANSPOSE_{name}" for name in ("BATCH", "ROWS", "COLUMNS", "ELEMENT_BYTES"))


def recognise_transposition(source: KernelSource) -> Walk | None:
    """What a kernel turns, from its macros; None when it is no transposition."""
    defines = dict(source.defines)
    try:
        batch, rows, columns, element_bytes = (int(defines[name]) for name in _MACROS)
    except (KeyError, ValueError):  # a size is missing, or is no number
        return None
    return batch, rows, columns, element_bytes


class EmulatedTransposition:
    """A transposing launch, bound to its buffers.

    Args:
        walk: What it turns.
        source: Where the matrices lie.
        target: Where the turned ones go.
    """

    flops = 0
    """Moving elements computes nothing."""

    def __init__(self, walk: Walk, source: MemoryPlace, target: MemoryPlace) -> None:
        self._walk = walk
        self._source = source
        self._target = target

    @property
    def nbytes(self) -> int:
        """Bytes that are moved."""
        return math.prod(self._walk)

    def misfit(self, wrong: Corruption | WrongElement | None) -> str:  # noqa: ARG002  see `run`
        """What would lie outside of its buffer, in words; "" when all is inside."""
        for name, place in (("source", self._source), ("target", self._target)):
            if self.nbytes > place.nbytes:
                return f"{name} takes {self.nbytes} bytes, and its pointer has {place.nbytes} bytes before it"
        return ""

    def run(self, wrong: Corruption | WrongElement | None) -> None:
        """Move the elements, or leave what the script says in their place.

        A single wrong number is for kernels that compute: what is moved here may be of any type.
        """
        if wrong == "unwritten":
            return
        turned = self._turned()
        target = self._target.buffer.write()[self._target.offset_bytes :][: self.nbytes]
        if wrong in ("nan", "zeros"):
            target[:] = 0 if wrong == "zeros" else 0xFF
        else:
            target[:] = turned

    def _turned(self) -> NDArray[np.uint8]:
        source = self._source.buffer.read()[self._source.offset_bytes :][: self.nbytes]
        return np.ascontiguousarray(source.reshape(self._walk).swapaxes(1, 2)).reshape(-1)
