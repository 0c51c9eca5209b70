"""The measuring loop on scripted times."""

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf.errors import LaunchError
from pytest_miopen_perf.measuring.batching import Batches, LaunchRule
from pytest_miopen_perf.measuring.measure import MAX_INVALID, WARMUPS, measure
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


class FakeDevice:
    """Executions of one length; counts what the device was asked for, and how long it was busy."""

    def __init__(self, seconds):
        self.seconds = seconds
        self.busy = 0.0
        self.batches = []

    def execute(self):
        self.busy += self.seconds
        return (self.seconds / 4, self.seconds * 3 / 4)

    def execute_batch(self, length):
        self.busy += length * self.seconds
        self.batches.append(length)
        return self.seconds

    def batched(self, length):
        return Batches(length=lambda _: length, execute=self.execute_batch)


def test_a_batch_has_one_time_and_its_kernels_are_from_executions_by_themselves():
    device = FakeDevice(1e-3)
    measurement = measure(device.execute, RULE, device.batched(5))
    sample = measurement.sample
    assert (sample.batch, sample.warmups) == (5, 1)
    assert set(device.batches) == {5}
    assert len(device.batches) == len(sample.seconds)
    assert sample.median_seconds == pytest.approx(1e-3)
    assert measurement.counted_executions == measurement.executions == ((2.5e-4, 7.5e-4),) * 3


def test_a_batch_of_one_is_no_batch():
    device = FakeDevice(1e-3)
    measurement = measure(device.execute, RULE, device.batched(1))
    assert (device.batches, measurement.sample.batch, measurement.sample.warmups) == ([], 1, WARMUPS)
    assert len(measurement.counted_executions) == len(measurement.sample.counted)


def test_the_length_is_decided_by_the_faster_of_the_warm_ups():
    asked = []
    batches = Batches(length=lambda seconds: asked.append(seconds) or 1, execute=lambda _: 1.0)
    measure(executions((9e-3,), (1e-3,), (5e-3,)), RULE, batches)
    assert asked == [1e-3]


def test_batches_without_a_time_are_counted_and_taken_again():
    times = itertools.cycle([math.nan, 1e-3])
    batches = Batches(length=lambda _: 4, execute=lambda _: next(times))
    sample = measure(executions((1e-3,)), RULE, batches).sample
    assert sample.invalid == len(sample.seconds)
    with pytest.raises(LaunchError, match="times in a row"):
        measure(executions((1e-3,)), RULE, Batches(length=lambda _: 4, execute=lambda _: math.nan))


@given(st.floats(1e-6, 10.0), st.sampled_from(["isolated", "back-to-back"]), st.floats(0, 1e-5), st.booleans())
def test_budget_and_counts_hold_in_all_modes(seconds, mode, step, can_batch):
    """Beyond the budget go at most what was begun, three samples, and what tells kernels and batches apart."""
    device = FakeDevice(seconds)
    rule = LaunchRule(mode=mode, timer_step_seconds=step, can_batch=can_batch)
    batches = Batches(
        length=lambda time: rule.length(time, launches=2, budget_seconds=RULE.budget_seconds),
        execute=device.execute_batch,
    )
    sample = measure(device.execute, RULE, batches).sample
    assert 1 <= len(sample.counted) <= RULE.max_samples
    assert sample.median_seconds == pytest.approx(seconds)
    assert device.busy <= RULE.budget_seconds + (sample.batch * 5 + 5) * seconds


def test_a_fixed_count_counts_batches():
    device = FakeDevice(1e-3)
    sample = measure(device.execute, StoppingRule.fixed(7), device.batched(3)).sample
    assert (len(sample.counted), sample.batch) == (7, 3)
