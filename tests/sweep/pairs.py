"""One solver on one problem: whether it applies, and whether its numbers pass both checks."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.checking.reference import compute_reference, make_operands
from pytest_miopen_perf.checking.verification import check_result
from pytest_miopen_perf.errors import PerfError
from pytest_miopen_perf.measuring.execution import ConvBuffers, prepare

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_miopen_perf.checking.reference import Operands, Reference
    from pytest_miopen_perf.devices import Device
    from pytest_miopen_perf.launch import DeviceInfo, KernelSource
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.solvers import Solver

_SEED = 11


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What came of a pair.

    Attributes:
        solver: The solver's name.
        problem: What was computed.
        fault: What is wrong, in words; "" when both checks passed.
        seconds: What it took, compiling included.
    """

    solver: str
    problem: ConvProblem
    fault: str
    seconds: float


def applicable(problem: ConvProblem, solvers: Sequence[Solver], info: DeviceInfo) -> Iterator[Solver]:
    """The solvers that accept a problem, which is not empty."""
    plain = problem.canonical()
    return (solver for solver in solvers if solver.refusal(plain, info) is None)


def sources(problem: ConvProblem, solvers: Sequence[Solver], info: DeviceInfo) -> tuple[KernelSource, ...]:
    """The kernels of several solvers with their default configs, each once."""
    plain = problem.canonical()
    solutions = (solver.solution(plain, info, solver.default_config(plain, info)) for solver in solvers)
    return tuple(dict.fromkeys(launch.kernel for solution in solutions for launch in solution.launches))


class SweptProblem:
    """A problem with its data and its right answer, which all of its solvers share."""

    def __init__(self, problem: ConvProblem) -> None:
        self.problem = problem
        self._plain = problem.canonical()
        self._operands: Operands = make_operands(self._plain, seed=_SEED)
        self._reference: Reference = compute_reference(self._plain, self._operands)

    def outcome(self, solver: Solver, device: Device) -> Outcome:
        """Compute it once with the default config, into poisoned memory, and judge the numbers."""
        start = time.perf_counter()
        try:
            fault = self._fault(solver, device)
        except PerfError as error:
            fault = f"{type(error).__name__}: {error}"
        return Outcome(solver=solver.name, problem=self.problem, fault=fault, seconds=time.perf_counter() - start)

    def _fault(self, solver: Solver, device: Device) -> str:
        config = solver.default_config(self._plain, device.info)
        solution = solver.solution(self._plain, device.info, config)
        if solution.workspace_bytes > solver.workspace_bytes(self._plain):
            return f"takes {solution.workspace_bytes} bytes of workspace, more than it declares"
        with ConvBuffers(device, self._plain, self._operands, solution.workspace_bytes) as buffers:
            buffers.poison()
            prepare(device, solution, buffers).execute()
            check = check_result(self._plain, solver.algorithm, self._reference, buffers.download_result())
        return "" if check.passed else check.sentence
