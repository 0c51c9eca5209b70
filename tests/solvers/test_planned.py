"""What a solver has said of one problem goes to other processes as plain data."""

import pickle
from dataclasses import dataclass

import pytest

from pytest_miopen_perf.errors import ConfigError
from pytest_miopen_perf.problem import Direction, DType
from pytest_miopen_perf.solvers import builtin_solvers
from pytest_miopen_perf.solvers.own import KernelSource, Launch, OwnSolver, PerformanceConfig, W, X, Y
from pytest_miopen_perf.solvers.planned import PlannedSolver

SOLVERS = [solver for solver in builtin_solvers() if Direction.FORWARD in solver.directions]


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
def test_a_planned_solver_says_what_its_solver_says(make_problem, cpu_info, solver):
    kinds = ({}, {"groups": 16}, {"filter": (1, 1), "pad": (0, 0)}, {"dtype": DType.FP16})
    problems = [make_problem(c=16, k=16, spatial=(12, 12), **kind) for kind in kinds]
    problem = next(problem for problem in problems if solver.refusal(problem, cpu_info) is None)
    config = solver.default_config(problem, cpu_info)
    solution = solver.solution(problem, cpu_info, config)
    planned = pickle.loads(pickle.dumps(PlannedSolver.of(solver, problem, cpu_info, config.serialize())))
    assert planned.refusal(problem, cpu_info) is None
    for name in ("name", "solver_id", "algorithm", "directions", "is_deterministic"):
        assert getattr(planned, name) == getattr(solver, name)
    (only,) = planned.configs(problem, cpu_info)
    assert only == planned.default_config(problem, cpu_info) == planned.parse_config(config.serialize())
    assert only.serialize() == config.serialize()
    found = planned.solution(problem, cpu_info, only)
    assert (found.launches, found.workspace_bytes) == (solution.launches, solution.workspace_bytes)
    assert planned.workspace_bytes(problem) == solver.workspace_bytes(problem)
    with pytest.raises(ConfigError, match=f"{solver.name} is planned with '{config.serialize()}', not with '7'"):
        planned.parse_config("7")


def test_a_config_class_of_a_conftest_file_stays_behind(make_problem, cpu_info):
    @dataclass(frozen=True)
    class Local(PerformanceConfig):
        size: int

    def launches(problem, info, config):
        kernel = KernelSource(file="/own.hip", entry="own", defines=(("SIZE", str(config.size)),))
        return [Launch(kernel=kernel, grid=(1, 1, 1), block=(1, 1, 1), args=(X, W, Y))]

    own = OwnSolver(
        name="Own", solver_id=20001, direction=Direction.FORWARD, launches=launches, choices=(Local(4), Local(8))
    )
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(own)
    planned = pickle.loads(pickle.dumps(PlannedSolver.of(own, make_problem(), cpu_info, "8")))
    (launch,) = planned.planned.launches
    assert launch.kernel.defines == (("SIZE", "8"),)
