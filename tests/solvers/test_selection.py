import pytest

from pytest_miopen_perf.errors import SettingsError
from pytest_miopen_perf.solvers import builtin_solvers
from pytest_miopen_perf.solvers.selection import select

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
