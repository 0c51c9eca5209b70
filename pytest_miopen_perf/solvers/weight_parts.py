"""Backward weights in parts: sums over positions are split, and a second kernel adds the parts up in their order."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pytest_miopen_perf.launch import KernelSource, Launch, Pointer, Scalar, Slot
from pytest_miopen_perf.solvers.gathered_gemm import flattened, gemm_shape
from pytest_miopen_perf.solvers.limits import LONGEST_SUM, most_blocks
from pytest_miopen_perf.solvers.problem_macros import problem_macros

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_miopen_perf.launch import Argument, DeviceInfo
    from pytest_miopen_perf.problem import ConvProblem

WORKSPACE = Pointer("workspace", Slot.WORKSPACE)
_W = Pointer("w", Slot.WEIGHTS)
_PARTS = (1, 2, 4, 8, 16, 32, 64, 128, 256)
_MOST_WORKSPACE_BYTES = 256 * 2**20
_FLOAT_BYTES = 4
_BLOCK = 256


def parts_of(problem: ConvProblem, longest_sum: int = LONGEST_SUM) -> tuple[int, ...]:
    """Into how many parts sums may be split; never none.

    Each is short enough for the device to add it up exactly enough, or else the parts are as many as fit the workspace.

    Args:
        problem: The convolution.
        longest_sum: Products that may be added up one after another.
    """
    products, part_bytes = gemm_shape(problem).k, _part_bytes(problem)
    fitting = (n for n in _PARTS if n == 1 or (n * part_bytes <= _MOST_WORKSPACE_BYTES and n <= products))
    return _exact(problem, fitting, longest_sum)


def atomic_parts_of(problem: ConvProblem) -> tuple[int, ...]:
    """The same for parts that are added to w at once and need no workspace."""
    return _exact(problem, _PARTS, LONGEST_SUM)


def parts_bytes(problem: ConvProblem) -> int:
    """Bytes of workspace for the most parts; 0 where nothing can be split."""
    parts = max(parts_of(problem))
    return parts * _part_bytes(problem) if parts > 1 else 0


def add_parts_launch(problem: ConvProblem, info: DeviceInfo, parts: int) -> Launch:
    """The second launch: w is the sum of the parts in the workspace."""
    return _w_launch(problem, info, "implicit_gemm_add_parts", (WORKSPACE, _W, Scalar("parts", "i32", parts)))


def clear_result_launch(problem: ConvProblem, info: DeviceInfo) -> Launch:
    """The launch before parts that are added to w: it is zero."""
    return _w_launch(problem, info, "implicit_gemm_clear_result", (_W,))


def _w_launch(problem: ConvProblem, info: DeviceInfo, entry: str, args: tuple[Argument, ...]) -> Launch:
    """One work-item an element of w."""
    block = min(_BLOCK, info.max_block)
    kernel = KernelSource(
        file="conv_implicit_gemm_parts.hip",
        entry=entry,
        defines=(*problem_macros(flattened(problem)), ("BLOCK", str(block))),
    )
    blocks = min(-(-math.prod(problem.w_shape) // block), most_blocks(info, block))
    return Launch(kernel=kernel, grid=(blocks, 1, 1), block=(block, 1, 1), args=args)


def _exact(problem: ConvProblem, parts: Iterable[int], longest_sum: int) -> tuple[int, ...]:
    """Those that are short enough to be added up; the shortest where none is."""
    fitting = tuple(parts)
    return tuple(n for n in fitting if gemm_shape(problem).k <= n * longest_sum) or (max(fitting),)


def _part_bytes(problem: ConvProblem) -> int:
    return math.prod(problem.w_shape) * _FLOAT_BYTES
