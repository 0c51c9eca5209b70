"""How far the 32-bit numbers of kernels and of launches reach."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.problem import ConvProblem

INT_LIMIT = 2**31
_WORK_ITEMS_LIMIT = 2**32  # the dispatch packet of an AMD GPU counts the work-items of an axis in 32 bits


def largest_position(problem: ConvProblem) -> int:
    """The largest number that position arithmetic meets: a channel count, or a position beyond a pad."""
    axes = zip(
        problem.spatial, problem.output, problem.stride, problem.filter, problem.dilation, problem.pad, strict=True
    )
    reach: Iterator[int] = (max(i + p, o * s) + f * d for i, o, s, f, d, p in axes)
    return max(problem.n, problem.c, problem.k, *reach)


def position_refusal(problem: ConvProblem) -> str | None:
    """Why a kernel that counts positions in an int cannot compute a problem; None when it can."""
    reach = largest_position(problem)
    return None if reach < INT_LIMIT else f"kernels count positions in 32 bits; this problem reaches {reach}"


def most_blocks(info: DeviceInfo, block: int) -> int:
    """The most blocks of `block` work-items that a grid of one axis may have."""
    return min(info.max_grid[0], (_WORK_ITEMS_LIMIT - 1) // block)
