"""What a session finds, kept on disk as long as that can be written; a full disk costs no measurement.

Reading a data base that is none stays an error: whoever names it expects it to be read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_miopen_perf.errors import DatabaseError
from pytest_miopen_perf.tuning.past_trials import nothing_past

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_miopen_perf.database.find_db import FindEntry
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.running.tuned import TunedConfigs
    from pytest_miopen_perf.tuning.past_trials import PastTrials, TrialStore


class LastingConfigs:
    """Tuned configs of a data base; what cannot be written there is known to the session alone.

    Args:
        stored: The data base.
        session: Takes what cannot be written.
        report: Is told in one sentence when something cannot; the same sentence once.
    """

    def __init__(self, stored: TunedConfigs, session: TunedConfigs, report: Callable[[str], None]) -> None:
        self._stored = stored
        self._session = session
        self._report = report
        self._told: set[str] = set()

    def config(self, solver_name: str, problem: ConvProblem) -> str | None:
        """The session's, which is newer, or else the stored one."""
        return self._session.config(solver_name, problem) or self._stored.config(solver_name, problem)

    def remember(self, solver_name: str, problem: ConvProblem, config_text: str, median_seconds: float) -> None:
        """Keep a tuned config with what it was measured at."""
        self._session.forget(solver_name, problem)
        self._write(lambda kept: kept.remember(solver_name, problem, config_text, median_seconds))

    def forget(self, solver_name: str, problem: ConvProblem) -> None:
        """Drop a tuned config; one that is stored where nothing can be written stays until another is remembered."""
        self._session.forget(solver_name, problem)
        self._write(lambda kept: kept.forget(solver_name, problem))

    def find(self, problem: ConvProblem) -> tuple[FindEntry, ...]:
        """The solvers that a stored Find measured, the fastest first."""
        return self._stored.find(problem)

    def remember_find(self, problem: ConvProblem, rows: Sequence[FindEntry]) -> None:
        """Keep what a Find measured."""
        self._write(lambda kept: kept.remember_find(problem, rows))

    def _write(self, change: Callable[[TunedConfigs], None]) -> None:
        try:
            change(self._stored)
        except DatabaseError as error:
            if str(error) not in self._told:
                self._told.add(str(error))
                self._report(str(error))
            change(self._session)


class LastingTrials:
    """Trials on disk; once one cannot be written, that is told and the session's others are not written either.

    Args:
        stored: The trials on disk.
        report: Is told in one sentence when they cannot be written.
    """

    def __init__(self, stored: TrialStore, report: Callable[[str], None]) -> None:
        self._stored = stored
        self._report = report
        self._is_lost = False
        self._forgotten: set[tuple[str, ConvProblem]] = set()

    def past(self, solver_name: str, problem: ConvProblem) -> PastTrials:
        """What is known of a solver on a problem, and where what comes is kept."""
        stored = self._stored.past(solver_name, problem)
        known = nothing_past() if (solver_name, problem) in self._forgotten else stored
        return known.kept_by(lambda build, trial: self._write(lambda: stored.keep(build, trial)))

    def conclude(self, solver_name: str, problem: ConvProblem) -> None:
        """Drop what a search measured."""
        self._write(lambda: self._stored.conclude(solver_name, problem))

    def forget(self, solver_name: str, problem: ConvProblem) -> None:
        """Drop everything of a solver on a problem, also where the file keeps it."""
        self._forgotten.add((solver_name, problem))
        self._write(lambda: self._stored.forget(solver_name, problem))
        if not self._is_lost:
            self._forgotten.discard((solver_name, problem))

    def _write(self, change: Callable[[], None]) -> None:
        if self._is_lost:
            return
        try:
            change()
        except DatabaseError as error:
            self._is_lost = True
            self._report(str(error))
