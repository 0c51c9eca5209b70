"""What searches and comparisons found, for the runner to ask: in memory for one session, or in a data base on disk."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from pytest_miopen_perf.database.store import TunedStore, config_validator, device_base_name, find_row, warn
from pytest_miopen_perf.results import TrialStatus
from pytest_miopen_perf.running.lasting import LastingConfigs, LastingTrials
from pytest_miopen_perf.tuning.past_trials import SessionTrials, TrialStore
from pytest_miopen_perf.tuning.trial_file import TrialFile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_miopen_perf.database.find_db import FindEntry
    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.results import Trial
    from pytest_miopen_perf.settings import Settings
    from pytest_miopen_perf.solvers import Solver


class TunedConfigs(Protocol):
    """Configs by solver and canonical problem, and the ranking of solvers by problem."""

    def config(self, solver_name: str, problem: ConvProblem) -> str | None:
        """The tuned config's text; None when there is none that is valid."""

    def remember(self, solver_name: str, problem: ConvProblem, config_text: str, median_seconds: float) -> None:
        """Keep a tuned config with what it was measured at."""

    def forget(self, solver_name: str, problem: ConvProblem) -> None:
        """Drop a tuned config, so that whatever is remembered next stays."""

    def find(self, problem: ConvProblem) -> tuple[FindEntry, ...]:
        """The solvers that a Find measured, the fastest first; () when there was none."""

    def remember_find(self, problem: ConvProblem, rows: Sequence[FindEntry]) -> None:
        """Keep what a Find measured."""


class SessionConfigs:
    """In memory: a second case of the same problem need not search again. Find results are not kept."""

    def __init__(self) -> None:
        self._configs: dict[tuple[str, ConvProblem], str] = {}

    def config(self, solver_name: str, problem: ConvProblem) -> str | None:
        """The config of this session's search."""
        return self._configs.get((solver_name, problem))

    def remember(self, solver_name: str, problem: ConvProblem, config_text: str, median_seconds: float) -> None:  # noqa: ARG002 - the newest search stands
        """Keep a tuned config in place of an older one."""
        self._configs[solver_name, problem] = config_text

    def forget(self, solver_name: str, problem: ConvProblem) -> None:
        """Drop a tuned config."""
        self._configs.pop((solver_name, problem), None)

    def find(self, problem: ConvProblem) -> tuple[FindEntry, ...]:  # noqa: ARG002 - none are kept
        """Nothing."""
        return ()

    def remember_find(self, problem: ConvProblem, rows: Sequence[FindEntry]) -> None:
        """Keep nothing: what another solver of this session is worth is measured beside it."""


def tuned_configs(settings: Settings, info: DeviceInfo, solvers: Sequence[Solver]) -> TunedConfigs:
    """The data base that `--miopen-perf-db` names, else the session's memory."""
    if settings.db_dir is None:
        return SessionConfigs()
    stored = TunedStore(settings.db_dir, info, validate=config_validator(solvers, info))
    return LastingConfigs(stored, SessionConfigs(), warn)


def tried_configs(settings: Settings, info: DeviceInfo) -> TrialStore:
    """What searches tried: beside the tuned configs where they are kept on disk, else of this session."""
    if settings.db_dir is None:
        return SessionTrials()
    return LastingTrials(TrialFile(settings.db_dir, device_base_name(info), report=warn), warn)


def find_rows(trials: Sequence[Trial], solvers: Sequence[Solver], problem: ConvProblem) -> list[FindEntry]:
    """The measured trials of a comparison as rows of a find-db."""
    by_name = {solver.name: solver for solver in solvers}
    return [
        find_row(by_name[trial.solver], problem, trial.median_seconds)
        for trial in trials
        if trial.status is TrialStatus.MEASURED and trial.median_seconds is not None
    ]
