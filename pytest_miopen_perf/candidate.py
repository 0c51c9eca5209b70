"""A config of a solver on its way through a search, or a solver through a comparison: compile, check, measure, log."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, ClassVar

from pytest_miopen_perf.errors import CompileError, LaunchError
from pytest_miopen_perf.measure import Measurement, ValidExecutions, measure
from pytest_miopen_perf.results import Sample, Trial, TrialStatus
from pytest_miopen_perf.statistics import StoppingRule, relative_iqr
from pytest_miopen_perf.tuning.ranking import median_of, slowest_worth_measuring

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_miopen_perf.check import Check
    from pytest_miopen_perf.conv_run import ConvRun
    from pytest_miopen_perf.execution import Prepared
    from pytest_miopen_perf.measure import Execution
    from pytest_miopen_perf.solvers import PerformanceConfig, Solver

FIRST_LIMIT_SECONDS = 60.0
"""When an execution is given up as long as nothing is known about the problem."""

_LEAST_LIMIT_SECONDS = 5.0
_HANG_FACTOR = 100.0
"""An isolated execution runs on one thread, and a slow config is no hang yet."""

_COLD_SECONDS = 0.1
"""A slow execution that took no longer may have been slow because it was the first: another one decides."""


class Candidate(ABC):
    """A compiled config. Only `__init__`, which compiles, may run in another thread.

    Args:
        run: The problem on its device.
        solver: The solver.
        config: The config.
    """

    RULE: ClassVar[StoppingRule]
    """When it has enough samples."""

    LOST_FACTOR: ClassVar[float]
    """How many times the best median an execution takes that ends the measuring."""

    def __init__(self, run: ConvRun, solver: Solver, config: PerformanceConfig) -> None:
        self.config = config.serialize()
        self._run = run
        self._solver = solver
        self._race: list[Execution] = []
        self._compiled: Prepared | CompileError
        try:
            self._compiled = run.prepare(solver, config)
        except CompileError as error:
            self._compiled = error

    @abstractmethod
    def _checked(self, prepared: Prepared, best: Trial | None) -> tuple[Check, list[Execution]]:
        """Execute and check; with the executions that are as good as any sample, for the first probe."""

    def trial(self, best: Trial | None) -> Trial:
        """Check and measure; whatever goes wrong is the outcome of the trial, not the end of the search."""
        logger = self._run.logger
        if isinstance(self._compiled, CompileError):
            logger.add_performance_config(self._solver.name, self.config)
            return self._outcome(TrialStatus.COMPILE_FAILED, str(self._compiled))
        logger.add_performance_config(self._compiled.solution.launches[0].kernel.entry, self.config)
        trial = self._executed(self._compiled, best)
        if trial.is_failed:
            self._run.buffers.restore()
        return trial

    def sample(self) -> float:
        """Execute once more; the device's seconds.

        Raises:
            LaunchError: it did not come to its end, or the device's clock cannot be believed.
        """
        assert not isinstance(self._compiled, CompileError), "only what was measured is measured again"
        self._race.append(ValidExecutions(self._compiled.execute).next())
        return math.fsum(self._race[-1])

    def log_race(self) -> None:
        """Log the samples that were taken once more, as a config of their own."""
        if self._race:
            assert not isinstance(self._compiled, CompileError), "it has been executed"
            self._run.logger.add_performance_config(self._compiled.solution.launches[0].kernel.entry, self.config)
            self._run.log_executions(self._compiled, self._race)

    def _executed(self, prepared: Prepared, best: Trial | None) -> Trial:
        declared, needed = self._solver.workspace_bytes(self._run.problem), prepared.solution.workspace_bytes
        if needed > declared:
            reason = f"needs a workspace of {needed} bytes, its solver declares {declared} whatever the config"
            return self._outcome(TrialStatus.LAUNCH_FAILED, reason)
        try:
            check, probes = self._checked(prepared, best)
            if not check.passed:
                return self._outcome(TrialStatus.WRONG, check.sentence)
            limit_seconds = None if best is None else slowest_worth_measuring(best, self.LOST_FACTOR)
            measurement = _measured_unless_lost(prepared, probes, limit_seconds, self.RULE)
        except LaunchError as error:
            return self._outcome(TrialStatus.LAUNCH_FAILED, str(error))
        self._run.log_executions(prepared, measurement.executions)
        counted = measurement.sample.counted
        return Trial(
            solver=self._solver.name,
            config=self.config,
            status=TrialStatus.MEASURED,
            median_seconds=measurement.sample.median_seconds,
            samples=len(counted),
            noise=relative_iqr(counted) if len(counted) > 1 else None,
        )

    def _outcome(self, status: TrialStatus, reason: str) -> Trial:
        return Trial(solver=self._solver.name, config=self.config, status=status, reason=reason)


class SearchCandidate(Candidate):
    """A config of a search: nobody has seen it end yet, so its numbers are checked in isolation."""

    RULE = StoppingRule(min_samples=3, max_samples=10, budget_seconds=0.2, target_relative_noise=0.01, patience=10)
    LOST_FACTOR = 1.5

    def _checked(self, prepared: Prepared, best: Trial | None) -> tuple[Check, list[Execution]]:
        known = FIRST_LIMIT_SECONDS if best is None else _HANG_FACTOR * median_of(best)
        limit_seconds = max(_LEAST_LIMIT_SECONDS, known)
        check, _ = self._run.checked(self._solver, lambda: prepared.execute_isolated(limit_seconds))
        return check, []


class FindCandidate(Candidate):
    """A solver of a comparison, measured at most as often as by MIOpen's Find, and once when it has lost already."""

    RULE = StoppingRule(min_samples=3, max_samples=7, budget_seconds=0.5, target_relative_noise=0.01, patience=7)
    LOST_FACTOR = 3.0

    def _checked(self, prepared: Prepared, best: Trial | None) -> tuple[Check, list[Execution]]:  # noqa: ARG002 - no limit
        check, execution = self._run.checked(self._solver, prepared.execute)
        is_time = all(math.isfinite(seconds) and seconds > 0 for seconds in execution)
        return check, [execution] if is_time else []


def _measured_unless_lost(
    prepared: Prepared, probes: Sequence[Execution], limit_seconds: float | None, rule: StoppingRule
) -> Measurement:
    """Measure, unless the first execution, and a second one where it may have been cold, are beyond the limit."""
    if limit_seconds is None:
        return measure(prepared.execute, rule)
    valid = ValidExecutions(prepared.execute)
    probe = probes[0] if probes else valid.next()
    if limit_seconds < math.fsum(probe) <= _COLD_SECONDS:
        probe = valid.next()
    if math.fsum(probe) <= limit_seconds:
        return measure(prepared.execute, rule)
    return Measurement(sample=Sample(seconds=(math.fsum(probe),), stopped_by="lost"), executions=(probe,))
