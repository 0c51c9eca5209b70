"""Where all cases of a session arrive: log lines are written at once, files and summary at the end."""

from __future__ import annotations

import contextlib
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_miopen_perf.cases import Case
from pytest_miopen_perf.session.gate_report import GateReport, SessionEnd

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import TextIO

    from _pytest.terminal import TerminalReporter

    from pytest_miopen_perf.session import PerfSession
    from pytest_miopen_perf.settings import Settings

_LOG_NAME = "miopen-perf.jsonl"


def _is_watched(stream: TextIO) -> bool:
    """Whether a person's screen is behind the stream: a log there would bury the tests."""
    return stream.isatty()


def _selects_a_part(config: pytest.Config, settings: Settings) -> bool:
    """Whether options name less than whole files, also where workers of pytest-xdist do the selecting."""
    names = ("keyword", "markexpr", "deselect", "lf", "stepwise")
    is_narrowed = any(getattr(config.option, name, None) for name in names)
    return is_narrowed or any("::" in text for text in config.args) or bool(settings.problems or settings.solvers)


class Collector:
    """Gathers cases on the process that reports; what it cannot write it says, and goes on."""

    def __init__(self, config: pytest.Config, session: PerfSession) -> None:
        self._config = config
        self._settings = session.settings
        self._gate = None if session.gate is None else GateReport(session.gate, session.settings)
        self._is_part = session.part is not None
        self._cases: list[Case] = []
        self._log: TextIO | None = None
        self._log_path: Path | None = None
        self._problems: list[str] = []

    def add(self, arrived: list[dict[str, Any]]) -> None:
        """Take cases out of the list and write their log lines; what an interrupt left in the list was not taken."""
        while arrived:
            case = Case.from_json(arrived[0])
            self._cases.append(case)
            del arrived[0]
            self._write_log("".join(case.log))

    def finish(self, *, status: int, is_part: bool) -> bool:
        """Close the log and write the files; False when something that was asked for is not on disk, or not allowed.

        Args:
            status: The exit code of the session so far.
            is_part: Tests of the suite were left out, beyond what the options show.
        """
        is_complete = status not in (pytest.ExitCode.INTERRUPTED, pytest.ExitCode.INTERNAL_ERROR)
        if self._log is not None and self._log_path is not None:
            self._log.close()
        path = self._settings.json_path
        if path is not None:
            from pytest_miopen_perf.report.results_file import results_document, write_results

            try:
                write_results(path, results_document(self._cases, self._settings, is_complete=is_complete))
            except OSError as error:
                self._complain("results file", path, error, "free some space, or give another --miopen-perf-json")
        if self._gate is not None:
            end = SessionEnd(
                is_complete=is_complete,
                is_green=status in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED),
                is_part=is_part or _selects_a_part(self._config, self._settings),
            )
            self._problems += [f"miopen-perf: {problem}" for problem in self._gate.finish(self._cases, end)]
        return not self._problems

    def print_summary(self, reporter: TerminalReporter, skipped: Mapping[str, str]) -> None:
        """The table, the footer, and what could not be written.

        What a process measures for another one, that one shows: here only what went wrong is told.

        Args:
            reporter: Pytest's own.
            skipped: Workloads of which lines cannot be run, and how many, in words.
        """
        lines = [] if self._is_part else self._summary_lines(reporter, skipped)
        if lines or self._problems:
            reporter.section("miopen-perf")
        for line in lines:
            reporter.write_line(line)
        for problem in self._problems:
            reporter.write_line(problem, red=True)

    def _summary_lines(self, reporter: TerminalReporter, skipped: Mapping[str, str]) -> list[str]:
        from pytest_miopen_perf.report.terminal import summary_lines

        width = max(reporter._tw.fullwidth, 80)  # noqa: SLF001 - pytest's only way to tell the width
        has_colour = reporter.hasmarkup
        lines = summary_lines(self._cases, self._settings, log_path=self._log_path, width=width, has_colour=has_colour)
        if lines:
            lines += [f"skipped  {name}: {words}" for name, words in skipped.items()]
        if self._gate is not None:
            lines += [*([""] if lines else []), *self._gate.lines(width=width, has_colour=has_colour)]
        return lines

    def _write_log(self, text: str) -> None:
        if not text or (self._problems and self._log is None):
            return
        try:
            if self._log is None:
                self._log = self._open_log()
            self._log.write(text)
            self._log.flush()
        except OSError as error:
            self._abandon_log()
            self._complain("log", self._log_path, error, "free some space, or give another --miopen-perf-log")

    def _abandon_log(self) -> None:
        if self._log is not None and self._log_path is not None:
            with contextlib.suppress(OSError):  # closing tries to write what is left once more
                self._log.close()
        self._log = None

    def _open_log(self) -> TextIO:
        """The file that was asked for; else stderr as in MIOpen; a file where a person's screen is behind stderr."""
        self._log_path = self._settings.log_path
        if self._log_path is None and not _is_watched(sys.stderr):
            return sys.stderr
        if self._log_path is None:
            self._log_path = self._default_folder() / _LOG_NAME
        return self._log_path.open("w", encoding="utf-8")

    def _default_folder(self) -> Path:
        cache = getattr(self._config, "cache", None)
        if cache is not None:
            return Path(cache.mkdir("miopen-perf"))
        return Path(tempfile.mkdtemp(prefix="miopen-perf-"))

    def _complain(self, what: str, path: Path | None, error: OSError, advice: str) -> None:
        self._problems.append(f"miopen-perf: the {what} {path or 'on stderr'} could not be written: {error}; {advice}")
