"""`miopen-perf validate`: every line of a log against the published schema."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.cli.subcommand import FINDINGS, FINE, Subcommand

if TYPE_CHECKING:
    import argparse
    from typing import BinaryIO

    from pytest_miopen_perf.cli.documents import Document
    from pytest_miopen_perf.cli.screen import Screen
    from pytest_miopen_perf.driver.log_item import LogItem

_MOST = 50


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="a performance log or a results file; - is stdin")
    parser.add_argument(
        "--most",
        type=int,
        default=_MOST,
        metavar="N",
        help=f"write at most so many faults a file; all are counted (default: {_MOST})",
    )


@dataclass(slots=True, kw_only=True)
class _Verdict:
    """What a file came to.

    Attributes:
        file: Its name.
        valid: Lines by their kind, or the kind of the document.
        faults: How many lines are not valid.
        noise: Pieces of text that are no JSON.
        told: The first faults: line and sentence.
    """

    file: str
    valid: Counter[str] = field(default_factory=Counter)
    faults: int = 0
    noise: int = 0
    told: list[tuple[int, str]] = field(default_factory=list)

    def add_fault(self, line: int, sentence: str, most: int) -> None:
        self.faults += 1
        if len(self.told) < most:
            self.told.append((line, sentence))

    def to_json(self) -> dict[str, Any]:
        return {
            "file": self.file,
            "valid": dict(self.valid),
            "faults": self.faults,
            "noise": self.noise,
            "told": [{"line": line, "sentence": sentence} for line, sentence in self.told],
        }


def _run(arguments: argparse.Namespace, screen: Screen) -> int:
    from pytest_miopen_perf.cli.inputs import check_stdin_once

    check_stdin_once(arguments.files)
    verdicts = [_validate(name, arguments.most) for name in arguments.files]
    if arguments.json:
        screen.json({"files": [verdict.to_json() for verdict in verdicts]})
    else:
        for verdict in verdicts:
            _write(verdict, screen)
    return FINDINGS if any(verdict.faults or not verdict.valid for verdict in verdicts) else FINE


def _validate(name: str, most: int) -> _Verdict:
    from pytest_miopen_perf.cli.documents import Document, document_or_log
    from pytest_miopen_perf.cli.inputs import opened, shown

    verdict = _Verdict(file=shown(name))
    with opened(name) as file:
        found = document_or_log(file, shown(name))
        if isinstance(found, Document):
            _validate_document(found, verdict, most)
        else:
            _validate_log(found, verdict, most)
    return verdict


def _validate_document(document: Document, verdict: _Verdict, most: int) -> None:
    from pytest_miopen_perf.cli.documents import RESULTS
    from pytest_miopen_perf.errors import InputError
    from pytest_miopen_perf.report.results_reader import results_fault

    if document.format != RESULTS:
        raise InputError(f"{verdict.file} is {document.format!r}; give a performance log or a results file")
    fault = results_fault(document.data)
    if fault:
        verdict.add_fault(0, fault, most)
    else:
        verdict.valid["results file"] += 1


def _validate_log(file: BinaryIO, verdict: _Verdict, most: int) -> None:
    from pytest_miopen_perf.driver.log_item import ItemKind
    from pytest_miopen_perf.driver.log_reader import read_unsound

    for item in read_unsound(file, verdict.valid):
        if item.kind is ItemKind.NOISE:
            verdict.noise += 1
        elif fault := _fault(item):
            verdict.add_fault(item.line_number, fault, most)
        else:
            assert item.record is not None, "what is neither noise nor at fault is a record"
            verdict.valid[item.record.KEY] += 1


def _fault(item: LogItem) -> str:
    """Why a piece is no valid line as it stands; "" when it is one."""
    if item.reason is not None:
        return item.reason.message
    if item.repairs:
        return f"not valid as it stands, though it could be read: {'; '.join(note.message for note in item.repairs)}"
    return ""


def _write(verdict: _Verdict, screen: Screen) -> None:
    for line, sentence in verdict.told:
        place = f"{verdict.file}:{line}" if line else verdict.file
        screen.line(f"{place}: {sentence}")
    if verdict.faults > len(verdict.told):
        screen.line(f"{verdict.file}: {verdict.faults - len(verdict.told)} more")
    kinds = ", ".join(f"{count} {kind}" for kind, count in verdict.valid.items()) or "nothing"
    other = f"; {verdict.noise} other lines" if verdict.noise else ""
    screen.line(f"{verdict.file}: valid: {kinds}; faults: {verdict.faults}{other}")


SUBCOMMAND = Subcommand(
    name="validate",
    summary="every line of a log against the published schema",
    description="Holds every JSON line of a performance log against the schema that this package publishes, and a "
    "results file against its own. A line that can only be read after a repair is not valid: bare nan, MIOpen's signed "
    "escapes, torn and glued records. Text between the records is counted and is no fault. Memory stays flat.",
    examples=(
        ("miopen-perf validate session.jsonl", "a log of this project"),
        ("MIOpenDriver conv -F 1 2>&1 | miopen-perf validate - --json", "the driver's own, for a program"),
    ),
    findings="lines that are not valid, or a file without a record",
    add_arguments=_add_arguments,
    run=_run,
)
