"""What solvers of one direction say of the others, and of int8."""

from itertools import product

import pytest

from pytest_miopen_perf.problem import Direction, DType
from pytest_miopen_perf.solvers import builtin_solvers
from pytest_miopen_perf.solvers.one_direction import OneDirection

SOLVERS = [solver for solver in builtin_solvers() if isinstance(solver, OneDirection)]
WORDS = {
    Direction.FORWARD: "forward",
    Direction.BACKWARD_DATA: "backward data",
    Direction.BACKWARD_WEIGHTS: "backward weights",
}


@pytest.mark.parametrize(
    ("solver", "direction"), [*product(SOLVERS, Direction)], ids=lambda given: getattr(given, "name", given)
)
def test_other_directions_are_refused_in_words(make_problem, gpu_info, solver, direction):
    problem = make_problem(direction=direction, filter=(1, 1), pad=(0, 0))
    if direction is solver.direction:
        assert solver.direction_refusal(problem) is None
    else:
        sentence = f"{solver.name} computes {WORDS[solver.direction]}, not {WORDS[direction]}"
        assert solver.direction_refusal(problem) == sentence
        assert solver.refusal(problem, gpu_info).startswith(solver.name)


def test_int8_goes_forward_only(make_problem):
    for solver, dtype in product(SOLVERS, DType):
        refusal = solver.int8_refusal(make_problem(direction=solver.direction, dtype=dtype))
        is_refused = dtype is DType.INT8 and solver.direction is not Direction.FORWARD
        assert refusal == (f"{solver.name} supports int8 only for forward convolutions" if is_refused else None)
