from dataclasses import dataclass

import pytest

from pytest_miopen_perf.errors import SettingsError
from pytest_miopen_perf.solvers import PerformanceConfig, builtin_solvers
from pytest_miopen_perf.solvers.selection import is_valid_config, select

SOLVERS = builtin_solvers()


def names(*globs):
    return [solver.name for solver in select(globs, SOLVERS)]


def test_no_pattern_selects_all():
    assert select((), SOLVERS) == SOLVERS


def test_names_and_patterns_select_in_the_order_of_the_solvers():
    assert names("HipConvNaiveWrw", "HipConvNaiveFwd") == ["HipConvNaiveFwd", "HipConvNaiveWrw"]
    assert names("*Naive*") == ["HipConvNaiveFwd", "HipConvNaiveBwd", "HipConvNaiveWrw"]
    assert names("*NaiveFwd", "*GemmFwd", "HipConvNaiveFwd")[0] == "HipConvNaiveFwd"
    assert set(names("*Fwd")) == {solver.name for solver in SOLVERS if solver.name.endswith("Fwd")}


@pytest.mark.parametrize("pattern", ["ConvDirectNaiveConvFwd", "hipconvnaivefwd", "*Fourier*", ""])
def test_a_pattern_that_names_nothing_is_an_error_that_lists_what_there_is(pattern):
    with pytest.raises(SettingsError, match="HipConvNaiveFwd, HipConvNaiveBwd") as raised:
        select(["*Naive*", pattern], SOLVERS)
    assert repr(pattern) in str(raised.value)


@dataclass(frozen=True)
class Tile(PerformanceConfig):
    """One number."""

    rows: int


@dataclass(frozen=True)
class Space:
    """As much of a solver as says which configs it has."""

    tiles: tuple[Tile, ...] = ()

    def default_config(self, problem, info):
        return Tile(1)

    def configs(self, problem, info):
        return iter(self.tiles)


@pytest.mark.parametrize("tiles", [(), (Tile(1),), (Tile(2), Tile(1)), (Tile(2),)], ids=len)
def test_the_default_and_what_the_solver_lists_is_valid(make_problem, cpu_info, tiles):
    valid = {tile.rows for tile in map(Tile, range(5)) if is_valid_config(Space(tiles), make_problem(), cpu_info, tile)}
    assert valid == {1, *(tile.rows for tile in tiles)}
