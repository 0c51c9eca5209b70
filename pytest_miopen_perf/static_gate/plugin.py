"""The hooks of the static gate, registered where an option or a fixture asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pytest_miopen_perf.errors import BaselineError, SettingsError, VerdictError
from pytest_miopen_perf.plugin import session_of
from pytest_miopen_perf.static_gate.closing import Closing, Ending
from pytest_miopen_perf.static_gate.session import StaticSession

if TYPE_CHECKING:
    from collections.abc import Generator, Sequence

    from _pytest.terminal import TerminalReporter

MARK = "miopen_perf_static"
"""The mark of every test of the static gate."""

_PLUGIN = pytest.StashKey["StaticPlugin"]()


def static_of(config: pytest.Config) -> StaticPlugin:
    """The static gate of this process; made and registered at first use.

    Raises:
        pytest.UsageError: an option is wrong, or the baseline cannot be read.
    """
    if _PLUGIN not in config.stash:
        try:
            plugin = StaticPlugin(config, StaticSession(session_of(config)))
        except (SettingsError, BaselineError) as error:
            raise pytest.UsageError(str(error)) from error
        config.stash[_PLUGIN] = plugin
        config.pluginmanager.register(plugin, "miopen-perf-static")
        config.add_cleanup(plugin.session.close)
    return config.stash[_PLUGIN]


class StaticPlugin:
    """Makes tests of the cases that are collected; gathers the judgements where reports arrive."""

    def __init__(self, config: pytest.Config, session: StaticSession) -> None:
        self._config = config
        self.session = session
        self._closing = Closing(session)
        self._has_deselected = False

    @property
    def _is_reporting(self) -> bool:
        """Whether this process closes the session: no worker, and none that only measures for a comparison."""
        return not hasattr(self._config, "workerinput") and self.session.perf.part is None

    def pytest_report_header(self) -> str | None:
        """What is looked at, when an option asks for it."""
        settings = self.session.perf.settings
        if not settings.is_static:
            return None
        versus = "" if settings.static_compare is None else f", against {settings.static_compare}"
        return f"miopen-perf: static gate for {', '.join(self.session.targets)}{versus}"

    @pytest.hookimpl(wrapper=True)
    def pytest_pycollect_makeitem(self) -> Generator[None, object, object]:
        """Set the kernels of a test function's cases beside it."""
        found = yield
        if not isinstance(found, list) or not self.makes_items:
            return found
        from pytest_miopen_perf.static_gate.items import items_of_functions

        return [*found, *items_of_functions(self, [each for each in found if isinstance(each, pytest.Function)])]

    @property
    def makes_items(self) -> bool:
        """Whether cases that are collected get tests: not in a process that only measures for a comparison."""
        return self.session.perf.settings.is_static and self.session.perf.part is None

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self) -> Generator[None]:
        """Fail a test for the kernels that its body has asked about, once it has come to its end."""
        __tracebackhide__ = True
        yield
        try:
            self.session.check()
        except VerdictError as error:
            pytest.fail(str(error), pytrace=False)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Put the judgements of a test on its teardown report, as builtins."""
        report = yield
        if call.when == "teardown" and (records := self.session.take()):
            report.__dict__["miopen_perf_static"] = records
        return report

    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Remember that what is absent was not asked for."""
        self._has_deselected |= any(item.get_closest_marker(MARK) is not None for item in items)

    def gather(self, records: Sequence[dict[str, Any]]) -> None:
        """Take the judgements of a test, from this process or a worker."""
        self._closing.add(records)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write the files; what an interrupted test had found is kept."""
        if not self._is_reporting:
            return
        self.gather(self.session.take())
        ending = Ending(
            is_complete=session.exitstatus not in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR),
            is_green=session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED),
            is_part=self._has_deselected or self._selects_a_part(),
        )
        if not self._config.option.collectonly and not self._closing.finish(ending):
            session.exitstatus = session.exitstatus or pytest.ExitCode.TESTS_FAILED

    def _selects_a_part(self) -> bool:
        """Whether options name less than all kernels, also where workers of pytest-xdist do the selecting."""
        option, settings = self._config.option, self.session.perf.settings
        is_narrowed = any(getattr(option, name, None) for name in ("keyword", "deselect", "lf", "stepwise"))
        is_marked = getattr(option, "markexpr", "") not in ("", MARK)
        is_named = any("::" in text for text in self._config.args)
        return is_narrowed or is_marked or is_named or bool(settings.problems or settings.solvers)

    def pytest_terminal_summary(self, terminalreporter: TerminalReporter) -> None:
        """Print the table and what could not be written."""
        if self._is_reporting:
            self._closing.print_summary(terminalreporter)
