"""The keys of MIOpen's find-db and text perf-db, and the problems that they name, both ways.

Both keys speak of the tensors that a direction reads first and last: for forward x and y, for the two backward
directions y and x. Transposed convolutions are stored as the plain ones that compute the same (`canonical`).

    find-db  C-[D-]H-W-[Zx]YxX-K-[Do-]Ho-Wo-N-pads-strides-dilations-bias-layout-type-direction[_gGroups]
    perf-db  rank,C,H,W,D,Y,X,Z,K,N,pads,strides,dilations,bias,groups,layout,type,direction, joined by x, depth last

The perf-db key holds neither an output size nor the layouts of the other two tensors, so that it names several
problems; the parser returns the smallest of them with one layout for all.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from pytest_miopen_perf.errors import DatabaseKeyError, ProblemError
from pytest_miopen_perf.problem import ConvProblem, Direction, DType, Layout, Shape
from pytest_miopen_perf.problems.pad_mode import PadMode, driver_pad

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

T = TypeVar("T")

_LAYOUTS = {layout.value: layout for layout in Layout}
_DIRECTIONS = {direction.value: direction for direction in Direction}
_DTYPES = {dtype.value: dtype for dtype in DType} | {"INT8INT8INT32": DType.INT8, "INT32INT8INT8": DType.INT8}
_NUMBER = re.compile(r"[0-9]{1,18}")
_GROUPS = re.compile(r"g([0-9]{1,18})")
_CAST = re.compile(r"c[iwo]\w+")


@dataclass(frozen=True, slots=True)
class _Sides:
    """What the keys call the first and the last tensor: channels, size and layout of each."""

    channels: tuple[int, int]
    sizes: tuple[Shape, Shape]
    layouts: tuple[Layout, Layout]

    def swapped(self) -> _Sides:
        return _Sides(self.channels[::-1], self.sizes[::-1], self.layouts[::-1])

    def of(self, direction: Direction) -> _Sides:
        """From (x, y) to (first, last) and back."""
        return self if direction is Direction.FORWARD else self.swapped()


def find_db_key(problem: ConvProblem) -> str:
    """The find-db key: `64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-F`.

    Output sizes are MIOpen's, which are never below 1.

    Raises:
        ProblemError: the problem is transposed and empty, which no key can state.
    """
    plain = problem.canonical()
    sides = _sides(plain)
    layouts = [sides.layouts[0], plain.fil_layout, sides.layouts[1]]
    if all(layout is Layout.default(plain.rank) for layout in layouts):
        layouts = layouts[:1]
    fields = [
        sides.channels[0],
        *sides.sizes[0],
        _joined(plain.filter),
        sides.channels[1],
        *sides.sizes[1],
        plain.n,
        _joined(plain.pad),
        _joined(plain.stride),
        _joined(plain.dilation),
        0,
        *(layout.value for layout in layouts),
        _type_word(plain),
        plain.direction.value,
    ]
    groups = f"_g{plain.groups}" if plain.groups != 1 else ""
    return "-".join(map(str, fields)) + groups


def perf_db_key(problem: ConvProblem) -> str:
    """The key of the text perf-db: `2x64x56x56x1x3x3x1x64x32x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32xF`.

    Raises:
        ProblemError: the problem is transposed and empty, which no key can state.
    """
    plain = problem.canonical()
    sides = _sides(plain)
    fields = [
        plain.rank,
        sides.channels[0],
        *_depth_last(sides.sizes[0], 1),
        *_depth_last(plain.filter, 1),
        sides.channels[1],
        plain.n,
        *_depth_last(plain.pad, 0),
        *_depth_last(plain.stride, 0),
        *_depth_last(plain.dilation, 0),
        0,
        plain.groups,
        sides.layouts[0].value,
        _type_word(plain),
        plain.direction.value,
    ]
    return _joined(fields)


def parse_find_db_key(text: str) -> ConvProblem:
    """The problem that a find-db key names; `find_db_key` gives the text back.

    One old spelling is accepted beside today's: INT8 for INT8INT8INT32. A key whose output size no pad mode explains is
    refused.

    Raises:
        DatabaseKeyError: the text is no key, contradicts itself, or names a convolution that is not supported here.
    """
    body, groups = _split_suffix(text)
    fields = body.split("-")
    rank = _find_db_rank(text, fields)
    layouts = 1 if len(fields) == 11 + 2 * rank else 3
    if len(fields) != 10 + 2 * rank + layouts:
        raise _refused(text, f"it has {len(fields)} fields between dashes, which fits no key with {rank}-D sizes")
    reader = _Reader(text, fields)
    first_channels, first_size = reader.number("C"), reader.numbers("input size", rank)
    filter_size = reader.joined("filter", rank)
    last_channels, last_size = reader.number("K"), reader.numbers("output size", rank)
    n = reader.number("N")
    pad, stride, dilation = (reader.joined(name, rank) for name in ("pads", "strides", "dilations"))
    reader.zero("bias")
    words = [reader.choice("layout", _LAYOUTS) for _ in range(layouts)]
    dtype = reader.choice("element type", _DTYPES)
    direction = reader.choice("direction", _DIRECTIONS)
    sides = _Sides((first_channels, last_channels), (first_size, last_size), (words[0], words[-1])).of(direction)
    problem = _checked(
        text,
        lambda: ConvProblem(
            direction=direction,
            dtype=dtype,
            n=n,
            c=sides.channels[0],
            k=sides.channels[1],
            spatial=sides.sizes[0],
            filter=filter_size,
            pad=pad,
            stride=stride,
            dilation=dilation,
            groups=groups,
            in_layout=sides.layouts[0],
            fil_layout=words[len(words) // 2],
            out_layout=sides.layouts[1],
        ),
    )
    problem = _with_output(text, problem, sides.sizes[1])
    _check_spelling(text, find_db_key(problem), problem)
    return problem


def parse_perf_db_key(text: str) -> ConvProblem:
    """The smallest problem that a perf-db key names, all tensors in the layout of the key.

    `perf_db_key` gives the text back. Several input sizes share a key of a strided backward direction, which holds the
    output size only.

    Raises:
        DatabaseKeyError: the text is no key, contradicts itself, or names a convolution that is not supported here.
    """
    fields = text.split("x")
    if len(fields) != 24:
        raise _refused(text, f"it has {len(fields)} fields between x; a perf-db key has 24")
    reader = _Reader(text, fields)
    rank = reader.number("spatial dimensions")
    if rank not in (2, 3):
        raise _refused(text, f"it begins with {rank}; a convolution has 2 or 3 spatial dimensions")
    first_channels, first_size = reader.number("C"), reader.depth_last("input size", rank, 1)
    filter_size = reader.depth_last("filter", rank, 1)
    last_channels, n = reader.number("K"), reader.number("N")
    pad, stride, dilation = (reader.depth_last(name, rank, 0) for name in ("pads", "strides", "dilations"))
    reader.zero("bias")
    groups = reader.number("groups")
    layout = reader.choice("layout", _LAYOUTS)
    dtype = reader.choice("element type", _DTYPES)
    direction = reader.choice("direction", _DIRECTIONS)
    forward = direction is Direction.FORWARD
    problem = _checked(
        text,
        lambda: ConvProblem(
            direction=direction,
            dtype=dtype,
            n=n,
            c=first_channels if forward else last_channels,
            k=last_channels if forward else first_channels,
            spatial=first_size if forward else _smallest_input(first_size, filter_size, pad, stride, dilation),
            filter=filter_size,
            pad=pad,
            stride=stride,
            dilation=dilation,
            groups=groups,
            in_layout=layout,
            fil_layout=layout,
            out_layout=layout,
        ),
    )
    _check_spelling(text, perf_db_key(problem), problem)
    return problem


class _Reader:
    """Takes the fields of a key one after another, and names the one that is wrong."""

    def __init__(self, text: str, fields: Sequence[str]) -> None:
        self._text = text
        self._fields = iter(fields)

    def number(self, name: str) -> int:
        return self._parsed(name, next(self._fields))

    def numbers(self, name: str, count: int) -> Shape:
        return tuple(self.number(name) for _ in range(count))

    def joined(self, name: str, count: int) -> Shape:
        words = next(self._fields).split("x")
        if len(words) != count:
            raise _refused(self._text, f"{name} {'x'.join(words)!r} are not {count} numbers, as the sizes are")
        return tuple(self._parsed(name, word) for word in words)

    def depth_last(self, name: str, rank: int, unused_depth: int) -> Shape:
        height, width, depth = self.numbers(name, 3)
        if rank == 3:
            return (depth, height, width)
        if depth != unused_depth:
            raise _refused(self._text, f"{name}: the depth of a 2-D convolution is {depth}, not {unused_depth}")
        return (height, width)

    def zero(self, name: str) -> None:
        if value := self.number(name):
            raise _refused(self._text, f"{name} is {value}; only 0 is supported here")

    def choice(self, name: str, choices: Mapping[str, T]) -> T:
        word = next(self._fields)
        if word not in choices:
            raise _refused(self._text, f"{name} is {word!r}, not one of: {', '.join(choices)}")
        return choices[word]

    def _parsed(self, name: str, word: str) -> int:
        if not _NUMBER.fullmatch(word):
            raise _refused(self._text, f"{name} holds {word!r}, which is not a number")
        return int(word)


def _refused(text: str, why: str) -> DatabaseKeyError:
    return DatabaseKeyError(f"{text[:200]!r} is no key of a convolution: {why}")


def _checked(text: str, build: Callable[[], ConvProblem]) -> ConvProblem:
    try:
        return build()
    except ProblemError as error:
        raise _refused(text, str(error)) from error


def _check_spelling(text: str, written: str, problem: ConvProblem) -> None:
    """MIOpen looks keys up as texts, so that one which is written otherwise is never found."""
    if text not in (written, written.replace(_type_word(problem), problem.dtype.value)):
        raise _refused(text, f"MIOpen writes this convolution as {written}")


def _joined(values: Iterable[object]) -> str:
    return "x".join(map(str, values))


def _depth_last(sizes: Shape, unused_depth: int) -> Shape:
    return (*sizes[-2:], sizes[0] if len(sizes) == 3 else unused_depth)


def _sides(plain: ConvProblem) -> _Sides:
    """The first and the last tensor of the problem's direction."""
    return _Sides((plain.c, plain.k), (plain.spatial, plain.miopen_output), (plain.in_layout, plain.out_layout)).of(
        plain.direction
    )


def _type_word(plain: ConvProblem) -> str:
    if plain.dtype is DType.INT8:
        return "INT8INT8INT32" if plain.direction is Direction.FORWARD else "INT32INT8INT8"
    word: str = plain.dtype.value
    return word


def _split_suffix(text: str) -> tuple[str, int]:
    """The key without what follows its direction, and the groups."""
    body, *suffixes = text.split("_")
    groups = 1
    for suffix in suffixes:
        if _CAST.fullmatch(suffix):
            raise _refused(text, f"_{suffix} casts a tensor to another type, which is not supported here")
        if not (found := _GROUPS.fullmatch(suffix)):
            raise _refused(text, f"_{suffix} behind the direction is unknown")
        groups = int(found[1])
    return body, groups


def _find_db_rank(text: str, fields: Sequence[str]) -> int:
    """2 or 3, by where the first field of joined numbers, the filter, stands."""
    where = next((i for i, field in enumerate(fields) if "x" in field), 0)
    if where not in (3, 4):
        raise _refused(text, "its fourth or fifth field should be the filter, such as 3x3")
    return where - 1


def _with_output(text: str, problem: ConvProblem, output: Shape) -> ConvProblem:
    """The problem in the pad mode that gives the stated output size."""
    if problem.miopen_output == output:
        return problem
    for mode in (PadMode.SAME, PadMode.VALID):
        if driver_pad(problem, mode) == problem.pad:
            other = replace(problem, pad_mode=mode)
            if other.miopen_output == output:
                return other
    derived = _joined(problem.miopen_output)
    raise _refused(text, f"its output size is {_joined(output)}, but its other sizes make it {derived}")


def _smallest_input(output: Shape, filter_size: Shape, pad: Shape, stride: Shape, dilation: Shape) -> Shape:
    """The least input size, at least 1, that has this output size."""
    axes = zip(output, filter_size, pad, stride, dilation, strict=True)
    return tuple(max(1, s * (o - 1) + 1 + d * (f - 1) - 2 * p) for o, f, p, s, d in axes)
