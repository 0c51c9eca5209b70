"""The right answer: seeded data as MIOpenDriver makes it, and the convolution of it in float64.

The reference also adds up the magnitudes |x * w| of every element, the yardstick of a bound on its rounding error.
"""

from __future__ import annotations

import enum
import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pytest_miopen_perf.checking.tensors import operand_slots, quantize, tensor_spec
from pytest_miopen_perf.errors import ProblemError
from pytest_miopen_perf.launch import Slot
from pytest_miopen_perf.problem import Direction, DType

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import EllipsisType
    from typing import TypeAlias

    from numpy.typing import NDArray

    from pytest_miopen_perf.checking.tensors import TensorSpec
    from pytest_miopen_perf.problem import ConvProblem, Shape

    _Index: TypeAlias = tuple[int | slice | EllipsisType, ...]

_SLAB_BYTES = 128 * 2**20
_SLOT_NUMBER = {Slot.INPUT: 0, Slot.WEIGHTS: 1, Slot.OUTPUT: 2}


class Distribution(enum.Enum):
    """Where the numbers of the operands come from.

    MIOPEN is MIOpenDriver's: x and y uniform in [0, 0.01), weights in 0.01 * [-0.5, 0.5); for int8 the same
    with 127 in the place of 0.01. INTEGERS are whole numbers in [-3, 3], whose sums every type holds exactly:
    another kind of fault shows with them.
    """

    MIOPEN = "miopen"
    INTEGERS = "integers"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operands:
    """The two tensors that a convolution reads, as logical float32 arrays that the element type holds exactly.

    Attributes:
        first: x for forward and backward weights, w for backward data.
        second: w for forward, y for both backward directions.
    """

    first: NDArray[np.float32]
    second: NDArray[np.float32]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The result in float64 as a logical array, and the sum of the magnitudes of what was added up for each element."""

    values: NDArray[np.float64]
    magnitudes: NDArray[np.float64]


def make_operands(problem: ConvProblem, *, seed: int, distribution: Distribution = Distribution.MIOPEN) -> Operands:
    """The data of a problem.

    They depend on the seed, the role of a tensor, its logical shape and its element type, and on nothing else:
    every solver and every layout gets the same numbers.
    """
    specs = [tensor_spec(problem, slot) for slot in operand_slots(problem)]
    first, second = (_draw(spec, problem.dtype, seed, distribution) for spec in specs)
    return Operands(first=first, second=second)


def _draw(spec: TensorSpec, dtype: DType, seed: int, distribution: Distribution) -> NDArray[np.float32]:
    random = np.random.default_rng([seed, _SLOT_NUMBER[spec.slot], *spec.shape])
    if distribution is Distribution.INTEGERS:
        return random.integers(-3, 4, spec.shape, dtype=np.int8).astype(np.float32)
    centre = np.float32(0.5 if spec.slot is Slot.WEIGHTS else 0.0)
    scale = np.float32(127.0 if dtype is DType.INT8 else 0.01)
    return quantize((random.random(spec.shape, dtype=np.float32) - centre) * scale, spec.element)


def compute_reference(problem: ConvProblem, operands: Operands) -> Reference:
    """The result and the magnitudes of a canonical problem."""
    magnitudes = Operands(first=np.abs(operands.first), second=np.abs(operands.second))
    return Reference(values=convolve(problem, operands), magnitudes=convolve(problem, magnitudes))


def convolve(problem: ConvProblem, operands: Operands) -> NDArray[np.float64]:
    """The convolution in float64, in the direction of a canonical problem, as a logical array.

    One matrix product a filter tap, all groups at once, over slabs of images: nothing of the size of an im2col
    is ever made.

    Raises:
        ProblemError: the problem is transposed.
    """
    if problem.transposed:
        raise ProblemError("transposed", f"{problem} is transposed; the reference takes its canonical() form")
    return {
        Direction.FORWARD: _forward,
        Direction.BACKWARD_DATA: _backward_data,
        Direction.BACKWARD_WEIGHTS: _backward_weights,
    }[problem.direction](problem, operands)


def _forward(problem: ConvProblem, operands: Operands) -> NDArray[np.float64]:
    weights = _grouped_weights(problem, operands.second)
    result = np.empty(problem.y_shape)
    for images in _slabs(problem):
        x = _padded(problem, operands.first[images])
        total = np.zeros((problem.groups, problem.k // problem.groups, math.prod((x.shape[2], *problem.output))))
        for tap, window in _taps(problem):
            total += _product(weights[tap], _columns(x[window]))
        result[images] = _images_first(total, problem.output)
    return result


def _backward_data(problem: ConvProblem, operands: Operands) -> NDArray[np.float64]:
    weights = _grouped_weights(problem, operands.first).swapaxes(1, 2)
    result = np.empty(problem.x_shape)
    for images in _slabs(problem):
        y = _columns(_channels_first(problem, operands.second[images]))
        dx = np.zeros((problem.groups, problem.c // problem.groups, images.stop - images.start, *_padded_size(problem)))
        for tap, window in _taps(problem):
            view = dx[window]
            view += _product(weights[tap], y).reshape(view.shape)
        result[images] = _images_first(dx[_inside(problem)], problem.spatial)
    return result


def _backward_weights(problem: ConvProblem, operands: Operands) -> NDArray[np.float64]:
    shape = (problem.groups, problem.k // problem.groups, problem.c // problem.groups, *problem.filter)
    result = np.zeros(shape)
    for images in _slabs(problem):
        x = _padded(problem, operands.first[images])
        y = _columns(_channels_first(problem, operands.second[images]))
        for tap, window in _taps(problem):
            result[tap] += y @ _columns(x[window]).swapaxes(1, 2)
    return result.reshape(problem.w_shape)


def _product(a: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[np.float64]:
    """Matrix products, one a group; where one number is added up, as in depthwise, a plain multiplication."""
    product: NDArray[np.float64] = a * b if a.shape[-1] == 1 else a @ b
    return product


def _taps(problem: ConvProblem) -> Iterator[tuple[_Index, _Index]]:
    """For each filter tap, its index into the weights and the padded positions it meets over all output positions."""
    for tap in itertools.product(*map(range, problem.filter)):
        axes = zip(tap, problem.dilation, problem.stride, problem.output, strict=True)
        window = (slice(t * d, t * d + (o - 1) * s + 1, s) for t, d, s, o in axes)
        yield (..., *tap), (..., *window)


def _inside(problem: ConvProblem) -> _Index:
    """Where the input lies between its pads."""
    return (..., *(slice(p, p + size) for p, size in zip(problem.pad, problem.spatial, strict=True)))


def _slabs(problem: ConvProblem) -> Iterator[slice]:
    """Runs of images whose float64 copies stay small enough for the caches and the memory of a laptop."""
    positions = problem.c * math.prod(_padded_size(problem)) + 2 * (problem.c + problem.k) * math.prod(problem.output)
    images = max(1, _SLAB_BYTES // (8 * positions))
    return (slice(first, min(first + images, problem.n)) for first in range(0, problem.n, images))


def _padded_size(problem: ConvProblem) -> Shape:
    """The spatial size that holds the input behind its leading pad, and every position that a tap reads."""
    axes = zip(
        problem.spatial, problem.pad, problem.output, problem.stride, problem.filter, problem.dilation, strict=True
    )
    return tuple(max(p + i, (o - 1) * s + (f - 1) * d + 1) for i, p, o, s, f, d in axes)


def _channels_first(problem: ConvProblem, images: NDArray[np.float32]) -> NDArray[np.float32]:
    """(n, channels, *spatial) as (groups, channels / groups, n, *spatial)."""
    return np.moveaxis(images.reshape(images.shape[0], problem.groups, -1, *images.shape[2:]), 0, 2)


def _images_first(values: NDArray[np.float64], spatial: Shape) -> NDArray[np.float64]:
    """The inverse of `_channels_first`; the positions may come flattened."""
    unflat = values.reshape(*values.shape[:2], -1, *spatial)
    by_image = np.moveaxis(unflat, 2, 0)
    return by_image.reshape(by_image.shape[0], -1, *spatial)


def _padded(problem: ConvProblem, images: NDArray[np.float32]) -> NDArray[np.float64]:
    values = _channels_first(problem, images)
    padded = np.zeros((*values.shape[:3], *_padded_size(problem)))
    padded[_inside(problem)] = values
    return padded


def _columns(values: NDArray[np.float32] | NDArray[np.float64]) -> NDArray[np.float64]:
    """(groups, channels, n, *spatial) as one matrix a group, a row a channel."""
    return np.ascontiguousarray(values, dtype=np.float64).reshape(*values.shape[:2], -1)


def _grouped_weights(problem: ConvProblem, weights: NDArray[np.float32]) -> NDArray[np.float64]:
    """(k, c / groups, *filter) as (groups, k / groups, c / groups, *filter)."""
    return weights.astype(np.float64).reshape(problem.groups, -1, *problem.w_shape[1:])
