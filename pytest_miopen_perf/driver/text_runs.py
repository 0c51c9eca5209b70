"""The text output put together: runs, one result a direction in each, and what is wrong with them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from pytest_miopen_perf.driver.directions import DIRECTION_OF, B, F, W
from pytest_miopen_perf.driver.finding import Finding
from pytest_miopen_perf.driver.record_checks import NO_RESULT
from pytest_miopen_perf.driver.stats_row import check_stats
from pytest_miopen_perf.driver.text_lines import (
    ChosenSolution,
    Complaint,
    KernelTime,
    RunFailure,
    StatsRow,
    VerificationText,
)
from pytest_miopen_perf.errors import DriverLineError
from pytest_miopen_perf.problems.driver_line import parse_command
from pytest_miopen_perf.records.run_records import CommandLine
from pytest_miopen_perf.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pytest_miopen_perf.driver.text_lines import TextContent, TextItem
    from pytest_miopen_perf.problem import ConvProblem, Direction

    _Remark: TypeAlias = tuple[str, Severity, str]

_TIME_TOLERANCE_MS = 1.1e-6
_WRW_SHIFT = 16
_MOST_COMPLAINTS = 1000
_CALLS = {"RunForwardGPU": F, "RunBackwardGPU": B}
_ORDER = {"solution": 0, "time": 1, "stats": 2, "failure": 2, "verification": 3}
"""In which order the driver prints what it says of a direction."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextResult:
    """What the text says of one direction of one run.

    Attributes:
        source: The stream.
        line_number: Where its first line stands.
        problem: What was computed, or None where no command says it.
        direction: The direction.
        solution: Which solver ran.
        time_ms: The average kernel time; None without a measurement.
        stats: The row of counts.
        verification: The judgement of the numbers.
        failure: The call that failed.
    """

    source: str
    line_number: int
    problem: ConvProblem | None
    direction: Direction
    solution: ChosenSolution | None
    time_ms: float | None
    stats: StatsRow | None
    verification: VerificationText | None
    failure: RunFailure | None

    @property
    def passed(self) -> bool | None:
        """Whether the run and its numbers are right; None when nothing judged them. The exit code does not tell."""
        if self.failure is not None or (self.verification is not None and not self.verification.passed):
            return False
        return None if self.verification is None else True


@dataclass(frozen=True, slots=True, kw_only=True)
class TextRun:
    """One run of the driver.

    Attributes:
        source: The stream.
        line_number: Where its first line stands.
        command: The command, or "" where none is printed.
        results: One a direction, in order of the text.
        findings: What is wrong, or not to be trusted.
    """

    source: str
    line_number: int
    command: str
    results: tuple[TextResult, ...]
    findings: tuple[Finding, ...]


def text_runs(items: Iterable[TextItem]) -> Iterator[TextRun]:
    """The runs of a text output, one after another.

    A command begins a run. Where commands are not printed, a direction that is told anew does.
    """
    run = _OpenRun()
    for item in items:
        if run.is_ended_by(item):
            yield run.closed()
            run = _OpenRun()
        run.add(item)
    if run.command or run.blocks or run.complaints:
        yield run.closed()


@dataclass(slots=True)
class _Block:
    """What is said of one direction."""

    source: str
    line_number: int
    solution: ChosenSolution | None = None
    time: KernelTime | None = None
    stats: StatsRow | None = None
    verification: VerificationText | None = None
    failure: RunFailure | None = None

    def is_past(self, slot: str) -> bool:
        """Whether the slot, or one that is printed after it, is filled."""
        return any(getattr(self, name) is not None for name, order in _ORDER.items() if order >= _ORDER[slot])


@dataclass(slots=True)
class _OpenRun:
    """What is said of one run so far."""

    command: str = ""
    source: str = ""
    line_number: int = 0
    problems: Mapping[Direction, ConvProblem] = field(default_factory=dict)
    blocks: dict[Direction, _Block] = field(default_factory=dict)
    complaints: list[Finding] = field(default_factory=list)

    def is_ended_by(self, item: TextItem) -> bool:
        """Whether the item is of the next run: a command, a direction not asked for, or one that is told anew."""
        content = item.content
        if len(self.complaints) >= _MOST_COMPLAINTS:
            return True
        if isinstance(content, CommandLine):
            return bool(self.command or self.blocks or self.complaints)
        directions, slot = _place(content)
        asked = self.problems
        return any(
            (asked and direction not in asked) or (direction in self.blocks and self.blocks[direction].is_past(slot))
            for direction in directions
        )

    def add(self, item: TextItem) -> None:
        content = item.content
        if isinstance(content, CommandLine):
            self.command, self.source, self.line_number = content.command, item.source, item.line_number
            self.problems = _problems(content.command)
        directions, slot = _place(content)
        for direction in directions:
            block = self.blocks.setdefault(direction, _Block(item.source, item.line_number))
            setattr(block, slot, content)
        if item.doubt is not None:
            self._complain(item, item.doubt.code, Severity.WARNING, f"{item.doubt.message}: {item.raw.strip()}")
        if isinstance(content, Complaint):
            self._complain(item, "complaint", Severity.WARNING, f"the driver says: {content.text}")
        if isinstance(content, VerificationText) and content.direction == "backward_bias" and not content.passed:
            words = f"bias: wrong numbers, error {content.error} against {content.tolerance}"
            self._complain(item, "verification-failed", Severity.ERROR, words)
        if isinstance(content, RunFailure) and content.call not in _CALLS:
            words = f"{content.call}() failed with status {content.status:#x}"
            self._complain(item, "run-failed", Severity.ERROR, words)

    def _complain(self, item: TextItem, code: str, severity: Severity, message: str) -> None:
        self.complaints.append(
            Finding(code=code, severity=severity, message=message, line_number=item.line_number, source=item.source)
        )

    def closed(self) -> TextRun:
        results = tuple(_result(block, direction, self.problems) for direction, block in self.blocks.items())
        first = min((result.line_number for result in results), default=0)
        source = self.source or next((block.source for block in self.blocks.values()), "")
        findings = list(self.complaints)
        for result in results:
            findings += [
                Finding(code=code, severity=severity, message=words, line_number=result.line_number, source=source)
                for code, severity, words in _remarks(result)
            ]
        for direction in (asked for asked in self.problems if asked not in self.blocks):
            words = f"the command asks for direction {direction.value}, of which the output says nothing"
            findings.append(
                Finding(
                    code="no-result",
                    severity=Severity.ERROR,
                    message=words,
                    line_number=self.line_number,
                    source=source,
                )
            )
        return TextRun(
            source=source,
            line_number=self.line_number or first,
            command=self.command,
            results=results,
            findings=tuple(sorted(findings, key=lambda found: found.line_number)),
        )


def _problems(command: str) -> Mapping[Direction, ConvProblem]:
    try:
        return {problem.direction: problem for problem in parse_command(command).problems}
    except DriverLineError:
        return {}


def _place(content: TextContent | None) -> tuple[list[Direction], str]:
    """The directions that a line speaks of, and what of them it says."""
    if isinstance(content, ChosenSolution):
        return [content.direction], "solution"
    if isinstance(content, KernelTime) and not content.is_bias:
        return [content.direction], "time"
    if isinstance(content, StatsRow):
        return [content.direction], "stats"
    if isinstance(content, VerificationText) and content.direction in DIRECTION_OF:
        return [DIRECTION_OF[content.direction]], "verification"
    if isinstance(content, RunFailure) and content.call in _CALLS:
        return _failed_directions(content), "failure"
    return [], ""


def _failed_directions(failure: RunFailure) -> list[Direction]:
    """The directions of a failed call: of the backward call's status the low 16 bits are data, the others weights."""
    if _CALLS[failure.call] is F:
        return [F]
    found = [B] if failure.status & (2**_WRW_SHIFT - 1) else []
    return [*found, W] if failure.status >> _WRW_SHIFT else found


def _result(block: _Block, direction: Direction, problems: Mapping[Direction, ConvProblem]) -> TextResult:
    time_ms = block.time.time_ms if block.time is not None else block.stats.time_ms if block.stats is not None else None
    return TextResult(
        source=block.source,
        line_number=block.line_number,
        problem=problems.get(direction),
        direction=direction,
        solution=block.solution,
        time_ms=time_ms if time_ms is not None and 0 < time_ms < math.inf else None,
        stats=block.stats,
        verification=block.verification,
        failure=block.failure,
    )


def _remarks(result: TextResult) -> Iterator[_Remark]:
    """A code, a severity and a sentence for each thing that is wrong with a result."""
    name = f"direction {result.direction.value}"
    if result.failure is not None:
        words = f"{name}: {result.failure.call}() failed with status {result.failure.status:#x}"
        yield "run-failed", Severity.ERROR, words
    if result.verification is not None:
        yield from _verification_remarks(name, result.verification)
    if result.solution is not None and result.solution.solver == "UNKNOWN":
        yield "unknown-solver", Severity.WARNING, f"{name}: the driver does not know which solver ran"
    if result.time_ms is None and result.failure is None and (result.solution or result.stats):
        yield "no-time", Severity.WARNING, f"{name}: there is no time that is a measurement"
    if result.stats is not None:
        stated = result.stats.time_ms
        if result.time_ms is not None and not abs(result.time_ms - stated) <= _TIME_TOLERANCE_MS:
            words = f"{name}: the time is {result.time_ms:.6f} ms, in the stats row {stated:.6f} ms"
            yield "stats-time", Severity.WARNING, words
        for code, words in check_stats(result.stats, result.problem):
            yield code, Severity.WARNING, words


def _verification_remarks(name: str, verification: VerificationText) -> Iterator[_Remark]:
    error, tolerance = verification.error, verification.tolerance
    if error is not None and error >= NO_RESULT:
        words = f"{name}: the run itself failed, its error of {error:.6g} is not a measured one"
        yield "run-failed", Severity.ERROR, words
    elif not verification.passed:
        yield "verification-failed", Severity.ERROR, f"{name}: wrong numbers, error {error} against {tolerance}"
    elif error is None or math.isnan(error) or (tolerance is not None and error > tolerance):
        words = f"{name}: OK is stated with error {error} against {tolerance}"
        yield "verdict-mismatch", Severity.ERROR, words
