from dataclasses import replace

import numpy as np
import pytest
from convolution_oracle import direct_convolution
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.signal import correlate
from strategies import small_problems

from pytest_miopen_perf.checking import reference
from pytest_miopen_perf.checking.reference import Distribution, Operands, compute_reference, convolve, make_operands
from pytest_miopen_perf.checking.tensors import operand_slots, pack, tensor_spec, unpack
from pytest_miopen_perf.errors import ProblemError
from pytest_miopen_perf.launch import Slot
from pytest_miopen_perf.problem import Direction, DType, Layout
from pytest_miopen_perf.problems.pad_mode import PadMode

canonical_problems = small_problems().map(lambda problem: problem.canonical())


@settings(deadline=None, max_examples=60)
@given(canonical_problems, st.sampled_from(Distribution))
def test_the_reference_is_the_definition(problem, distribution):
    operands = make_operands(problem, seed=1, distribution=distribution)
    expected = direct_convolution(problem, operands.first, operands.second)
    np.testing.assert_allclose(convolve(problem, operands), expected, rtol=1e-12, atol=1e-15)


@settings(deadline=None, max_examples=30)
@given(canonical_problems)
def test_magnitudes_add_up_what_signs_cancel(problem):
    operands = make_operands(problem, seed=2, distribution=Distribution.INTEGERS)
    result = compute_reference(problem, operands)
    magnitudes = direct_convolution(problem, np.abs(operands.first), np.abs(operands.second))
    np.testing.assert_array_equal(result.magnitudes, magnitudes)
    assert (np.abs(result.values) <= result.magnitudes).all()


@settings(deadline=None, max_examples=60)
@given(canonical_problems)
def test_the_three_directions_are_adjoint(problem):
    """<y, conv(x, w)> is <x, its backward data> and <w, its backward weights>, in whole numbers exactly."""
    problems = {direction: replace(problem, direction=direction) for direction in Direction}
    forward = make_operands(problems[Direction.FORWARD], seed=3, distribution=Distribution.INTEGERS)
    backward = make_operands(problems[Direction.BACKWARD_DATA], seed=3, distribution=Distribution.INTEGERS)
    x, w, y = forward.first, forward.second, backward.second
    in_y = convolve(problems[Direction.FORWARD], Operands(first=x, second=w))
    in_x = convolve(problems[Direction.BACKWARD_DATA], Operands(first=w, second=y))
    in_w = convolve(problems[Direction.BACKWARD_WEIGHTS], Operands(first=x, second=y))
    assert (in_y * y).sum() == (in_x * x).sum() == (in_w * w).sum()


@pytest.mark.parametrize("rank", [2, 3])
def test_a_plain_forward_is_what_scipy_correlates(make_problem, rank):
    problem = make_problem(
        n=2, c=3, k=4, spatial=(7, 6, 5)[:rank], filter=(3, 2, 2)[:rank], pad=(0,) * rank, stride=(1,) * rank
    )
    operands = make_operands(problem, seed=4)
    for image in range(problem.n):
        for k in range(problem.k):
            expected = correlate(np.float64(operands.first[image]), np.float64(operands.second[k]), "valid")[0]
            np.testing.assert_allclose(convolve(problem, operands)[image, k], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize(("mode", "pad"), [(PadMode.SAME, (1, 0)), (PadMode.VALID, (0, 0))])
def test_output_sizes_of_every_pad_mode(make_problem, direction, mode, pad):
    """With pad mode same the last windows can reach further over the edge than the leading pad."""
    problem = make_problem(
        direction=direction, spatial=(8, 7), filter=(4, 2), pad=pad, stride=(3, 2), pad_mode=mode, groups=2
    )
    operands = make_operands(problem, seed=5)
    expected = direct_convolution(problem, operands.first, operands.second)
    np.testing.assert_allclose(convolve(problem, operands), expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("direction", Direction)
def test_slabs_of_images_change_nothing_but_memory(make_problem, direction, monkeypatch):
    problem = make_problem(direction=direction, n=5, stride=(2, 1))
    operands = make_operands(problem, seed=6)
    whole = convolve(problem, operands)
    monkeypatch.setattr(reference, "_SLAB_BYTES", 1)
    np.testing.assert_allclose(convolve(problem, operands), whole, rtol=1e-13)


def test_a_transposed_problem_is_refused(make_problem):
    problem = make_problem(transposed=True)
    with pytest.raises(ProblemError, match="canonical"):
        convolve(problem, make_operands(problem.canonical(), seed=0))


@settings(deadline=None, max_examples=40)
@given(canonical_problems, st.sampled_from(Distribution), st.integers(0, 2**32))
def test_operands_are_numbers_that_the_device_holds(problem, distribution, seed):
    operands = make_operands(problem, seed=seed, distribution=distribution)
    for slot, values in zip(operand_slots(problem), (operands.first, operands.second), strict=True):
        spec = tensor_spec(problem, slot)
        assert values.shape == spec.shape
        np.testing.assert_array_equal(unpack(pack(values, spec), spec), values)


def test_data_depend_on_seed_shape_and_role_only(make_problem):
    problem = make_problem(n=2, c=4, k=4, spatial=(6, 6), filter=(3, 3), pad=(1, 1), stride=(1, 1))
    operands = make_operands(problem, seed=7)
    other_layout = replace(problem, in_layout=Layout.NHWC, fil_layout=Layout.CHWN)
    again = make_operands(other_layout, seed=7)
    np.testing.assert_array_equal(again.first, operands.first)
    np.testing.assert_array_equal(again.second, operands.second)
    weights = make_operands(replace(problem, direction=Direction.BACKWARD_DATA), seed=7).first
    np.testing.assert_array_equal(weights, operands.second)
    assert (make_operands(problem, seed=8).first != operands.first).any()
    y = make_operands(replace(problem, direction=Direction.BACKWARD_DATA), seed=7).second
    assert y.shape == operands.first.shape
    assert (y != operands.first).any()


@pytest.mark.parametrize("dtype", DType)
def test_miopen_distribution(make_problem, dtype):
    """x in [0, 0.01), weights in 0.01 * [-0.5, 0.5), 127 instead of 0.01 for int8: MIOpenDriver's."""
    scale = 127 if dtype is DType.INT8 else 0.01
    roundoff = tensor_spec(make_problem(dtype=dtype), Slot.INPUT).element.unit_roundoff
    operands = make_operands(make_problem(dtype=dtype, n=8, c=32, k=32, spatial=(12, 12)), seed=9)
    x, w = operands.first / scale, operands.second / scale
    assert 0 <= x.min() < 0.01 < 0.98 < x.max() <= 1 + roundoff
    assert -0.5 - roundoff <= w.min() < -0.48 < 0.48 < w.max() <= 0.5 + roundoff
    assert abs(x.mean() - 0.5) < 0.01
    assert abs(w.mean()) < 0.01


def test_integer_distribution(make_problem):
    operands = make_operands(make_problem(n=8, c=32, k=32), seed=10, distribution=Distribution.INTEGERS)
    for values in (operands.first, operands.second):
        assert set(np.unique(values)) == {-3, -2, -1, 0, 1, 2, 3}
