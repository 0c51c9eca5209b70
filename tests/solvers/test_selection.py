from dataclasses import dataclass, replace

import pytest

from pytest_miopen_perf.errors import SettingsError
from pytest_miopen_perf.solvers import PerformanceConfig, builtin_solvers
from pytest_miopen_perf.solvers.selection import is_valid_config, select, with_offered

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


HOOK = "pytest_miopen_perf_solvers must give a list of solvers"
OWN = replace(SOLVERS[0], name="Own", solver_id=20001)


class Unhashable:
    """A solver in every other way."""

    __hash__ = None

    def __eq__(self, other):
        return self is other

    def __getattr__(self, name):
        return getattr(OWN, name)


class Nameless:
    """A solver without two members."""

    def __getattr__(self, name):
        if name in ("name", "is_deterministic"):
            raise AttributeError(name)
        return getattr(OWN, name)


def test_what_hooks_offer_comes_after_the_built_in_ones():
    other = replace(OWN, name="Other", solver_id=20002)
    assert with_offered(SOLVERS, [[OWN], iter([other])]) == (*SOLVERS, OWN, other)
    assert with_offered(SOLVERS, []) == SOLVERS


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (OWN, f"{HOOK}, not HipConvNaive"),
        (
            [None],
            f"{HOOK}, and None is none: it has no name, no solver_id, ",
        ),
        (
            [type(OWN)],
            f"{HOOK}, and <class .*HipConvNaive'> is none: it is a class",
        ),
        (
            [Nameless()],
            f"{HOOK}, and .*Nameless object .* is none: it has no name, no is_deterministic$",
        ),
        ("Own", f"{HOOK}, and 'O' is none"),
        ([Unhashable()], "Own of pytest_miopen_perf_solvers cannot be hashed; make its class a frozen dataclass"),
        ([OWN, replace(OWN, solver_id=20002)], "two solvers are called Own; rename the one of"),
        ([replace(OWN, name=SOLVERS[1].name)], f"two solvers are called {SOLVERS[1].name}"),
        ([OWN, replace(OWN, name="Other")], "Own and Other have one solver_id, 20001; change that of"),
        ([replace(OWN, solver_id=SOLVERS[1].solver_id)], f"{SOLVERS[1].name} and Own have one solver_id"),
    ],
)
def test_what_cannot_be_offered_is_refused(answer, words):
    with pytest.raises(SettingsError, match=f"^{words}"):
        with_offered(SOLVERS, [answer])


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
