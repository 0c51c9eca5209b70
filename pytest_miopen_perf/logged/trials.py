"""What a run of a log tried before its timed run: solvers that were compared, and configs that were searched."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pytest_miopen_perf.driver.directions import solver_direction
from pytest_miopen_perf.results import Trial, TrialStatus, Tuning
from pytest_miopen_perf.statistics import relative_iqr

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_miopen_perf.driver.pairing import Run, TriedConfig
    from pytest_miopen_perf.problem import Direction


class LoggedTrials:
    """The trials of a run, of which those of one direction can be asked for.

    Args:
        run: The run.
        directions: How many directions it was asked for.
    """

    def __init__(self, run: Run, directions: int) -> None:
        self._is_of_one_direction = directions == 1
        self._compared = list(run.comparisons.values())
        self._searched = run.searched

    def compared(self, direction: Direction) -> tuple[Trial, ...]:
        """The solvers that were compared."""
        return tuple(_trial(tried) for tried in self._of(direction, self._compared))

    def searched(self, direction: Direction) -> tuple[Tuning, ...]:
        """The searches, one a solver; of what it took, could have tried and was seeded with a log tells nothing.

        A config that stands there twice was timed again in a last race, side by side with its rivals.
        """
        searches: dict[str, dict[str, Trial]] = {}
        for tried in self._of(direction, self._searched):
            searches.setdefault(tried.solution, {}).setdefault(tried.descriptor, _trial(tried))
        return tuple(self._tuning(solver, list(trials.values())) for solver, trials in searches.items())

    def _of(self, direction: Direction, all_tried: Iterable[TriedConfig]) -> Iterable[TriedConfig]:
        """Where there are several directions only a solver whose name states its own can be told."""
        return (
            tried for tried in all_tried if self._is_of_one_direction or solver_direction(tried.solution) is direction
        )

    def _tuning(self, solver: str, trials: list[Trial]) -> Tuning:
        measured = [(trial.median_seconds, trial.config) for trial in trials if trial.median_seconds is not None]
        return Tuning(
            solver=solver,
            default_config="",
            best_config=min(measured)[1] if measured else "",
            trials=tuple(trials),
            valid_configs=0,
            seconds=0.0,
            stopped_by="",
            seed=None,
        )


def _trial(tried: TriedConfig) -> Trial:
    is_measured = math.isfinite(tried.median_ms)
    return Trial(
        solver=tried.solution,
        config=tried.descriptor,
        status=TrialStatus.MEASURED if is_measured else TrialStatus.LAUNCH_FAILED,
        median_seconds=float(f"{tried.median_ms / 1e3:.6g}") if is_measured else None,
        reason="" if is_measured else "the log has no valid time of it",
        samples=len(tried.steady_ms),
        noise=relative_iqr(tried.steady_ms) if len(tried.steady_ms) > 1 else None,
    )
