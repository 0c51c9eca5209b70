"""A solver that has been asked already: one problem's solution as plain data, which any process can run.

So a process that knows nothing of a conftest file can compute what a solver of that file has planned.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_miopen_perf.errors import ConfigError
from pytest_miopen_perf.solvers import PerformanceConfig

if TYPE_CHECKING:
    from collections.abc import Iterator

    from typing_extensions import Self

    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.problem import ConvProblem, Direction
    from pytest_miopen_perf.solvers import Algorithm, Solution, Solver


@dataclass(frozen=True, slots=True)
class PlannedConfig(PerformanceConfig):
    """A config whose class stays behind.

    Attributes:
        text: MIOpen's text of it.
    """

    text: str

    def serialize(self) -> str:
        """The text."""
        return self.text

    @classmethod
    def parse(cls, text: str) -> Self:
        """The inverse of `serialize`."""
        return cls(text)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSolver:
    """What a solver says of one problem, one device and one config.

    Attributes:
        planned: The solution; its config is a `PlannedConfig`.
        algorithm: The family.
        directions: Which it serves.
        is_deterministic: Whether two runs give the same bits.
    """

    planned: Solution
    algorithm: Algorithm
    directions: frozenset[Direction]
    is_deterministic: bool

    @staticmethod
    def of(solver: Solver, problem: ConvProblem, info: DeviceInfo, config: str) -> PlannedSolver:
        """Ask a solver.

        Args:
            solver: Whom.
            problem: Canonical.
            info: The device.
            config: The text of a config that is valid there.
        """
        solution = solver.solution(problem, info, solver.parse_config(config))
        return PlannedSolver(
            planned=replace(solution, config=PlannedConfig(config)),
            algorithm=solver.algorithm,
            directions=solver.directions,
            is_deterministic=solver.is_deterministic,
        )

    @property
    def name(self) -> str:
        """The name of the solver that was asked."""
        return self.planned.solver

    @property
    def solver_id(self) -> int:
        """Its number."""
        return self.planned.solver_id

    def refusal(self, problem: ConvProblem, info: DeviceInfo) -> str | None:  # noqa: ARG002  asked before
        """None: it has accepted."""
        return None

    def workspace_bytes(self, problem: ConvProblem) -> int:  # noqa: ARG002  asked before
        """What the solution needs."""
        return self.planned.workspace_bytes

    def default_config(self, problem: ConvProblem, info: DeviceInfo) -> PerformanceConfig:  # noqa: ARG002  asked before
        """The one config."""
        return self.planned.config

    def configs(self, problem: ConvProblem, info: DeviceInfo) -> Iterator[PerformanceConfig]:  # noqa: ARG002  asked before
        """The one config."""
        yield self.planned.config

    def parse_config(self, text: str) -> PerformanceConfig:
        """The one config.

        Raises:
            ConfigError: it is another one.
        """
        if text != self.planned.config.serialize():
            raise ConfigError(f"{self.name} is planned with {self.planned.config.serialize()!r}, not with {text!r}")
        return self.planned.config

    def solution(self, problem: ConvProblem, info: DeviceInfo, config: PerformanceConfig) -> Solution:  # noqa: ARG002  asked before
        """The solution."""
        return self.planned
