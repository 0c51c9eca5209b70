"""Reasons of many solvers in one sentence."""

import pytest

from pytest_miopen_perf.devices import DeviceOptions, load_backend
from pytest_miopen_perf.launch import DeviceInfo
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.solvers import builtin_solvers
from pytest_miopen_perf.solvers.refusals import bare, summary
from pytest_miopen_perf.solvers.selection import select

LINE = "conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1"


@pytest.fixture(scope="module")
def info() -> DeviceInfo:
    device = load_backend("scripted").open_device(DeviceOptions())
    yield device.info
    device.close()


def refusals(line, info, *globs):
    (problem,) = ConvProblem.from_driver(line)
    found = {solver: solver.refusal(problem, info) for solver in select(globs, builtin_solvers())}
    return problem, {solver: refusal for solver, refusal in found.items() if refusal is not None}


def test_every_name_stands_once_and_other_directions_are_counted(info):
    problem, found = refusals(LINE.replace("conv", "convint8") + " -F 2", info)
    sentence = summary(problem, found)
    served = [solver.name for solver in found if problem.direction in solver.directions]
    assert all(sentence.count(f"{name}:") + sentence.count(f"{name},") == 1 for name in served)
    assert sentence.count("HipConv") == len(served)
    assert sentence.endswith(f"; {len(found) - len(served)} others compute other directions")


def test_equal_reasons_stand_once(info):
    problem, found = refusals(LINE.replace("conv", "convint8") + " -F 2", info, "*Naive*", "*ImplicitGemm?wd")
    assert summary(problem, found) == (
        "HipConvNaiveBwd, HipConvImplicitGemmBwd: supports int8 only for forward convolutions; "
        "3 others compute other directions"
    )


def test_a_single_solver_says_what_it_computes(info):
    problem, found = refusals(f"{LINE} -F 2", info, "*NaiveFwd")
    assert summary(problem, found) == "HipConvNaiveFwd: computes forward, not backward data"


def test_where_all_compute_other_directions_they_are_counted(info):
    problem, found = refusals(f"{LINE} -F 4", info, "*Direct1x1*")
    assert summary(problem, found) == "2 solvers compute other directions"


def test_no_solvers_have_no_reason(info):
    problem, _ = refusals(f"{LINE} -F 4", info)
    assert summary(problem, {}) == ""


def test_a_refusal_that_does_not_begin_with_the_name_stays():
    assert bare("HipConvNaiveFwd", "it is too big") == "it is too big"
