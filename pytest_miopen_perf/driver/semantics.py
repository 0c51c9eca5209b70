"""What is wrong with a log beyond its schema, or not to be trusted in it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_miopen_perf.driver.finding import Finding, capped
from pytest_miopen_perf.driver.pairing import RunSplitter, pair
from pytest_miopen_perf.driver.record_checks import check_item, finding
from pytest_miopen_perf.driver.run_checks import check_pair, check_run
from pytest_miopen_perf.records import SolutionRecord, is_recorded, shows_kernels
from pytest_miopen_perf.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_miopen_perf.driver.log_item import LogItem
    from pytest_miopen_perf.driver.pairing import PlacedConfig, PlacedPerformance, Run

MOST_OF_A_KIND = 200
"""Findings of one code that are listed one by one; the rest of it is counted."""


def check_log(items: Iterable[LogItem], level: int | None = None) -> list[Finding]:
    """Everything that a reader of the log should know.

    Memory does not grow with the log, except by the executions of runs whose stdout and stderr were kept apart.

    Args:
        items: What `read_log` gives; for streams kept apart those of stdout first.
        level: The level that the log was asked for, or None when it is not known.
    """
    return list(capped(_findings(items, level), MOST_OF_A_KIND))


def _findings(items: Iterable[LogItem], level: int | None) -> Iterator[Finding]:
    if level is not None and level > 4:
        words = f"level {level} acts as 3: no line lists kernels; 4 is the level that has them"
        yield Finding(code="level-acts-as-3", severity=Severity.INFO, message=words, line_number=0)
    together = LinesTogether(level)
    for item in items:
        yield from check_item(item)
        yield from together.add(item)
    yield from together.end()


class LinesTogether:
    """What can only be said of several items of a log together; `check_item` says the rest.

    Args:
        level: The level that the log was asked for, or None when it is not known.
    """

    def __init__(self, level: int | None = None) -> None:
        self._level = level
        self._splitter = RunSplitter()
        self._apart = _Apart()
        self._neighbours = _Neighbours()

    def add(self, item: LogItem) -> Iterator[Finding]:
        """What is known once this item has come."""
        ended = self._splitter.add(item)
        if ended is not None:
            yield from _check_ended(ended, self._apart)
        if isinstance(item.record, SolutionRecord):
            yield from self._neighbours.check(item, item.record)
            yield from _check_level(item, item.record, self._level)

    def end(self) -> Iterator[Finding]:
        """What is known once no item comes any more."""
        last = self._splitter.end()
        if last is not None:
            yield from _check_ended(last, self._apart)
        yield from _check_apart(self._apart)


@dataclass(slots=True)
class _Apart:
    """The lines of runs that have but one of the two streams, and whether the log has both at all."""

    performances: list[PlacedPerformance] = field(default_factory=list)
    executions: list[PlacedConfig] = field(default_factory=list)
    has_solutions: bool = False


def _check_ended(run: Run, apart: _Apart) -> Iterator[Finding]:
    yield from check_run(run)
    apart.has_solutions |= bool(run.executions or run.merged or run.comparisons)
    if not (run.performances and (run.executions or run.merged)):
        apart.performances += run.performances
        apart.executions += run.executions


@dataclass(slots=True)
class _Neighbours:
    """What the last solution record was like."""

    raw: str = ""
    lists_kernels: bool | None = None

    def check(self, item: LogItem, record: SolutionRecord) -> Iterator[Finding]:
        if item.raw == self.raw:
            words = f"the record of {record.solution} is the same as the one before, to the last digit"
            yield finding(item, "doubled", Severity.WARNING, words)
        lists = record.performance_configs[0].kernels is not None
        if self.lists_kernels not in (None, lists):
            words = f"from here on kernels are {'listed' if lists else 'not listed'}: the log is of several levels"
            yield finding(item, "mixed-levels", Severity.INFO, words)
        self.raw, self.lists_kernels = item.raw, lists


def _check_level(item: LogItem, record: SolutionRecord, level: int | None) -> Iterator[Finding]:
    if level is None:
        return
    if not is_recorded(record.phase, level):
        words = f"a record of phase {record.phase.value} is not of level {level}, which has only the timed run"
        yield finding(item, "level-mismatch", Severity.WARNING, words)
    lists = record.performance_configs[0].kernels is not None
    if lists is not shows_kernels(level):
        words = f"kernels are {'listed' if lists else 'not listed'}, which level {level} does not do"
        yield finding(item, "level-mismatch", Severity.WARNING, words)


def _check_apart(apart: _Apart) -> Iterator[Finding]:
    if apart.performances and apart.has_solutions:
        for each in pair(apart.performances, apart.executions):
            yield from check_pair(each)
    elif apart.performances:
        last = apart.performances[-1]
        words = "there are performance lines without any record of a timed run: is stderr in the log?"
        yield Finding(
            code="no-solution-records",
            severity=Severity.WARNING,
            message=words,
            line_number=last.line_number,
            source=last.source,
        )
