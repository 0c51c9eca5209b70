"""Whether a result is right: MIOpen's own measure, and a bound on every single element.

MIOpen's rms_range is kept so that numbers compare with the logs of MIOpenDriver. It divides by the largest value of
the whole tensor, so a few wrong elements vanish in a large one; the bound on every element does not let them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pytest_miopen_perf.checking.check import Check, Reason
from pytest_miopen_perf.checking.tensors import result_slot, tensor_spec, to_logical, unpack
from pytest_miopen_perf.errors import SettingsError
from pytest_miopen_perf.problem import Direction, DType
from pytest_miopen_perf.solvers import Algorithm

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pytest_miopen_perf.checking.reference import Reference
    from pytest_miopen_perf.checking.tensors import Element, TensorSpec
    from pytest_miopen_perf.problem import ConvProblem, Shape

_FP32_ROUNDOFF = 2.0**-24


def check_result(
    problem: ConvProblem,
    algorithm: Algorithm,
    reference: Reference,
    memory: NDArray[np.generic],
    *,
    tolerance_factor: float = 1.0,
) -> Check:
    """Judge a result as it was downloaded.

    Args:
        problem: What was computed.
        algorithm: The solver's family; MIOpen allows some of them more.
        reference: The right answer.
        memory: The flat result tensor, from a buffer that held `Element.poison_byte` everywhere before the run.
        tolerance_factor: The user's multiplier of what both measures allow.

    Raises:
        SettingsError: the factor asks for more than the result's type can hold.
    """
    spec = tensor_spec(problem, result_slot(problem))
    tolerance = max(rms_tolerance(problem, algorithm, tolerance_factor), _subnormal_rms(spec.element, reference.values))
    bounds = element_bounds(problem, reference, tolerance_factor, algorithm=algorithm)
    comparison = _compare(spec, memory, reference.values, bounds)
    finite = bool(np.isfinite(comparison.got).all())
    error = rms_range(comparison.got, comparison.want) if finite else None
    reason, faulty = _first_fault(comparison)
    if reason is Reason.RIGHT and error is not None and error > tolerance:
        reason = Reason.RMS
    worst = _worst(comparison, faulty)
    got = float(comparison.got[worst])
    return Check(
        reason=reason,
        rms_error=error,
        rms_tolerance=tolerance,
        worst=worst,
        got=got if math.isfinite(got) else None,
        want=float(comparison.want[worst]),
        bound=float(comparison.bound[worst]),
        sentence=_sentence(comparison, reason, int(faulty.sum()), worst, f"rms error {error} of {tolerance:.3g}"),
    )


def rms_range(got: NDArray[np.float64], want: NDArray[np.float64]) -> float:
    """MIOpen's error measure: the root mean square difference over the largest value of either tensor."""
    largest = max(float(np.abs(got).max()), float(np.abs(want).max()), float(np.finfo(np.float64).tiny))
    return float(np.linalg.norm((got - want).ravel())) / (math.sqrt(got.size) * largest)


_BASE_TOLERANCE = {DType.FP32: 1.5e-6, DType.FP16: 8.2e-3, DType.BF16: 8 * 8.2e-3, DType.INT8: 1.5e-6}

_ALGORITHM_FACTOR: dict[tuple[Algorithm, Direction, DType], float] = {
    **{
        (Algorithm.IMPLICIT_GEMM, direction, dtype): 10.0
        for direction in (Direction.FORWARD, Direction.BACKWARD_DATA)
        for dtype in (DType.FP32, DType.FP16, DType.BF16)
    },
    (Algorithm.WINOGRAD, Direction.BACKWARD_WEIGHTS, DType.FP32): 10.0,
    (Algorithm.IMPLICIT_GEMM, Direction.BACKWARD_WEIGHTS, DType.FP16): 5.0,
    (Algorithm.IMPLICIT_GEMM, Direction.BACKWARD_WEIGHTS, DType.BF16): 10.0,
}

_IMPLICIT_GEMM_WRW_FP32 = 0.01


def rms_tolerance(problem: ConvProblem, algorithm: Algorithm, factor: float = 1.0) -> float:
    """What MIOpenDriver allows rms_range to be, times the user's factor.

    A factor that asks for less than one rounding of the result's type can never be met.

    Raises:
        SettingsError: the factor is not a positive number, or too small for the type.
    """
    if not (math.isfinite(factor) and factor > 0):
        raise SettingsError(f"the tolerance factor is {factor}; it must be a positive number")
    allowed = _miopen_tolerance(problem, algorithm)
    element = tensor_spec(problem, result_slot(problem)).element
    if factor * allowed < element.unit_roundoff:
        least = element.unit_roundoff / allowed
        raise SettingsError(
            f"the tolerance factor {factor:g} asks an rms error of {factor * allowed:.3g} of {element.value} results, "
            f"whose rounding alone is {element.unit_roundoff:.3g}; use at least {least:.3g}"
        )
    return factor * allowed


def _miopen_tolerance(problem: ConvProblem, algorithm: Algorithm) -> float:
    if problem.direction is not Direction.BACKWARD_WEIGHTS:
        return _BASE_TOLERANCE[problem.dtype] * _ALGORITHM_FACTOR.get((algorithm, problem.direction, problem.dtype), 1)
    if algorithm is Algorithm.IMPLICIT_GEMM and problem.dtype is DType.FP32:
        return _IMPLICIT_GEMM_WRW_FP32
    doubled = 2 * _BASE_TOLERANCE[problem.dtype]
    if problem.transposed and problem.dtype is DType.FP32:
        doubled *= 2
    return doubled * _ALGORITHM_FACTOR.get((algorithm, problem.direction, problem.dtype), 1)


def _subnormal_rms(element: Element, want: NDArray[np.float64]) -> float:
    """What one step of the subnormal numbers is in terms of rms_range.

    Results that all lie among the subnormal numbers, as MIOpen's data make them in fp16 when few products are added up,
    are rounded to a fixed step that may well exceed MIOpen's tolerance: 0.0082 of the largest value.
    """
    largest = float(np.abs(want).max())
    return element.smallest / max(largest, element.smallest) if element.smallest else 0.0


_TRANSFORM_ROUNDINGS = {Algorithm.WINOGRAD: 128}
"""Roundings of transforms, in units of 2^-24 of the magnitudes around an element, whatever the length of the sum.

Measured on our own kernels, the largest of 360,000 elements with 9 to 2304 products, both distributions, both data
directions, 12 seeds: F(2x2, 3x3) stays below 3 units and F(4x4, 3x3) below 38. Of 28.9 million elements with 9 products
each, computed on an H200, two lay beyond 74; 128 leaves those their room. With 2304 products, 22 units are left where
the bound of the sum alone is 100.
"""

_TILE_REACH = {Algorithm.WINOGRAD: 3}
"""Steps along an axis to the furthest element of the same tile: F(4x4, 3x3) has tiles of four."""


def element_bounds(
    problem: ConvProblem, reference: Reference, factor: float = 1.0, *, algorithm: Algorithm = Algorithm.DIRECT
) -> NDArray[np.float64]:
    """How far each element may be from the reference, for a kernel that adds up in fp32 or better.

    One rounding to the result's type, u * |want|, and the roundings of the sum, (2 * sqrt(L) + 4) * 2^-24 * sum |x*w|
    with L products, and one step of the subnormal numbers. The worst case of a sum grows as L, but roundings of
    unrelated numbers are a random walk: a step in it is at most 0.58 * 2^-24 of a partial sum that is itself on its
    way to sum |x*w|, which makes a standard deviation below a third of sqrt(L) * 2^-24 * sum |x*w|. So the bound
    stands six deviations away, further than the largest of a billion elements, and L times closer than the worst
    case. Integers are exact. A factor above 1 widens everything, one below 1 only what is not the type's own rounding.

    Winograd adds numbers of a whole tile and takes most of them away again: there sum |x*w| is the largest of the
    elements that may share the tile, and the transforms round too.
    """
    element = tensor_spec(problem, result_slot(problem)).element
    if element.is_integer:
        return np.zeros_like(reference.values)
    roundings = 2 * math.sqrt(problem.reduction_length) + 4 + _TRANSFORM_ROUNDINGS.get(algorithm, 0)
    magnitudes = _largest_around(reference.magnitudes, _TILE_REACH.get(algorithm, 0))
    rounding = max(1.0, factor) * (element.unit_roundoff * np.abs(reference.values) + element.smallest)
    bounds: NDArray[np.float64] = rounding + factor * roundings * _FP32_ROUNDOFF * magnitudes
    return bounds


def _largest_around(values: NDArray[np.float64], reach: int) -> NDArray[np.float64]:
    """Of each element and those up to `reach` steps away along the spatial axes, the largest."""
    if reach == 0:
        return values
    for axis in range(2, values.ndim):
        padding = [(reach, reach) if each == axis else (0, 0) for each in range(values.ndim)]
        windows = np.lib.stride_tricks.sliding_window_view(np.pad(values, padding), 2 * reach + 1, axis=axis)
        values = windows.max(axis=-1)
    return values


@dataclass(frozen=True, slots=True, kw_only=True)
class _Comparison:
    """Logical arrays of one result: what came, what belongs there, and how far apart the two are and may be."""

    spec: TensorSpec
    got: NDArray[np.float64]
    want: NDArray[np.float64]
    bound: NDArray[np.float64]
    distance: NDArray[np.float64]
    poisoned: NDArray[np.bool_]


def _compare(
    spec: TensorSpec, memory: NDArray[np.generic], want: NDArray[np.float64], bound: NDArray[np.float64]
) -> _Comparison:
    got = unpack(memory, spec)
    bits = memory.view(np.dtype(f"u{memory.dtype.itemsize}"))
    with np.errstate(invalid="ignore"):
        distance = np.where(np.isfinite(got), np.abs(got - want), np.inf)
    return _Comparison(
        spec=spec,
        got=got,
        want=want,
        bound=bound,
        distance=distance,
        poisoned=to_logical(bits == spec.element.poison, spec),
    )


def _first_fault(comparison: _Comparison) -> tuple[Reason, NDArray[np.bool_]]:
    """The most telling reason, and the elements it speaks of; no element when nothing is wrong."""
    outside = comparison.distance > comparison.bound
    nothing_but_zeros = not comparison.got.any()
    faults = (
        (Reason.UNWRITTEN, comparison.poisoned & outside),
        (Reason.NOT_FINITE, ~np.isfinite(comparison.got)),
        (Reason.ALL_ZERO, outside & nothing_but_zeros),
        (Reason.NOT_EXACT if comparison.spec.element.is_integer else Reason.ELEMENT, outside),
    )
    return next(((reason, where) for reason, where in faults if where.any()), (Reason.RIGHT, outside))


def _worst(comparison: _Comparison, faulty: NDArray[np.bool_]) -> Shape:
    """The element furthest from the truth in units of its bound, among the faulty ones if there are any."""
    in_bounds = comparison.distance / np.where(comparison.bound > 0, comparison.bound, 1.0)
    candidates = np.where(faulty, in_bounds, -1.0) if faulty.any() else in_bounds
    return tuple(int(index) for index in np.unravel_index(int(candidates.argmax()), candidates.shape))


def _sentence(comparison: _Comparison, reason: Reason, faulty: int, worst: Shape, rms: str) -> str:
    got, want, bound = (float(array[worst]) for array in (comparison.got, comparison.want, comparison.bound))
    where = f"{comparison.spec.slot.value}[{', '.join(map(str, worst))}]"
    element = f"{where} is {got:.9g} where {want:.9g} +- {bound:.3g} belongs"
    count = f"{faulty} of {comparison.got.size} elements"
    return {
        Reason.RIGHT: f"right, {rms}; nearest to its bound, {element}",
        Reason.UNWRITTEN: f"{count} were never written, {where} among them",
        Reason.NOT_FINITE: f"{count} are not finite; {element}",
        Reason.ALL_ZERO: f"every element is zero; {element}",
        Reason.NOT_EXACT: f"{count} are not exact; the worst, {element}",
        Reason.ELEMENT: f"{count} are out of bounds, {rms}; the worst, {element}",
        Reason.RMS: f"{rms} with every element in its bound; the worst, {element}",
    }[reason]
