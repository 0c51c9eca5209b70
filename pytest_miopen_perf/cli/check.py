"""`miopen-perf check`: what is wrong with a log beyond its schema, or not to be trusted in it."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.cli.subcommand import FINDINGS, FINE, Subcommand
from pytest_miopen_perf.severity import WORST_FIRST, Severity
from pytest_miopen_perf.wording import counted

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from pytest_miopen_perf.cli.screen import Screen
    from pytest_miopen_perf.driver.finding import Finding

_COLOURS = {"error": "31;1", "warning": "33", "info": "36"}
_COUNTED = {
    "record": "record",
    "corrupt": "corrupt piece",
    "foreign": "foreign piece",
    "noise": "other line",
    "repaired": "repaired piece",
    "doubtful": "doubtful piece",
    "text run": "text run",
}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    from pytest_miopen_perf.cli.measurements import STDERR_HELP

    parser.add_argument("file", metavar="FILE", help="a log of MIOpenDriver; - is stdin")
    parser.add_argument("--stderr", metavar="FILE", help=STDERR_HELP)
    parser.add_argument(
        "--level", metavar="N", help="the level that the log was asked for, in any form that MIOpen reads"
    )


def _run(arguments: argparse.Namespace, screen: Screen) -> int:
    from pytest_miopen_perf.cli.measurements import opened_log
    from pytest_miopen_perf.driver.semantics import check_log
    from pytest_miopen_perf.perflog import parse_level

    level = None if arguments.level is None else parse_level(arguments.level)
    with opened_log(arguments.file, arguments.stderr) as log:
        findings = check_log(log.items(), level)
        runs = 0
        for run in log.text_runs():
            runs += bool(run.results)
            findings += run.findings
    counts = log.counts | Counter({"text run": runs})
    if arguments.json:
        screen.json({"counts": dict(counts), "findings": [_json(finding) for finding in findings]})
    else:
        _write(findings, log.name, counts, screen)
    is_bad = any(finding.severity is not Severity.INFO for finding in findings)
    return FINDINGS if is_bad or not (counts["record"] or runs) else FINE


def _json(finding: Finding) -> dict[str, Any]:
    return {
        "code": finding.code,
        "severity": finding.severity.value,
        "message": finding.message,
        "source": finding.source,
        "line": finding.line_number,
    }


def _write(findings: Sequence[Finding], name: str, counts: Counter[str], screen: Screen) -> None:
    for finding in findings:
        text, word = str(finding), finding.severity.value
        if screen.has_colour:
            text = text.replace(f"{word}:", f"\x1b[{_COLOURS[word]}m{word}\x1b[0m:", 1)
        screen.line(text)
    severities = Counter(finding.severity for finding in findings)
    found = ", ".join(one.counted(severities[one]) for one in WORST_FIRST if severities[one]) or "nothing"
    held = ", ".join(counted(count, _COUNTED[word]) for word, count in counts.items() if count)
    if counts["record"] or counts["text run"]:
        screen.line(f"found {found} in {held}")
    else:
        screen.line(f"{name} holds no record of a performance log ({held or 'it is empty'})")


SUBCOMMAND = Subcommand(
    name="check",
    summary="what is wrong with a log beyond its schema",
    description="Reads a log as MIOpen writes it, JSON or classic text, and tells what its numbers do not: statistics "
    "that do not follow from the samples, kernels of another run, records that are lost, torn or doubled, unknown "
    "solvers, times that are no measurements, a winner that was not the fastest. Each finding has a code and a "
    "severity.",
    examples=(
        ("miopen-perf check driver.log", "stdout and stderr in one file"),
        ("miopen-perf check out.log --stderr err.log --level 4", "kept apart, and asked for at level 4"),
    ),
    findings="warnings or errors, or no record at all",
    add_arguments=_add_arguments,
    run=_run,
)
