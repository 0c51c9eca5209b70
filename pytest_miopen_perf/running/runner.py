"""One problem from the question to the result: refuse, choose, validate, execute."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_miopen_perf.canary import calibrated
from pytest_miopen_perf.checking.judge import Judge
from pytest_miopen_perf.checking.reference import Distribution
from pytest_miopen_perf.devices.compile_cache import default_cache_dir
from pytest_miopen_perf.errors import NotApplicableError
from pytest_miopen_perf.gate.blocks import PairedTimes
from pytest_miopen_perf.measuring.batching import LaunchRule
from pytest_miopen_perf.measuring.cache_state import WARM, plan_caches
from pytest_miopen_perf.measuring.execution import set_bytes
from pytest_miopen_perf.measuring.instruments import Instruments, instruments_of
from pytest_miopen_perf.measuring.lease import in_silence, timed_section
from pytest_miopen_perf.measuring.memory import estimate_memory
from pytest_miopen_perf.measuring.timing import Timing
from pytest_miopen_perf.perflog import PerformanceLogger
from pytest_miopen_perf.records import CommandLine, ErrorLine, PrngSeed
from pytest_miopen_perf.running.checked import Checked
from pytest_miopen_perf.running.closing_records import closing_records
from pytest_miopen_perf.running.conv_run import ConvRun
from pytest_miopen_perf.running.log_cost import measure_log_cost
from pytest_miopen_perf.running.workspace_funding import Funding, funded_buffers
from pytest_miopen_perf.solvers import Algorithm
from pytest_miopen_perf.solvers.refusals import summary
from pytest_miopen_perf.statistics import StoppingRule, median

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from pytest_miopen_perf.devices import Device
    from pytest_miopen_perf.gate.blocks import ArmName
    from pytest_miopen_perf.gate.estimators import Order
    from pytest_miopen_perf.launch import KernelSource
    from pytest_miopen_perf.measuring.cache_state import CachePlan
    from pytest_miopen_perf.measuring.execution import Prepared
    from pytest_miopen_perf.measuring.measure import Measurement
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.results import Result
    from pytest_miopen_perf.running.choosing import Chooser
    from pytest_miopen_perf.settings import Settings
    from pytest_miopen_perf.solvers import Solver
    from pytest_miopen_perf.telemetry import Sensor

_FINDER_ORDER = (
    Algorithm.IMPLICIT_GEMM,
    Algorithm.GEMM,
    Algorithm.WINOGRAD,
    Algorithm.FFT,
    Algorithm.DIRECT,
)
"""MIOpen asks its finders in this order; the naive solvers, which are direct ones, come last."""


class Runner:
    """Runs problems on one device.

    Args:
        device: Where.
        chooser: Who picks the solver.
        sensor_of: What opens the device's sensor; None reads none.
        tell: Shows a sentence at once, such as that another session holds the device.
    """

    def __init__(
        self,
        device: Device,
        chooser: Chooser,
        sensor_of: Callable[[Device], Sensor] | None = None,
        tell: Callable[[str], None] = in_silence,
    ) -> None:
        self._device = device
        self._tell = tell
        self._chooser = chooser
        self._sensor_of = sensor_of
        self._known_instruments: Instruments | None = None
        self._compiled: dict[KernelSource, float] = {}

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
        with self._opened(problem, solvers, settings, logger) as (run, candidates):
            _log_question(run.logger, problem, settings)
            checked = self._checked(run, candidates, settings)
            measurement = None
            if checked.check.passed and settings.is_timed:
                measurement = run.execute(checked.solver, checked.prepared, _stopping_rule(settings))
            result = checked.result(problem, settings, measurement)
            for record in closing_records(result):
                run.logger.write(record)
            return result

    def run_paired(
        self,
        problem: ConvProblem,
        *,
        solvers: Sequence[Solver],
        settings: Settings,
        logger: PerformanceLogger,
        pairing: Pairing,
    ) -> tuple[Result, PairedTimes]:
        """Run a problem with two texts of the kernels in the same memory, their launches interleaved.

        Each arm chooses and is checked by itself; tuned configs are known to both. The blocks run only when the
        numbers of both are right.

        Returns:
            The result of arm B, and that of arm A with the blocks.

        Raises:
            NotApplicableError: as `run`.
            DeviceError: as `run`.
        """
        with self._opened(problem, solvers, settings, logger) as (run, candidates):
            _log_question(run.logger, problem, settings)
            base, new = (self._checked(replace(run, kernels=arm), candidates, settings) for arm in pairing.arms)
            if not (base.check.passed and new.check.passed):
                results = (base.result(problem, settings, None), new.result(problem, settings, None))
                return results[1], PairedTimes(base=results[0], blocks=())
            arms: dict[ArmName, tuple[Solver, Prepared]] = {
                "A": (base.solver, base.prepared),
                "B": (new.solver, new.prepared),
            }
            delay = None
            if pairing.delay_share:
                usual = median([sum(base.prepared.execute()) for _ in range(pairing.launches)]) or 0.0
                delay = calibrated(self._device, usual * pairing.delay_share)
            measured = run.execute_paired(arms, pairing.orders, pairing.launches, delay)
            result = new.result(problem, settings, measured.arms["B"])
            for record in closing_records(result):
                run.logger.write(record)
            of_base = base.result(problem, settings, measured.arms["A"])
            return result, PairedTimes(base=of_base, blocks=measured.blocks)

    def run_levels(
        self, problem: ConvProblem, *, solvers: Sequence[Solver], settings: Settings, levels: Levels
    ) -> tuple[Result, PairedTimes]:
        """Time a problem at two levels of the log, interleaved: what the log itself costs.

        Returns:
            The result at the second level, and that at the first one with the blocks.

        Raises:
            NotApplicableError: as `run`.
            DeviceError: as `run`.
        """
        silent = PerformanceLogger(0, levels.sink)
        with self._opened(problem, solvers, settings, silent) as (run, candidates):
            checked = self._checked(run, candidates, settings)
            if not checked.check.passed:
                wrong = checked.result(problem, settings, None)
                return wrong, PairedTimes(base=wrong, blocks=())

            def at_level(level: int) -> Callable[[], Measurement]:
                logged = replace(run, logger=PerformanceLogger(level, levels.sink))
                rule = StoppingRule.fixed(levels.launches)
                return lambda: logged.execute(checked.solver, checked.prepared, rule)

            cost = measure_log_cost({"A": at_level(levels.base), "B": at_level(levels.new)}, levels.orders)
            result, of_base = (checked.result(problem, settings, cost.arms[arm]) for arm in ("B", "A"))
            return result, PairedTimes(base=of_base, blocks=cost.blocks, record_seconds=cost.record_seconds)

    @contextlib.contextmanager
    def _opened(
        self, problem: ConvProblem, solvers: Sequence[Solver], settings: Settings, logger: PerformanceLogger
    ) -> Iterator[tuple[ConvRun, list[Solver]]]:
        """The problem's data on the device, which is this process's own while times are taken."""
        if problem.empty_reason:
            raise NotApplicableError(f"{problem} computes nothing: {problem.empty_reason}")
        plain = problem.canonical()
        candidates = self._applicable(plain, solvers)
        spare_bytes = self._spare_bytes(plain, settings)
        funding = Funding(nbytes={solver.name: solver.workspace_bytes(plain) for solver in candidates})
        with timed_section(self._device.info, self._tell) if settings.is_timed else contextlib.nullcontext():
            judge = _judge(plain, settings)
            buffers, funding = funded_buffers(
                self._device,
                plain,
                judge.operands,
                funding.within(spare_bytes),
                lambda workspace_bytes: self._cache_plan(plain, settings, spare_bytes, workspace_bytes),
            )
            with buffers, _interruption_logged(logger):
                run = ConvRun(
                    device=self._device,
                    problem=plain,
                    asked=problem,
                    buffers=buffers,
                    judge=judge,
                    logger=logger,
                    kernels=settings.kernels_dir,
                    compiled=self._compiled,
                    lacking=funding.lacking,
                    timing=self._timing(settings, buffers.caches),
                )
                yield run, candidates

    def _applicable(self, problem: ConvProblem, solvers: Sequence[Solver]) -> list[Solver]:
        refusals = {solver: solver.refusal(problem, self._device.info) for solver in solvers}
        candidates = [solver for solver, refusal in refusals.items() if refusal is None]
        if not candidates:
            reasons = summary(problem, {solver: refusal for solver, refusal in refusals.items() if refusal is not None})
            raise NotApplicableError(f"no solver applies to {problem}: {reasons or 'none was selected'}")
        return sorted(candidates, key=lambda solver: _FINDER_ORDER.index(solver.algorithm))

    def _spare_bytes(self, problem: ConvProblem, settings: Settings) -> int:
        """What a workspace may take beside the tensors.

        Raises:
            NotApplicableError: there is not even memory for the tensors.
        """
        free_bytes = self._device.free_memory_bytes()
        if settings.memory_bytes is not None:
            free_bytes = min(free_bytes, settings.memory_bytes)
        estimate = estimate_memory(problem, 0)
        shares_host = self._device.info.backend == "cpu"
        shortage = estimate.shortage(free_bytes=free_bytes, shares_host=shares_host)
        if shortage:
            raise NotApplicableError(f"{problem} is too big: {shortage}")
        return free_bytes - estimate.needed_bytes(shares_host=shares_host)

    def _cache_plan(
        self, problem: ConvProblem, settings: Settings, spare_bytes: int, workspace_bytes: int
    ) -> CachePlan:
        """How the caches are brought into their state, in what the tensors and the workspace leave of the memory.

        Raises:
            NotApplicableError: they cannot be.
        """
        if not settings.is_timed:
            return WARM
        info = self._device.info
        free_bytes = max(0, spare_bytes - workspace_bytes)
        return plan_caches(
            settings.cache_state,
            cache_bytes=info.cache_bytes,
            set_bytes=set_bytes(problem, workspace_bytes),
            free_bytes=free_bytes // 2 if info.backend == "cpu" else free_bytes,  # the host holds what it copies
            has_memory_side_cache=info.backend == "hip",
        )

    def _timing(self, settings: Settings, caches: CachePlan) -> Timing:
        if not settings.is_timed:
            return Timing()
        instruments = self._instruments()
        launches = LaunchRule(
            mode=settings.launch_mode,
            timer_step_seconds=instruments.timer_step_seconds or 0.0,
            can_batch=caches.state != "cold",
        )
        return Timing(launches=launches, instruments=instruments, cache_note=caches.note)

    def _instruments(self) -> Instruments:
        """The device's clock and sensors, found out about once, while the device is this process's own."""
        if self._known_instruments is None:
            found = self._sensor_of
            self._known_instruments = (
                Instruments() if found is None else instruments_of(self._device, found(self._device))
            )
        return self._known_instruments

    def _checked(self, run: ConvRun, candidates: Sequence[Solver], settings: Settings) -> Checked:
        chosen = self._chooser.choose(run, candidates, settings)
        prepared = run.prepare(chosen.choice.solver, chosen.choice.config)
        execute = prepared.execute if chosen.has_ended else None
        check, first_launch_seconds = run.validate(chosen.choice.solver, prepared, execute)
        return Checked(
            timing=run.timing,
            cache_mode=run.buffers.caches.state,
            chosen=chosen,
            prepared=prepared,
            check=check,
            compile_seconds=run.compile_seconds(prepared),
            first_launch_seconds=first_launch_seconds,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """How two versions are interleaved.

    Attributes:
        arms: Folders of kernel texts: of arm A, of arm B.
        orders: Of the arms in each block.
        launches: Of one slot of a block.
        delay_share: What arm B is slowed by, for the gate's own test: 0.02 is 2 %; 0 leaves it alone.
    """

    arms: tuple[Path, Path]
    orders: Sequence[Order]
    launches: int
    delay_share: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Levels:
    """How two levels of the log are interleaved.

    Attributes:
        base: The level of arm A.
        new: The level of arm B.
        orders: Of the arms in each block.
        launches: Of one slot of a block.
        sink: Takes the lines.
    """

    base: int
    new: int
    orders: Sequence[Order]
    launches: int
    sink: Callable[[str], object]


def _judge(problem: ConvProblem, settings: Settings) -> Judge:
    """Beside the kernels of the user's cache folder, or in the default one."""
    folder = default_cache_dir("checks") if settings.cache_dir is None else settings.cache_dir / "checks"
    return Judge(
        problem,
        seed=settings.seed,
        distribution=Distribution(settings.data),
        tolerance_factor=settings.tolerance,
        folder=folder,
    )


def _log_question(logger: PerformanceLogger, problem: ConvProblem, settings: Settings) -> None:
    """What was asked for, and the seed of the data, which is the one of every search too: as MIOpenDriver begins."""
    logger.write(CommandLine(command=problem.to_driver()))
    logger.write(PrngSeed(prng_seed=settings.seed))


@contextlib.contextmanager
def _interruption_logged(logger: PerformanceLogger) -> Iterator[None]:
    """Say in the log that what is missing was not forgotten."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        logger.write(ErrorLine(error=str(interrupt) or "interrupted"))
        raise


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
