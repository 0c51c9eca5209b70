"""What is looked at without a device: the kernels of solutions, each with the work-group that it is launched with."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.codeobject.architectures import planned_device

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_miopen_perf.launch import KernelSource, Launch
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.solvers import PerformanceConfig, Solution, Solver


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticCase:
    """One kernel for one target.

    Attributes:
        target: What it is compiled for, for example `gfx942`.
        solver: Who launches it.
        config: The performance config, in MIOpen's text.
        problem: The problem, as the caller calls it.
        launch: How it is launched.
    """

    target: str
    solver: str
    config: str
    problem: str
    launch: Launch

    @property
    def kernel(self) -> KernelSource:
        """What is compiled."""
        return self.launch.kernel

    @property
    def work_items(self) -> int:
        """Of a work-group."""
        return math.prod(self.launch.block)


def solution_cases(solution: Solution, target: str, problem: str) -> tuple[StaticCase, ...]:
    """The kernels of a solution that was planned for a target."""
    return tuple(
        StaticCase(
            target=target,
            solver=solution.solver,
            config=solution.config.serialize(),
            problem=problem,
            launch=launch,
        )
        for launch in solution.launches
    )


def planned_cases(
    solver: Solver, problem: ConvProblem, targets: Iterable[str], config: PerformanceConfig | None = None
) -> Iterator[StaticCase]:
    """The kernels that a solver would launch for a problem on each target; none where it refuses the problem.

    Args:
        solver: Who plans.
        problem: A canonical problem.
        targets: Target IDs.
        config: For every target; None takes each target's default.

    Raises:
        SettingsError: the architecture of a target is not in the table.
        ConfigError: the config does not suit the problem on a target.
    """
    for target in targets:
        info = planned_device(target)
        if solver.refusal(problem, info) is None:
            chosen = solver.default_config(problem, info) if config is None else config
            yield from solution_cases(solver.solution(problem, info, chosen), target, problem.to_driver())
