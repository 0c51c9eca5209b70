"""Problems that are too dear for a CPU, made cheaper in the batch and in the image alone.

Channels, groups, filter, pads, strides, dilations, type and layouts stay, so that the kind of the problem stays. The
rule, until the work is within the bound or nothing is left to cut:

1. The batch is halved, down to 2 images (1 stays 1): kernels that go from image to image still do.
2. The longest axis of the image is halved. The size keeps its remainder by four strides, on which tiles, vectors and
   steps depend, and the output keeps at least four positions of each axis, or what it had.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pytest_miopen_perf.problems.pad_mode import driver_pad

if TYPE_CHECKING:
    from pytest_miopen_perf.problem import ConvProblem, Shape

MOST_FLOPS = 2e8
"""Work that even the naive solvers do in about a second."""

_LEAST_IMAGES = 2
_LEAST_OUTPUT = 4
_PERIOD = 4


def work_of(problem: ConvProblem) -> int:
    """Operations that are really computed."""
    return problem.canonical().flops


def cut(problem: ConvProblem, most_flops: float = MOST_FLOPS) -> ConvProblem:
    """The problem, or a smaller one of its kind whose work is within the bound where that can be."""
    while work_of(problem) > most_flops:
        smaller = _fewer_images(problem) or _smaller_image(problem)
        if smaller is None:
            return problem
        problem = smaller
    return problem


def _fewer_images(problem: ConvProblem) -> ConvProblem | None:
    if problem.n <= _LEAST_IMAGES:
        return None
    return replace(problem, n=max(_LEAST_IMAGES, problem.n // 2))


def _smaller_image(problem: ConvProblem) -> ConvProblem | None:
    """With its longest axis halved; if that one cannot be, the next one."""
    for axis in sorted(range(problem.rank), key=lambda axis: -problem.spatial[axis]):
        step = _PERIOD * problem.stride[axis]
        for steps in range(problem.spatial[axis] // 2 // step, 0, -1):
            smaller = _with_image(problem, _shortened(problem.spatial, axis, steps * step))
            if not smaller.is_empty and smaller.output[axis] >= min(_LEAST_OUTPUT, problem.output[axis]):
                return smaller
    return None


def _shortened(sizes: Shape, axis: int, by: int) -> Shape:
    return tuple(size - by if each == axis else size for each, size in enumerate(sizes))


def _with_image(problem: ConvProblem, spatial: Shape) -> ConvProblem:
    smaller = replace(problem, spatial=spatial)
    return replace(smaller, pad=driver_pad(smaller, smaller.pad_mode))
