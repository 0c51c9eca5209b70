"""Which lines of a log belong together: the runs of a log, and in a run the figures of stdout with those of stderr.

No line says which problem it belongs to, and a solution record may appear long after its work. What can be relied on is
the order: the i-th config of all execution records belongs to the i-th performance line.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from pytest_miopen_perf.driver.figures import steady_times
from pytest_miopen_perf.errors import DriverLineError
from pytest_miopen_perf.problems.driver_line import parse_command
from pytest_miopen_perf.records import CommandLine, FindTime, KernelPhase, Performance, SolutionRecord
from pytest_miopen_perf.statistics import driver_average_ms, measured_ms, median

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_miopen_perf.driver.log_item import LogItem
    from pytest_miopen_perf.records import ConfigRecord

DEFAULT_ITERATIONS = 10
"""Timed runs of MIOpenDriver without `-i`."""

FIND_SAMPLES = 7
"""Times of one config in a comparison of solvers by Find."""

_AVERAGE_TOLERANCE = 3e-5
_DIRECTIONS = 3
_LONGEST_WITHOUT_COMMAND = 1000
_PROBED = 2
_MOST_SEARCHED = 100_000  # more than any search has tried; memory has to have a limit


class PlacedPerformance(NamedTuple):
    """A performance line and where it stands."""

    source: str
    line_number: int
    record: Performance

    @property
    def solver(self) -> str:
        """The solver's name, without its id."""
        return self.record.solution.partition("/")[2]


class PlacedConfig(NamedTuple):
    """A config, the solver of its record, and where the record stands."""

    source: str
    line_number: int
    solution: str
    phase: KernelPhase
    config: ConfigRecord

    @property
    def is_search(self) -> bool:
        """Whether it was tried in the search of one solver's configs: there MIOpen states the config's text."""
        in_search = self.phase in (KernelPhase.SOLVER_TUNING, KernelPhase.UNKNOWN)
        return in_search and bool(self.config.config_descriptor)

    @property
    def is_comparison(self) -> bool:
        """Whether it was timed to compare solvers.

        MIOpen's search gives a config up after two times; Find stops after one time or has many. Where the phase is
        tuning, as in logs of this project, nothing else is timed.
        """
        count = len(self.config.time_executions_ms)
        if self.phase is KernelPhase.TUNING:
            return count > 0
        return not self.is_search and self.phase is not KernelPhase.VALIDATION and count not in (0, 2)


class TriedConfig(NamedTuple):
    """What is kept of a config that was tried before the timed run.

    Attributes:
        line_number: Where its record stands.
        solution: The solver.
        descriptor: The config's text; "" where there is none.
        steady_ms: Its measured times without warm-ups.
    """

    line_number: int
    solution: str
    descriptor: str
    steady_ms: tuple[float, ...]

    @staticmethod
    def of(placed: PlacedConfig) -> TriedConfig:
        """What is kept of a config.

        A search has one cold time in front of the first config's probe, and MIOpen's Find has left its warm-up out.
        """
        times = measured_ms(placed.config.time_executions_ms)
        is_warm = not placed.is_search and placed.phase is not KernelPhase.TUNING
        steady = times if is_warm else times[1:] if len(times) == _PROBED else steady_times(times)
        return TriedConfig(placed.line_number, placed.solution, placed.config.config_descriptor, tuple(steady))

    @property
    def median_ms(self) -> float:
        """The middle of its times; infinite where there is none."""
        middle = median(self.steady_ms)
        return math.inf if middle is None else middle


@dataclass(slots=True, kw_only=True)
class Run:
    """One run of the driver, as far as its lines have to be seen together.

    A run without a command is what stands before the first command of a log, or in a log that has none.

    Attributes:
        command: Its command line, as printed.
        line_number: Where it begins.
        source: The stream where it begins.
        performances: In order of the log.
        executions: The configs of all execution records, in order of the log.
        merged: Configs of records of another phase that may be executions (see `pair_run`); the last few a solver.
        comparisons: Of each solver the fastest config that was compared with other solvers.
        searched: Configs of searches, in order of the log.
        find_calls: How often Find was timed.
    """

    command: str = ""
    line_number: int = 0
    source: str = ""
    performances: list[PlacedPerformance] = field(default_factory=list)
    executions: list[PlacedConfig] = field(default_factory=list)
    merged: dict[str, list[PlacedConfig]] = field(default_factory=dict)
    comparisons: dict[str, TriedConfig] = field(default_factory=dict)
    searched: list[TriedConfig] = field(default_factory=list)
    find_calls: int = 0

    def add(self, item: LogItem) -> None:
        """Note what the item says."""
        record = item.record
        if isinstance(record, SolutionRecord):
            for config in record.performance_configs:
                self._add_config(PlacedConfig(item.source, item.line_number, record.solution, record.phase, config))
        elif isinstance(record, Performance):
            self.performances.append(PlacedPerformance(item.source, item.line_number, record))
        elif isinstance(record, FindTime):
            self.find_calls += 1

    def _add_config(self, placed: PlacedConfig) -> None:
        samples = len(placed.config.time_executions_ms)
        if placed.phase is KernelPhase.EXECUTION:
            self.executions.append(placed)
            return
        has_text = bool(placed.config.config_descriptor)
        if not has_text and samples not in (0, FIND_SAMPLES) and samples == _iterations(self.command):
            self.merged.setdefault(placed.solution, []).append(placed)
            del self.merged[placed.solution][:-_DIRECTIONS]
        elif placed.is_comparison:
            tried = TriedConfig.of(placed)
            best = self.comparisons.get(tried.solution)
            if best is None or tried.median_ms < best.median_ms:
                self.comparisons[tried.solution] = tried
        elif placed.is_search and len(self.searched) < _MOST_SEARCHED:
            self.searched.append(TriedConfig.of(placed))


@functools.lru_cache(maxsize=256)
def _iterations(command: str) -> int:
    """How often the timed loop of a command runs."""
    try:
        return parse_command(command).iterations or DEFAULT_ITERATIONS
    except DriverLineError:
        return DEFAULT_ITERATIONS


class Pair(NamedTuple):
    """The figures of one direction from both streams.

    Attributes:
        performance: The driver's line.
        execution: The config of its timed run, or None when the log has none.
        is_probable: The config does not stand in an execution record; it was recognised by its sample count.
    """

    performance: PlacedPerformance
    execution: PlacedConfig | None
    is_probable: bool = False

    @property
    def names_agree(self) -> bool:
        """Whether both streams name the same solver; the driver's UNKNOWN names none."""
        return self.execution is None or self.performance.solver in (self.execution.solution, "UNKNOWN")

    @property
    def averages_agree(self) -> bool | None:
        """Whether the driver's average is that of the config's times, or None where there is none."""
        stated = self.performance.record.average_time_ms
        average = driver_average_ms(self.execution.config.time_executions_ms) if self.execution else None
        return None if average is None or not stated > 0 else abs(stated - average) <= _AVERAGE_TOLERANCE * average


class RunSplitter:
    """Puts the items of a log together to runs.

    A command line begins a run. Where stdout and stderr were kept apart, the items of stdout come first: those of
    stderr, which has no command line, belong to the run before them where that is the only one, otherwise they are a
    run without a command. What has no command is handed out in parts, so that memory does not grow with the log.
    """

    def __init__(self) -> None:
        self._run = Run()
        self._is_only = True
        self._commanded: set[str] = set()

    def add(self, item: LogItem) -> Run | None:
        """Note an item; the run before it, when the item begins another one."""
        record, run = item.record, self._run
        if record is None:
            return None
        is_command = isinstance(record, CommandLine)
        is_apart = not self._is_only and item.source not in self._commanded and item.source != run.source
        length = len(run.executions) + len(run.performances) + len(run.searched)
        is_long = not run.command and length >= _LONGEST_WITHOUT_COMMAND
        ended = None
        if is_command or is_apart or is_long:
            ended = self.end()
            self._is_only = self._is_only and ended is None
            self._run = Run(source=item.source, line_number=item.line_number)
        if isinstance(record, CommandLine):
            self._commanded.add(item.source)
            self._run.command = record.command
        self._run.add(item)
        return ended

    def end(self) -> Run | None:
        """The last run, unless nothing was told of it."""
        run = self._run
        has_content = run.command or run.performances or run.executions or run.comparisons or run.searched
        return run if has_content else None


def pair_run(run: Run) -> list[Pair]:
    """Each performance line of a run with the config of its timed run.

    In a run without any execution record these configs were merged into records of another phase, which happens when
    the solver that was compared last is the one that is executed.
    """
    if run.executions:
        return pair(run.performances, run.executions)
    left = {solver: list(configs) for solver, configs in run.merged.items()}
    return [
        Pair(line, configs.pop(0), is_probable=True) if (configs := left.get(line.solver)) else Pair(line, None)
        for line in run.performances
    ]


def pair(performances: Sequence[PlacedPerformance], executions: Sequence[PlacedConfig]) -> list[Pair]:
    """Each performance line with a config: the i-th with the i-th; where some are lost, the next of the same solver."""
    if len(performances) == len(executions):
        return [Pair(line, config) for line, config in zip(performances, executions, strict=True)]
    pairs = []
    start = 0
    for line in performances:
        found = next((i for i in range(start, len(executions)) if Pair(line, executions[i]).names_agree), None)
        pairs.append(Pair(line, None if found is None else executions[found]))
        start = start if found is None else found + 1
    return pairs
