"""Which convolution a launch computes, read from the launch itself.

The naive kernels take sizes and strides as named scalar arguments. Every kernel that is compiled for one problem has
them in its `-D` macros, whatever its name: `CONV_DIRECTION` (0 forward, 1 backward data, 2 backward weights), the sizes
`CONV_*`, `ELEMENT` (default FP32) and the memory orders `CONV_X_LAYOUT`, `CONV_W_LAYOUT`, `CONV_Y_LAYOUT` (default
NCDHW, the order of five axes).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from pytest_miopen_perf.checking.tensors import Element, tensor_spec
from pytest_miopen_perf.launch import Slot
from pytest_miopen_perf.problem import ConvProblem, Direction, DType, Layout
from pytest_miopen_perf.problems.pad_mode import PadMode

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
    defines = dict(source.defines)
    try:
        if source.entry in _NAIVE_DIRECTIONS:
            return _naive(_NAIVE_DIRECTIONS[source.entry], defines, scalars)
        return _specialised(defines) if f"{_MACRO_PREFIX}DIRECTION" in defines else None
    except (KeyError, ValueError):  # a size is missing, is no number, or does not fit the others
        return None


_NAIVE_DIRECTIONS = {
    "naive_conv_fwd": Direction.FORWARD,
    "naive_conv_bwd": Direction.BACKWARD_DATA,
    "naive_conv_wrw": Direction.BACKWARD_WEIGHTS,
}
_AXES = ("d", "h", "w")
_STRIDES = (("x", ("n", "c", *_AXES)), ("w", ("k", "c", *_AXES)), ("y", ("n", "k", *_AXES)))
_MACRO_PREFIX = "CONV_"
_LOGICAL_AXES = "NCDHW"


def _naive(direction: Direction, defines: Mapping[str, str], scalars: Mapping[str, int | float]) -> Convolution | None:
    """Sizes and strides by name, channels a group."""
    sizes = {name: int(value) for name, value in scalars.items()}
    groups = sizes["groups"]
    whole = sizes | {"c": sizes["c"] * groups, "k": sizes["k"] * groups}
    strides = [tuple(sizes[f"{tensor}_{axis}"] for axis in axes) for tensor, axes in _STRIDES]
    return _with_output(_problem(direction, DType(defines["ELEMENT"]), whole), _axes(sizes, "out"), strides)


def _specialised(defines: Mapping[str, str]) -> Convolution | None:
    """Sizes, direction and memory orders as macros; tensors are packed."""
    macros = {
        name.removeprefix(_MACRO_PREFIX).lower(): value
        for name, value in defines.items()
        if name.startswith(_MACRO_PREFIX)
    }
    orders = [macros.pop(f"{tensor}_layout", "NCDHW") for tensor in ("x", "w", "y")]
    sizes = {name: int(value) for name, value in macros.items()}
    direction = dict(enumerate(Direction))[sizes["direction"]]
    problem = _problem(direction, DType(defines.get("ELEMENT", "FP32")), sizes)
    output = _axes(sizes, "out")
    shapes = (problem.x_shape, problem.w_shape, (problem.n, problem.k, *output))
    return _with_output(problem, output, [_packed(*each) for each in zip(shapes, orders, strict=True)])


def _packed(shape: Shape, order: str) -> Shape:
    """Strides, in elements, of five logical axes that lie in memory in the order of their letters."""
    if sorted(order) != sorted(_LOGICAL_AXES):
        raise ValueError(order)
    sizes = dict(zip(_LOGICAL_AXES, shape, strict=True))
    return tuple(math.prod(sizes[inner] for inner in order[order.index(axis) + 1 :]) for axis in _LOGICAL_AXES)


def _problem(direction: Direction, dtype: DType, sizes: Mapping[str, int]) -> ConvProblem:
    """Two dimensions are three with depth 1."""
    return ConvProblem(
        direction=direction,
        dtype=dtype,
        n=sizes["n"],
        c=sizes["c"],
        k=sizes["k"],
        spatial=_axes(sizes, "in"),
        filter=_axes(sizes, "fil"),
        pad=_axes(sizes, "pad"),
        stride=_axes(sizes, "stride"),
        dilation=_axes(sizes, "dilation"),
        groups=sizes["groups"],
        in_layout=Layout.NCDHW,
        fil_layout=Layout.NCDHW,
        out_layout=Layout.NCDHW,
    )


def _axes(sizes: Mapping[str, int], name: str) -> Shape:
    return tuple(sizes[f"{name}_{axis}"] for axis in _AXES)


def _with_output(problem: ConvProblem, output: Shape, strides: Sequence[Shape]) -> Convolution | None:
    """The convolution whose output has the size that the launch says, in the pad mode that gives that size."""
    for mode in (PadMode.DEFAULT, PadMode.SAME):
        candidate = replace(problem, pad_mode=mode)
        if candidate.output == output:
            x, w, y = (_view(candidate, slot, steps) for slot, steps in zip(CONVOLUTION_SLOTS, strides, strict=True))
            return Convolution(problem=candidate, views=(x, w, y))
    return None


def _view(problem: ConvProblem, slot: Slot, strides: Shape) -> TensorView:
    """How a tensor is walked; axes of one element have no step, so that equal walks are equal views."""
    spec = tensor_spec(problem, slot)
    steps = tuple(step if size > 1 else 0 for size, step in zip(spec.shape, strides, strict=True))
    return TensorView(shape=spec.shape, strides=steps, element=spec.element)
