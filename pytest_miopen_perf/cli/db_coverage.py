"""`miopen-perf db coverage`: which problems of a workload a data base knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.cli.subcommand import FINDINGS, FINE, Subcommand
from pytest_miopen_perf.wording import counted

if TYPE_CHECKING:
    import argparse

    from pytest_miopen_perf.cli.screen import Screen
    from pytest_miopen_perf.database.coverage import Coverage, CoverageRow

_STYLES = {"covered": "green", "missing": "bold red", "unmeasured": "yellow", "no key": "yellow"}
_MOST_FAULTS = 20


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    from pytest_miopen_perf.cli.named_problems import HELP

    parser.add_argument("database", metavar="DB", help="a find-db or perf-db")
    parser.add_argument("problems", nargs="+", metavar="PROBLEMS", help=HELP)
    parser.add_argument(
        "--print",
        dest="form",
        choices=("table", "lines"),
        default="table",
        help="a table of all problems, or the MIOpenDriver lines of those that are not covered (default: table)",
    )


def _run(arguments: argparse.Namespace, screen: Screen) -> int:
    from pytest_miopen_perf.cli.database_input import databases, remark_faults
    from pytest_miopen_perf.cli.inputs import check_stdin_once
    from pytest_miopen_perf.cli.named_problems import named_problems
    from pytest_miopen_perf.database.coverage import CoverageState, coverage

    check_stdin_once([arguments.database, *arguments.problems])
    named = named_problems(arguments.problems)
    with databases([arguments.database]) as found:
        result = coverage(named.counts, found.paths[0])
    left = [row for row in result.rows if row.state is not CoverageState.COVERED]
    if arguments.json:
        screen.json(_json(result))
    elif arguments.form == "lines":
        screen.lines(row.problem.to_driver() for row in left)
    else:
        _table(result, screen)
    remark_faults(result.faults, found, screen, _MOST_FAULTS)
    for line in named.skipped:
        screen.remark(f"{line.source}:{line.line_number}: skipped: {line.reason}")
    return FINDINGS if left or result.faults or named.skipped else FINE


def _table(result: Coverage, screen: Screen) -> None:
    from pytest_miopen_perf.database.coverage import CoverageState
    from pytest_miopen_perf.report.text_table import Column

    columns = (Column("problem", folds=True), Column("state"), Column("solvers", "right"), Column("first", folds=True))
    screen.table(columns, (_row(row) for row in result.rows), styles=_STYLES)
    counts = ", ".join(f"{result.count(state)} {state.value}" for state in CoverageState if result.count(state))
    screen.line()
    records = counted(result.records, "record")
    screen.line(f"{result.share or 0:.1%} of {counted(len(result.rows), 'problem')}: {counts}; {records}")


def _row(row: CoverageRow) -> tuple[str, ...]:
    return str(row.problem), row.state.value, str(len(row.solvers) or ""), row.solvers[0] if row.solvers else ""


def _json(result: Coverage) -> dict[str, Any]:
    return {
        "share": result.share,
        "records": result.records,
        "problems": [
            {
                "name": str(row.problem),
                "driver": row.problem.to_driver(),
                "key": row.key,
                "state": row.state.value,
                "solvers": list(row.solvers),
            }
            for row in result.rows
        ],
    }


SUBCOMMAND = Subcommand(
    name="coverage",
    summary="which problems of a workload a data base knows",
    description="Looks every problem of a workload up in a find-db or perf-db. A problem of which a find-db has only "
    "times that are no measurements is not covered.",
    examples=(
        ("miopen-perf db coverage gfx942130.ufdb.txt resnet50.txt", "a network against the user's find-db"),
        ("miopen-perf db coverage gfx942130.udb.txt net.txt --print lines > to_tune.txt", "what is left to tune"),
    ),
    findings="problems that are not covered, or lines that could not be read",
    add_arguments=_add_arguments,
    run=_run,
)
