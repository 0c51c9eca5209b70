"""What solvers of one direction have in common: who they are, and what holds unless one says otherwise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_miopen_perf.problem import ConvProblem, Direction


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

    @property
    def is_deterministic(self) -> bool:
        """Whether every element is added up in one order, run after run."""
        return True

    def workspace_bytes(self, problem: ConvProblem) -> int:  # noqa: ARG002  those that need some say how much
        """Bytes of workspace, whatever the config: none."""
        return 0
