"""One problem on one device in MIOpen's four phases: validation, solver tuning, tuning, execution.

Every phase writes its records through the logger and returns plain data; what to do next is the runner's to decide.
"""

from __future__ import annotations

import math
import os
import time
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from pytest_miopen_perf.kernel_source.identity import compile_key
from pytest_miopen_perf.kernel_source.text import digest_of
from pytest_miopen_perf.measuring.execution import prepare
from pytest_miopen_perf.measuring.timing import Timing
from pytest_miopen_perf.records import KernelPhase
from pytest_miopen_perf.results import Trial, TrialStatus
from pytest_miopen_perf.running.candidate import FindCandidate, SearchCandidate, first_limit_seconds
from pytest_miopen_perf.running.paired_timing import measure_pair
from pytest_miopen_perf.tuning.compiling import CompilePlan, compiled_batches, results_in_time
from pytest_miopen_perf.tuning.past_trials import nothing_past
from pytest_miopen_perf.tuning.ranking import fastest
from pytest_miopen_perf.tuning.search import Search

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pytest_miopen_perf.canary import Delay
    from pytest_miopen_perf.checking.check import Check
    from pytest_miopen_perf.checking.judge import Judge
    from pytest_miopen_perf.devices import Device
    from pytest_miopen_perf.gate.blocks import ArmName, MeasuredBlocks
    from pytest_miopen_perf.gate.estimators import Order
    from pytest_miopen_perf.launch import KernelSource
    from pytest_miopen_perf.measuring.execution import ConvBuffers, Prepared
    from pytest_miopen_perf.measuring.measure import Execution, Measurement
    from pytest_miopen_perf.perflog import PerformanceLogger
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.results import Tuning
    from pytest_miopen_perf.solvers import PerformanceConfig, Solution, Solver
    from pytest_miopen_perf.statistics import StoppingRule
    from pytest_miopen_perf.tuning.past_trials import PastTrials
    from pytest_miopen_perf.tuning.rule import Progress, SearchRule


@dataclass(frozen=True, slots=True, kw_only=True)
class ConvRun:
    """What the phases of one problem share.

    Attributes:
        device: Where it runs.
        problem: The canonical problem.
        asked: The problem as it was asked for.
        buffers: Its data on the device.
        judge: Knows the right numbers.
        logger: Where records go.
        kernels: A folder of kernel texts; None for the shipped ones.
        compiled: What the compiler took for each kernel so far in this process, those from the disk's cache left out.
        lacking: Solvers, by name, for whose workspace there is no memory, and why.
        timing: How the timed runs are taken; searches and comparisons take isolated launches.
    """

    device: Device
    problem: ConvProblem
    asked: ConvProblem
    buffers: ConvBuffers
    judge: Judge
    logger: PerformanceLogger
    kernels: Path | None = None
    compiled: dict[KernelSource, float] = field(default_factory=dict)
    lacking: Mapping[str, str] = field(default_factory=dict)
    timing: Timing = field(default_factory=Timing)

    def prepare(self, solver: Solver, config: PerformanceConfig) -> Prepared:
        """Compile and bind a solver's solution.

        Raises:
            CompileError: with the compiler's log.
        """
        solution = self.solution(solver, config)
        prepared = prepare(self.device, solution, self.buffers)
        for launch, kernel in zip(solution.launches, prepared.kernels, strict=True):
            if kernel.compile_seconds:
                self.compiled[launch.kernel] = kernel.compile_seconds
        return prepared

    def solution(self, solver: Solver, config: PerformanceConfig) -> Solution:
        """How the solver computes the problem, with the kernel texts of this run."""
        solution = solver.solution(self.problem, self.device.info, config)
        return solution if self.kernels is None else solution.with_kernels(self.kernels)

    def build_of(self, solver: Solver, config: PerformanceConfig) -> str:
        """A digest of all that decides how a trial ends, beside chance: kernels, launches, compiler, device, tolerance.

        Raises:
            CompileError: a kernel text cannot be read.
        """
        info, solution = self.device.info, self.solution(solver, config)
        launches = ((launch.grid, launch.block, launch.shared_bytes, launch.args) for launch in solution.launches)
        decisive = (
            compile_key((launch.kernel for launch in solution.launches), info.compiler),
            *(info.backend, info.name, info.arch, info.driver, info.runtime, info.compute_units),
            *(solution.workspace_bytes, solver.workspace_bytes(self.problem), self.judge.tolerance_factor),
            *launches,
        )
        return digest_of(map(str, decisive))[:16]

    def compile_seconds(self, prepared: Prepared) -> float:
        """What the compiler took for the kernels of a solution, also in a search or another problem's run."""
        sources = dict.fromkeys(launch.kernel for launch in prepared.solution.launches)
        return math.fsum(self.compiled.get(source, 0.0) for source in sources)

    def validate(
        self, solver: Solver, prepared: Prepared, execute: Callable[[], Execution] | None = None
    ) -> tuple[Check, float]:
        """Execute once into poisoned memory, judge the numbers, and tell the device's seconds of that first run.

        Args:
            solver: The solver.
            prepared: Its solution.
            execute: How; by default in isolation, as what nobody has seen end.

        Raises:
            LaunchError: a kernel did not start or did not come to its end.
        """
        execute = execute or partial(prepared.execute_isolated, first_limit_seconds(self.problem, self.device.info))
        solution = prepared.solution
        with (
            self.logger.scoped_kernel_phase(KernelPhase.VALIDATION),
            self.logger.solution(solver.name, solver.solver_id, solution.workspace_bytes),
        ):
            check, execution = self.checked(solver, execute)
            self.logger.add_performance_config(solver.name, solution.config.serialize())
            self.log_executions(prepared, [execution])
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

    def search(
        self,
        solver: Solver,
        rule: SearchRule,
        report: Callable[[Progress], None],
        known: PerformanceConfig | None = None,
        past: PastTrials | None = None,
    ) -> Tuning:
        """Search the solver's configs for the fastest one whose numbers are right.

        Args:
            solver: The solver.
            rule: When to stop.
            report: Told of each step.
            known: The config of an earlier search, which stays unless it is beaten.
            past: What earlier searches tried, and where each trial is kept.

        Raises:
            SearchInterrupted: on an interrupt; what was tried is logged and kept.
        """
        past = past or nothing_past()
        made: list[SearchCandidate] = []

        def compile_config(config: PerformanceConfig) -> SearchCandidate:
            made.append(SearchCandidate(self, solver, config, past))
            return made[-1]

        with (
            self.logger.scoped_kernel_phase(KernelPhase.SOLVER_TUNING),
            self.logger.solution(solver.name, solver.solver_id, solver.workspace_bytes(self.problem)),
        ):
            tuning = Search(
                solver=solver.name,
                compile_config=compile_config,
                plan=self._compile_plan(),
                rule=rule,
                clock=time.perf_counter,
                report=report,
            ).run(
                default=solver.default_config(self.problem, self.device.info),
                known=known,
                configs=solver.configs(self.problem, self.device.info),
            )
            for candidate in made:
                candidate.log_race()
        return tuning

    def compare(self, candidates: Sequence[tuple[Solver, PerformanceConfig]]) -> tuple[Trial, ...]:
        """Measure each solver with its config, the clear losers once: MIOpen's Find."""
        trials: list[Trial] = []
        with self.logger.scoped_kernel_phase(KernelPhase.TUNING):
            for (solver, _), candidate in zip(candidates, self._proved(candidates), strict=True):
                with self.logger.solution(solver.name, solver.solver_id, solver.workspace_bytes(self.problem)):
                    trials.append(candidate.trial(fastest(trials)))
        return tuple(trials)

    def _proved(self, candidates: Sequence[tuple[Solver, PerformanceConfig]]) -> list[FindCandidate]:
        """Compile all, and check the numbers of each while others compile."""
        proved = []
        plan = self._compile_plan()
        with closing(compiled_batches(iter([candidates]), lambda pair: FindCandidate(self, *pair), plan)) as batches:
            for futures in batches:
                for candidate in results_in_time(futures, lambda: math.inf):
                    candidate.prove(None)
                    proved.append(candidate)
        return proved

    def log_passed_over(self, solver: Solver) -> None:
        """Log a solver for which there is no memory: a solution of Find without times."""
        with (
            self.logger.scoped_kernel_phase(KernelPhase.TUNING),
            self.logger.solution(solver.name, solver.solver_id, solver.workspace_bytes(self.problem)),
        ):
            self.logger.add_performance_config(solver.name)

    def _compile_plan(self) -> CompilePlan:
        return CompilePlan.for_device(self.device.info.backend, len(os.sched_getaffinity(0)))

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
            measurement = self.timing.measure(prepared, rule)
            self.logger.add_performance_config(solver.name, solution.config.serialize())
            self._log_measurement(prepared, measurement)
        return measurement

    def execute_paired(
        self,
        arms: Mapping[ArmName, tuple[Solver, Prepared]],
        orders: Sequence[Order],
        launches: int,
        delay: Delay | None = None,
    ) -> MeasuredBlocks:
        """The timed run of two versions, in blocks; a delay is one more launch of each execution of arm B.

        Raises:
            LaunchError: a kernel failed, or the device's clock cannot be believed.
        """
        prepared_arms = {arm: prepared for arm, (_, prepared) in arms.items()}
        measured = measure_pair(self.timing, prepared_arms, orders, launches, delay)
        for arm, (solver, prepared) in arms.items():
            with (
                self.logger.scoped_kernel_phase(KernelPhase.EXECUTION),
                self.logger.solution(solver.name, solver.solver_id, prepared.solution.workspace_bytes),
            ):
                self.logger.add_performance_config(solver.name, prepared.solution.config.serialize())
                self._log_measurement(prepared, measured.arms[arm])
        return measured

    def checked(self, solver: Solver, execute: Callable[[], Execution]) -> tuple[Check, Execution]:
        """Execute into poisoned memory and judge the numbers.

        Raises:
            LaunchError: a kernel did not start or did not come to its end.
        """
        self.buffers.poison()
        execution = execute()
        memory = self.buffers.download_result()
        return self.judge.check(solver.algorithm, memory), execution

    def log_executions(self, prepared: Prepared, executions: Sequence[Execution]) -> None:
        """Kernels first, in launch order, then the executions: as MIOpen's invokers report."""
        self._log_times(prepared, executions, [sum(execution) for execution in executions])

    def _log_measurement(self, prepared: Prepared, measurement: Measurement) -> None:
        """As any executions; where they share their times, the kernels are those that were executed by themselves."""
        self._log_times(prepared, measurement.executions, measurement.sample.seconds)

    def _log_times(self, prepared: Prepared, executions: Sequence[Execution], seconds: Sequence[float]) -> None:
        if not self.logger.is_performance_logging_enabled():
            return
        for execution in executions:
            for launch, kernel_seconds in zip(prepared.solution.launches, execution, strict=True):
                self.logger.add_kernel(launch.kernel.entry, kernel_seconds * 1e3, launch.is_transformation)
        self.logger.add_invoker_times([time * 1e3 for time in seconds])
