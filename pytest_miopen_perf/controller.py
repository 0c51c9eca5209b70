"""The hooks of the process where reports arrive: they gather what tests measured, write files and print the summary."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_miopen_perf.plugin import session_of, session_so_far

if TYPE_CHECKING:
    from _pytest.terminal import TerminalReporter

    from pytest_miopen_perf.session.collector import Collector


class Controller:
    """Registered on every process but the workers of pytest-xdist."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._collector: Collector | None = None
        self._arrived: list[dict[str, Any]] = []
        self._has_deselected = False
        self._skipped: dict[str, str] = {}

    def _gather(self, cases: list[dict[str, Any]]) -> None:
        # What an interrupt leaves of them here, the end of the session gathers.
        self._arrived += cases
        if self._collector is None:
            from pytest_miopen_perf.session.collector import Collector

            self._collector = Collector(self._config, session_of(self._config))
        self._collector.add(self._arrived)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionstart(self) -> None:
        """Measure both arms of a paired comparison, before workers start and tests run."""
        perf = session_so_far(self._config)
        if perf is None or perf.gate is None or self._config.option.collectonly:
            return
        from pytest_miopen_perf.errors import PerfError
        from pytest_miopen_perf.report.progress import live_lines

        try:
            perf.lead(live_lines(self._config))
        except PerfError as error:
            raise pytest.UsageError(str(error)) from error

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker of pytest-xdist what was measured."""
        perf = session_so_far(self._config)
        if perf is not None and (path := perf.lead_for_workers()):
            node.workerinput["miopen_perf_lead"] = path

    def pytest_deselected(self) -> None:
        """Remember that what is absent was not asked for."""
        self._has_deselected = True

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Take what a test measured, from this process or a worker."""
        cases = getattr(report, "miopen_perf", None)
        if cases:
            self._gather(cases)
        self._skipped |= getattr(report, "miopen_perf_skipped", {})
        code_objects = getattr(report, "miopen_perf_static", None)
        if code_objects:
            from pytest_miopen_perf.static_gate.plugin import static_of

            static_of(self._config).gather(code_objects)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Keep what an interrupted test had measured, and write the files."""
        perf = session_so_far(self._config)
        left = perf.take_cases() if perf is not None else []
        if left or self._arrived or (perf is not None and perf.gate is not None):
            self._gather(left)
        if self._collector is not None and not self._collector.finish(
            status=session.exitstatus, is_part=self._has_deselected or bool(session.shouldfail)
        ):
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        """Print the table, when there is something in it."""
        if self._collector is not None:
            self._collector.print_summary(terminalreporter, self._skipped)
