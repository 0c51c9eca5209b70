"""A config of a solver on its way through a search, or a solver through a comparison: compile, check, measure, log."""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, ClassVar

from pytest_miopen_perf.errors import CompileError, LaunchError
from pytest_miopen_perf.measuring.measure import Measurement, ValidExecutions, measure
from pytest_miopen_perf.results import Sample, Trial, TrialStatus
from pytest_miopen_perf.statistics import StoppingRule, relative_iqr
from pytest_miopen_perf.tuning.race import CLOSE
from pytest_miopen_perf.tuning.ranking import median_of, slowest_worth_measuring

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.measuring.execution import Prepared
    from pytest_miopen_perf.measuring.measure import Execution
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.running.conv_run import ConvRun
    from pytest_miopen_perf.solvers import PerformanceConfig, Solver
    from pytest_miopen_perf.tuning.past_trials import PastTrials

FIRST_LIMIT_SECONDS = 60.0
"""When an execution is given up as long as nothing is known about the problem, unless it is a large one."""

_SLOWEST_FLOPS_PER_SECOND = 2.5e8
"""A sixth of what the naive kernel does on one thread of a CPU; a compute unit of a GPU does more."""

_LEAST_LIMIT_SECONDS = 5.0
_HANG_FACTOR = 100.0
"""A slow config is no hang yet."""

_COLD_SECONDS = 0.1
"""A slow execution that took no longer may have been slow because it was the first: others decide."""

_PROBES = 3
"""So many executions tell whether it is worth more: the first, which may be cold, and two that count."""


def first_limit_seconds(problem: ConvProblem, info: DeviceInfo) -> float:
    """When an isolated execution is taken for a hang as long as nothing is known about the problem's times."""
    units = 1 if info.backend == "cpu" else info.compute_units
    return max(FIRST_LIMIT_SECONDS, problem.flops / (_SLOWEST_FLOPS_PER_SECOND * units))


class Candidate:
    """A config that is compiled. Only `__init__`, which compiles, may run in another thread than the others.

    Nobody has seen it end yet, so its first execution, whose numbers are checked, is as isolated as the device can.

    Args:
        run: The problem on its device.
        solver: The solver.
        config: The config.
    """

    RULE: ClassVar[StoppingRule]
    """When it has enough samples."""

    LOST_FACTOR: ClassVar[float]
    """How many times the best median a single execution takes that ends the measuring."""

    CLOSE_FACTOR: ClassVar[float]
    """How many times the best median all probes take that end it."""

    def __init__(self, run: ConvRun, solver: Solver, config: PerformanceConfig) -> None:
        self.config = config.serialize()
        self._run = run
        self._solver = solver
        self._performance_config = config
        self._race: list[Execution] = []
        self._prepared: Prepared | None = None
        self._failure: Trial | None = None
        self._is_proved = False
        self._compile()

    @property
    def is_known(self) -> bool:
        """No: it has to be tried."""
        return False

    def prove(self, best: Trial | None) -> None:
        """Execute it in isolation and check its numbers, once; whatever goes wrong becomes its trial."""
        if self._is_proved:
            return
        self._is_proved = True
        if self._prepared is not None:
            self._failure = self._fault_of(self._prepared, best)
        if self._failure is not None:
            self._note(self._failure)
            if self._prepared is not None:  # which may have written anywhere
                self._run.buffers.restore()

    def trial(self, best: Trial | None) -> Trial:
        """Measure it as far as it is worth it; whatever goes wrong is the outcome, not the end of the search."""
        self.prove(best)
        trial = self._failure or self._measured(self._loaded(), best)
        if trial.is_failed:
            self._run.logger.add_performance_config(self._solver.name, self.config)
        else:
            self._note(trial)
        return trial

    def sample(self) -> float:
        """Execute once more; the device's seconds.

        Raises:
            LaunchError: it did not come to its end, or the device's clock cannot be believed.
        """
        self._race.append(ValidExecutions(self._loaded().execute).next())
        return math.fsum(self._race[-1])

    def log_race(self) -> None:
        """Log the samples that were taken once more, as a config of their own."""
        if self._race:
            self._log(self._loaded(), self._race)

    def _note(self, trial: Trial) -> None:
        """For who remembers trials: a failure before anything else, which may kill the session, is done about it."""

    def _compile(self) -> None:
        try:
            self._prepared = self._run.prepare(self._solver, self._performance_config)
        except CompileError as error:
            self._failure = self._failed(TrialStatus.COMPILE_FAILED, str(error))

    def _loaded(self) -> Prepared:
        assert self._prepared is not None, "only what has been compiled is measured"
        return self._prepared

    def _fault_of(self, prepared: Prepared, best: Trial | None) -> Trial | None:
        """What is wrong with it; None when nothing is."""
        declared, needed = self._solver.workspace_bytes(self._run.problem), prepared.solution.workspace_bytes
        if needed > declared:
            reason = f"needs a workspace of {needed} bytes, its solver declares {declared} whatever the config"
            return self._failed(TrialStatus.LAUNCH_FAILED, reason)
        limit_seconds = self._limit_seconds(best)
        try:
            check, _ = self._run.checked(self._solver, lambda: prepared.execute_isolated(limit_seconds))
        except LaunchError as error:
            return self._failed(TrialStatus.LAUNCH_FAILED, str(error))
        return None if check.passed else self._failed(TrialStatus.WRONG, check.sentence)

    def _limit_seconds(self, best: Trial | None) -> float:
        """When the isolated execution, which has one thread where others have all, is taken for a hang."""
        if best is None:
            return first_limit_seconds(self._run.problem, self._run.device.info)
        threads = self._run.device.info.compute_units
        return max(_LEAST_LIMIT_SECONDS, _HANG_FACTOR * threads * median_of(best))

    def _measured(self, prepared: Prepared, best: Trial | None) -> Trial:
        try:
            measurement = self._measurement(prepared.execute, best)
        except LaunchError as error:
            self._run.buffers.restore()
            return self._failed(TrialStatus.LAUNCH_FAILED, str(error))
        self._log(prepared, measurement.executions)
        counted = measurement.sample.counted
        return Trial(
            solver=self._solver.name,
            config=self.config,
            status=TrialStatus.MEASURED,
            median_seconds=measurement.sample.median_seconds,
            samples=len(counted),
            noise=relative_iqr(counted) if len(counted) > 1 else None,
        )

    def _measurement(self, execute: Callable[[], Execution], best: Trial | None) -> Measurement:
        """In full when it is the first, or probes do not tell that it is clearly slower than the best so far."""
        if best is None:
            return measure(execute, self.RULE)
        valid = ValidExecutions(execute)
        probes = [valid.next()]
        if math.fsum(probes[0]) > _COLD_SECONDS and self._is_lost(probes, best):
            return _lost(probes)
        while len(probes) < _PROBES:
            probes.append(valid.next())
            if self._is_lost(probes, best):
                return _lost(probes[-1:])
        is_close = _least_seconds(probes) <= slowest_worth_measuring(best, self.CLOSE_FACTOR, noise_share=1.0)
        return measure(execute, self.RULE) if is_close else _lost(probes, warmups=1)

    def _is_lost(self, probes: Sequence[Execution], best: Trial) -> bool:
        return _least_seconds(probes) > slowest_worth_measuring(best, self.LOST_FACTOR)

    def _log(self, prepared: Prepared, executions: Sequence[Execution]) -> None:
        """Only once it has been executed, so that an interrupt leaves no config without times."""
        self._run.logger.add_performance_config(prepared.solution.launches[0].kernel.entry, self.config)
        self._run.log_executions(prepared, executions)

    def _failed(self, status: TrialStatus, reason: str) -> Trial:
        return Trial(solver=self._solver.name, config=self.config, status=status, reason=reason)


class SearchCandidate(Candidate):
    """A config of a search, which may have been tried before: then it is compiled only if it comes into the race.

    What is remembered is what it was measured at, and that it did not compile or that its proof failed. A failure after
    that is as much the device's as the config's.

    Args:
        run: The problem on its device.
        solver: The solver.
        config: The config.
        past: What earlier searches tried.
    """

    RULE = StoppingRule(min_samples=3, max_samples=10, budget_seconds=0.2, target_relative_noise=0.01, patience=10)
    LOST_FACTOR = 1.5
    CLOSE_FACTOR = 1 + CLOSE

    def __init__(self, run: ConvRun, solver: Solver, config: PerformanceConfig, past: PastTrials) -> None:
        self._past = past
        self._build = ""
        self._known: Trial | None = None
        super().__init__(run, solver, config)

    @property
    def is_known(self) -> bool:
        """Whether an earlier search tried this very build."""
        return self._known is not None

    def prove(self, best: Trial | None) -> None:
        """As any candidate, unless its trial is known."""
        if self._known is None:
            super().prove(best)

    def trial(self, best: Trial | None) -> Trial:
        """As any candidate, unless its trial is known."""
        return self._known or super().trial(best)

    def _note(self, trial: Trial) -> None:
        if self._build:
            self._past.keep(self._build, trial)

    def _compile(self) -> None:
        with contextlib.suppress(CompileError):  # which compiling tells in full
            self._build = self._run.build_of(self._solver, self._performance_config)
        self._known = self._past.known(self.config, self._build)
        if self._known is None:
            super()._compile()

    def _loaded(self) -> Prepared:
        if self._prepared is None and self._known is not None:
            try:
                self._prepared = self._run.prepare(self._solver, self._performance_config)
            except CompileError as error:
                raise LaunchError(f"what was measured before does not compile any more: {error}") from error
        return super()._loaded()


class FindCandidate(Candidate):
    """A solver of a comparison, measured at most as often as by MIOpen's Find, and once when it has lost already."""

    RULE = StoppingRule(min_samples=3, max_samples=7, budget_seconds=0.5, target_relative_noise=0.01, patience=7)
    LOST_FACTOR = 3.0
    CLOSE_FACTOR = 3.0


def _least_seconds(executions: Sequence[Execution]) -> float:
    return min(math.fsum(execution) for execution in executions)


def _lost(probes: Sequence[Execution], warmups: int = 0) -> Measurement:
    """What probes measured of a candidate that is not worth more."""
    seconds = tuple(math.fsum(probe) for probe in probes)
    return Measurement(sample=Sample(seconds=seconds, warmups=warmups, stopped_by="lost"), executions=tuple(probes))
