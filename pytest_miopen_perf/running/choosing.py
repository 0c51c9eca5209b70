"""Which solver computes a problem, and with which config: given, known, searched for, or the default."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from pytest_miopen_perf.errors import LaunchError, NotApplicableError, SettingsError
from pytest_miopen_perf.find_variables import FindVariables, find_time, find_variables
from pytest_miopen_perf.results import Trial, TrialStatus
from pytest_miopen_perf.running.tuned import find_rows
from pytest_miopen_perf.settings import TunePolicy
from pytest_miopen_perf.solvers.selection import is_valid_config
from pytest_miopen_perf.tuning.past_trials import FAILED_BEFORE, SessionTrials, TrialStore
from pytest_miopen_perf.tuning.ranking import fastest
from pytest_miopen_perf.tuning.rule import SearchRule

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from pytest_miopen_perf.results import Tuning
    from pytest_miopen_perf.running.conv_run import ConvRun
    from pytest_miopen_perf.running.tuned import TunedConfigs
    from pytest_miopen_perf.settings import Settings
    from pytest_miopen_perf.solvers import PerformanceConfig, Solver
    from pytest_miopen_perf.tuning.rule import Progress

SearchDisplay = Callable[[], "AbstractContextManager[Callable[[Progress], None]]"]
"""Opens a display for one search: what comes out of it is told of each step."""


@contextlib.contextmanager
def no_display() -> Iterator[Callable[[Progress], None]]:
    """Show nothing."""
    yield lambda progress: None  # noqa: ARG005 - told and forgotten


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """A solver, its config, and where the config comes from: "default", "tuned" or "given".

    Attributes:
        memory_note: Why it is not what would have been chosen with more memory for workspaces; "" when it is.
    """

    solver: Solver
    config: PerformanceConfig
    origin: str
    memory_note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chosen:
    """The choice, and what was tried on the way to it.

    Attributes:
        choice: What runs.
        tunings: The searches.
        trials: The comparison, and behind it the solvers for which there was no memory.
        memory_note: What was passed over for want of memory, and why; "" when nothing was.
    """

    choice: Choice
    tunings: tuple[Tuning, ...] = ()
    trials: tuple[Trial, ...] = ()
    memory_note: str = ""

    @property
    def attempts(self) -> Iterator[Trial]:
        """Every trial of the choice."""
        case = self.choice.solver.name, self.choice.config.serialize()
        for trial in (*(trial for tuning in self.tunings for trial in tuning.trials), *self.trials):
            if (trial.solver, trial.config) == case:
                yield trial

    @property
    def has_ended(self) -> bool:
        """Whether somebody has seen it end, so that it may be executed in this process."""
        return any(trial.status in (TrialStatus.MEASURED, TrialStatus.CHECKED) for trial in self.attempts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Chooser:
    """Chooses by what is known, and makes known what it finds.

    Attributes:
        tuned: What is known.
        tried: What searches tried, of this session or of earlier ones.
        display: Shows a search.
        find_variables: What the log says of the environment beside the time of a comparison.
    """

    tuned: TunedConfigs
    tried: TrialStore = field(default_factory=SessionTrials)
    display: SearchDisplay = no_display
    find_variables: FindVariables = field(default_factory=lambda: find_variables({}))

    def choose(self, run: ConvRun, candidates: Sequence[Solver], settings: Settings) -> Chosen:
        """Search what is to be searched, then take the fastest solver for whose workspace there is memory.

        Raises:
            SettingsError: the given config is not valid for a solver.
            ConfigError: the given config does not parse.
            NotApplicableError: there is no memory for the workspace of any solver.
            LaunchError: nothing works, and what is left hung or crashed when it was tried.
        """
        start = time.perf_counter()
        tunings = tuple(
            self._search(run, solver, settings) for solver in candidates if self._is_searched(run, solver, settings)
        )
        wanted = [self._choice(run, solver, settings) for solver in candidates]
        choices = [fitting for choice in wanted if (fitting := _fitting(run, choice)) is not None]
        passed_over = _passed_over(run, [choice.solver for choice in wanted], choices)
        note = "; ".join([*(choice.memory_note for choice in choices if choice.memory_note), *map(_note, passed_over)])
        if not choices:
            raise NotApplicableError(f"{run.asked} cannot be computed: {note}")
        chosen = self._fastest(run, choices, settings, start, is_searched=bool(tunings))
        chosen = replace(chosen, tunings=tunings, trials=(*chosen.trials, *passed_over), memory_note=note)
        _refuse_what_did_not_end(chosen)
        return chosen

    def _fastest(
        self, run: ConvRun, choices: Sequence[Choice], settings: Settings, start: float, *, is_searched: bool
    ) -> Chosen:
        """By a stored comparison where nothing has changed since, else by one that begins now."""
        if len(choices) == 1:
            return Chosen(choice=choices[0])
        known = None if is_searched else self._known_winner(run, choices, settings)
        if known is not None:
            return Chosen(choice=known)
        trials = self._compare(run, choices, settings)
        if settings.is_timed:
            run.logger.write(find_time(run.asked.direction, time.perf_counter() - start, self.find_variables))
        return Chosen(choice=choices[_winner(trials)], trials=trials)

    def _is_searched(self, run: ConvRun, solver: Solver, settings: Settings) -> bool:
        if settings.tune is TunePolicy.OFF or settings.config is not None or solver.name in run.lacking:
            return False
        is_tunable = bool(solver.default_config(run.problem, run.device.info).serialize())
        return is_tunable and (settings.tune is TunePolicy.FORCE or self.tuned.config(solver.name, run.problem) is None)

    def _search(self, run: ConvRun, solver: Solver, settings: Settings) -> Tuning:
        rule = SearchRule(
            max_configs=settings.tune_max_configs,
            budget_seconds=settings.tune_budget_seconds,
            patience=settings.tune_patience,
            seed=settings.seed,
            strategy=settings.tune_strategy,
        )
        text = self.tuned.config(solver.name, run.problem)
        known = None if text is None else solver.parse_config(text)
        if settings.tune is TunePolicy.FORCE:
            self.tried.forget(solver.name, run.problem)
        with self.display() as report:
            tuning = run.search(solver, rule, report, known, self.tried.past(solver.name, run.problem))
        seconds = tuning.median_seconds(tuning.best_config)
        if seconds is not None:
            if settings.tune is TunePolicy.FORCE:
                self.tuned.forget(solver.name, run.problem)
            self.tuned.remember(solver.name, run.problem, tuning.best_config, seconds)
        self.tried.conclude(solver.name, run.problem)
        return tuning

    def _choice(self, run: ConvRun, solver: Solver, settings: Settings) -> Choice:
        default = solver.default_config(run.problem, run.device.info)
        if settings.config is not None and default.serialize():
            return Choice(solver=solver, config=_given_config(run, solver, settings.config), origin="given")
        text = None if settings.tune is TunePolicy.OFF else self.tuned.config(solver.name, run.problem)
        if text is None:
            return Choice(solver=solver, config=default, origin="default")
        return Choice(solver=solver, config=solver.parse_config(text), origin="tuned")

    def _known_winner(self, run: ConvRun, choices: Sequence[Choice], settings: Settings) -> Choice | None:
        """The fastest solver of a stored Find, as a hit in MIOpen's find-db.

        It must have measured every candidate of today: a solver that is new since may be the fastest, and one that
        failed then may have been mended.
        """
        if settings.tune is not TunePolicy.MISSING or settings.config is not None:
            return None
        by_name = {choice.solver.name: choice for choice in choices}
        names = [row.solver for row in self.tuned.find(run.problem)]
        if not by_name.keys() <= set(names):
            return None
        return next(by_name[name] for name in names if name in by_name)

    def _compare(self, run: ConvRun, choices: Sequence[Choice], settings: Settings) -> tuple[Trial, ...]:
        pairs = [(choice.solver, choice.config) for choice in choices]
        if not settings.is_timed:
            return run.validate_all(pairs)
        trials = run.compare(pairs)
        if settings.tune is not TunePolicy.OFF:
            self.tuned.remember_find(run.problem, find_rows(trials, [solver for solver, _ in pairs], run.problem))
        return trials


def _refuse_what_did_not_end(chosen: Chosen) -> None:
    """Not to execute, where it would end the session, what hung or crashed in a child process.

    Raises:
        LaunchError: it did, in the words of its trial.
    """
    for trial in chosen.attempts:
        if trial.status is TrialStatus.LAUNCH_FAILED:
            is_old = trial.reason.startswith(FAILED_BEFORE)
            raise LaunchError(f"{trial.reason}; --miopen-perf-tune=force tries it again" if is_old else trial.reason)


def _fitting(run: ConvRun, choice: Choice) -> Choice | None:
    """The choice where its workspace is there or not needed, else with the default config if that needs none."""
    reason = run.lacking.get(choice.solver.name)
    if reason is None or not run.solution(choice.solver, choice.config).uses_workspace:
        return choice
    default = choice.solver.default_config(run.problem, run.device.info)
    if choice.origin != "tuned" or run.solution(choice.solver, default).uses_workspace:
        return None
    note = f"{choice.solver.name} runs with its default config: {choice.config.serialize()} {reason}"
    return Choice(solver=choice.solver, config=default, origin="default", memory_note=note)


def _passed_over(run: ConvRun, solvers: Sequence[Solver], choices: Sequence[Choice]) -> list[Trial]:
    """A row for each solver that has no choice, for want of memory."""
    chosen = {choice.solver.name for choice in choices}
    left_out = [solver for solver in solvers if solver.name not in chosen]
    for solver in left_out:
        run.log_passed_over(solver)
    return [
        Trial(solver=solver.name, config="", status=TrialStatus.NO_MEMORY, reason=run.lacking[solver.name])
        for solver in left_out
    ]


def _note(trial: Trial) -> str:
    return f"{trial.solver} is passed over: it {trial.reason}"


def _given_config(run: ConvRun, solver: Solver, text: str) -> PerformanceConfig:
    config = solver.parse_config(text)
    if not is_valid_config(solver, run.problem, run.device.info, config):
        raise SettingsError(f"the config {text} is not valid for {solver.name} on {run.problem}")
    return config


def _winner(trials: Sequence[Trial]) -> int:
    """The index of the fastest trial; the first where none was measured, so that its failure is told in full."""
    leader = fastest(trials)
    return 0 if leader is None else trials.index(leader)
