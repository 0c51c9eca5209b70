"""Measured cases out of whatever holds them: a results file of ours, or a performance log of MIOpen or of ours."""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.cli.documents import RESULTS, Document, document_or_log
from pytest_miopen_perf.cli.inputs import STDIN, check_stdin_once, opened, shown
from pytest_miopen_perf.errors import InputError
from pytest_miopen_perf.moments import now, when_written
from pytest_miopen_perf.report.circumstance_lines import seed_words
from pytest_miopen_perf.wording import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from typing import BinaryIO

    from pytest_miopen_perf.cases import Case
    from pytest_miopen_perf.driver.log_item import LogItem
    from pytest_miopen_perf.driver.text_runs import TextRun

STDERR_HELP = "the stderr of the same run, where the log of stdout and that of stderr were kept apart"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurements:
    """What was measured.

    Attributes:
        processes: The cases of each process.
        ended: When, ISO 8601 with its time zone.
        is_complete: False of a session that was interrupted.
        settings: Of the session, as they stand in the file; None of a log, which does not tell.
        environment: The variables that were set; of a log those that it states.
        versions: Of what was installed.
        remarks: What could not be read, in words.
    """

    processes: tuple[tuple[Case, ...], ...]
    ended: str
    is_complete: bool = True
    settings: Mapping[str, Any] | None = None
    environment: Mapping[str, str]
    versions: Mapping[str, str]
    remarks: tuple[str, ...] = ()

    @property
    def cases(self) -> tuple[Case, ...]:
        """All cases."""
        return tuple(case for process in self.processes for case in process)

    @property
    def conditions(self) -> str:
        """What the session says of the data and the caches, in words; of a log, which has no settings, the seeds."""
        if self.settings is None:
            return seed_words([case.result for case in self.cases if case.result is not None])
        caches, data = self.settings.get("cache_state", "warm"), self.settings["data"]
        return f"seed {self.settings['seed']}, {data}; caches {caches}; level {self.settings['level']}"


def read_measurements(name: str, stderr: str | None = None) -> Measurements:
    """Read a file.

    Args:
        name: A results file or a log; `-` is stdin.
        stderr: The rest of the log, where stdout and stderr were kept apart.

    Raises:
        InputError: it cannot be read, or holds neither results nor records.
    """
    with opened(name) as file:
        found = document_or_log(file, shown(name))
        return of_document(found, shown(name)) if isinstance(found, Document) else of_log(found, name, stderr)


def of_document(document: Document, where: str) -> Measurements:
    """The measurements of a results file.

    Raises:
        InputError: the document is another one, or damaged.
    """
    if document.format != RESULTS:
        raise InputError(f"{where} is {document.format!r}; give a results file or a log")
    from pytest_miopen_perf.cases import by_process
    from pytest_miopen_perf.report.results_reader import parse_results

    results = parse_results(document.text, where)
    return Measurements(
        processes=by_process(results.cases),
        ended=results.created,
        settings=results.settings,
        is_complete=results.is_complete,
        environment=results.environment,
        versions=results.versions,
    )


def of_log(file: BinaryIO, name: str, stderr: str | None = None) -> Measurements:
    """The measurements of an opened log, JSON and classic text.

    Raises:
        InputError: it holds no measurement.
    """
    from pytest_miopen_perf.logged.cases import logged_session
    from pytest_miopen_perf.logged.text import logged_text

    with _log(file, name, stderr) as log:
        records = logged_session(log.items())
        text = logged_text(log.text_runs())
    processes = (*records.processes, *text.processes)
    if not processes:
        raise InputError(_why_nothing(log, text.unnamed))
    return Measurements(
        processes=processes,
        ended=_modified(name),
        environment=dict(records.environment),
        versions=dict(records.versions),
        remarks=tuple(_remarks(log, text.unnamed)),
    )


def _why_nothing(log: Log, unnamed: int) -> str:
    if unnamed:
        results = counted(unnamed, "result")
        return f"{log.name} holds {results} and no command: without it nobody can tell which problem was computed"
    if log.counts["record"]:
        return (
            f"{log.name} holds {counted(log.counts['record'], 'record')} and no performance line; is stdout in the log?"
        )
    return f"{log.name} is no log of MIOpenDriver and no results file; nothing in it is a measurement"


def _remarks(log: Log, unnamed: int) -> Iterator[str]:
    for word in ("corrupt", "foreign"):
        if log.counts[word]:
            yield f"{log.name}: {counted(log.counts[word], f'{word} piece')}; miopen-perf check tells more"
    if unnamed:
        yield f"{log.name}: {counted(unnamed, 'result')} without a command, so that the problem is not known"


class Log:
    """An opened log, or its two halves, to be read as JSON and then as classic text.

    Attributes:
        name: What messages call it.
        counts: How many pieces of each kind the reading as JSON has found, and how many were repaired or doubtful.
    """

    def __init__(self, streams: Sequence[tuple[str, BinaryIO]]) -> None:
        self._streams = streams
        self.name = " and ".join(source for source, _ in streams)
        self.counts: Counter[str] = Counter()

    def items(self) -> Iterator[LogItem]:
        """Everything, read as JSON lines."""
        from pytest_miopen_perf.driver.log_reader import read_log

        for source, stream in self._streams:
            stream.seek(0)
            for item in read_log(stream, source=source):
                self._count(item)
                yield item

    def text_runs(self) -> Iterator[TextRun]:
        """The runs that stand there as classic text; in a log of records only those with results."""
        from pytest_miopen_perf.driver.text_reader import read_driver_text
        from pytest_miopen_perf.driver.text_runs import text_runs

        if not self.counts["noise"]:
            return
        for source, stream in self._streams:
            stream.seek(0)
            for run in text_runs(read_driver_text(stream, source=source)):
                if run.results or not self.counts["record"]:
                    yield run

    def _count(self, item: LogItem) -> None:
        self.counts[item.kind.value] += 1
        if item.repairs:
            self.counts["repaired"] += 1
        if item.doubts:
            self.counts["doubtful"] += 1


@contextlib.contextmanager
def opened_log(name: str, stderr: str | None) -> Iterator[Log]:
    """Open a log.

    Args:
        name: The log; `-` is stdin.
        stderr: The rest of it, where stdout and stderr were kept apart.

    Raises:
        InputError: a file cannot be read, or is no log but a document of this project.
    """
    with opened(name) as file:
        found = document_or_log(file, shown(name))
        if isinstance(found, Document):
            raise InputError(f"{shown(name)} is {found.format!r}; give a performance log")
        with _log(found, name, stderr) as log:
            yield log


@contextlib.contextmanager
def _log(file: BinaryIO, name: str, stderr: str | None) -> Iterator[Log]:
    if stderr is None:
        yield Log([(shown(name), file)])
        return
    check_stdin_once([name, stderr])
    with opened(stderr) as rest:
        yield Log([(shown(name), file), (shown(stderr), rest)])


def _modified(name: str) -> str:
    """When a log was last written: its lines do not say it."""
    return now() if name == STDIN else when_written(Path(name))
