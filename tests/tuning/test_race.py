"""The race: who takes part, in which order samples are taken, who wins, and what cannot be told apart."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from search_stage import measured

from pytest_miopen_perf.errors import LaunchError
from pytest_miopen_perf.tuning.race import CLOSE, FEWEST_ROUNDS, MOST_RACERS, ROUNDS, finalists, race, ties, winner


class Runner:
    """Takes times from a function of the number of its sample, and notes who ran."""

    def __init__(self, name, order, seconds):
        self._name, self._order, self._seconds = name, order, seconds
        self._count = 0

    def sample(self):
        self._order.append(self._name)
        self._count += 1
        seconds = self._seconds(self._count)
        if seconds is None:
            raise LaunchError("fell over")
        return seconds


def test_the_close_ones_race_and_always_what_stands():
    trials = [measured("slow", 9.0), measured("a", 1.0), measured("b", 1.0 + CLOSE / 2), measured("c", 1.0 + 2 * CLOSE)]
    assert finalists(trials, ["slow"]) == ["slow", "a", "b"]
    assert finalists(trials, ["a"]) == ["a", "b"]
    assert finalists(trials, ["elsewhere"]) == ["a", "b"]


def test_the_noise_of_the_fastest_lets_more_race():
    trials = [measured("a", 1.0, noise=0.5), measured("b", 1.4), measured("c", 1.6)]
    assert finalists(trials, ["a"]) == ["a", "b"]


def test_few_race():
    trials = [measured(str(number), 1.0) for number in range(20)]
    assert len(finalists(trials, ["7"])) == MOST_RACERS


def test_nobody_races_alone():
    assert finalists([], ["a"]) == []
    assert finalists([measured("a", 1.0)], ["a"]) == []
    assert finalists([measured("a", 1.0), measured("b", 2.0)], ["a"]) == []


def test_samples_are_taken_in_turn_every_other_round_in_reverse():
    order = []
    times = race({name: Runner(name, order, lambda number: 0.05) for name in "abc"})
    assert "".join(order[:9]) == "abccbaabc"
    assert {len(seconds) for seconds in times.seconds.values()} == {ROUNDS}


def test_a_slow_race_is_short():
    times = race({name: Runner(name, [], lambda number: 1.0) for name in "ab"})
    assert {len(seconds) for seconds in times.seconds.values()} == {FEWEST_ROUNDS}


def test_who_falls_over_leaves_the_race():
    racers = {"a": Runner("a", [], lambda n: None if n == 2 else 0.1), "b": Runner("b", [], lambda n: 0.1)}
    times = race(racers)
    assert times.failures == {"a": "fell over"}
    assert list(times.seconds) == ["b"]


def noisy(level, seed, count=ROUNDS):
    generator = random.Random(seed)
    return tuple(level * generator.uniform(0.95, 1.05) for _ in range(count))


@pytest.mark.parametrize("seed", range(20))
def test_a_clear_winner_wins(seed):
    times = {"default": noisy(1.0, seed), "better": noisy(0.8, seed + 100), "worse": noisy(1.3, seed + 200)}
    assert winner(times, ["default"]) == "better"
    assert ties(times, "better") == ()


def test_equals_seldom_unseat_what_stands():
    unseated = sum(
        winner({"default": noisy(1.0, seed), "equal": noisy(1.0, seed + 1000)}, ["default"]) == "equal"
        for seed in range(300)
    )
    assert unseated <= 12


def test_a_drift_that_slows_all_alike_does_not_decide():
    drift = [1 + 0.2 * number for number in range(ROUNDS)]
    times = {"default": tuple(drift), "better": tuple(0.95 * factor for factor in drift)}
    assert winner(times, ["default"]) == "better"


def test_of_two_that_stand_the_faster_one_does():
    times = {"default": (1.0,) * ROUNDS, "known": (0.999,) * ROUNDS, "other": (0.995,) * ROUNDS}
    assert winner(times, ["default", "known"]) == "known"
    assert set(ties(times, "known")) == {"default", "other"}


def test_without_anything_that_stands_the_fastest_wins():
    assert winner({"a": (2.0, 2.0), "b": (1.0, 1.0)}, ["fallen"]) == "b"
    assert winner({}, ["fallen"]) is None


@given(st.dictionaries(st.sampled_from("abcd"), st.lists(st.floats(1e-6, 1.0), min_size=5, max_size=5), min_size=1))
def test_the_winner_is_never_slower_than_what_stands(times):
    standing = min(times)
    won = winner(times, [standing])
    assert sorted(times[won])[2] <= sorted(times[standing])[2]
    assert won not in ties(times, won)
