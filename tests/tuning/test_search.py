"""The search: what stands first, every config once, failures as rows, limits, and a winner that has earned it."""

import itertools
import threading
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st
from search_stage import Stage, Tile

from pytest_miopen_perf.errors import SearchInterrupted
from pytest_miopen_perf.results import TrialStatus
from pytest_miopen_perf.tuning.compiling import CompilePlan
from pytest_miopen_perf.tuning.ranking import MARGIN


@pytest.fixture
def stage():
    return Stage()


def ticking(step):
    ticks = itertools.count()
    return lambda: next(ticks) * step


@pytest.mark.parametrize("strategy", ["random", "neighbours"])
@pytest.mark.parametrize("ahead", [0, 1])
def test_every_config_is_tried_once_the_default_first(stage, strategy, ahead):
    tuning = stage.search(strategy=strategy, plan=CompilePlan(threads=2, batches_ahead=ahead))
    assert tuning.trials[0].config == tuning.default_config == "3,0"
    assert sorted(trial.config for trial in tuning.trials) == [f"{rows},0" for rows in range(10)]
    assert (tuning.best_config, tuning.stopped_by, tuning.valid_configs) == ("0,0", "exhausted", 10)
    assert tuning.speedup == pytest.approx(4.0)


def test_the_order_comes_from_the_seed(stage):
    orders = [[trial.config for trial in stage.search(seed=seed, strategy="random").trials] for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]


def test_the_count_ends_it(stage):
    tuning = stage.search(max_configs=4)
    assert (len(tuning.trials), tuning.stopped_by, tuning.valid_configs) == (4, "count", 10)
    assert stage.search(max_configs=10).stopped_by == "exhausted"


def test_the_time_ends_it_but_the_default_is_always_tried(stage):
    tuning = stage.search(clock=ticking(1.0), budget_seconds=9.5)
    assert tuning.stopped_by == "budget"
    assert 1 <= len(tuning.trials) < 10
    late = stage.search(clock=ticking(100.0))
    assert (len(late.trials), late.trials[0].config, late.stopped_by) == (1, "3,0", "budget")


def test_patience_ends_it(stage):
    tuning = stage.search(lambda tile: 1.0, patience=3)
    assert (len(tuning.trials), tuning.stopped_by) == (4, "patience")
    improving = itertools.count(100, -2)
    assert (
        stage.search(lambda tile: float(next(improving)), raced=lambda tile: 1.0, patience=3).stopped_by == "exhausted"
    )


def test_failures_are_rows_and_never_win(stage):
    tuning = stage.search(lambda tile: None if tile.rows < 5 else 1.0 + tile.rows)
    assert (tuning.failed, len(tuning.trials), tuning.best_config, tuning.speedup) == (5, 10, "5,0", None)


def test_when_everything_fails_the_default_stays(stage):
    tuning = stage.search(lambda tile: None)
    assert (tuning.best_config, tuning.failed, tuning.speedup, tuning.ties) == ("3,0", 10, None, ())


@pytest.mark.parametrize("strategy", ["random", "neighbours"])
def test_a_space_of_one_config(stage, strategy):
    tuning = stage.search(configs=[Tile(3)], strategy=strategy)
    assert (tuning.best_config, len(tuning.trials), tuning.speedup, tuning.stopped_by) == ("3,0", 1, 1.0, "exhausted")


@pytest.mark.parametrize("strategy", ["random", "neighbours"])
def test_a_space_without_a_valid_config_tries_the_default_and_says_so(stage, strategy):
    tuning = stage.search(configs=[], strategy=strategy)
    assert (tuning.valid_configs, len(tuning.trials), tuning.best_config) == (0, 1, "3,0")


def test_a_config_that_comes_twice_is_tried_once(stage):
    assert Counter(trial.config for trial in stage.search(configs=[Tile(1), Tile(1), Tile(3)]).trials) == {
        "3,0": 1,
        "1,0": 1,
    }


def test_many_configs(stage):
    configs = [Tile(rows, columns) for rows in range(30) for columns in range(30)]
    tuning = stage.search(lambda it: 1.0 + abs(it.rows - 7) + abs(it.columns - 21), configs=configs, max_configs=900)
    assert (tuning.best_config, len(tuning.trials)) == ("7,21", 900)


def test_progress_is_told_before_the_first_and_at_each_step(stage):
    stage.search(lambda tile: None if tile.rows == 7 else 1.0 + tile.rows, clock=ticking(0.01))
    steps = [step for step in stage.steps if not step.finalists]
    assert [step.done for step in steps] == list(range(11))
    assert {step.total for step in steps} == {10}
    assert (steps[0].seconds_left, steps[0].best_seconds, steps[0].most_seconds) == (None, None, 10.0)
    assert (steps[-1].failed, steps[-1].best_config, steps[-1].best_seconds, steps[-1].seconds_left) == (
        1,
        "0,0",
        1.0,
        0,
    )
    assert stage.steps[-1].finalists == 2


def test_the_default_stays_unless_beaten_by_the_margin(stage):
    by_luck = stage.search(lambda tile: 1.0 - MARGIN / 2 if tile.rows == 5 else 1.0 + tile.rows * (tile.rows != 3))
    assert (by_luck.best_config, set(by_luck.ties)) == ("3,0", {"0,0", "5,0"})
    assert stage.search(lambda tile: 1.0 - 2 * MARGIN if tile.rows == 5 else 1.0).best_config == "5,0"


def test_the_race_corrects_the_search(stage):
    """The default was measured while the device was busy; side by side it is the faster one."""
    tuning = stage.search(
        lambda tile: 2.0 if tile.rows == 3 else 1.0, raced=lambda tile: 1.0 if tile.rows == 3 else 1.1
    )
    assert (tuning.best_config, tuning.speedup) == ("3,0", 1.0)
    assert tuning.median_seconds("3,0") == 1.0


def test_who_falls_over_in_the_race_is_a_failure(stage):
    tuning = stage.search(lambda tile: 1.0 + tile.rows, raced=lambda tile: None if tile.rows == 0 else 1.0 + tile.rows)
    fallen = next(trial for trial in tuning.trials if trial.config == "0,0")
    assert (fallen.status, fallen.reason, fallen.median_seconds) == (TrialStatus.LAUNCH_FAILED, "fell over", None)
    assert tuning.best_config == "3,0"


def test_what_an_earlier_search_found_is_tried_second_and_stays_unless_beaten(stage):
    tuning = stage.search(lambda it: {3: 2.0, 8: 1.0, 5: 1.0 - MARGIN / 2}.get(it.rows, 3.0), known=Tile(8))
    assert [trial.config for trial in tuning.trials[:2]] == ["3,0", "8,0"]
    assert tuning.best_config == "8,0"
    assert stage.search(lambda it: {3: 1.0, 8: 1.001}.get(it.rows, 3.0), known=Tile(8)).best_config == "3,0"


def test_an_interrupt_ends_the_search_and_its_threads(stage):
    def interrupted(tile):
        if len(stage.tried) == 4:
            raise KeyboardInterrupt
        return 1.0

    with pytest.raises(KeyboardInterrupt):
        stage.search(interrupted, plan=CompilePlan(threads=2, batches_ahead=1))
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("miopen-perf-compile")]


@given(
    st.lists(st.one_of(st.none(), st.floats(1e-6, 1.0)), min_size=1, max_size=12),
    st.integers(0, 11),
    st.sampled_from(["random", "neighbours"]),
)
def test_the_tuned_config_is_never_slower_than_the_default(seconds, default, strategy):
    default = min(default, len(seconds) - 1)
    configs = [Tile(rows) for rows in range(len(seconds))]
    tuning = Stage().search(
        lambda tile: seconds[tile.rows], configs=configs, default=configs[default], strategy=strategy
    )
    assert (tuning.speedup is None) == (seconds[default] is None)
    assert tuning.speedup is None or tuning.speedup >= 1.0
    assert len(tuning.trials) == len(seconds)
    if any(seconds):
        assert tuning.median_seconds(tuning.best_config) is not None


def test_what_was_known_before_is_counted_and_is_no_pace(stage):
    known = [Tile(rows) for rows in range(10) if rows not in (3, 4)]
    tuning = stage.search(known_before=known, clock=ticking(1.0), budget_seconds=1000.0, strategy="random")
    assert (tuning.known_before, len(tuning.trials), tuning.best_config) == (8, 10, "0,0")
    last_but_one = next(step for step in stage.steps if step.done == 9)
    assert last_but_one.seconds_left > 5.0, "one or two trials took all of the time"


def test_an_interrupt_tells_how_far_it_came(stage):
    def seconds(tile):
        if len(stage.tried) == 4:
            raise KeyboardInterrupt
        return 1.0 + tile.rows

    with pytest.raises(SearchInterrupted, match=r"in the search of S: 3 of 10 configs were tried, the best so far is"):
        stage.search(seconds)


def test_an_interrupt_before_the_first_trial_says_that_there_is_none(stage):
    def seconds(tile):
        raise KeyboardInterrupt

    with pytest.raises(SearchInterrupted, match="0 of 10 configs were tried, none was measured"):
        stage.search(seconds)


def test_an_interrupt_of_the_race_is_one_of_the_search(stage):
    def raced(tile):
        raise KeyboardInterrupt

    with pytest.raises(SearchInterrupted, match="10 of 10"):
        stage.search(raced=raced)
