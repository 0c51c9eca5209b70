"""The workspace of MIOpen's GEMM and naive solvers, which their formulas state exactly."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pytest_miopen_perf.problem import DType

if TYPE_CHECKING:
    from pytest_miopen_perf.database.key_shape import KeyShape

_UNFOLDED = frozenset(("GemmFwdRest", "GemmBwdRest", "GemmWrwUniversal"))
_REORDERED = frozenset(("GemmFwd1x1_0_2", "GemmBwd1x1_stride2"))
_NOTHING = frozenset(
    (
        "GemmFwd1x1_0_1",
        "GemmBwd1x1_stride1",
        "GemmWrw1x1_stride1",
        "ConvDirectNaiveConvFwd",
        "ConvDirectNaiveConvBwd",
        "ConvDirectNaiveConvWrw",
    )
)


def possible_workspaces(solver: str, shape: KeyShape) -> tuple[int, ...]:
    """The bytes that a record of the solver may state; () where no formula is known.

    Solvers that unfold the input (im2col) need C/g * filter * output elements a group, twice for int8, whatever the
    batch. Where the filter covers the whole input, newer releases need none.
    """
    if solver in _NOTHING:
        return (0,)
    output = math.prod(shape.output)
    if solver in _REORDERED:
        return (shape.n * (shape.c + shape.k) * output * shape.dtype.bytes,)
    if solver not in _UNFOLDED:
        return ()
    buffers = 2 if shape.dtype is DType.INT8 else 1
    unfolded = shape.c * math.prod(shape.filter) * output * shape.dtype.bytes * buffers
    return (unfolded, 0) if output == 1 and not any(shape.pad) else (unfolded,)
