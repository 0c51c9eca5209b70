"""Which convolution a launch computes, read from the launch itself.

The naive kernels take sizes and strides as named scalar arguments; the kernels that are compiled for one problem have
them in their `-D` macros.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pytest_miopen_perf.launch import Slot
from pytest_miopen_perf.problem import ConvProblem, Direction, DType, Layout, PadMode
from pytest_miopen_perf.tensors import Element, tensor_spec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from pytest_miopen_perf.launch import KernelSource
    from pytest_miopen_perf.problem import Shape

CONVOLUTION_SLOTS = (Slot.INPUT, Slot.WEIGHTS, Slot.OUTPUT)
"""x, w and y: what the pointers of a convolution kernel are called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TensorView:
    """A tensor as a kernel walks it: logical shape, element strides, element type."""

    shape: Shape
    strides: Shape
    element: Element

    @property
    def nbytes(self) -> int:
        """Bytes from the first element to the end of the last one."""
        steps = (stride * (size - 1) for size, stride in zip(self.shape, self.strides, strict=True))
        return (1 + sum(steps)) * self.element.numpy_type.itemsize

    def over(self, memory: NDArray[np.uint8]) -> NDArray[np.generic]:
        """The elements in `memory`, as a logical array that shares it."""
        dtype = self.element.numpy_type
        flat = memory[: len(memory) // dtype.itemsize * dtype.itemsize].view(dtype)
        byte_strides = tuple(stride * dtype.itemsize for stride in self.strides)
        return np.lib.stride_tricks.as_strided(flat, self.shape, byte_strides)


@dataclass(frozen=True, slots=True, kw_only=True)
class Convolution:
    """What one launch computes.

    Attributes:
        problem: The convolution; its layouts say nothing, the views do.
        views: How the kernel walks x, w and y.
    """

    problem: ConvProblem
    views: tuple[TensorView, TensorView, TensorView]

    def view(self, slot: Slot) -> TensorView:
        """The view of x, w or y."""
        return self.views[CONVOLUTION_SLOTS.index(slot)]


def recognise(source: KernelSource, scalars: Mapping[str, int | float]) -> Convolution | None:
    """The convolution that a launch computes; None when the kernel is not known, or its sizes contradict each other.

    Args:
        source: The kernel and its macros.
        scalars: The launch's by-value arguments by name.
    """
    direction = _NAIVE_DIRECTIONS.get(source.entry)
    return None if direction is None else _naive(direction, dict(source.defines), scalars)


_NAIVE_DIRECTIONS = {
    "naive_conv_fwd": Direction.FORWARD,
    "naive_conv_bwd": Direction.BACKWARD_DATA,
    "naive_conv_wrw": Direction.BACKWARD_WEIGHTS,
}
_AXES = ("d", "h", "w")
_STRIDES = (("x", ("n", "c", *_AXES)), ("w", ("k", "c", *_AXES)), ("y", ("n", "k", *_AXES)))


def _naive(direction: Direction, defines: Mapping[str, str], scalars: Mapping[str, int | float]) -> Convolution | None:
    """Sizes by name, channels a group; two dimensions are three with depth 1."""
    sizes = {name: int(value) for name, value in scalars.items()}
    groups = sizes["groups"]
    problem = ConvProblem(
        direction=direction,
        dtype=DType(defines["ELEMENT"]),
        n=sizes["n"],
        c=sizes["c"] * groups,
        k=sizes["k"] * groups,
        spatial=_axes(sizes, "in"),
        filter=_axes(sizes, "fil"),
        pad=_axes(sizes, "pad"),
        stride=_axes(sizes, "stride"),
        dilation=_axes(sizes, "dilation"),
        groups=groups,
        in_layout=Layout.NCDHW,
        fil_layout=Layout.NCDHW,
        out_layout=Layout.NCDHW,
    )
    strides = [tuple(sizes[f"{tensor}_{axis}"] for axis in axes) for tensor, axes in _STRIDES]
    return _with_output(problem, _axes(sizes, "out"), strides)


def _axes(sizes: Mapping[str, int], name: str) -> Shape:
    return tuple(sizes[f"{name}_{axis}"] for axis in _AXES)


def _with_output(problem: ConvProblem, output: Shape, strides: Sequence[Shape]) -> Convolution | None:
    """The convolution whose output has the size that the launch says, in the pad mode that gives that size."""
    for mode in PadMode:
        candidate = replace(problem, pad_mode=mode)
        if candidate.output == output:
            x, w, y = (_view(candidate, slot, steps) for slot, steps in zip(CONVOLUTION_SLOTS, strides, strict=True))
            return Convolution(problem=candidate, views=(x, w, y))
    return None


def _view(problem: ConvProblem, slot: Slot, strides: Shape) -> TensorView:
    spec = tensor_spec(problem, slot)
    return TensorView(shape=spec.shape, strides=strides, element=spec.element)
