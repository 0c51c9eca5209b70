"""What solvers of one direction have in common: who they are, and what holds unless one says otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.problem import Direction, DType

if TYPE_CHECKING:
    from pytest_miopen_perf.problem import ConvProblem

_WORDS = {
    Direction.FORWARD: "forward",
    Direction.BACKWARD_DATA: "backward data",
    Direction.BACKWARD_WEIGHTS: "backward weights",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OneDirection:
    """A solver's identity. By default it is deterministic and needs no workspace.

    Attributes:
        name: The solver's name.
        solver_id: The solver's number.
        direction: What it computes.
    """

    name: str
    solver_id: int
    direction: Direction

    @property
    def directions(self) -> frozenset[Direction]:
        """Its one direction."""
        return frozenset({self.direction})

    def direction_refusal(self, problem: ConvProblem) -> str | None:
        """Why a problem of another direction is not for this solver; None when it is of this one's."""
        if problem.direction is self.direction:
            return None
        return f"{self.name} computes {_WORDS[self.direction]}, not {_WORDS[problem.direction]}"

    def int8_refusal(self, problem: ConvProblem) -> str | None:
        """Why not in int8, in which MIOpen has forward convolutions only; None when that is no obstacle."""
        if problem.dtype is DType.INT8 and self.direction is not Direction.FORWARD:
            return f"{self.name} supports int8 only for forward convolutions"
        return None

    @property
    def is_deterministic(self) -> bool:
        """Whether every element is added up in one order, run after run."""
        return True

    def workspace_bytes(self, problem: ConvProblem) -> int:  # noqa: ARG002  those that need some say how much
        """Bytes of workspace, whatever the config: none."""
        return 0
