"""What was tried before: configs that failed are not tried again, and a search that was interrupted goes on.

A trial is good for the build that it tried: kernel text, macros, compiler and device. With another build it is as if it
had never been.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.results import Trial

FAILED_BEFORE = "failed before: "
"""How the reason of a trial begins that an earlier search made."""


class PastTrials:
    """The trials of one solver on one problem. Any thread may ask.

    Args:
        trials: The build and the trial of each config.
        keep: Takes the build and the trial of a config that has now been tried.
    """

    def __init__(self, trials: Mapping[str, tuple[str, Trial]], keep: Callable[[str, Trial], None]) -> None:
        self._trials = trials
        self._keep = keep

    def known(self, config: str, build: str) -> Trial | None:
        """How the config's trial ended, where this very build was tried; a failure says that it is an old one."""
        of_build, trial = self._trials.get(config, ("", None))
        if trial is None or of_build != build:
            return None
        return replace(trial, reason=f"{FAILED_BEFORE}{trial.reason}") if trial.is_failed else trial

    def keep(self, build: str, trial: Trial) -> None:
        """Remember a trial.

        Raises:
            DatabaseError: it cannot be written.
        """
        self._keep(build, trial)

    def kept_by(self, keep: Callable[[str, Trial], None]) -> PastTrials:
        """The same, with somebody else to take the trials that come."""
        return PastTrials(self._trials, keep)


def nothing_past() -> PastTrials:
    """Of a search that neither knows nor keeps anything."""
    return PastTrials({}, lambda build, trial: None)  # noqa: ARG005 - forgotten


class TrialStore(Protocol):
    """Trials by solver, problem and config."""

    def past(self, solver_name: str, problem: ConvProblem) -> PastTrials:
        """What is known of a solver on a problem, and where what comes is kept."""

    def conclude(self, solver_name: str, problem: ConvProblem) -> None:
        """A search has come to its end: what it measured is of no more use, what failed still is."""

    def forget(self, solver_name: str, problem: ConvProblem) -> None:
        """Drop everything of a solver on a problem."""


class SessionTrials:
    """In memory: what failed is not tried again for a second case of the same problem."""

    def __init__(self) -> None:
        self._trials: dict[tuple[str, ConvProblem], dict[str, tuple[str, Trial]]] = {}

    def past(self, solver_name: str, problem: ConvProblem) -> PastTrials:
        """Of this session."""
        trials = self._trials.setdefault((solver_name, problem), {})

        def keep(build: str, trial: Trial) -> None:
            trials[trial.config] = build, trial

        return PastTrials(dict(trials), keep)

    def conclude(self, solver_name: str, problem: ConvProblem) -> None:
        """Only failures stay."""
        trials = self._trials.get((solver_name, problem), {})
        self._trials[solver_name, problem] = {
            config: (build, trial) for config, (build, trial) in trials.items() if trial.is_failed
        }

    def forget(self, solver_name: str, problem: ConvProblem) -> None:
        """Drop everything of a solver on a problem."""
        self._trials.pop((solver_name, problem), None)
