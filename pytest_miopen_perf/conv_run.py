"""One problem on one device in MIOpen's four phases: validation, solver tuning, tuning, execution.

Every phase writes its records through the logger and returns plain data; what to do next is the runner's to decide.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.errors import CompileError, LaunchError
from pytest_miopen_perf.execution import prepare
from pytest_miopen_perf.measure import measure
from pytest_miopen_perf.records import KernelPhase
from pytest_miopen_perf.results import Trial, TrialStatus, Tuning
from pytest_miopen_perf.statistics import StoppingRule
from pytest_miopen_perf.tuning import SearchRule, search
from pytest_miopen_perf.verification import check_result

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_miopen_perf.check import Check
    from pytest_miopen_perf.devices import Device
    from pytest_miopen_perf.execution import ConvBuffers, Prepared
    from pytest_miopen_perf.measure import Execution, Measurement
    from pytest_miopen_perf.perflog import PerformanceLogger
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.reference import Reference
    from pytest_miopen_perf.solvers import PerformanceConfig, Solver
    from pytest_miopen_perf.tuning import Progress

SEARCH_RULE = StoppingRule(min_samples=3, max_samples=10, budget_seconds=0.2, target_relative_noise=0.01, patience=10)
"""Samples of one config of a search: few, since most configs lose clearly."""

FIND_RULE = StoppingRule(min_samples=3, max_samples=7, budget_seconds=0.5, target_relative_noise=0.01, patience=7)
"""Samples of one solver of a comparison: at most the seven of MIOpen's Find."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvRun:
    """What the phases of one problem share."""

    device: Device
    problem: ConvProblem
    buffers: ConvBuffers
    reference: Reference
    logger: PerformanceLogger
    tolerance: float

    def prepare(self, solver: Solver, config: PerformanceConfig) -> Prepared:
        """Compile and bind a solver's solution.

        Raises:
            CompileError: with the compiler's log.
        """
        return prepare(self.device, solver.solution(self.problem, self.device.info, config), self.buffers)

    def validate(self, solver: Solver, prepared: Prepared) -> tuple[Check, float]:
        """Execute once into poisoned memory, judge the numbers, and tell the device's seconds of that first run.

        Raises:
            LaunchError: a kernel did not start or did not come to its end.
        """
        solution = prepared.solution
        with (
            self.logger.scoped_kernel_phase(KernelPhase.VALIDATION),
            self.logger.solution(solver.name, solver.solver_id, solution.workspace_bytes),
        ):
            self.logger.add_performance_config(solver.name, solution.config.serialize())
            check, execution = self._checked(solver, prepared)
            self._log_executions(prepared, [execution])
        return check, sum(execution)

    def validate_all(self, candidates: Sequence[tuple[Solver, PerformanceConfig]]) -> tuple[Trial, ...]:
        """Check each solver with its config where nothing is to be timed; the first right one leads."""
        trials = []
        for solver, config in candidates:
            check, _ = self.validate(solver, self.prepare(solver, config))
            trials.append(
                Trial(
                    solver=solver.name,
                    config=config.serialize(),
                    status=TrialStatus.CHECKED if check.passed else TrialStatus.WRONG,
                    reason="" if check.passed else check.sentence,
                )
            )
        return tuple(trials)

    def search(self, solver: Solver, rule: SearchRule, report: Callable[[Progress], None]) -> Tuning:
        """Search the solver's configs for the fastest one whose numbers are right."""
        info = self.device.info
        with (
            self.logger.scoped_kernel_phase(KernelPhase.SOLVER_TUNING),
            self.logger.solution(solver.name, solver.solver_id, solver.workspace_bytes(self.problem)),
        ):
            return search(
                solver=solver.name,
                default=solver.default_config(self.problem, info),
                configs=solver.configs(self.problem, info),
                trial=lambda config: self._trial(solver, config, SEARCH_RULE),
                rule=rule,
                clock=time.perf_counter,
                report=report,
            )

    def compare(self, candidates: Sequence[tuple[Solver, PerformanceConfig]]) -> tuple[Trial, ...]:
        """Measure each solver with its config: MIOpen's Find."""
        trials = []
        with self.logger.scoped_kernel_phase(KernelPhase.TUNING):
            for solver, config in candidates:
                with self.logger.solution(solver.name, solver.solver_id, solver.workspace_bytes(self.problem)):
                    trials.append(self._trial(solver, config, FIND_RULE))
        return tuple(trials)

    def execute(self, solver: Solver, prepared: Prepared, rule: StoppingRule) -> Measurement:
        """The timed run.

        Raises:
            LaunchError: a kernel failed, or the device's clock cannot be believed.
        """
        solution = prepared.solution
        with (
            self.logger.scoped_kernel_phase(KernelPhase.EXECUTION),
            self.logger.solution(solver.name, solver.solver_id, solution.workspace_bytes),
        ):
            self.logger.add_performance_config(solver.name, solution.config.serialize())
            measurement = measure(prepared.execute, rule)
            self._log_executions(prepared, measurement.executions)
        return measurement

    def _checked(self, solver: Solver, prepared: Prepared) -> tuple[Check, Execution]:
        self.buffers.poison()
        execution = prepared.execute()
        memory = self.buffers.download_result()
        check = check_result(self.problem, solver.algorithm, self.reference, memory, tolerance_factor=self.tolerance)
        return check, execution

    def _trial(self, solver: Solver, config: PerformanceConfig, rule: StoppingRule) -> Trial:
        """Compile, check and measure; whatever goes wrong is the outcome of the trial, not the end of the search."""
        text = config.serialize()

        def outcome(status: TrialStatus, reason: str, median_seconds: float | None = None) -> Trial:
            return Trial(solver=solver.name, config=text, status=status, reason=reason, median_seconds=median_seconds)

        try:
            prepared = self.prepare(solver, config)
            self.logger.add_performance_config(prepared.solution.launches[0].kernel.entry, text)
            check, _ = self._checked(solver, prepared)
            if not check.passed:
                return outcome(TrialStatus.WRONG, check.sentence)
            measurement = measure(prepared.execute, rule)
        except CompileError as error:
            self.logger.add_performance_config(solver.name, text)
            return outcome(TrialStatus.COMPILE_FAILED, str(error))
        except LaunchError as error:
            return outcome(TrialStatus.LAUNCH_FAILED, str(error))
        self._log_executions(prepared, measurement.executions)
        return outcome(TrialStatus.MEASURED, "", measurement.sample.median_seconds)

    def _log_executions(self, prepared: Prepared, executions: Sequence[Execution]) -> None:
        """Kernels first, in launch order, then the executions: as MIOpen's invokers report."""
        if not self.logger.is_performance_logging_enabled():
            return
        for execution in executions:
            for launch, seconds in zip(prepared.solution.launches, execution, strict=True):
                self.logger.add_kernel(launch.kernel.entry, seconds * 1e3, launch.is_transformation)
        self.logger.add_invoker_times([sum(execution) * 1e3 for execution in executions])
