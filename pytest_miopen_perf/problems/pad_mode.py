"""MIOpenDriver's `-z`: how it derives pads and output sizes, whatever `-p` and `-q` say."""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_miopen_perf.problem import ConvProblem, Shape


class PadMode(enum.Enum):
    """The words of `-z`."""

    DEFAULT = "default"
    SAME = "same"
    VALID = "valid"


def driver_pad(problem: ConvProblem, mode: PadMode) -> Shape:
    """The pads of `problem` after MIOpenDriver's `-z mode` has overwritten them.

    It does so unless the convolution is transposed or something is dilated, which a filter of ones never is. Where pad
    mode same would need an odd total, MIOpen keeps the rounded half.
    """
    dilated = set(problem.dilation) != {1} and set(problem.filter) != {1}
    if mode is PadMode.DEFAULT or problem.transposed or dilated:
        return problem.pad
    if mode is PadMode.VALID:
        return (0,) * problem.rank
    axes = zip(problem.spatial, problem.filter, problem.stride, strict=True)
    return tuple(max(f - (i % s or s), 0) // 2 for i, f, s in axes)
