"""The workspace of MIOpen's GEMM and naive solvers, which their formulas state exactly."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pytest_miopen_perf.problem import DType

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_miopen_perf.database.key_shape import KeyShape


def possible_workspaces(solver: str, shape: KeyShape) -> tuple[int, ...]:
    """The bytes that a record of the solver may state; () where no formula is known."""
    formula = _FORMULAS.get(solver)
    return formula(shape) if formula else ()


def _nothing(shape: KeyShape) -> tuple[int, ...]:  # noqa: ARG001 - one formula of several
    return (0,)


def _reordered(shape: KeyShape) -> tuple[int, ...]:
    """Input and output of a strided 1x1 filter, both of the output's size."""
    return (shape.n * (shape.c + shape.k) * math.prod(shape.output) * shape.dtype.bytes,)


def _unfolded(shape: KeyShape) -> tuple[int, ...]:
    """The input of one image unfolded (im2col), twice for int8, whatever the batch.

    Where the filter covers the whole input, newer releases need none.
    """
    output = math.prod(shape.output)
    buffers = 2 if shape.dtype is DType.INT8 else 1
    unfolded = shape.c * math.prod(shape.filter) * output * shape.dtype.bytes * buffers
    return (unfolded, 0) if output == 1 and not any(shape.pad) else (unfolded,)


_FORMULAS: dict[str, Callable[[KeyShape], tuple[int, ...]]] = {
    "GemmFwd1x1_0_1": _nothing,
    "GemmBwd1x1_stride1": _nothing,
    "GemmWrw1x1_stride1": _nothing,
    "ConvDirectNaiveConvFwd": _nothing,
    "ConvDirectNaiveConvBwd": _nothing,
    "ConvDirectNaiveConvWrw": _nothing,
    "GemmFwd1x1_0_2": _reordered,
    "GemmBwd1x1_stride2": _reordered,
    "GemmFwdRest": _unfolded,
    "GemmBwdRest": _unfolded,
    "GemmWrwUniversal": _unfolded,
}
