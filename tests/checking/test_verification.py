import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import small_problems

from pytest_miopen_perf.checking.check import Reason
from pytest_miopen_perf.checking.reference import Distribution, Reference, compute_reference, make_operands
from pytest_miopen_perf.checking.tensors import Element, pack, quantize, result_slot, tensor_spec
from pytest_miopen_perf.checking.verification import check_result, element_bounds, rms_range, rms_tolerance
from pytest_miopen_perf.errors import SettingsError
from pytest_miopen_perf.problem import Direction, DType, Layout
from pytest_miopen_perf.solvers import Algorithm

FLOATS = (DType.FP32, DType.FP16, DType.BF16)


def spec_of(problem):
    return tensor_spec(problem, result_slot(problem))


def in_memory(problem, values):
    """A result as a device would hold it."""
    spec = spec_of(problem)
    if spec.element is Element.INT32:
        return np.rint(values).transpose(spec.layout.order()).ravel().astype(np.int32)
    return pack(values.astype(np.float32), spec)


def right_answer(problem, **data):
    return compute_reference(problem, make_operands(problem, seed=1, **data))


# what is right passes


@settings(deadline=None, max_examples=60)
@given(small_problems().map(lambda problem: problem.canonical()), st.sampled_from(Distribution))
def test_the_rounded_reference_is_right(problem, distribution):
    if problem.dtype is DType.INT8:
        problem = replace(problem, direction=Direction.FORWARD)
    answer = right_answer(problem, distribution=distribution)
    check = check_result(problem, Algorithm.DIRECT, answer, in_memory(problem, answer.values))
    assert check.passed, check.sentence
    json.dumps(check.to_json(), allow_nan=False)


@pytest.mark.parametrize("length", [10, 1_000, 100_000])
@pytest.mark.parametrize("signed", [False, True])
def test_sums_in_fp32_are_in_their_bounds(make_problem, length, signed):
    """One product after the other, the order with the largest errors; all of one sign, the data with the largest."""
    random = np.random.default_rng(length)
    problem = make_problem(c=length, k=4, spatial=(4, 4), filter=(1, 1), pad=(0, 0))
    x = random.random((length, 16), dtype=np.float32)
    w = random.random((4, length), dtype=np.float32) - np.float32(0.5 if signed else 0.0)
    products = w[:, :, None] * x
    sums = np.add.accumulate(products, axis=1, dtype=np.float32)[:, -1]
    wide = np.float64(w) @ np.float64(x), np.abs(np.float64(w)) @ np.float64(x)
    values, magnitudes = (each.reshape(problem.y_shape) for each in wide)
    answer = Reference(values=values, magnitudes=magnitudes)
    bounds = element_bounds(problem, answer)
    errors = np.abs(sums.reshape(problem.y_shape) - values)
    assert (errors < 0.6 * bounds).all()


def test_rounding_to_a_subnormal_step_is_right_although_it_exceeds_miopens_tolerance(make_problem):
    problem = make_problem(dtype=DType.FP16)
    step = Element.FP16.smallest
    answer = Reference(values=np.full(problem.y_shape, 20.49 * step), magnitudes=np.full(problem.y_shape, 20.49 * step))
    memory = in_memory(problem, answer.values)
    check = check_result(problem, Algorithm.DIRECT, answer, memory)
    assert check.rms_error > rms_tolerance(problem, Algorithm.DIRECT)
    assert check.passed
    assert not check_result(problem, Algorithm.DIRECT, answer, (memory.view(np.int16) + 2).view(np.float16)).passed


# what is wrong fails


def test_four_times_the_rounding_error_fails_in_fp16_although_the_rms_error_is_small(make_problem):
    """The real miss of an fp16 depthwise kernel: it passed MIOpen's tolerance with a fourfold error."""
    problem = make_problem(dtype=DType.FP16, n=4, c=64, k=64, groups=64, spatial=(14, 14))
    answer = right_answer(problem)
    two_steps_up = (in_memory(problem, answer.values).view(np.int16) + 2).view(np.float16)
    check = check_result(problem, Algorithm.DIRECT, answer, two_steps_up)
    assert check.rms_error < check.rms_tolerance
    assert check.reason is Reason.ELEMENT


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("c", [1, 64])
def test_one_product_dropped_in_a_million_elements_fails(make_problem, dtype, c):
    problem = make_problem(dtype=dtype, n=4, c=c, k=16, spatial=(128, 128))
    answer = right_answer(problem)
    wrong = answer.values.copy()
    where = (3, 7, 100, 17)
    wrong[where] += answer.magnitudes[where] / problem.reduction_length
    check = check_result(problem, Algorithm.DIRECT, answer, in_memory(problem, wrong))
    assert (check.reason, check.worst) == (Reason.ELEMENT, where)
    assert "y[3, 7, 100, 17]" in check.sentence
    assert "1 of 1048576 elements" in check.sentence
    if dtype is not DType.FP32:
        assert check.rms_error < check.rms_tolerance


@pytest.mark.parametrize("layout", [Layout.NCHW, Layout.NHWC, Layout.CHWN])
@pytest.mark.parametrize("dtype", FLOATS)
def test_an_unwritten_element_fails_where_it_lies(make_problem, dtype, layout):
    problem = make_problem(n=2, dtype=dtype, out_layout=layout)
    answer = right_answer(problem)
    memory = in_memory(problem, answer.values)
    where = (1, 2, 3, 4)
    at = np.dot(where, layout.strides(problem.y_shape))
    memory[at : at + 1].view(np.uint8)[:] = spec_of(problem).element.poison_byte
    check = check_result(problem, Algorithm.DIRECT, answer, memory)
    assert (check.reason, check.worst) == (Reason.UNWRITTEN, where)
    assert (check.got, check.rms_error) == (None, None)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_what_is_not_finite_fails(make_problem, value):
    problem = make_problem()
    answer = right_answer(problem)
    wrong = answer.values.copy()
    wrong[0, 5, 6, 8] = value
    check = check_result(problem, Algorithm.DIRECT, answer, in_memory(problem, wrong))
    assert (check.reason, check.worst, check.got) == (Reason.NOT_FINITE, (0, 5, 6, 8), None)
    assert str(value) in check.sentence
    json.dumps(check.to_json(), allow_nan=False)


@pytest.mark.parametrize("dtype", DType)
def test_nothing_but_zeros_fails(make_problem, dtype):
    problem = make_problem(dtype=dtype)
    answer = right_answer(problem)
    check = check_result(problem, Algorithm.DIRECT, answer, in_memory(problem, np.zeros(problem.y_shape)))
    assert check.reason is Reason.ALL_ZERO


def test_zeros_pass_where_zeros_belong(make_problem):
    problem = make_problem()
    zeros = np.zeros(problem.y_shape)
    answer = Reference(values=zeros, magnitudes=zeros)
    assert check_result(problem, Algorithm.DIRECT, answer, in_memory(problem, zeros)).passed


def test_int8_is_exact(make_problem):
    problem = make_problem(dtype=DType.INT8, c=256)
    answer = right_answer(problem)
    wrong = answer.values.copy()
    wrong[0, 1, 2, 3] += 1
    check = check_result(problem, Algorithm.DIRECT, answer, in_memory(problem, wrong))
    assert (check.reason, check.worst, check.bound) == (Reason.NOT_EXACT, (0, 1, 2, 3), 0)
    assert check.got == check.want + 1


def test_an_int32_of_minus_one_is_a_number_and_an_unwritten_one_is_not(make_problem):
    problem = make_problem(dtype=DType.INT8)
    answer = Reference(values=np.full(problem.y_shape, -1.0), magnitudes=np.full(problem.y_shape, 9.0))
    memory = in_memory(problem, answer.values)
    assert check_result(problem, Algorithm.DIRECT, answer, memory).passed
    memory[7:8].view(np.uint8)[:] = Element.INT32.poison_byte
    assert check_result(problem, Algorithm.DIRECT, answer, memory).reason is Reason.UNWRITTEN


def test_the_rms_error_is_judged_too(make_problem):
    """Long sums of products that cancel have wide bounds; MIOpen's measure knows only the largest value."""
    problem = make_problem()
    answer = Reference(values=np.ones(problem.y_shape), magnitudes=np.full(problem.y_shape, 1e3))
    check = check_result(problem, Algorithm.DIRECT, answer, in_memory(problem, answer.values + 1e-4))
    assert check.reason is Reason.RMS
    assert check.rms_error == pytest.approx(1e-4, rel=0.01)


# the two measures


@given(st.lists(st.tuples(*[st.floats(-1e3, 1e3)] * 2), min_size=1))
def test_rms_range_is_miopens(pairs):
    """sqrt(sum of squares) / (sqrt(n) * max(max|a|, max|b|, smallest normal)), in exact sums."""
    squares = math.fsum((a - b) ** 2 for a, b in pairs)
    largest = max(max(abs(a), abs(b)) for a, b in pairs)
    expected = math.sqrt(squares) / (math.sqrt(len(pairs)) * max(largest, 2.2250738585072014e-308))
    got, want = np.array(pairs).T
    assert rms_range(got, want) == pytest.approx(expected, rel=1e-9, abs=1e-150)


TOLERANCES = [
    ("F", DType.FP32, Algorithm.DIRECT, 1.5e-6),
    ("F", DType.FP16, Algorithm.DIRECT, 8.2e-3),
    ("F", DType.BF16, Algorithm.DIRECT, 6.56e-2),
    ("F", DType.INT8, Algorithm.DIRECT, 1.5e-6),
    ("F", DType.FP32, Algorithm.WINOGRAD, 1.5e-6),
    ("B", DType.FP32, Algorithm.GEMM, 1.5e-6),
    ("F", DType.FP32, Algorithm.IMPLICIT_GEMM, 1.5e-5),
    ("B", DType.FP16, Algorithm.IMPLICIT_GEMM, 8.2e-2),
    ("F", DType.INT8, Algorithm.IMPLICIT_GEMM, 1.5e-6),
    ("W", DType.FP32, Algorithm.DIRECT, 3e-6),
    ("W", DType.FP16, Algorithm.GEMM, 1.64e-2),
    ("W", DType.FP32, Algorithm.WINOGRAD, 3e-5),
    ("W", DType.FP16, Algorithm.WINOGRAD, 1.64e-2),
    ("W", DType.FP32, Algorithm.IMPLICIT_GEMM, 0.01),
    ("W", DType.FP16, Algorithm.IMPLICIT_GEMM, 8.2e-2),
    ("W", DType.BF16, Algorithm.IMPLICIT_GEMM, 1.312),
]


@pytest.mark.parametrize(("direction", "dtype", "algorithm", "expected"), TOLERANCES)
def test_rms_tolerance_is_miopens(make_problem, direction, dtype, algorithm, expected):
    problem = make_problem(direction=Direction(direction), dtype=dtype)
    assert rms_tolerance(problem, algorithm) == pytest.approx(expected)


def test_transposed_backward_weights_in_fp32_get_twice_as_much(make_problem):
    problem = make_problem(direction=Direction.BACKWARD_WEIGHTS, transposed=True)
    assert rms_tolerance(problem, Algorithm.DIRECT) == pytest.approx(6e-6)


@pytest.mark.parametrize("factor", [0.0, -1.0, math.nan, math.inf])
def test_a_factor_is_a_positive_number(make_problem, factor):
    with pytest.raises(SettingsError, match="positive number"):
        rms_tolerance(make_problem(), Algorithm.DIRECT, factor)


def test_no_tolerance_below_the_rounding_of_the_type(make_problem):
    problem = make_problem(dtype=DType.FP16)
    least = 2**-11 / 8.2e-3
    assert rms_tolerance(problem, Algorithm.DIRECT, 1.001 * least) > 2**-11
    with pytest.raises(SettingsError, match=f"at least {least:.3g}"):
        rms_tolerance(problem, Algorithm.DIRECT, 0.999 * least)


def test_the_rounding_of_the_type_is_always_allowed(make_problem):
    problem = make_problem(dtype=DType.BF16)
    answer = right_answer(problem)
    rounded = quantize(answer.values.astype(np.float32), Element.BF16)
    assert (np.abs(rounded - answer.values) <= element_bounds(problem, answer, 0.1)).all()


def test_a_factor_forgives(make_problem):
    problem = make_problem()
    answer = right_answer(problem)
    memory = in_memory(problem, answer.values + 3 * element_bounds(problem, answer))
    assert not check_result(problem, Algorithm.DIRECT, answer, memory).passed
    assert check_result(problem, Algorithm.DIRECT, answer, memory, tolerance_factor=4).passed


# Winograd


def test_a_tile_shares_the_magnitude_of_its_largest_element(make_problem):
    """An image with one large element: a transform leaves roundings of it up to three steps away, not further."""
    problem = make_problem(c=1, k=1, spatial=(16, 16))
    magnitudes = np.full(problem.y_shape, 1e-3)
    magnitudes[0, 0, 8, 8] = 1.0
    answer = Reference(values=np.zeros(problem.y_shape), magnitudes=magnitudes)
    bounds = element_bounds(problem, answer, algorithm=Algorithm.WINOGRAD)[0, 0]
    is_wide = bounds > bounds[0, 0]
    assert {tuple(at) for at in np.argwhere(is_wide)} == {(h, w) for h in range(5, 12) for w in range(5, 12)}
    assert np.ptp(bounds[is_wide]) == 0


def test_transforms_add_a_constant_number_of_roundings(make_problem):
    def units(channels, algorithm):
        problem = make_problem(c=channels, k=1, spatial=(4, 4))
        answer = Reference(values=np.zeros(problem.y_shape), magnitudes=np.ones(problem.y_shape))
        return element_bounds(problem, answer, algorithm=algorithm).max() * 2**24

    for channels in (1, 16, 256):
        assert units(channels, Algorithm.WINOGRAD) == pytest.approx(128 + units(channels, Algorithm.GEMM))


def test_a_wrong_element_of_a_winograd_result_is_still_seen(make_problem):
    problem = make_problem(c=64, k=8, spatial=(14, 14))
    answer = right_answer(problem)
    wrong = answer.values.copy()
    wrong[0, 3, 5, 6] += 1e-3 * answer.magnitudes[0, 3, 5, 6]
    check = check_result(problem, Algorithm.WINOGRAD, answer, in_memory(problem, wrong))
    assert (check.reason, check.worst) == (Reason.ELEMENT, (0, 3, 5, 6))
