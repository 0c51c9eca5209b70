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
from pytest_miopen_perf.problems.field_rules import check_fields
from pytest_miopen_perf.problems.pad_mode import PadMode
from pytest_miopen_perf.wording import crossed

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvProblem:
    """One convolution in one direction.

    Spatial tuples are (h, w) or (d, h, w). For a transposed convolution (`-m trans`) x and y keep their meaning
    (x goes in, y comes out of the forward pass) and w is (c, k/groups, *filter), as in MIOpen. Pads are those that the
    kernels see: what pad modes same and valid derive (`driver_pad`) is already in them.

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
        check_fields(self)

    @staticmethod
    def from_driver(line: str) -> tuple[ConvProblem, ...]:
        """The problems of a MIOpenDriver command, one for each direction that its `-F` asks for.

        Raises:
            DriverLineError: the line is no convolution command, or asks for something that MIOpenDriver rejects.
            TypeError: it is no text.
        """
        if not isinstance(line, str):
            raise TypeError(f"a MIOpenDriver command is a text, such as 'conv -n 1 -c 3', and no {type(line).__name__}")
        from pytest_miopen_perf.problems.driver_line import parse_command

        return parse_command(line).problems

    def to_driver(self) -> str:
        """The MIOpenDriver command of this problem, as MIOpen's own log writes it."""
        from pytest_miopen_perf.problems.driver_line import to_line

        return to_line(self)

    def find_db_key(self) -> str:
        """The key of MIOpen's find-db.

        Raises:
            ProblemError: the problem is transposed and empty, which no key can state.
        """
        from pytest_miopen_perf.problems.db_key import find_db_key

        return find_db_key(self)

    def perf_db_key(self) -> str:
        """The key of MIOpen's text perf-db.

        Raises:
            ProblemError: the problem is transposed and empty, which no key can state.
        """
        from pytest_miopen_perf.problems.db_key import perf_db_key

        return perf_db_key(self)

    @property
    def rank(self) -> int:
        """Spatial dimensions: 2 or 3."""
        return len(self.spatial)

    @property
    def output(self) -> Shape:
        """The mathematical output size, by MIOpen's rules; an axis below 1 means that the convolution is empty.

        Pad modes same and valid set the size only where nothing is dilated and nothing is transposed.
        """
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
    def empty_reason(self) -> str:
        """Why there is nothing to compute, and on which axes, in words; "" when there is something."""
        output = self.output
        axes = [name for name, size in zip("dhw"[-self.rank :], output, strict=True) if size < 1]
        if not axes:
            return ""
        where = f"on axis {' and '.join(axes)}: the output would be {crossed(output)}"
        if self.transposed:
            return f"padding {crossed(self.pad)} takes away the whole output of the transposed convolution {where}"
        dilated = "" if set(self.dilation) == {1} else f" with dilation {crossed(self.dilation)}"
        padded = crossed(size + 2 * pad for size, pad in zip(self.spatial, self.pad, strict=True))
        return f"filter {crossed(self.filter)}{dilated} does not fit into the padded input {padded} {where}"

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
        if self.direction is Direction.FORWARD:
            return self.c // self.groups * math.prod(self.filter)
        if self.direction is Direction.BACKWARD_DATA:
            return self.k // self.groups * math.prod(self.filter)
        return self.n * math.prod(self.spatial if self.transposed else self.miopen_output)

    @property
    def flops(self) -> int:
        """Floating-point operations as MIOpenDriver counts them, equal in every direction.

        The driver counts a transposed convolution over its output too, which is about stride times stride more than
        is computed; `canonical().flops` is what is computed.
        """
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

    def memory_bytes(self, workspace_bytes: int = 0) -> int:
        """Bytes of device memory that a run takes: x, w, y and the workspace."""
        return sum(self.tensor_bytes) + workspace_bytes

    def canonical(self) -> ConvProblem:
        """The plain convolution that computes the same numbers.

        A transposed forward is the backward data of the mirrored convolution, in which x and y change places, and so
        on; MIOpen computes and stores it that way. A problem that is not transposed is returned as it is.

        Raises:
            ProblemError: the problem is transposed and empty; no plain convolution has its sizes.
        """
        if not self.transposed:
            return self
        if self.is_empty:
            raise ProblemError("pad", self.empty_reason)
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
        """A short name for tables and test ids, without what is default: `fp16-F-2x16x14x14-k32-3x3-p1`.

        No two problems share one.
        """
        return "-".join(
            [
                self.dtype.value.lower(),
                ("trans" if self.transposed else "") + self.direction.value,
                crossed(self.x_shape),
                f"k{self.k}",
                crossed(self.filter),
                *_unless("p", self.pad, 0),
                *_unless("s", self.stride, 1),
                *_unless("d", self.dilation, 1),
                *_unless("o", self.output_pad, 0),
                *([f"g{self.groups}"] if self.groups > 1 else []),
                *self._layout_words(),
                *([] if self.pad_mode is PadMode.DEFAULT else [self.pad_mode.value]),
            ]
        )

    def _layout_words(self) -> list[str]:
        """Nothing when all layouts are the default, one word when all are equal, else those of x, w and y."""
        words = [layout.value for layout in (self.in_layout, self.fil_layout, self.out_layout)]
        if len(set(words)) > 1:
            return words
        return [] if self.in_layout is Layout.default(self.rank) else words[:1]


def _unless(letter: str, sizes: Shape, default: int) -> list[str]:
    if all(size == default for size in sizes):
        return []
    return [letter + (str(sizes[0]) if len(set(sizes)) == 1 else crossed(sizes))]
