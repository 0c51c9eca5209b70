"""The search: default first, seeded order, failures as rows, limits, and a winner that has to beat the default."""

from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf.results import Trial, TrialStatus
from pytest_miopen_perf.solvers import PerformanceConfig
from pytest_miopen_perf.tuning import MARGIN, SearchRule, fastest, search, winner_over_default


@dataclass(frozen=True, slots=True)
class Config(PerformanceConfig):
    value: int = 0


SPACE = tuple(Config(value) for value in range(10))
RULE = SearchRule(max_configs=100, budget_seconds=10.0, seed=1)


def measured(text, seconds):
    return Trial(solver="S", config=text, status=TrialStatus.MEASURED, median_seconds=seconds)


def failed(text, status=TrialStatus.COMPILE_FAILED):
    return Trial(solver="S", config=text, status=status, reason="no")


def run(trial, rule=RULE, clock=lambda: 0.0, report=lambda step: None, default=SPACE[3]):
    return search(solver="S", default=default, configs=iter(SPACE), trial=trial, rule=rule, clock=clock, report=report)


def by_value(config):
    return measured(config.serialize(), 1.0 + config.value)


def test_every_config_is_tried_once_the_default_first():
    tuning = run(by_value)
    assert tuning.trials[0].config == tuning.default_config == "3"
    assert sorted(int(trial.config) for trial in tuning.trials) == list(range(10))
    assert (tuning.best_config, tuning.stopped_by, tuning.valid_configs) == ("0", "exhausted", 10)
    assert tuning.speedup == pytest.approx(4.0)


def test_the_order_comes_from_the_seed():
    orders = [
        [trial.config for trial in run(by_value, SearchRule(**RULE_FIELDS, seed=seed)).trials] for seed in (1, 1, 2)
    ]
    assert orders[0] == orders[1] != orders[2]


RULE_FIELDS = {"max_configs": 100, "budget_seconds": 10.0}


def test_the_count_ends_it():
    tuning = run(by_value, SearchRule(max_configs=4, budget_seconds=10.0, seed=1))
    assert (len(tuning.trials), tuning.stopped_by) == (4, "count")


def test_the_time_ends_it_but_the_default_is_always_tried():
    ticks = iter(range(1000))
    tuning = run(by_value, SearchRule(max_configs=100, budget_seconds=2.5, seed=1), clock=lambda: float(next(ticks)))
    assert tuning.stopped_by == "budget"
    assert 1 <= len(tuning.trials) < 10
    ticks = iter(range(0, 100000, 100))
    assert len(run(by_value, clock=lambda: float(next(ticks))).trials) == 1


def test_failures_are_rows_and_never_win():
    tuning = run(lambda config: failed(config.serialize()) if config.value < 5 else by_value(config))
    assert (tuning.failed, len(tuning.trials), tuning.best_config) == (5, 10, "5")
    assert tuning.speedup is None


def test_when_everything_fails_the_default_stays():
    tuning = run(lambda config: failed(config.serialize(), TrialStatus.WRONG))
    assert (tuning.best_config, tuning.failed, tuning.speedup) == ("3", 10, None)


def test_a_space_of_one_config():
    tuning = search(
        solver="S",
        default=SPACE[0],
        configs=[SPACE[0]],
        trial=by_value,
        rule=RULE,
        clock=lambda: 0.0,
        report=lambda step: None,
    )
    assert (tuning.best_config, len(tuning.trials), tuning.speedup) == ("0", 1, 1.0)


def test_progress_is_told_at_each_step():
    steps = []
    run(lambda config: failed("x") if config.value == 7 else by_value(config), report=steps.append)
    assert [step.done for step in steps] == list(range(1, 11))
    assert {step.total for step in steps} == {10}
    assert (steps[-1].failed, steps[-1].best_config, steps[-1].best_seconds) == (1, "0", 1.0)


def test_the_default_stays_unless_beaten_by_the_margin():
    default = measured("default", 1.0)
    assert winner_over_default([default, measured("luck", 1.0 - MARGIN / 2)]) == default
    faster = measured("faster", 1.0 - 2 * MARGIN)
    assert winner_over_default([default, faster]) == faster
    assert winner_over_default([]) is None


TRIALS = st.lists(
    st.one_of(st.floats(1e-6, 1.0).map(lambda seconds: measured("m", seconds)), st.just(failed("f"))), max_size=20
)


@given(TRIALS)
def test_the_fastest_is_the_least_median_of_the_measured(trials):
    medians = [trial.median_seconds for trial in trials if trial.median_seconds is not None]
    leader = fastest(trials)
    assert (leader is None) == (not medians)
    if leader is not None:
        assert leader.median_seconds == min(medians)


@given(TRIALS)
def test_the_winner_is_never_slower_than_the_default(trials):
    winner = winner_over_default(trials)
    if winner is not None and trials[0].median_seconds is not None:
        assert winner.median_seconds <= trials[0].median_seconds
