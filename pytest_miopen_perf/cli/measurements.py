"""Measured cases out of whatever holds them: a results file of ours, or a performance log of MIOpen or of ours."""

from __future__ import annotations

import contextlib
from collections import Counter
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_miopen_perf.cli.documents import RESULTS, Document, document_or_log
from pytest_miopen_perf.cli.inputs import STDIN, check_stdin_once, opened, shown
from pytest_miopen_perf.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from typing import BinaryIO

    from pytest_miopen_perf.cases import Case
    from pytest_miopen_perf.driver.log_item import LogItem

STDERR_HELP = "the stderr of the same run, where the log of stdout and that of stderr were kept apart"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measurements:
    """What was measured.

    Attributes:
        processes: The cases of each process.
        ended: When, ISO 8601 with its time zone.
        tune: The tuning policy: "off", "missing" or "force".
        is_complete: False of a session that was interrupted.
        environment: The variables that were set.
        versions: Of what was installed.
        remarks: What could not be read, in words.
    """

    processes: tuple[tuple[Case, ...], ...]
    ended: str
    tune: str = "off"
    is_complete: bool = True
    environment: Mapping[str, str]
    versions: Mapping[str, str]
    remarks: tuple[str, ...] = ()

    @property
    def cases(self) -> tuple[Case, ...]:
        """All cases."""
        return tuple(case for process in self.processes for case in process)


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
    from pytest_miopen_perf.report.results_reader import parse_results

    results = parse_results(document.text, where)
    return Measurements(
        processes=(results.cases,),
        ended=results.created,
        tune=results.settings["tune"],
        is_complete=results.is_complete,
        environment=results.environment,
        versions=results.versions,
    )


def of_log(file: BinaryIO, name: str, stderr: str | None = None) -> Measurements:
    """The measurements of an opened log.

    Raises:
        InputError: it holds no record, or no measurement.
    """
    from pytest_miopen_perf.logged_cases import logged_session

    counts: Counter[str] = Counter()
    with _items(file, name, stderr, counts) as items:
        session = logged_session(items)
    names = " and ".join(shown(each) for each in (name, stderr) if each is not None)
    if not counts["record"]:
        raise InputError(f"{names} holds no record of a performance log; run with MIOPEN_PERFORMANCE_LOGS=1 or above")
    if not session.cases:
        raise InputError(f"{names} holds {counts['record']} records and no performance line; is stdout in the log?")
    return Measurements(
        processes=session.processes,
        ended=_modified(name),
        environment=dict(session.environment),
        versions=dict(session.versions),
        remarks=tuple(
            f"{names}: {counts[word]} pieces of the log are {word}; miopen-perf check tells more"
            for word in ("corrupt", "foreign")
            if counts[word]
        ),
    )


@contextlib.contextmanager
def log_items(name: str, stderr: str | None, counts: Counter[str]) -> Iterator[Iterator[LogItem]]:
    """The items of a log, counted on their way.

    Args:
        name: The log; `-` is stdin.
        stderr: The rest of it, where stdout and stderr were kept apart.
        counts: Takes how many items there are of each kind, and how many were repaired or are doubtful.

    Raises:
        InputError: a file cannot be read, or is no log but a document of this project.
    """
    with opened(name) as file:
        found = document_or_log(file, shown(name))
        if isinstance(found, Document):
            raise InputError(f"{shown(name)} is {found.format!r}; give a performance log")
        with _items(found, name, stderr, counts) as items:
            yield items


@contextlib.contextmanager
def _items(file: BinaryIO, name: str, stderr: str | None, counts: Counter[str]) -> Iterator[Iterator[LogItem]]:
    from pytest_miopen_perf.driver.log_reader import read_log

    if stderr is None:
        yield _counted(read_log(file, source=shown(name)), counts)
        return
    check_stdin_once([name, stderr])
    with opened(stderr) as rest:
        both = ((file, shown(name)), (rest, shown(stderr)))
        yield _counted((item for stream, source in both for item in read_log(stream, source=source)), counts)


def _counted(items: Iterable[LogItem], counts: Counter[str]) -> Iterator[LogItem]:
    for item in items:
        counts[item.kind.value] += 1
        if item.repairs:
            counts["repaired"] += 1
        if item.doubts:
            counts["doubtful"] += 1
        yield item


def _modified(name: str) -> str:
    """When a log was last written: its lines do not say it."""
    moment = datetime.now(timezone.utc)
    if name != STDIN:
        moment = datetime.fromtimestamp(Path(name).stat().st_mtime, timezone.utc)
    return moment.isoformat(timespec="seconds")
