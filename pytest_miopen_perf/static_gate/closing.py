"""What the end of a session leaves of the static gate: the table, the report's file, and a new baseline."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.atomic_file import write_atomically
from pytest_miopen_perf.codeobject.baseline import absence
from pytest_miopen_perf.codeobject.gate import accept
from pytest_miopen_perf.codeobject.judgement import StaticJudgement, StaticVerdict
from pytest_miopen_perf.errors import BaselineError
from pytest_miopen_perf.report.codeobject_file import document_text, static_document
from pytest_miopen_perf.report.codeobject_table import static_footer_lines, static_table_lines
from pytest_miopen_perf.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from _pytest.terminal import TerminalReporter

    from pytest_miopen_perf.codeobject.baseline import StaticKey
    from pytest_miopen_perf.static_gate.session import StaticSession

_QUIET = (StaticVerdict.PASS, StaticVerdict.NOT_COMPARED)
"""What level 0 counts and does not show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a session ended.

    Attributes:
        is_complete: It was not interrupted.
        is_green: No test failed.
        is_part: Options selected a part of the kernels, so that an absent one says nothing.
    """

    is_complete: bool
    is_green: bool
    is_part: bool


class Closing:
    """Judgements of a whole session, on the process that reports; what it cannot write it says, and goes on."""

    def __init__(self, session: StaticSession) -> None:
        self._session = session
        self._settings = session.perf.settings
        self._judgements: dict[StaticKey, StaticJudgement] = {}
        self._remarks: list[str] = []
        self._problems: list[str] = []

    def add(self, records: Iterable[dict[str, Any]]) -> None:
        """Take what reports carry; a kernel that several tests looked at stands once."""
        for record in records:
            judgement = StaticJudgement.from_json(record)
            other = self._judgements.setdefault(judgement.key, judgement)
            if other.now != judgement.now:
                self._problems.append(
                    f"two different kernels are called {judgement.key.name} on {judgement.key.target}, one of them in "
                    f"{record['nodeid']}; give one another name, so that a baseline can tell them apart"
                )

    def finish(self, ending: Ending) -> bool:
        """Write what was asked for; False when something is not on disk, or not allowed."""
        if self._settings.static_json_path is not None:
            self._write(self._settings.static_json_path, ending)
        if self._session.absent_db is not None:
            folder = self._session.absent_db
            self._tell("missing", f"the data base {folder} was not there, and no config of it was looked at")
        if self._session.baseline is not None and ending.is_complete and not ending.is_part:
            self._tell("vanished", absence(self._session.baseline, self._judgements))
        if self._session.save_path is not None:
            self._save(self._session.save_path, ending)
        if self._settings.is_static and self._settings.strict and not self._judgements:
            self._problems.append("no kernel was looked at, which --miopen-perf-strict does not allow")
        return not self._problems

    def print_summary(self, reporter: TerminalReporter) -> None:
        """The table, the counts, and what could not be written."""
        lines = [*self._table(has_colour=reporter.hasmarkup), *self._remarks]
        if lines or self._problems:
            reporter.ensure_newline()
            reporter.section("miopen-perf static")
        for line in lines:
            reporter.write_line(line)
        for problem in self._problems:
            reporter.write_line(f"miopen-perf: {problem}", red=True)

    def _table(self, *, has_colour: bool) -> Iterator[str]:
        """At level 0 only what is not quiet; from level 1 on every kernel."""
        judgements = list(self._judgements.values())
        shown = [each for each in judgements if self._settings.level > 0 or each.verdict not in _QUIET]
        yield from static_table_lines(shown, has_colour=has_colour)
        yield from static_footer_lines(judgements)
        if hidden := len(judgements) - len(shown):
            yield f"hidden   {hidden} of them; --miopen-perf-level=1 shows all"

    def _write(self, path: Path, ending: Ending) -> None:
        versus = self._settings.static_compare or ""
        document = static_document(
            self._judgements.values(), self._session.limits, versus, is_complete=ending.is_complete
        )
        try:
            write_atomically(path, document_text(document))
        except OSError as error:
            self._problems.append(
                f"the report {path} could not be written: {error}; give another --miopen-perf-static-json"
            )
        else:
            self._remarks.append(f"written  {path}")

    def _tell(self, word: str, sentence: str) -> None:
        """What was not looked at, in words that may be ""; strictly it fails the session."""
        if sentence and self._settings.strict:
            self._problems.append(f"{sentence}, which --miopen-perf-strict does not allow")
        elif sentence:
            self._remarks.append(f"{word:8} {sentence}")

    def _save(self, path: Path, ending: Ending) -> None:
        if not ending.is_complete or not ending.is_green:
            how = "failed" if ending.is_complete else "was interrupted"
            self._problems.append(f"no code-object baseline is saved, since the session {how}; {path} is as it was")
            return
        if not self._judgements:
            self._problems.append(
                f"no code-object baseline is saved, since no kernel was looked at; {path} is as it was"
            )
            return
        try:
            count = accept(path, self._judgements.values())
        except BaselineError as error:
            self._problems.append(str(error))
        else:
            self._remarks.append(f"saved    {counted(count, 'kernel')} to {path}")
