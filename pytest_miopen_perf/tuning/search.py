"""The search itself: the default first, then the others in order; the last few race."""

from __future__ import annotations

import contextlib
import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from pytest_miopen_perf import statistics
from pytest_miopen_perf.results import TrialStatus, Tuning
from pytest_miopen_perf.tuning.compiling import compiled_batches
from pytest_miopen_perf.tuning.order import ORDERS
from pytest_miopen_perf.tuning.race import finalists, race, ties, winner
from pytest_miopen_perf.tuning.ranking import fastest
from pytest_miopen_perf.tuning.rule import progress_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

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

    def trial(self, best: Trial | None) -> Trial:
        """Check it, and measure it unless one execution tells that it is clearly worse than the best so far.

        Whatever goes wrong, compiling included, is the outcome of the trial and never raised.
        """

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

    def run(
        self,
        *,
        default: PerformanceConfig,
        known: PerformanceConfig | None = None,
        configs: Iterable[PerformanceConfig],
    ) -> Tuning:
        """Try the default, then what is known, then the other configs in a seeded shuffle; let the last few race.

        Args:
            default: The config of an untuned run; tried first, so that every search can tell its gain.
            known: The config of an earlier search, which like the default stays unless it is beaten.
            configs: Every valid config; none at all leaves the default.
        """
        valid = dict.fromkeys(configs)
        standing = [default] if known is None else [default, known]
        space = len({**valid, **dict.fromkeys(standing)})
        total = min(space, self._rule.max_configs)
        order = ORDERS[self._rule.strategy](standing, valid, self._rule.seed)
        trials, candidates, cut_by = self._try_all(order, total)
        texts = [config.serialize() for config in standing]
        times = self._race(trials, candidates, texts, total)
        trials = [_raced(trial, times) for trial in trials]
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
        )

    def _try_all(self, order: Order, total: int) -> tuple[list[Trial], dict[str, Candidate], SearchEnd | None]:
        """The trials, their candidates, and the limit that ended it before the total."""
        trials: list[Trial] = []
        candidates: dict[str, Candidate] = {}
        self._report(progress_of(self._solver, trials, total, 0.0, self._rule))
        batches = compiled_batches(self._batches(order, total, trials), self._compile, self._plan, self._seconds_left)
        with contextlib.closing(batches):
            for future in itertools.chain.from_iterable(batches):
                if cut_by := self._rule.why_stop(trials, self._elapsed()):
                    return trials, candidates, cut_by
                candidate = future.result()
                trials.append(candidate.trial(fastest(trials)))
                if not trials[-1].is_failed:
                    candidates[candidate.config] = candidate
                self._report(progress_of(self._solver, trials, total, self._elapsed(), self._rule))
        return trials, candidates, None

    def _batches(self, order: Order, total: int, trials: Sequence[Trial]) -> Iterator[list[PerformanceConfig]]:
        begun = 0
        while batch := order.propose(min(self._plan.batch_size, total - begun), trials):
            begun += len(batch)
            yield batch

    def _race(
        self, trials: Sequence[Trial], candidates: Mapping[str, Candidate], standing: Sequence[str], total: int
    ) -> RaceTimes:
        racers = finalists([trial for trial in trials if trial.status is TrialStatus.MEASURED], standing)
        if racers:
            self._report(progress_of(self._solver, trials, total, self._elapsed(), self._rule, len(racers)))
        return race({config: candidates[config] for config in racers})

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
