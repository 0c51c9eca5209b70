"""What a convolution kernel computes, without running it.

The float64 reference computes the convolution that `recognition` read from a launch, and the result is rounded into
the output buffer in its own element type and strides. So a solver that passes a wrong size or stride gets wrong
numbers here too; what a kernel's own text does wrong is not seen.

A solution of several kernels hands tensors on from launch to launch: x goes into a workspace, later the workspace and
w into y. A launch that is given the result tensor writes all of it, from the operands that it is given itself or else
from those that launches of the same convolution were given before; any other launch changes nothing.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np

from pytest_miopen_perf.checking.reference import Operands, convolve
from pytest_miopen_perf.checking.tensors import Element, bf16_bits, bf16_values, operand_slots, result_slot
from pytest_miopen_perf.devices.script import WrongElement

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pytest_miopen_perf.devices.recognition import Convolution, TensorView
    from pytest_miopen_perf.devices.script import Corruption
    from pytest_miopen_perf.devices.script_memory import MemoryPlace
    from pytest_miopen_perf.launch import Slot


class ResultCache:
    """The last few results, by what was computed from which contents."""

    def __init__(self, entries: int = 8) -> None:
        self._entries = entries
        self._results: OrderedDict[object, NDArray[np.float64]] = OrderedDict()

    def result(self, convolution: Convolution, places: Mapping[Slot, MemoryPlace]) -> NDArray[np.float64]:
        """The result in float64, as a logical array."""
        operands = operand_slots(convolution.problem)
        contents = tuple((places[slot].buffer.digest(), places[slot].offset_bytes) for slot in operands)
        key = (convolution, contents)
        if key not in self._results:
            first, second = (_decoded(convolution.view(slot), places[slot]) for slot in operands)
            with np.errstate(all="ignore"):  # operands may be poisoned on purpose
                self._results[key] = convolve(convolution.problem, Operands(first=first, second=second))
        self._results.move_to_end(key)
        if len(self._results) > self._entries:
            self._results.popitem(last=False)
        return self._results[key]


class SeenTensors:
    """Where the tensors of one convolution lay when a launch of it was last given them.

    Attributes:
        settled: What was written last, from and to which contents; None before the first time.
    """

    def __init__(self) -> None:
        self._places: dict[Slot, MemoryPlace] = {}
        self.settled: object = None

    def remember(self, places: Mapping[Slot, MemoryPlace]) -> None:
        """Note the tensors of a launch."""
        self._places.update(places)

    def recall(self) -> dict[Slot, MemoryPlace]:
        """What is known; buffers that have been freed since are forgotten."""
        return {slot: place for slot, place in self._places.items() if not place.buffer.is_freed}

    def contents(self) -> list[tuple[Slot, int, int]]:
        """Names the contents of all tensors that are known."""
        return [
            (slot, place.buffer.version, place.offset_bytes)
            for slot, place in self._places.items()
            if not place.buffer.is_freed
        ]


class EmulatedLaunch:
    """A launch whose convolution is known, bound to its buffers.

    Args:
        convolution: What it computes, or helps to compute.
        places: Where those of x, w and y lie that the launch is given.
        results: Where results are kept.
        seen: Where the tensors of all launches of this convolution are noted.
    """

    def __init__(
        self,
        convolution: Convolution,
        places: Mapping[Slot, MemoryPlace],
        results: ResultCache,
        seen: SeenTensors,
    ) -> None:
        self.convolution = convolution
        self._given = places
        self._results = results
        self._seen = seen
        self._written = result_slot(convolution.problem)

    @property
    def is_writing(self) -> bool:
        """Whether it is given the result tensor."""
        return self._written in self._given

    @property
    def flops(self) -> int:
        """Operations that the script's time is made of: those of the kernel that writes the result."""
        return self.convolution.problem.flops if self.is_writing else 0

    def misfit(self, wrong: Corruption | WrongElement | None) -> str:
        """What would lie outside of its buffer, in words; "" when all is inside."""
        for slot, place in self._given.items():
            needed = self.convolution.view(slot).nbytes
            if needed > place.nbytes:
                return f"{slot.value} takes {needed} bytes, and its pointer has {place.nbytes} bytes before it"
        if not self.is_writing or not isinstance(wrong, WrongElement):
            return ""
        itemsize = self.convolution.view(self._written).element.numpy_type.itemsize
        elements = self._given[self._written].nbytes // itemsize
        if wrong.element >= elements:
            return f"the script spoils element {wrong.element} of {self._written.value}, whose buffer holds {elements}"
        return ""

    def run(self, wrong: Corruption | WrongElement | None) -> None:
        """Write the result, if the launch does; free of cost while no buffer has changed since the last time."""
        self._seen.remember(self._given)
        if not self.is_writing or wrong == "unwritten":
            return
        seen = self._seen
        if seen.settled != (wrong, seen.contents()) and self._write(wrong, seen.recall()):
            seen.settled = (wrong, seen.contents())

    def _write(self, wrong: Corruption | WrongElement | None, places: Mapping[Slot, MemoryPlace]) -> bool:
        """Whether anything could be written: nothing can while an operand has never been seen."""
        is_known = all(slot in places for slot in operand_slots(self.convolution.problem))
        if not is_known and wrong not in ("nan", "zeros"):
            return False
        result = None if wrong in ("nan", "zeros") else self._results.result(self.convolution, places)
        view, place = self.convolution.view(self._written), places[self._written]
        memory = place.buffer.write()[place.offset_bytes :]
        output = view.over(memory)
        output[...] = _filling(view.element, wrong) if result is None else _encoded(result, view.element)
        if isinstance(wrong, WrongElement):
            _spoil(memory, view.element, wrong)
        return True


def _decoded(view: TensorView, place: MemoryPlace) -> NDArray[np.float32]:
    elements = view.over(place.buffer.read()[place.offset_bytes :])
    if view.element is Element.BF16:
        return bf16_values(np.ascontiguousarray(elements, dtype=np.uint16))
    return elements.astype(np.float32)


def _encoded(values: NDArray[np.float64], element: Element) -> NDArray[np.generic]:
    """Values rounded to the element type as the kernels' stores do it: to float first, integers exactly."""
    with np.errstate(over="ignore", invalid="ignore"):
        if element.is_integer:
            return values.astype(element.numpy_type)
        rounded = values.astype(np.float32)
        return bf16_bits(rounded) if element is Element.BF16 else rounded.astype(element.numpy_type)


def _filling(element: Element, wrong: object) -> NDArray[np.generic]:
    """One element of zeros, or with all bits set, which is NaN in every float type."""
    byte = b"\x00" if wrong == "zeros" else b"\xff"
    return np.frombuffer(byte * element.numpy_type.itemsize, element.numpy_type)


def _spoil(memory: NDArray[np.uint8], element: Element, wrong: WrongElement) -> None:
    size = element.numpy_type.itemsize
    spoilt = memory[wrong.element * size : (wrong.element + 1) * size].view(element.numpy_type)
    right = bf16_values(spoilt.astype(np.uint16)) if element is Element.BF16 else spoilt
    spoilt[...] = _encoded(right.astype(np.float64) + wrong.add, element)
