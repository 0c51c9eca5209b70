"""Who says that two runs give the same bits gives them ten times, also where a sum is split into parts."""

import pytest

from pytest_miopen_perf.problem import DType
from pytest_miopen_perf.solvers import builtin_solvers

KINDS = ({}, {"c": 6, "groups": 6}, {"filter": (1, 1), "pad": (0, 0)}, {"dtype": DType.FP16})
"""Changes of a plain 3x3 problem, one of which suits every solver."""

SOLVERS = [solver for solver in builtin_solvers() if solver.is_deterministic]


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
def test_ten_runs_give_the_same_bits(cpu_device, make_problem, repeat, solver):
    (direction,) = solver.directions
    several = (make_problem(direction=direction, **changes) for changes in KINDS)
    problem = next(problem for problem in several if solver.refusal(problem, cpu_device.info) is None)
    config = max(
        solver.configs(problem, cpu_device.info),
        key=lambda config: len(solver.solution(problem, cpu_device.info, config).launches),
    )
    results = set(repeat(cpu_device, problem, solver.solution(problem, cpu_device.info, config)))
    assert len(results) == 1
    assert len(set(results.pop())) > 2, "the result is no poison"
