"""The orders of a search: every config once, what stands first, and a climb that arrives sooner than a shuffle."""

import functools
from statistics import mean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from search_stage import Tile, measured

from pytest_miopen_perf.tuning.order import ORDERS, NeighbourOrder, ShuffledOrder

SPACE = [Tile(rows, columns) for rows in (4, 8, 16, 32, 64) for columns in (1, 2, 4, 8, 16, 32)]


def climb(order, seconds, measured, batch=4):
    """All configs in the order that comes of trying them in batches."""
    tried, trials = [], []
    while proposals := order.propose(batch, trials):
        tried += proposals
        trials += [measured(config.serialize(), seconds(config)) for config in proposals]
    return tried


@given(
    st.sampled_from(sorted(ORDERS)),
    st.integers(1, 7),
    st.integers(0, 2**32 - 1),
    st.lists(st.sampled_from(SPACE), max_size=2),
)
def test_every_config_comes_once_and_what_stands_first(name, batch, seed, standing):
    order = ORDERS[name](standing, SPACE, seed)
    tried = climb(order, lambda config: 1.0 + config.rows, measured, batch)
    assert sorted(tried, key=str) == sorted(SPACE, key=str)
    assert tried[: len(set(standing))] == list(dict.fromkeys(standing))


@pytest.mark.parametrize("name", sorted(ORDERS))
def test_a_seed_gives_an_order(name):
    orders = [climb(ORDERS[name]([], SPACE, seed), lambda config: 1.0 + config.rows, measured) for seed in (1, 1, 2)]
    assert orders[0] == orders[1] != orders[2]


def test_the_neighbours_arrive_sooner_on_a_slope():
    def seconds(config):
        return 1.0 + abs(config.rows.bit_length() - 5) + abs(config.columns.bit_length() - 4)

    best = Tile(16, 8)
    places = {
        order: mean(climb(order([], SPACE, seed), seconds, measured).index(best) for seed in range(40))
        for order in (NeighbourOrder, ShuffledOrder)
    }
    assert places[NeighbourOrder] < 0.7 * places[ShuffledOrder]


def test_what_differs_in_one_field_by_one_step_comes_first():
    order = NeighbourOrder([Tile(16, 4)], SPACE, 1)
    assert order.propose(1, []) == [Tile(16, 4)]
    near = order.propose(8, [measured("16,4", 1.0)])
    assert set(near[:4]) == {Tile(8, 4), Tile(32, 4), Tile(16, 2), Tile(16, 8)}
    assert all(config.rows == 16 or config.columns == 4 for config in near)


def test_the_climb_follows_the_best():
    order = NeighbourOrder([Tile(16, 4)], SPACE, 1)
    order.propose(1, [])
    trials = [measured("16,4", 1.0), measured("64,32", 0.5)]
    assert set(order.propose(3, trials)) == {Tile(64, 32), Tile(32, 32), Tile(64, 16)}


def steps(best, config):
    """In how many fields a config differs from the best, and by how many steps; values are powers of two."""
    rows, columns = map(int, best.split(","))
    apart = [abs(a.bit_length() - b.bit_length()) for a, b in ((config.rows, rows), (config.columns, columns))]
    return sum(map(bool, apart)), sum(apart)


@given(st.integers(1, 7), st.integers(0, 2**32 - 1))
def test_where_the_climb_stays_it_proposes_as_if_it_began_there(batch, seed):
    """What was ranked once for a best is not ranked again, and the seeded shuffle still decides between equals."""
    order, tried, trials = NeighbourOrder([], SPACE, seed), [], []
    shuffled = ShuffledOrder([], SPACE, seed).propose(len(SPACE), [])
    while proposals := order.propose(batch, trials):
        left = [config for config in shuffled if config not in tried]
        if trials:
            left.sort(key=functools.partial(steps, min(trials, key=lambda trial: trial.median_seconds).config))
        assert proposals == left[:batch]
        tried += proposals
        trials += [measured(config.serialize(), 1.0 + abs(config.rows - 16) + config.columns) for config in proposals]
