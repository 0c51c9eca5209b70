"""L5: every solver on every problem that it accepts of `edge_shapes`; `tox -e sweep` takes in `smoke` and others.

What is dear for a CPU is cut in batch and image, by the rule of `sweep.cutting`. Kernels stay in the cache of the user,
where the performance suite and the sweep find the same ones.
"""

import pytest
from sweep.cutting import cut
from sweep.pairs import SweptProblem, applicable
from sweep.sample import problems_of

from pytest_miopen_perf.devices import DeviceOptions, cpu
from pytest_miopen_perf.solvers import builtin_solvers

SOLVERS = builtin_solvers()
PROBLEMS = tuple(dict.fromkeys(cut(problem) for problem in problems_of(["edge_shapes"])))


@pytest.fixture(scope="module")
def device():
    if reason := cpu.probe(DeviceOptions()):
        pytest.skip(reason)
    opened = cpu.open_device(DeviceOptions())
    yield opened
    opened.close()


@pytest.mark.parametrize("layer", ["L5: the numbers, on the CPU"])
@pytest.mark.parametrize("problem", PROBLEMS, ids=str)
def test_every_solver_that_applies_is_right(device, problem, layer):
    swept = SweptProblem(problem)
    outcomes = [swept.outcome(solver, device) for solver in applicable(problem, SOLVERS, device.info)]
    assert outcomes
    assert {outcome.solver: outcome.fault for outcome in outcomes if outcome.fault} == {}
