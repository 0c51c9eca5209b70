"""A choice whose numbers have been looked at: what is left is to time it, and to say all of it in a result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.results import KernelTimes, Result

if TYPE_CHECKING:
    from pytest_miopen_perf.checking.check import Check
    from pytest_miopen_perf.measuring.execution import Prepared
    from pytest_miopen_perf.measuring.measure import Measurement
    from pytest_miopen_perf.measuring.timing import Timing
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.running.choosing import Chosen
    from pytest_miopen_perf.settings import CacheState, Settings
    from pytest_miopen_perf.solvers import Solver


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A choice whose kernels are loaded and whose numbers have been looked at.

    Attributes:
        chosen: What runs, and what was tried on the way to it.
        prepared: Its kernels and arguments.
        check: The verdict on the numbers.
        compile_seconds: What its kernels took to compile.
        first_launch_seconds: Device time of the checked launch, which is the solution's first.
        timing: How it is timed.
        cache_mode: In which state the caches are when it is.
    """

    chosen: Chosen
    prepared: Prepared
    check: Check
    compile_seconds: float
    first_launch_seconds: float
    timing: Timing
    cache_mode: CacheState

    @property
    def solver(self) -> Solver:
        """Who computes."""
        return self.chosen.choice.solver

    def result(self, problem: ConvProblem, settings: Settings, measurement: Measurement | None) -> Result:
        """All that is known, with the times if there are any."""
        choice, prepared = self.chosen.choice, self.prepared
        return Result(
            problem=problem,
            device=prepared.device.info,
            solver=choice.solver.name,
            solver_id=choice.solver.solver_id,
            algorithm=choice.solver.algorithm.value,
            config=choice.config.serialize(),
            config_origin=choice.origin,
            workspace_bytes=prepared.solution.workspace_bytes,
            check=self.check,
            sample=None if measurement is None else measurement.sample,
            kernels=() if measurement is None else _kernel_times(prepared, measurement),
            tuning=self.chosen.tunings,
            find=self.chosen.trials,
            memory_note=self.chosen.memory_note,
            compile_key=prepared.compile_key,
            compile_seconds=self.compile_seconds,
            first_launch_seconds=self.first_launch_seconds,
            seed=settings.seed,
            data=settings.data,
            cache_mode=self.cache_mode,
            circumstances=self.timing.circumstances(measurement),
            tune=settings.tune.value,
        )


def _kernel_times(prepared: Prepared, measurement: Measurement) -> tuple[KernelTimes, ...]:
    """Times of each launch of the solution over the executions that count, or those by themselves of a batched run."""
    counted = measurement.counted_executions
    return tuple(
        KernelTimes(
            name=launch.kernel.entry,
            seconds=tuple(execution[index] for execution in counted),
            is_transformation=launch.is_transformation,
        )
        for index, launch in enumerate(prepared.solution.launches)
    )
