"""One problem from the question to the result: refuse, choose, validate, execute."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from pytest_miopen_perf.closing_records import closing_records
from pytest_miopen_perf.conv_run import ConvRun
from pytest_miopen_perf.errors import NotApplicableError
from pytest_miopen_perf.execution import ConvBuffers
from pytest_miopen_perf.lease import timed_section
from pytest_miopen_perf.memory import estimate_memory
from pytest_miopen_perf.records import CommandLine
from pytest_miopen_perf.reference import Distribution, compute_reference, make_operands
from pytest_miopen_perf.results import KernelTimes, Result
from pytest_miopen_perf.solvers import Algorithm
from pytest_miopen_perf.statistics import StoppingRule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_miopen_perf.choosing import Chooser
    from pytest_miopen_perf.devices import Device
    from pytest_miopen_perf.execution import Prepared
    from pytest_miopen_perf.measure import Measurement
    from pytest_miopen_perf.perflog import PerformanceLogger
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.settings import Settings
    from pytest_miopen_perf.solvers import Solver

_FINDER_ORDER = (
    Algorithm.IMPLICIT_GEMM,
    Algorithm.GEMM,
    Algorithm.WINOGRAD,
    Algorithm.FFT,
    Algorithm.DIRECT,
)
"""MIOpen asks its finders in this order; the naive solvers, which are direct ones, come last."""


class Runner:
    """Runs problems on one device."""

    def __init__(self, device: Device, chooser: Chooser) -> None:
        self._device = device
        self._chooser = chooser

    def run(
        self, problem: ConvProblem, *, solvers: Sequence[Solver], settings: Settings, logger: PerformanceLogger
    ) -> Result:
        """Check a problem with the fastest of the solvers, and time it when the settings ask for times.

        Args:
            problem: Any problem; a transposed one runs as its mirror.
            solvers: The solvers to choose from.
            settings: How to measure and tune.
            logger: Where the records of the phases go.

        Returns:
            The result; when the numbers are wrong, its check says so and it has no sample.

        Raises:
            NotApplicableError: the problem is empty, no solver applies, or memory is short.
            DeviceError: a kernel did not compile or run.
        """
        if problem.empty_reason:
            raise NotApplicableError(f"{problem} computes nothing: {problem.empty_reason}")
        plain = problem.canonical()
        candidates = self._applicable(plain, solvers)
        workspace_bytes = max(solver.workspace_bytes(plain) for solver in candidates)
        self._refuse_shortage(plain, workspace_bytes, settings)
        with timed_section(self._device.info) if settings.is_timed else contextlib.nullcontext():
            operands = make_operands(plain, seed=settings.seed, distribution=Distribution(settings.data))
            reference = compute_reference(plain, operands)
            with ConvBuffers(self._device, plain, operands, workspace_bytes) as buffers:
                run = ConvRun(
                    device=self._device,
                    problem=plain,
                    buffers=buffers,
                    reference=reference,
                    logger=logger,
                    tolerance=settings.tolerance,
                )
                return self._phases(run, problem, candidates, settings)

    def _applicable(self, problem: ConvProblem, solvers: Sequence[Solver]) -> list[Solver]:
        refusals = {solver: solver.refusal(problem, self._device.info) for solver in solvers}
        candidates = [solver for solver, refusal in refusals.items() if refusal is None]
        if not candidates:
            reasons = "; ".join(f"{solver.name}: {refusal}" for solver, refusal in refusals.items())
            raise NotApplicableError(f"no solver applies to {problem}: {reasons or 'none was selected'}")
        return sorted(candidates, key=lambda solver: _FINDER_ORDER.index(solver.algorithm))

    def _refuse_shortage(self, problem: ConvProblem, workspace_bytes: int, settings: Settings) -> None:
        free_bytes = self._device.free_memory_bytes()
        if settings.memory_bytes is not None:
            free_bytes = min(free_bytes, settings.memory_bytes)
        estimate = estimate_memory(problem, workspace_bytes)
        shortage = estimate.shortage(free_bytes=free_bytes, shares_host=self._device.info.backend == "cpu")
        if shortage:
            raise NotApplicableError(f"{problem} is too big: {shortage}")

    def _phases(self, run: ConvRun, problem: ConvProblem, candidates: Sequence[Solver], settings: Settings) -> Result:
        run.logger.write(CommandLine(command=problem.to_driver()))
        chosen = self._chooser.choose(run, candidates, settings)
        solver, config = chosen.choice.solver, chosen.choice.config
        prepared = run.prepare(solver, config)
        check, first_launch_seconds = run.validate(solver, prepared)
        measurement = None
        if check.passed and settings.is_timed:
            measurement = run.execute(solver, prepared, _stopping_rule(settings))
        result = Result(
            problem=problem,
            device=self._device.info,
            solver=solver.name,
            solver_id=solver.solver_id,
            algorithm=solver.algorithm.value,
            config=config.serialize(),
            config_origin=chosen.choice.origin,
            workspace_bytes=prepared.solution.workspace_bytes,
            check=check,
            sample=None if measurement is None else measurement.sample,
            kernels=() if measurement is None else _kernel_times(prepared, measurement),
            tuning=chosen.tunings,
            find=chosen.trials,
            compile_key=prepared.compile_key,
            compile_seconds=prepared.compile_seconds,
            first_launch_seconds=first_launch_seconds,
            seed=settings.seed,
            data=settings.data,
        )
        for record in closing_records(result):
            run.logger.write(record)
        return result


def _stopping_rule(settings: Settings) -> StoppingRule:
    if settings.iterations is not None:
        return StoppingRule.fixed(settings.iterations)
    return StoppingRule(
        min_samples=5,
        max_samples=500,
        budget_seconds=settings.case_budget_seconds,
        target_relative_noise=settings.target_noise,
        patience=100,
    )


def _kernel_times(prepared: Prepared, measurement: Measurement) -> tuple[KernelTimes, ...]:
    """Times of each launch of the solution over the executions that count."""
    counted = measurement.executions[measurement.sample.warmups :]
    return tuple(
        KernelTimes(
            name=launch.kernel.entry,
            seconds=tuple(execution[index] for execution in counted),
            is_transformation=launch.is_transformation,
        )
        for index, launch in enumerate(prepared.solution.launches)
    )
