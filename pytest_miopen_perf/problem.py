"""A convolution problem: what MIOpen calls a problem description, as frozen data with its sizes and counts.

Tensors are always spoken of in the forward sense: x (n, c, *spatial), w (k, c/groups, *filter), y (n, k, *output).
Backward data computes x from w and y, backward weights computes w from x and y.
"""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_miopen_perf.errors import ProblemError

if TYPE_CHECKING:
    from collections.abc import Sequence

Shape = tuple[int, ...]


class Direction(enum.Enum):
    """Forward, backward data, backward weights; the value is the letter of MIOpen's data-base keys."""

    FORWARD = "F"
    BACKWARD_DATA = "B"
    BACKWARD_WEIGHTS = "W"

    @property
    def driver_bit(self) -> int:
        """The bit of MIOpenDriver's `-F`: 1, 2 or 4."""
        return {"F": 1, "B": 2, "W": 4}[self.value]


class DType(enum.Enum):
    """Element types; the value is the word of MIOpen's data-base keys."""

    FP32 = "FP32"
    FP16 = "FP16"
    BF16 = "BF16"
    INT8 = "INT8"

    @property
    def bytes(self) -> int:
        """Bytes of one element of x and w."""
        return {"FP32": 4, "FP16": 2, "BF16": 2, "INT8": 1}[self.value]

    @property
    def output_bytes(self) -> int:
        """Bytes of one element of y: int8 convolutions write int32, as MIOpen's do."""
        return 4 if self is DType.INT8 else self.bytes

    @property
    def driver_base(self) -> str:
        """MIOpenDriver's base argument: conv, convfp16, convbfp16 or convint8."""
        return {"FP32": "conv", "FP16": "convfp16", "BF16": "convbfp16", "INT8": "convint8"}[self.value]


class Layout(enum.Enum):
    """Memory order of a tensor, slowest dimension first, in MIOpen's words."""

    NCHW = "NCHW"
    NHWC = "NHWC"
    CHWN = "CHWN"
    NCDHW = "NCDHW"
    NDHWC = "NDHWC"

    @property
    def rank(self) -> int:
        """Spatial dimensions of tensors that the layout describes: 2 or 3."""
        return len(self.value) - 2

    def order(self) -> tuple[int, ...]:
        """Logical axes (n, c, *spatial) in memory order: NHWC is (0, 2, 3, 1)."""
        logical = "NCDHW" if self.rank == 3 else "NCHW"
        return tuple(logical.index(axis) for axis in self.value)

    def strides(self, shape: Sequence[int]) -> Shape:
        """Strides, in elements, of the logical axes of a packed tensor of logical `shape`."""
        strides = [0] * len(shape)
        step = 1
        for axis in reversed(self.order()):
            strides[axis] = step
            step *= shape[axis]
        return tuple(strides)

    @staticmethod
    def default(rank: int) -> Layout:
        """MIOpen's default for 2 or 3 spatial dimensions."""
        return Layout.NCDHW if rank == 3 else Layout.NCHW


class PadMode(enum.Enum):
    """How MIOpenDriver's `-z` derives pads and output sizes."""

    DEFAULT = "default"
    SAME = "same"
    VALID = "valid"


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvProblem:
    """One convolution in one direction.

    Spatial tuples are (h, w) or (d, h, w). For a transposed convolution (`-m trans`) x and y keep their meaning
    (x goes in, y comes out of the forward pass) and w is (c, k/groups, *filter), as in MIOpen.

    Raises:
        ProblemError: a field contradicts another; its `field` is the name of the wrong one.
    """

    direction: Direction
    dtype: DType
    n: int
    c: int
    k: int
    spatial: Shape
    filter: Shape
    pad: Shape
    stride: Shape
    dilation: Shape
    groups: int = 1
    in_layout: Layout
    fil_layout: Layout
    out_layout: Layout
    transposed: bool = False
    output_pad: Shape = ()
    pad_mode: PadMode = PadMode.DEFAULT

    def __post_init__(self) -> None:
        if not self.output_pad:
            object.__setattr__(self, "output_pad", (0,) * self.rank)
        _check(self)

    @property
    def rank(self) -> int:
        """Spatial dimensions: 2 or 3."""
        return len(self.spatial)

    @property
    def output(self) -> Shape:
        """The mathematical output size; an axis below 1 means that the convolution is empty."""
        axes = zip(self.spatial, self.filter, self.pad, self.stride, self.dilation, self.output_pad, strict=True)
        if self.transposed:
            return tuple(s * (i - 1) + 1 + d * (f - 1) - 2 * p + o for i, f, p, s, d, o in axes)
        undilated = all(d == 1 for d in self.dilation)
        if self.pad_mode is PadMode.SAME and undilated:
            return tuple(-(-i // s) for i, _, _, s, _, _ in axes)
        if self.pad_mode is PadMode.VALID and undilated:
            return tuple(-(-(i - f + 1) // s) for i, f, _, s, _, _ in axes)
        return tuple((i - (1 + d * (f - 1)) + 2 * p) // s + 1 for i, f, p, s, d, _ in axes)

    @property
    def miopen_output(self) -> Shape:
        """The output size as MIOpen's keys state it: never below 1, even where nothing is computed."""
        return tuple(max(1, size) for size in self.output)

    @property
    def is_empty(self) -> bool:
        """Whether some output axis has no element, so that there is nothing to compute."""
        return min(self.output) < 1

    @property
    def x_shape(self) -> Shape:
        """(n, c, *spatial)."""
        return (self.n, self.c, *self.spatial)

    @property
    def w_shape(self) -> Shape:
        """(k, c/groups, *filter); (c, k/groups, *filter) when transposed."""
        first, second = (self.c, self.k) if self.transposed else (self.k, self.c)
        return (first, second // self.groups, *self.filter)

    @property
    def y_shape(self) -> Shape:
        """(n, k, *output)."""
        return (self.n, self.k, *self.output)

    @property
    def reduction_length(self) -> int:
        """How many products are added up for one element of the result, at most."""
        plain = self.canonical()
        if plain.direction is Direction.FORWARD:
            return plain.c // plain.groups * math.prod(plain.filter)
        if plain.direction is Direction.BACKWARD_DATA:
            return plain.k // plain.groups * math.prod(plain.filter)
        return plain.n * math.prod(plain.miopen_output)

    @property
    def flops(self) -> int:
        """Floating-point operations as MIOpenDriver counts them, equal in every direction."""
        products = self.n * self.c * self.k * math.prod(self.filter) * math.prod(self.miopen_output)
        return 2 * products // self.groups

    @property
    def tensor_bytes(self) -> tuple[int, int, int]:
        """Bytes of x, w and y."""
        y_elements = self.n * self.k * math.prod(self.miopen_output)
        return (
            math.prod(self.x_shape) * self.dtype.bytes,
            math.prod(self.w_shape) * self.dtype.bytes,
            y_elements * self.dtype.output_bytes,
        )

    @property
    def bytes_read(self) -> int:
        """Bytes of the two tensors that are read, as the driver's `performance` line counts them."""
        x, w, y = self.tensor_bytes
        return {"F": x + w, "B": w + y, "W": x + y}[self.direction.value]

    @property
    def bytes_written(self) -> int:
        """Bytes of the tensor that is written."""
        x, w, y = self.tensor_bytes
        return {"F": y, "B": x, "W": w}[self.direction.value]

    def canonical(self) -> ConvProblem:
        """The plain convolution that computes the same numbers.

        A transposed forward is the backward data of the mirrored convolution, in which x and y change places, and so
        on; MIOpen computes and stores it that way. A problem that is not transposed is returned as it is.
        """
        if not self.transposed:
            return self
        turned = {
            Direction.FORWARD: Direction.BACKWARD_DATA,
            Direction.BACKWARD_DATA: Direction.FORWARD,
            Direction.BACKWARD_WEIGHTS: Direction.BACKWARD_WEIGHTS,
        }
        return replace(
            self,
            direction=turned[self.direction],
            c=self.k,
            k=self.c,
            spatial=self.miopen_output,
            in_layout=self.out_layout,
            out_layout=self.in_layout,
            transposed=False,
            output_pad=(0,) * self.rank,
            pad_mode=PadMode.DEFAULT,
        )

    def __str__(self) -> str:
        """A short name for tables and test ids: `fp16-F-2x16x14x14-k32-3x3-p1`, without what is default."""
        cross = "x".join
        parts = [
            self.dtype.value.lower(),
            ("trans" if self.transposed else "") + self.direction.value,
            cross(str(size) for size in self.x_shape),
            f"k{self.k}",
            cross(str(size) for size in self.filter),
        ]
        parts += _unless("p", self.pad, 0) + _unless("s", self.stride, 1) + _unless("d", self.dilation, 1)
        parts += _unless("o", self.output_pad, 0)
        if self.groups > 1:
            parts.append(f"g{self.groups}")
        layouts = [self.in_layout, self.fil_layout, self.out_layout]
        if any(layout is not Layout.default(self.rank) for layout in layouts):
            parts.append(
                "-".join(dict.fromkeys(layout.value for layout in layouts))
                if len(set(layouts)) == 1
                else "-".join(layout.value for layout in layouts)
            )
        if self.pad_mode is not PadMode.DEFAULT:
            parts.append(self.pad_mode.value)
        return "-".join(parts)


def _unless(letter: str, sizes: Shape, default: int) -> list[str]:
    if all(size == default for size in sizes):
        return []
    return [letter + (str(sizes[0]) if len(set(sizes)) == 1 else "x".join(str(size) for size in sizes))]


def _check(problem: ConvProblem) -> None:
    for name in ("n", "c", "k", "groups"):
        value = getattr(problem, name)
        if value < 1:
            raise ProblemError(name, f"{name} is {value}; it must be at least 1")
    if problem.rank not in (2, 3):
        raise ProblemError("spatial", f"{problem.rank} spatial dimensions; a convolution has 2 or 3")
    _check_axes(problem)
    for name in ("c", "k"):
        value = getattr(problem, name)
        if value % problem.groups:
            raise ProblemError("groups", f"groups is {problem.groups}, which does not divide {name} = {value}")
    for name in ("in_layout", "fil_layout", "out_layout"):
        layout = getattr(problem, name)
        if layout.rank != problem.rank:
            raise ProblemError(name, f"{name} {layout.value} does not describe {problem.rank} spatial dimensions")


def _check_axes(problem: ConvProblem) -> None:
    least = {"spatial": 1, "filter": 1, "pad": 0, "stride": 1, "dilation": 1, "output_pad": 0}
    for name, minimum in least.items():
        sizes = getattr(problem, name)
        if len(sizes) != problem.rank:
            raise ProblemError(name, f"{name} has {len(sizes)} numbers; {problem.rank} spatial dimensions need as many")
        if min(sizes) < minimum:
            raise ProblemError(name, f"{name} is {'x'.join(map(str, sizes))}; no number may be below {minimum}")
    if any(o >= s and o > 0 for o, s in zip(problem.output_pad, problem.stride, strict=True)):
        raise ProblemError("output_pad", "output_pad must be below the stride on every axis")
