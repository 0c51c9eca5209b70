"""`miopen-perf show`: a log or a results file as the table that a session ends with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_miopen_perf.cli.subcommand import FINDINGS, FINE, Subcommand

if TYPE_CHECKING:
    import argparse

    from pytest_miopen_perf.cli.measurements import Measurements
    from pytest_miopen_perf.cli.screen import Screen


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    from pytest_miopen_perf.cli.measurements import STDERR_HELP

    parser.add_argument(
        "file", metavar="FILE", help="a log of MIOpenDriver, JSON or classic text, or a results file; - is stdin"
    )
    parser.add_argument("--stderr", metavar="FILE", help=STDERR_HELP)
    parser.add_argument(
        "--level",
        type=int,
        choices=range(1, 5),
        default=1,
        help="how much: 1 a row a case, 2 with kernels, 3 with what was tried, 4 both (default: 1)",
    )


def _run(arguments: argparse.Namespace, screen: Screen) -> int:
    from pytest_miopen_perf.cli.measurements import read_measurements

    found = read_measurements(arguments.file, arguments.stderr)
    if arguments.json:
        from pytest_miopen_perf.cli.results_output import document

        screen.json(document(found))
    else:
        _table(found, arguments.level, screen)
    for remark in found.remarks:
        screen.remark(remark)
    is_fine = found.is_complete and not found.remarks and all(case.outcome == "passed" for case in found.cases)
    return FINE if is_fine else FINDINGS


def _table(found: Measurements, level: int, screen: Screen) -> None:
    from pytest_miopen_perf.report.terminal import summary_lines
    from pytest_miopen_perf.settings import Settings

    screen.lines(
        summary_lines(
            found.cases,
            Settings(level=level),
            log_path=None,
            width=max(80, screen.width),
            has_colour=screen.has_colour,
            conditions=found.conditions,
        )
    )
    if found.versions:
        screen.paragraph("versions " + ", ".join(f"{name} {version}" for name, version in found.versions.items()))
    if not found.is_complete:
        screen.remark("the session was interrupted; a case that is not here has not passed")


SUBCOMMAND = Subcommand(
    name="show",
    summary="a performance log or a results file as a table",
    description="Shows what MIOpenDriver or a session of pytest-miopen-perf measured: one problem on a line, what "
    "computed it on the next, worst news first. Logs are read as MIOpen writes them, with all their faults.",
    examples=(
        ("miopen-perf show driver.log", "stdout and stderr of MIOpenDriver in one file"),
        ("miopen-perf show out.log --stderr err.log --level 2", "kept apart; with the kernels"),
        ("MIOPEN_PERFORMANCE_LOGS=2 MIOpenDriver conv -F 1 2>&1 | miopen-perf show -", "straight from the driver"),
    ),
    findings="a case failed, or a part of the log could not be read",
    add_arguments=_add_arguments,
    run=_run,
)
