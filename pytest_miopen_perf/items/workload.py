"""A file of MIOpenDriver lines as a test file: one item a line and direction."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pytest_miopen_perf.errors import PerfWarning, WorkloadError
from pytest_miopen_perf.items.own_errors import LineItem
from pytest_miopen_perf.plugin import session_of
from pytest_miopen_perf.problems.workload import Skipped, read_workload
from pytest_miopen_perf.session.harness import run_case, skip_unavailable
from pytest_miopen_perf.settings import TunePolicy
from pytest_miopen_perf.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.problems.driver_line import DriverCommand
    from pytest_miopen_perf.problems.workload import Entry, Workload
    from pytest_miopen_perf.settings import Settings


class WorkloadFile(pytest.File):
    """Collects the lines; one that is no convolution becomes a skip with its reason, so that none is lost."""

    def collect(self) -> Iterator[pytest.Item]:
        """One item a line and direction."""
        try:
            workload = read_workload(self.path)
        except WorkloadError as error:
            raise self.CollectError(str(error)) from error
        session_of(self.config).note_skipped(workload)
        if sentence := _noted(workload):
            self.warn(PerfWarning(f"{self.path.name}: {sentence}"))
        seen: set[str] = set()
        lines: list[Entry | Skipped] = [*workload.entries, *workload.skipped]
        for line in sorted(lines, key=lambda line: line.line_number):
            if isinstance(line, Skipped):
                yield SkippedLine.from_parent(self, line_number=line.line_number, reason=line.reason)
            else:
                yield from self._problem_items(line, seen)

    def _problem_items(self, entry: Entry, seen: set[str]) -> Iterator[pytest.Item]:
        for problem in entry.command.problems:
            name = str(problem)
            if name in seen:
                name = f"{name}@line{entry.line_number}"
            seen.add(name)
            yield ProblemItem.from_parent(
                self, name=name, problem=problem, command=entry.command, line_number=entry.line_number
            )
            yield from self._kernel_items(name, problem, entry.line_number)

    def _kernel_items(self, name: str, problem: ConvProblem, line_number: int) -> Iterator[pytest.Item]:
        """The kernels of the problem, where `--miopen-perf-static` asks for them."""
        if session_of(self.config).settings.is_static:
            from pytest_miopen_perf.static_gate.items import items_of_line
            from pytest_miopen_perf.static_gate.plugin import static_of

            plugin = static_of(self.config)
            if plugin.makes_items:
                yield from items_of_line(plugin, self, name, problem, line_number)


class ProblemItem(LineItem):
    """One problem of a workload file; `-i` and `-s 1` of its line are honoured."""

    def __init__(
        self, *, name: str, parent: pytest.File, problem: ConvProblem, command: DriverCommand, line_number: int
    ) -> None:
        super().__init__(name=name, parent=parent, line_number=line_number)
        self.problem = problem
        self.command = command

    def runtest(self) -> None:
        """Check and time the problem with the fastest solver that applies, or have MIOpenDriver do it."""
        session = session_of(self.config)
        settings = _settings_of(self.command, session.settings)
        with skip_unavailable():
            if settings.run_by == "driver":
                from pytest_miopen_perf.items.driver import run_by_driver

                run_by_driver(session, self, self.problem, settings)
            else:
                session.device()
                run_case(session, self, self.problem, session.solvers(), settings)


class SkippedLine(LineItem):
    """A line of a workload file that cannot be run."""

    def __init__(self, *, parent: pytest.File, line_number: int, reason: str) -> None:
        super().__init__(name=f"line{line_number}", parent=parent, line_number=line_number)
        self.reason = reason

    def runtest(self) -> None:
        """Skip, and say why."""
        # The line of the workload is where it is skipped, not this one.
        raise pytest.skip.Exception(
            f"line {self.line_number} of {self.path.name}: {self.reason}", _use_item_location=True
        )


def _noted(workload: Workload) -> str:
    """What its lines hold that has no effect here: the first of it, and of how many further lines; "" if nothing."""
    noted = [entry for entry in workload.entries if entry.command.notes]
    if not noted:
        return ""
    further = f" (and so has something of {counted(len(noted) - 1, 'further line')})" if len(noted) > 1 else ""
    return f"line {noted[0].line_number}: {noted[0].command.notes[0]}{further}"


def _settings_of(command: DriverCommand, settings: Settings) -> Settings:
    if command.iterations is not None and settings.iterations is None:
        settings = replace(settings, iterations=command.iterations)
    if command.search:
        settings = replace(settings, tune=TunePolicy.FORCE)
    return settings
