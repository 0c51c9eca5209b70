"""Why solvers do not compute a problem, in as few words as tell it: equal reasons stand once, and so does each name."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.solvers import Solver

OTHER_DIRECTIONS = "compute other directions"


def is_of_other_direction(solver: Solver, problem: ConvProblem) -> bool:
    """Whether a solver has nothing to do with a problem, as it would say itself.

    Args:
        solver: Who is asked.
        problem: A canonical problem.
    """
    return problem.direction not in solver.directions


def bare(solver: str, refusal: str) -> str:
    """A refusal without the name of its solver in front, where that stands beside it."""
    return refusal.removeprefix(f"{solver} ")


def summary(problem: ConvProblem, refusals: Mapping[Solver, str]) -> str:
    """Why nobody computes a problem; "" without solvers.

    Args:
        problem: A canonical problem.
        refusals: What each solver says. Those of other directions are counted, unless there is no more than one.
    """
    others = [solver for solver in refusals if is_of_other_direction(solver, problem)]
    counted = others if len(others) > 1 else []
    names: dict[str, list[str]] = {}
    for solver, refusal in refusals.items():
        if solver not in counted:
            names.setdefault(bare(solver.name, refusal), []).append(solver.name)
    parts = [f"{', '.join(group)}: {reason}" for reason, group in names.items()]
    if counted:
        parts.append(f"{len(counted)} {'others' if parts else 'solvers'} {OTHER_DIRECTIONS}")
    return "; ".join(parts)
