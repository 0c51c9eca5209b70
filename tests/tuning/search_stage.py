"""A space of configs on which a function says how long each takes: what the tests of a search search."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_miopen_perf.errors import LaunchError
from pytest_miopen_perf.results import Trial, TrialStatus
from pytest_miopen_perf.solvers import PerformanceConfig
from pytest_miopen_perf.tuning.compiling import CompilePlan
from pytest_miopen_perf.tuning.rule import SearchRule
from pytest_miopen_perf.tuning.search import Search


@dataclass(frozen=True, slots=True)
class Tile(PerformanceConfig):
    """Two numbers."""

    rows: int
    columns: int = 0


def measured(config: str, seconds: float, **more: object) -> Trial:
    return Trial(solver="S", config=config, status=TrialStatus.MEASURED, median_seconds=seconds, **more)


def failed(config: str, status: TrialStatus = TrialStatus.COMPILE_FAILED) -> Trial:
    return Trial(solver="S", config=config, status=status, reason="no")


class FakeCandidate:
    """Takes the time that `seconds` gives, or fails where it gives None; in a race it takes `raced`."""

    def __init__(self, tile: Tile, seconds, raced, is_known=False) -> None:
        self.tile, self.config, self.is_known = tile, tile.serialize(), is_known
        self._seconds, self._raced = seconds, raced
        self._is_proved = False

    def prove(self, best: Trial | None) -> None:
        self._is_proved = True

    def trial(self, best: Trial | None) -> Trial:
        assert self._is_proved, "its numbers are checked before it is measured"
        seconds = self._seconds(self.tile)
        return failed(self.config) if seconds is None else measured(self.config, seconds, samples=3)

    def sample(self) -> float:
        seconds = self._raced(self.tile)
        if seconds is None:
            raise LaunchError("fell over")
        return seconds


QUIET = CompilePlan(threads=2, batches_ahead=0)


class Stage:
    """Runs searches on fakes, in as many threads as the plan says."""

    def __init__(self) -> None:
        self.steps = []
        self.tried = []

    def search(
        self,
        seconds=lambda tile: 1.0 + tile.rows,
        *,
        raced=None,
        configs=tuple(Tile(rows) for rows in range(10)),
        default=Tile(3),
        known=None,
        clock=lambda: 0.0,
        plan=QUIET,
        known_before=(),
        **rule,
    ):
        def counted(tile):
            self.tried.append(tile)
            return seconds(tile)

        rule = SearchRule(**{"max_configs": 100, "budget_seconds": 10.0, "seed": 1} | rule)
        return Search(
            solver="S",
            compile_config=lambda tile: FakeCandidate(tile, counted, raced or seconds, tile in known_before),
            plan=plan,
            rule=rule,
            clock=clock,
            report=self.steps.append,
        ).run(default=default, known=known, configs=iter(configs))
