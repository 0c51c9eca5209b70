"""The shift and its interval against the inversion of scipy's test, and U's distribution against enumeration."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pytest_miopen_perf.gate.unpaired import TwoSamples, _u_distribution, shift_of

times = st.lists(st.floats(1e-6, 1.0), min_size=1, max_size=8)


def log_normal(rng, centre, count, deviation=0.01):
    return tuple(np.exp(rng.normal(centre, deviation, count)).tolist())


@pytest.mark.parametrize(("base", "new"), [(1, 1), (2, 3), (4, 4), (5, 3), (1, 6)])
def test_the_distribution_of_u_is_that_of_all_orders(base, new):
    counts = np.zeros(base * new + 1)
    for chosen in itertools.combinations(range(base + new), new):
        counts[sum(place - i for i, place in enumerate(chosen))] += 1
    assert _u_distribution(base, new) == pytest.approx(counts / counts.sum())


@pytest.mark.parametrize(("base", "new"), [(5, 5), (8, 5), (6, 20), (20, 20), (30, 40)])
@pytest.mark.parametrize("confidence", [0.9, 0.95, 0.98])
def test_the_interval_holds_the_shifts_that_scipy_does_not_refute(base, new, confidence):
    rng = np.random.default_rng(base * 100 + new)
    samples = TwoSamples.of([log_normal(rng, 0, base)], [log_normal(rng, 0.005, new)])
    shift = shift_of(samples, confidence)
    method = "exact" if base * new <= 400 else "asymptotic"
    for step, is_inside in ((1e-7, True), (-1e-7, False)):
        for bound, alternative, sign in ((shift.low, "greater", 1), (shift.high, "less", -1)):
            shifted = np.array(samples.new) - (bound + sign * step)
            p_value = stats.mannwhitneyu(shifted, samples.base, alternative=alternative, method=method).pvalue
            assert (p_value > (1 - confidence) / 2) == is_inside


@given(times, times)
def test_the_shift_is_the_median_of_all_differences(base, new):
    samples = TwoSamples.of([base], [new])
    differences = [n - b for n in samples.new for b in samples.base]
    assert shift_of(samples).log_ratio == pytest.approx(float(np.median(differences)), abs=1e-12)


@settings(max_examples=40)
@given(times, times)
def test_swapping_the_sides_mirrors_everything(base, new):
    one, other = TwoSamples.of([base], [new]), TwoSamples.of([new], [base])
    shift, mirrored = shift_of(one), shift_of(other)
    assert mirrored.log_ratio == pytest.approx(-shift.log_ratio, abs=1e-12)
    assert (mirrored.low is None) == (shift.low is None)
    if shift.low is not None:
        assert (mirrored.low, mirrored.high) == pytest.approx((-shift.high, -shift.low), abs=1e-12)
    assert one.p_above(0) == pytest.approx(other.p_below(0), rel=1e-9)


@settings(max_examples=40)
@given(times, times, st.floats(1e-3, 1e3))
def test_the_shift_knows_no_unit(base, new, factor):
    scaled = TwoSamples.of([[t * factor for t in base]], [[t * factor for t in new]])
    assert shift_of(scaled).log_ratio == pytest.approx(shift_of(TwoSamples.of([base], [new])).log_ratio, abs=1e-9)


@settings(max_examples=40)
@given(times, times, st.floats(0, 0.5), st.floats(0, 0.5))
def test_a_wider_margin_is_never_easier_to_exceed(base, new, one, other):
    samples = TwoSamples.of([base], [new])
    low, high = sorted((one, other))
    # scipy turns from exact to asymptotic p values where there are ties.
    if any(
        math.isclose(n - b, bound, abs_tol=1e-12) for n in samples.new for b in samples.base for bound in (low, high)
    ):
        return
    if len(set(samples.base)) < len(base) or len(set(samples.new)) < len(new):
        return
    assert samples.p_above(low) <= samples.p_above(high) + 1e-12


def test_enough_processes_on_both_sides_are_the_unit():
    five, four = [[1.0, 1.1, 5.0]] * 5, [[2.0, 2.1, 9.0]] * 4
    assert TwoSamples.of(five, five).unit == "process"
    assert TwoSamples.of(five, five).new == pytest.approx([math.log(1.1)] * 5)
    pooled = TwoSamples.of(five, four)
    assert (pooled.unit, len(pooled.base), len(pooled.new)) == ("launch", 15, 12)


def test_invalid_times_and_empty_processes_are_no_values():
    samples = TwoSamples.of([[1.0, 0.0, math.nan], []], [[2.0, math.inf, -1.0]])
    assert (samples.base, samples.new) == ((0.0,), (math.log(2.0),))
    assert TwoSamples.of([[0.0]], [[1.0]]) is None
    assert TwoSamples.of([[1.0]], []) is None


def test_so_few_values_have_no_interval():
    shift = shift_of(TwoSamples.of([[1.0]], [[2.0]]))
    assert (shift.low, shift.high, shift.standard_error) == (None, None, None)


def test_the_standard_error_is_that_of_the_shift():
    rng = np.random.default_rng(5)
    shifts = [shift_of(TwoSamples.of([log_normal(rng, 0, 30)], [log_normal(rng, 0, 30)])) for _ in range(200)]
    actual = np.std([shift.log_ratio for shift in shifts])
    assert np.median([shift.standard_error for shift in shifts]) == pytest.approx(actual, rel=0.25)
