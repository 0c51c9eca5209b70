"""Memory for the workspaces of several solvers, of which the neediest go without where it is short."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_miopen_perf.errors import NotApplicableError, OutOfMemoryError
from pytest_miopen_perf.measuring.cache_state import WARM
from pytest_miopen_perf.measuring.execution import ConvBuffers
from pytest_miopen_perf.measuring.memory import byte_size

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_miopen_perf.checking.reference import Operands
    from pytest_miopen_perf.devices import Device
    from pytest_miopen_perf.measuring.cache_state import CachePlan
    from pytest_miopen_perf.problem import ConvProblem


@dataclass(frozen=True, slots=True, kw_only=True)
class Funding:
    """Who gets a workspace.

    Attributes:
        nbytes: What each solver that gets one needs, by name; the largest is what is allocated for all.
        lacking: Why there is none for the others, by name: "needs a workspace of 3.0 GiB, and ...".
    """

    nbytes: Mapping[str, int]
    lacking: Mapping[str, str] = field(default_factory=dict)

    @property
    def workspace_bytes(self) -> int:
        """What is allocated."""
        return max(self.nbytes.values(), default=0)

    def within(self, most_bytes: int) -> Funding:
        """Without the solvers that need more than may be used."""
        return self._without(most_bytes, f"and {byte_size(most_bytes)} may be used for one")

    def refused(self, words: str) -> Funding:
        """Without the solvers whose workspace a device has refused, in the words of the device."""
        return self._without(self.workspace_bytes - 1, f"which the device refused: {words}")

    def beside(self, words: str) -> Funding:
        """Without the solvers whose workspace leaves too little for the caches' state, in words."""
        return self._without(self.workspace_bytes - 1, f"and beside it {words}")

    def _without(self, most_bytes: int, reason: str) -> Funding:
        lacking = {
            name: f"needs a workspace of {byte_size(nbytes)}, {reason}"
            for name, nbytes in self.nbytes.items()
            if nbytes > most_bytes
        }
        kept = {name: nbytes for name, nbytes in self.nbytes.items() if name not in lacking}
        return Funding(nbytes=kept, lacking={**self.lacking, **lacking})


def funded_buffers(
    device: Device,
    problem: ConvProblem,
    operands: Operands,
    funding: Funding,
    caches_for: Callable[[int], CachePlan] = lambda _: WARM,
) -> tuple[ConvBuffers, Funding]:
    """The problem's memory with the largest workspace that the device gives, and who gets one of it.

    Args:
        device: Where it lies.
        problem: The canonical problem.
        operands: Its data.
        funding: Who asks for a workspace.
        caches_for: How caches are brought into their state beside a workspace of so many bytes.

    Raises:
        NotApplicableError: there is not even memory for the tensors, or for the caches' state.
    """
    while True:
        try:
            caches = caches_for(funding.workspace_bytes)
        except NotApplicableError as error:
            if not funding.workspace_bytes:
                raise
            funding = funding.beside(str(error))
            continue
        try:
            return ConvBuffers(device, problem, operands, funding.workspace_bytes, caches), funding
        except OutOfMemoryError as error:
            if not funding.workspace_bytes:
                raise NotApplicableError(f"{problem} is too big: {error}") from error
            funding = funding.refused(str(error))
