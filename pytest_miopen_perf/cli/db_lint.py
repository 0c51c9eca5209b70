"""`miopen-perf db lint`: everything that is wrong with a data base."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.cli.subcommand import FINDINGS, FINE, Subcommand
from pytest_miopen_perf.wording import counted

if TYPE_CHECKING:
    import argparse

    from pytest_miopen_perf.cli.database_input import Databases
    from pytest_miopen_perf.cli.screen import Screen
    from pytest_miopen_perf.database.lint import LintReport

_MOST = 20


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files", nargs="+", metavar="FILE", help="a find-db or perf-db, or a folder of them; - is stdin"
    )
    parser.add_argument(
        "--most",
        type=int,
        default=_MOST,
        metavar="N",
        help=f"write at most so many findings of a kind; all are counted (default: {_MOST})",
    )


def _run(arguments: argparse.Namespace, screen: Screen) -> int:
    from pytest_miopen_perf.cli.database_input import databases, files_of
    from pytest_miopen_perf.cli.inputs import check_stdin_once
    from pytest_miopen_perf.database.lint import lint_database
    from pytest_miopen_perf.severity import Severity

    check_stdin_once(arguments.files)
    reports = []
    with databases(files_of(arguments.files)) as found:
        for path in found.paths:
            report = lint_database(path, arguments.most)
            reports.append(report)
            if not arguments.json:
                _write(report, found, screen)
    if arguments.json:
        screen.json({"files": [_json(report, found) for report in reports]})
    is_bad = any(report.total(severity) for report in reports for severity in (Severity.ERROR, Severity.WARNING))
    return FINDINGS if is_bad else FINE


def _write(report: LintReport, found: Databases, screen: Screen) -> None:
    from pytest_miopen_perf.severity import WORST_FIRST

    for finding in report.findings:
        place = f"{found.name(finding.file)}:{finding.line}"
        screen.line(f"{place}: {finding.severity.value}: {finding.sentence} [{finding.code.value}]")
    for code, count in report.counts.items():
        told = sum(finding.code is code for finding in report.findings)
        if count > told:
            screen.line(f"{found.name(report.file)}: {counted(count - told, 'more finding')} of the kind {code.value}")
    counts = ", ".join(severity.counted(report.total(severity)) for severity in WORST_FIRST)
    legacy = f", {report.legacy_records} of them in the old form (v1)" if report.legacy_records else ""
    screen.line(
        f"{found.name(report.file)}: {counted(report.records, 'record')}{legacy}, "
        f"{counted(report.entries, 'solver')} in them, {counted(report.lost, 'line')} lost: {counts}"
    )


def _json(report: LintReport, found: Databases) -> dict[str, Any]:
    return {
        "file": found.name(report.file),
        "records": report.records,
        "entries": report.entries,
        "legacy_records": report.legacy_records,
        "lost": report.lost,
        "counts": {code.value: count for code, count in report.counts.items()},
        "findings": [
            {
                "code": finding.code.value,
                "severity": finding.severity.value,
                "line": finding.line,
                "key": finding.key,
                "solver": finding.solver,
                "sentence": finding.sentence,
            }
            for finding in report.findings
        ],
    }


SUBCOMMAND = Subcommand(
    name="lint",
    summary="everything that is wrong with a data base",
    description="Finds records that are ill-formed, keys that name no problem, empty convolutions, solvers that do not "
    "serve the direction, times that are no measurements, workspaces that are not the formula's, and configs that do "
    "not fit their solver.",
    examples=(
        ("miopen-perf db lint ~/.config/miopen", "all data bases of a user"),
        ("miopen-perf db lint gfx942130.db --json", "a perf-db in SQLite, for a program"),
    ),
    findings="errors or warnings",
    add_arguments=_add_arguments,
    run=_run,
)
