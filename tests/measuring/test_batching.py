"""How many executions share one time: bounds that hold whatever the kernel and the timer are."""

import math

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_miopen_perf.measuring.batching import TIMER_STEPS, LaunchRule

TIMES = st.floats(1e-8, 10.0)
STEPS = st.floats(0.0, 1e-5)
BUDGETS = st.one_of(st.floats(1e-3, 10.0), st.just(math.inf))
LAUNCHES = st.integers(1, 2000)


def test_isolated_is_the_usual_mode():
    rule = LaunchRule(timer_step_seconds=1e-9)
    assert rule.length(1e-5, launches=1, budget_seconds=1.0) == 1
    assert rule.taken_mode(1) == "isolated"


def test_a_kernel_shorter_than_a_hundred_steps_is_batched_until_it_is_not():
    rule = LaunchRule(timer_step_seconds=1e-6)
    assert rule.length(1e-5, launches=1, budget_seconds=1.0) == 10
    assert rule.length(9.9e-5, launches=1, budget_seconds=1.0) == 2
    assert rule.length(1e-4, launches=1, budget_seconds=1.0) == 1
    assert rule.taken_mode(10) == "batched"


def test_a_timer_of_unknown_step_batches_nothing():
    assert not LaunchRule().may_batch
    assert LaunchRule().length(1e-12, launches=1, budget_seconds=1.0) == 1


def test_back_to_back_lasts_two_milliseconds_within_a_quarter_of_the_budget():
    rule = LaunchRule(mode="back-to-back")
    assert rule.length(1e-4, launches=1, budget_seconds=1.0) == 20
    assert rule.length(1e-4, launches=1, budget_seconds=4e-3) == 10
    assert rule.length(1.0, launches=1, budget_seconds=1.0) == 2
    assert rule.taken_mode(20) == "back-to-back"


def test_a_solution_of_very_many_launches_says_that_it_was_not_batched():
    rule = LaunchRule(mode="back-to-back")
    assert rule.length(1e-3, launches=400, budget_seconds=1.0) == 1
    assert rule.taken_mode(1) == "isolated"


@pytest.mark.parametrize("mode", ["isolated", "back-to-back"])
def test_cold_caches_are_never_batched(mode):
    rule = LaunchRule(mode=mode, timer_step_seconds=1.0, can_batch=False)
    assert not rule.may_batch
    assert rule.length(1e-6, launches=1, budget_seconds=1.0) == 1


@given(st.sampled_from(["isolated", "back-to-back"]), TIMES, STEPS, LAUNCHES, BUDGETS)
@example("back-to-back", 10.0, 0.0, 1, 1e-3)
def test_the_length_keeps_its_bounds(mode, seconds, step, launches, budget):
    rule = LaunchRule(mode=mode, timer_step_seconds=step)
    length = rule.length(seconds, launches=launches, budget_seconds=budget)
    assert 1 <= length <= 1000
    assert length == 1 or length * launches <= 512
    assert length == 1 or rule.may_batch
    if mode == "back-to-back":
        assert length <= 2 or (length - 1) * seconds <= budget / 4
    elif length > 1:
        assert seconds < TIMER_STEPS * step
        assert (length - 1) * seconds < TIMER_STEPS * step
    if mode == "isolated" and 1 < length < min(1000, 512 // launches):
        assert length * seconds >= TIMER_STEPS * step * (1 - 1e-9)
