"""Tensors of a convolution as a device holds them: element types, layouts, and the way there and back.

On the host a tensor is a logical array, (n, c, *spatial) or (k, c/groups, *filter), in float32 or float64; in a
device's memory it is a flat array of elements in the order of its layout.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from pytest_miopen_perf.launch import Slot
from pytest_miopen_perf.problem import Direction, DType

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_miopen_perf.problem import ConvProblem, Layout, Shape


Scalar = TypeVar("Scalar", bound=np.generic)


class Element(enum.Enum):
    """What one element of a tensor is in memory: the types of x and w, and the int32 that int8 convolutions write."""

    FP32 = "FP32"
    FP16 = "FP16"
    BF16 = "BF16"
    INT8 = "INT8"
    INT32 = "INT32"

    @property
    def numpy_type(self) -> np.dtype[np.generic]:
        """How numpy sees the memory; bf16, which numpy lacks, as its bits in uint16."""
        return np.dtype({"FP32": "f4", "FP16": "f2", "BF16": "u2", "INT8": "i1", "INT32": "i4"}[self.value])

    @property
    def is_integer(self) -> bool:
        """Whether results are exact."""
        return self in (Element.INT8, Element.INT32)

    @property
    def unit_roundoff(self) -> float:
        """The largest relative error of rounding to nearest: half a unit in the last place; 0.0 for integers."""
        return {"FP32": 2.0**-24, "FP16": 2.0**-11, "BF16": 2.0**-8, "INT8": 0.0, "INT32": 0.0}[self.value]

    @property
    def smallest(self) -> float:
        """The smallest positive value, which is the step of the subnormal numbers; 0.0 for integers."""
        return {"FP32": 2.0**-149, "FP16": 2.0**-24, "BF16": 2.0**-133, "INT8": 0.0, "INT32": 0.0}[self.value]

    @property
    def poison_byte(self) -> int:
        """The byte that outputs are filled with before a checked run, so that an element nobody wrote shows.

        0xFF makes every float a NaN. Integers have no NaN: 0x80 makes an int32 so far below zero that no int8
        convolution of fewer than 130,000 products gets there.
        """
        return 0x80 if self.is_integer else 0xFF

    @property
    def poison(self) -> int:
        """The bits of a poisoned element, as the unsigned integer of its size."""
        return int.from_bytes(bytes([self.poison_byte]) * self.numpy_type.itemsize, "little")


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorSpec:
    """One tensor of a problem: its buffer, logical shape, memory order and element type."""

    slot: Slot
    shape: Shape
    layout: Layout
    element: Element

    @property
    def elements(self) -> int:
        """How many elements it has."""
        return math.prod(self.shape)

    @property
    def nbytes(self) -> int:
        """Its size in bytes; tensors are packed."""
        return self.elements * self.element.numpy_type.itemsize


def tensor_spec(problem: ConvProblem, slot: Slot) -> TensorSpec:
    """The tensor x, w or y of a problem."""
    shape, layout = {
        Slot.INPUT: (problem.x_shape, problem.in_layout),
        Slot.WEIGHTS: (problem.w_shape, problem.fil_layout),
        Slot.OUTPUT: (problem.y_shape, problem.out_layout),
    }[slot]
    is_int32 = slot is Slot.OUTPUT and problem.dtype is DType.INT8
    return TensorSpec(
        slot=slot, shape=shape, layout=layout, element=Element.INT32 if is_int32 else Element(problem.dtype.value)
    )


def result_slot(problem: ConvProblem) -> Slot:
    """The tensor that the problem's direction computes."""
    return {
        Direction.FORWARD: Slot.OUTPUT,
        Direction.BACKWARD_DATA: Slot.INPUT,
        Direction.BACKWARD_WEIGHTS: Slot.WEIGHTS,
    }[problem.direction]


def operand_slots(problem: ConvProblem) -> tuple[Slot, Slot]:
    """The two tensors that the problem's direction reads, in the order x, w, y."""
    written = result_slot(problem)
    first, second = (slot for slot in (Slot.INPUT, Slot.WEIGHTS, Slot.OUTPUT) if slot is not written)
    return first, second


def bf16_bits(values: NDArray[np.float32]) -> NDArray[np.uint16]:
    """Round float32 to bfloat16, to nearest and ties to even, as the bits of the result; a NaN stays a (quiet) NaN."""
    bits = np.ascontiguousarray(values, dtype=np.float32).view(np.uint32)
    to_even = (bits >> 16) & 1
    rounded = ((bits.astype(np.uint64) + 0x7FFF + to_even) >> 16).astype(np.uint16)
    quiet_nan = ((bits >> 16) | 0x40).astype(np.uint16)
    return np.where(np.isnan(values), quiet_nan, rounded)


def bf16_values(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """The float32 that equals each bfloat16."""
    return (bits.astype(np.uint32) << 16).view(np.float32)


def quantize(values: NDArray[np.float32], element: Element) -> NDArray[np.float32]:
    """Values as they are after a stay in device memory: rounded to the element type, integers toward zero."""
    if element is Element.FP32:
        return values.astype(np.float32, copy=False)
    if element is Element.BF16:
        return bf16_values(bf16_bits(values))
    return values.astype(element.numpy_type).astype(np.float32)


def pack(values: NDArray[np.float32], spec: TensorSpec) -> NDArray[np.generic]:
    """A logical array as the flat, contiguous array of elements that a device holds."""
    ordered = values.reshape(spec.shape).transpose(spec.layout.order()).ravel()
    if spec.element is Element.BF16:
        return bf16_bits(ordered)
    packed: NDArray[np.generic] = ordered.astype(spec.element.numpy_type)
    return packed


def unpack(memory: NDArray[np.generic], spec: TensorSpec) -> NDArray[np.float64]:
    """The logical array, exactly, of what a device holds; the inverse of `pack`."""
    values = bf16_values(memory.view(np.uint16)) if spec.element is Element.BF16 else memory
    return np.ascontiguousarray(to_logical(values, spec), dtype=np.float64)


def to_logical(memory: NDArray[Scalar], spec: TensorSpec) -> NDArray[Scalar]:
    """A view of a flat array in memory order by the logical axes, whatever its elements are."""
    order = spec.layout.order()
    logical: NDArray[Scalar] = memory.reshape([spec.shape[axis] for axis in order]).transpose(np.argsort(order))
    return logical
