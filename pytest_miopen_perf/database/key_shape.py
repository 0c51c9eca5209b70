"""What a key says of a problem, read fast: data bases hold a million keys.

Ordinary keys are matched as a whole and checked by arithmetic; every other one goes through `db_key`, which knows all
rules and names what is wrong. Both ways give the same answer.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from pytest_miopen_perf.problem import Direction, DType, Shape
from pytest_miopen_perf.problems.db_key import parse_find_db_key, parse_perf_db_key

_SIZE = r"([1-9]\d{0,17})"
_PAD = r"(0|[1-9]\d{0,17})"
_FLOATS = {dtype.value: dtype for dtype in (DType.FP32, DType.FP16, DType.BF16)}
_DIRECTIONS = {direction.value: direction for direction in Direction}


def _cross(pattern: str, rank: int) -> str:
    return "x".join([pattern] * rank)


def _find_pattern(rank: int, default: str, others: str) -> re.Pattern[str]:
    layouts = f"(?:{default}|(?!{default}-{default}-{default}-)(?:(?:{default}|{others})-){{2}}(?:{default}|{others}))"
    sizes = [_SIZE] * (1 + rank)
    fields = [
        *sizes,
        _cross(_SIZE, rank),
        *sizes,
        _SIZE,
        _cross(_PAD, rank),
        _cross(_SIZE, rank),
        _cross(_SIZE, rank),
        "0",
        layouts,
        f"({'|'.join(_FLOATS)})",
        "([FBW])",
    ]
    return re.compile("-".join(fields) + r"(?:_g([1-9]\d{0,17}))?", re.ASCII)


def _perf_pattern(rank: int, layouts: str) -> re.Pattern[str]:
    """Axes are (h, w, d); a 2-D key states a depth of 1 for sizes and of 0 for the rest."""
    sizes = [_SIZE] * 3 if rank == 3 else [_SIZE, _SIZE, "1"]
    steps = [_SIZE] * 3 if rank == 3 else [_SIZE, _SIZE, "0"]
    pads = [_PAD] * 3 if rank == 3 else [_PAD, _PAD, "0"]
    numbers = [_SIZE, *sizes, *sizes, _SIZE, _SIZE, *pads, *steps, *steps, "0", _SIZE]
    words = [f"(?:{layouts})", f"({'|'.join(_FLOATS)})", "([FBW])"]
    return re.compile("x".join([str(rank), *numbers, *words]), re.ASCII)


_FIND_KEYS = {2: _find_pattern(2, "NCHW", "NHWC|CHWN"), 3: _find_pattern(3, "NCDHW", "NDHWC")}
_PERF_KEYS = {2: _perf_pattern(2, "NCHW|NHWC|CHWN"), 3: _perf_pattern(3, "NCDHW|NDHWC")}


class KeyShape(NamedTuple):
    """The problem of a find-db key, as far as data bases are checked against it; sizes as in `ConvProblem`."""

    direction: Direction
    dtype: DType
    n: int
    c: int
    k: int
    filter: Shape
    pad: Shape
    output: Shape
    groups: int
    is_empty: bool


def find_key_shape(key: str) -> KeyShape:
    """What a find-db key says.

    Raises:
        DatabaseKeyError: the text is no key; the message is that of `db_key`.
    """
    for rank, pattern in _FIND_KEYS.items():
        if (found := pattern.fullmatch(key)) and (shape := _shape(rank, found)):
            return shape
    problem = parse_find_db_key(key)
    return KeyShape(
        problem.direction,
        problem.dtype,
        problem.n,
        problem.c,
        problem.k,
        problem.filter,
        problem.pad,
        problem.miopen_output,
        problem.groups,
        problem.is_empty,
    )


def perf_key_type(key: str) -> tuple[Direction, DType]:
    """The direction and the element type of a perf-db key.

    Raises:
        DatabaseKeyError: the text is no key; the message is that of `db_key`.
    """
    for rank, pattern in _PERF_KEYS.items():
        if (found := pattern.fullmatch(key)) and _is_sound(rank, found):
            return _DIRECTIONS[found[found.re.groups]], _FLOATS[found[found.re.groups - 1]]
    problem = parse_perf_db_key(key)
    return problem.direction, problem.dtype


def _shape(rank: int, found: re.Match[str]) -> KeyShape | None:
    """None when a rule beyond the pattern is broken, or may be."""
    *texts, dtype, direction_letter, groups_text = found.groups()
    groups = int(groups_text) if groups_text else 1
    numbers = tuple(map(int, texts))
    first, last, n = numbers[0], numbers[2 * rank + 1], numbers[3 * rank + 2]
    first_size, last_size = numbers[1 : rank + 1], numbers[2 * rank + 2 : 3 * rank + 2]
    filter_size, pad = numbers[rank + 1 : 2 * rank + 1], numbers[3 * rank + 3 : 4 * rank + 3]
    stride, dilation = numbers[4 * rank + 3 : 5 * rank + 3], numbers[5 * rank + 3 :]
    direction = _DIRECTIONS[direction_letter]
    if direction is Direction.FORWARD:
        c, k, spatial, output = first, last, first_size, last_size
    else:
        c, k, spatial, output = last, first, last_size, first_size
    if groups_text and (c % groups or k % groups or groups == 1):
        return None
    for i, f, p, s, d, o in zip(spatial, filter_size, pad, stride, dilation, output, strict=True):
        if (i - 1 - d * (f - 1) + 2 * p) // s + 1 != o:
            return None
    return KeyShape(direction, _FLOATS[dtype], n, c, k, filter_size, pad, output, groups, is_empty=False)


def _is_sound(rank: int, found: re.Match[str]) -> bool:
    """Whether the groups divide the channels, and a stated output size needs an input of at least one element."""
    *texts, _, direction_letter = found.groups()
    first, *rest, groups = map(int, texts)
    last = rest[2 * rank]
    if first % groups or last % groups:
        return False
    output, filter_size = rest[:rank], rest[rank : 2 * rank]
    pad, stride, dilation = (rest[start : start + rank] for start in range(2 * rank + 2, 5 * rank + 2, rank))
    axes = zip(output, filter_size, pad, stride, dilation, strict=True)
    return direction_letter == "F" or all(s * (o - 1) + d * (f - 1) >= 2 * p for o, f, p, s, d in axes)
