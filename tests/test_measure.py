"""The measuring loop on scripted times."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf.errors import LaunchError
from pytest_miopen_perf.measure import MAX_INVALID, WARMUPS, measure
from pytest_miopen_perf.statistics import StoppingRule

RULE = StoppingRule(min_samples=4, max_samples=20, budget_seconds=1.0, target_relative_noise=0.01, patience=8)


def executions(*times):
    """Each call gives the next of the times, from the start again at the end."""
    source = itertools.cycle(times)
    return lambda: next(source)


def test_warm_ups_come_first_and_do_not_count():
    measurement = measure(executions((9e-3,), (5e-3,), (1e-3,), (1e-3,), (1e-3,), (1e-3,)), RULE)
    assert measurement.sample.seconds == (9e-3, 5e-3, 1e-3, 1e-3, 1e-3, 1e-3)
    assert measurement.sample.warmups == WARMUPS
    assert measurement.sample.counted == (1e-3,) * 4
    assert (measurement.sample.median_seconds, measurement.sample.stopped_by) == (1e-3, "noise")


def test_a_sample_is_the_sum_over_all_kernels():
    measurement = measure(executions((1e-3, 2e-3, 3e-3)), RULE)
    assert measurement.sample.median_seconds == pytest.approx(6e-3)
    assert all(execution == (1e-3, 2e-3, 3e-3) for execution in measurement.executions)


@pytest.mark.parametrize("bad", [0.0, -1e-3, math.nan, math.inf])
def test_an_invalid_time_is_counted_and_taken_again(bad):
    measurement = measure(executions((1e-3, bad), (1e-3, 1e-3)), RULE)
    assert measurement.sample.invalid >= len(measurement.sample.counted)
    assert set(measurement.sample.seconds) == {2e-3}


def test_a_clock_that_never_tells_the_time_is_not_believed():
    calls = itertools.count()

    def execute():
        next(calls)
        return (0.0,)

    with pytest.raises(LaunchError, match=f"{MAX_INVALID} times in a row"):
        measure(execute, RULE)
    assert next(calls) == MAX_INVALID


def test_a_slow_kernel_gets_one_warm_up():
    measurement = measure(executions((0.4,)), RULE)
    assert (measurement.sample.warmups, measurement.sample.stopped_by) == (1, "budget")
    assert len(measurement.sample.counted) == 3


def test_a_kernel_slower_than_the_budget_is_measured_once():
    measurement = measure(executions((30.0,)), RULE)
    assert (measurement.sample.warmups, len(measurement.sample.counted)) == (1, 1)


def test_a_fixed_count_is_fixed():
    measurement = measure(executions((1.0,), (2.0,)), StoppingRule.fixed(7))
    assert (len(measurement.sample.counted), measurement.sample.stopped_by) == (7, "max_samples")


@given(st.lists(st.floats(1e-6, 1e-2), min_size=1, max_size=30))
def test_the_loop_always_ends_within_its_limits(times):
    sample = measure(executions(*((second,) for second in times)), RULE).sample
    assert 1 <= len(sample.counted) <= RULE.max_samples
    assert set(sample.seconds) <= set(times)
    assert min(sample.counted) <= sample.median_seconds <= max(sample.counted)
