"""What solvers share whose kernels see a convolution as the product of `kernels/include/gathered_gemm.h`."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_miopen_perf.problem import Direction
from pytest_miopen_perf.solvers.implicit_gemm_config import gemm_shape
from pytest_miopen_perf.solvers.limits import INT_LIMIT, position_refusal

if TYPE_CHECKING:
    from pytest_miopen_perf.problem import ConvProblem

_COUNT_LIMIT = INT_LIMIT // 2
"""Below it, the kernels' 32-bit numbers have room for a tile beyond the end."""


def size_refusal(name: str, problem: ConvProblem) -> str | None:
    """Why the kernels' counts do not reach that far, in words; None when they do."""
    gemm = gemm_shape(problem)
    channels = gemm.n if problem.direction is Direction.BACKWARD_WEIGHTS else gemm.k
    if channels >= _COUNT_LIMIT:
        return f"{name} counts channels and filter taps together in 32 bits; here they are {channels}"
    return position_refusal(problem)


def flattened(problem: ConvProblem) -> ConvProblem:
    """The same numbers in the same memory, as one row of positions, where no tap reaches beyond its own position."""
    positions = math.prod(problem.spatial)
    is_pointwise = set(problem.filter) == set(problem.stride) == {1} and not any(problem.pad)
    if not is_pointwise or positions >= _COUNT_LIMIT:
        return problem
    return replace(problem, spatial=(*(1,) * (problem.rank - 1), positions))
