"""One problem from the question to the result: refuse, choose, tune, validate, compare, execute."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import TYPE_CHECKING

from pytest_miopen_perf.closing_records import closing_records
from pytest_miopen_perf.conv_run import ConvRun
from pytest_miopen_perf.errors import NotApplicableError, SettingsError
from pytest_miopen_perf.execution import ConvBuffers
from pytest_miopen_perf.lease import timed_section
from pytest_miopen_perf.memory import estimate_memory
from pytest_miopen_perf.records import CommandLine
from pytest_miopen_perf.reference import Distribution, compute_reference, make_operands
from pytest_miopen_perf.results import KernelTimes, Result
from pytest_miopen_perf.settings import TunePolicy
from pytest_miopen_perf.solvers import Algorithm
from pytest_miopen_perf.statistics import StoppingRule
from pytest_miopen_perf.tuning import SearchRule, fastest

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from pytest_miopen_perf.devices import Device
    from pytest_miopen_perf.execution import Prepared
    from pytest_miopen_perf.measure import Measurement
    from pytest_miopen_perf.perflog import PerformanceLogger
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.results import Trial, Tuning
    from pytest_miopen_perf.settings import Settings
    from pytest_miopen_perf.solvers import PerformanceConfig, Solver
    from pytest_miopen_perf.tuning import Progress

_FINDER_ORDER = (
    Algorithm.IMPLICIT_GEMM,
    Algorithm.GEMM,
    Algorithm.WINOGRAD,
    Algorithm.FFT,
    Algorithm.DIRECT,
)
"""MIOpen asks its finders in this order; the naive solvers, which are direct ones, come last."""

Choice = tuple["Solver", "PerformanceConfig", str]
"""A solver, its config, and where the config comes from: "default", "tuned" or "given"."""


SearchDisplay = Callable[[], "AbstractContextManager[Callable[[Progress], None]]"]
"""Opens a display for one search: what comes out of it is told of each step."""


@contextlib.contextmanager
def no_display() -> Iterator[Callable[[Progress], None]]:
    """Show nothing."""
    yield lambda progress: None  # noqa: ARG005 - told and forgotten


class Runner:
    """Runs problems on one device and remembers the configs that a search found."""

    def __init__(self, device: Device, display: SearchDisplay = no_display) -> None:
        self._device = device
        self._display = display
        self._tuned: dict[tuple[str, ConvProblem], PerformanceConfig] = {}

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
        tunings = [
            self._search(run, solver, settings) for solver in candidates if self._is_searched(run, solver, settings)
        ]
        choices = [self._choice(run, solver, settings) for solver in candidates]
        trials: tuple[Trial, ...] = ()
        if len(choices) > 1:
            compare = run.compare if settings.is_timed else run.validate_all
            trials = compare([(solver, config) for solver, config, _ in choices])
        solver, config, origin = choices[_winner(trials)]
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
            config_origin=origin,
            workspace_bytes=prepared.solution.workspace_bytes,
            check=check,
            sample=None if measurement is None else measurement.sample,
            kernels=() if measurement is None else _kernel_times(prepared, measurement),
            tuning=tuple(tunings),
            find=trials,
            compile_seconds=prepared.compile_seconds,
            first_launch_seconds=first_launch_seconds,
            seed=settings.seed,
            data=settings.data,
        )
        for record in closing_records(result):
            run.logger.write(record)
        return result

    def _is_searched(self, run: ConvRun, solver: Solver, settings: Settings) -> bool:
        if settings.tune is TunePolicy.OFF or settings.config is not None:
            return False
        is_tunable = bool(solver.default_config(run.problem, run.device.info).serialize())
        is_known = (solver.name, run.problem) in self._tuned
        return is_tunable and (settings.tune is TunePolicy.FORCE or not is_known)

    def _search(self, run: ConvRun, solver: Solver, settings: Settings) -> Tuning:
        rule = SearchRule(
            max_configs=settings.tune_max_configs,
            budget_seconds=settings.tune_budget_seconds,
            seed=settings.seed,
        )
        with self._display() as report:
            tuning = run.search(solver, rule, report)
        self._tuned[solver.name, run.problem] = solver.parse_config(tuning.best_config)
        return tuning

    def _choice(self, run: ConvRun, solver: Solver, settings: Settings) -> Choice:
        default = solver.default_config(run.problem, run.device.info)
        if settings.config is not None and default.serialize():
            return solver, _given_config(run, solver, settings.config), "given"
        tuned = self._tuned.get((solver.name, run.problem))
        if tuned is None or settings.tune is TunePolicy.OFF:
            return solver, default, "default"
        return solver, tuned, "tuned"


def _given_config(run: ConvRun, solver: Solver, text: str) -> PerformanceConfig:
    config = solver.parse_config(text)
    if config not in solver.configs(run.problem, run.device.info):
        raise SettingsError(f"the config {text} is not valid for {solver.name} on {run.problem}")
    return config


def _winner(trials: Sequence[Trial]) -> int:
    """The index of the fastest trial; the first where none was measured, so that its failure is told in full."""
    leader = fastest(trials)
    return 0 if leader is None else trials.index(leader)


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
