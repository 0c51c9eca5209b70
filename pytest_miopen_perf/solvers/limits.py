"""How far the numbers of kernels and of launches reach: 32-bit counts, and float sums of very many products."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_miopen_perf.problem import DType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.problem import ConvProblem

INT_LIMIT = 2**31
_FULL_UNIT = 128
"""Work-items that a compute unit of a GPU needs to be busy."""

_WORK_ITEMS_LIMIT = 2**32  # the dispatch packet of an AMD GPU counts the work-items of an axis in 32 bits

LONGEST_SUM = 2**17
"""Products of one sign that one float may add up one after another.

Sums of positive numbers, as backward weights of MIOpen's data are, lose more than a random walk would: measured on an
H200, 802,816 of them are off by 1.7e-4 of the sum, beyond the bound of the check, and 131,072 by about 3e-5, within it.
"""

LONGEST_STRICT_SUM = 2**14
"""The same for solvers that MIOpen holds to 3e-6 of the largest result: there 262,144 products are off by 1.6e-5, and
100,352 by 4e-6, both measured on an H200.
"""


def longest_sum_of(dtype: DType) -> int:
    """What a solver that MIOpen holds to its strictest tolerance may add up; 16 bits round more than the sum does."""
    return LONGEST_STRICT_SUM if dtype is DType.FP32 else LONGEST_SUM


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


def blocks_in_turn(blocks: int, block_size: int, info: DeviceInfo) -> int:
    """Of how many blocks the work keeps a compute unit busy until all are done; for estimates.

    Units take blocks in rounds. Small blocks of a GPU share a unit, and each alone leaves it half idle.
    """
    together = 1 if info.wavefront == 1 else max(1, _FULL_UNIT // block_size)
    return -(-blocks // (info.compute_units * together)) * together
