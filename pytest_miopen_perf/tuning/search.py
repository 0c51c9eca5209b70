"""The search itself: the default first, then the others in order; the last few race."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from pytest_miopen_perf import statistics
from pytest_miopen_perf.errors import SearchInterrupted
from pytest_miopen_perf.results import TrialStatus, Tuning
from pytest_miopen_perf.tuning.compiling import compiled_batches, results_in_time
from pytest_miopen_perf.tuning.order import ORDERS
from pytest_miopen_perf.tuning.race import finalists, race, ties, winner
from pytest_miopen_perf.tuning.ranking import Tally, fastest
from pytest_miopen_perf.tuning.rule import progress_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pytest_miopen_perf.results import Trial
    from pytest_miopen_perf.solvers import PerformanceConfig
    from pytest_miopen_perf.tuning.compiling import CompilePlan
    from pytest_miopen_perf.tuning.order import Order
    from pytest_miopen_perf.tuning.race import RaceTimes
    from pytest_miopen_perf.tuning.rule import Progress, SearchEnd, SearchRule


class Clock(Protocol):
    """Something that tells the time in seconds."""

    def __call__(self) -> float:
        """Seconds since some fixed moment."""


class Candidate(Protocol):
    """A config that a compiler has seen."""

    @property
    def config(self) -> str:
        """The config's text."""

    @property
    def is_known(self) -> bool:
        """Whether its trial is of an earlier search, so that this one spends no time on it."""

    def prove(self, best: Trial | None) -> None:
        """Execute it once and check its numbers, while others may still compile.

        Whatever goes wrong, compiling included, is the outcome of the trial and never raised.
        """

    def trial(self, best: Trial | None) -> Trial:
        """Measure it as far as it is worth it: until it is clear that it is worse than the best so far."""

    def sample(self) -> float:
        """Execute once more; the device's seconds.

        Raises:
            LaunchError: it did not come to its end, or the device's clock cannot be believed.
        """


class Search:
    """One search over the configs of one solver.

    Args:
        solver: The solver's name.
        compile_config: Makes a candidate of a config; several threads call it, and it raises nothing of the device.
        plan: Threads, and what may overlap.
        rule: Limits and seed.
        clock: The time for the budget.
        report: Told of each step.
    """

    def __init__(
        self,
        *,
        solver: str,
        compile_config: Callable[[PerformanceConfig], Candidate],
        plan: CompilePlan,
        rule: SearchRule,
        clock: Clock,
        report: Callable[[Progress], None],
    ) -> None:
        self._solver = solver
        self._compile = compile_config
        self._plan = plan
        self._rule = rule
        self._clock = clock
        self._report = report
        self._start = clock()
        self._tally = Tally()
        self._candidates: dict[str, Candidate] = {}

    def run(
        self,
        *,
        default: PerformanceConfig,
        known: PerformanceConfig | None = None,
        configs: Iterable[PerformanceConfig],
    ) -> Tuning:
        """Try the default, then what is known, then the other configs in the order of the strategy; the best few race.

        Args:
            default: The config of an untuned run; tried first, so that every search can tell its gain.
            known: The config of an earlier search, which like the default stays unless it is beaten.
            configs: Every valid config; none at all leaves the default.

        Raises:
            SearchInterrupted: on an interrupt, telling how far it had come.
        """
        valid = dict.fromkeys(configs)
        standing = [default] if known is None else [default, known]
        space = len({**valid, **dict.fromkeys(standing)})
        total = min(space, self._rule.max_configs)
        texts = [config.serialize() for config in standing]
        try:
            cut_by = self._try_all(ORDERS[self._rule.strategy](standing, valid, self._rule.seed), total)
            times = self._race(texts, total)
        except KeyboardInterrupt:
            raise SearchInterrupted(self._story(total)) from None
        trials = [_raced(trial, times) for trial in self._tally.trials]
        best = winner(times.seconds, texts) or _fastest_config(trials) or texts[0]
        return Tuning(
            solver=self._solver,
            default_config=texts[0],
            best_config=best,
            ties=ties(times.seconds, best) if best in times.seconds else (),
            trials=tuple(trials),
            valid_configs=len(valid),
            seconds=self._elapsed(),
            stopped_by=cut_by or ("exhausted" if total == space else "count"),
            seed=self._rule.seed,
            known_before=self._tally.known_before,
        )

    def _try_all(self, order: Order, total: int) -> SearchEnd | None:
        """Try config after config; the limit that ended it before the total."""
        self._tell(total)
        with contextlib.closing(compiled_batches(self._batches(order, total), self._compile, self._plan)) as batches:
            for futures in batches:
                ready = []
                for candidate in results_in_time(futures, self._seconds_left):
                    candidate.prove(self._tally.best)
                    ready.append(candidate)
                for candidate in ready:
                    if cut_by := self._rule.why_stop(self._tally.trials, self._elapsed()):
                        return cut_by
                    self._try(candidate)
                    self._tell(total)
        return None

    def _try(self, candidate: Candidate) -> None:
        trial = candidate.trial(self._tally.best)
        self._tally.add(trial, is_known=candidate.is_known)
        if not trial.is_failed:
            self._candidates[candidate.config] = candidate

    def _batches(self, order: Order, total: int) -> Iterator[list[PerformanceConfig]]:
        """The first config by itself: once it is measured, a hang of the others is told from patience."""
        size, begun = 1, 0
        while batch := order.propose(min(size, total - begun), self._tally.trials):
            yield batch
            size, begun = self._plan.batch_size(total), begun + len(batch)

    def _race(self, standing: Sequence[str], total: int) -> RaceTimes:
        racers = finalists([trial for trial in self._tally.trials if trial.status is TrialStatus.MEASURED], standing)
        if racers:
            self._tell(total, len(racers))
        return race({config: self._candidates[config] for config in racers})

    def _tell(self, total: int, racers: int = 0) -> None:
        self._report(progress_of(self._solver, self._tally, total, self._elapsed(), self._rule, finalists=racers))

    def _story(self, total: int) -> str:
        """How far an interrupted search had come."""
        leader, tried = self._tally.best, len(self._tally.trials)
        best = "none was measured" if leader is None else f"the best so far is {leader.config}"
        return f"interrupted in the search of {self._solver}: {tried} of {total} configs were tried, {best}"

    def _elapsed(self) -> float:
        return self._clock() - self._start

    def _seconds_left(self) -> float:
        return self._rule.budget_seconds - self._elapsed()


def _raced(trial: Trial, times: RaceTimes) -> Trial:
    """The trial with what the race made of it: fresh samples, which nobody was chosen by."""
    if trial.config in times.failures:
        return replace(
            trial,
            status=TrialStatus.LAUNCH_FAILED,
            median_seconds=None,
            samples=0,
            noise=None,
            reason=times.failures[trial.config],
        )
    if trial.config not in times.seconds:
        return trial
    seconds = times.seconds[trial.config]
    return replace(
        trial,
        median_seconds=statistics.median(seconds),
        samples=len(seconds),
        noise=statistics.relative_iqr(seconds),
    )


def _fastest_config(trials: Sequence[Trial]) -> str | None:
    leader = fastest(trials)
    return None if leader is None else leader.config
