"""`miopen-perf db diff`: two data bases of one kind, problem for problem."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.cli.subcommand import FINDINGS, FINE, Subcommand
from pytest_miopen_perf.wording import counted

if TYPE_CHECKING:
    import argparse

    from pytest_miopen_perf.cli.database_input import Databases
    from pytest_miopen_perf.cli.screen import Screen
    from pytest_miopen_perf.database.diff import FindDiff, FindDifference, PerfDiff
    from pytest_miopen_perf.database.find_db import FindEntry

_MOST = 50
_STYLES = {"slower": "bold red", "faster": "green", "changed": "yellow"}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("old", metavar="OLD", help="a find-db or perf-db; - is stdin")
    parser.add_argument("new", metavar="NEW", help="another of the same kind")
    parser.add_argument("--noise", metavar="SHARE", help="times that differ by less are equal (default: 5%%)")
    parser.add_argument(
        "--most", type=int, default=_MOST, metavar="N", help=f"write at most so many differences (default: {_MOST})"
    )


def _run(arguments: argparse.Namespace, screen: Screen) -> int:
    from pytest_miopen_perf.cli.database_input import databases
    from pytest_miopen_perf.database.diff import NOISE, diff_find_dbs, diff_perf_dbs
    from pytest_miopen_perf.database.files import DatabaseKind, database_kind
    from pytest_miopen_perf.gate.margins import parse_margin

    noise = NOISE if arguments.noise is None else parse_margin(arguments.noise)
    with databases([arguments.old, arguments.new]) as found:
        old, new = found.paths
        if database_kind(old) is DatabaseKind.FIND_TEXT:
            return _find(diff_find_dbs(old, new, noise), found, screen, arguments)
        return _perf(diff_perf_dbs(old, new), found, screen, arguments)


# --- Find-dbs ---------------------------------------------------------------------------------------------------------


def _find(diff: FindDiff, found: Databases, screen: Screen, arguments: argparse.Namespace) -> int:
    from pytest_miopen_perf.cli.database_input import remark_faults

    listed = sorted((one for one in diff.differences if _is_listed(one)), key=_badness)
    if arguments.json:
        screen.json(_find_json(diff, found))
    else:
        _find_table(listed[: arguments.most], screen)
        if len(listed) > arguments.most:
            screen.line(f"{len(listed) - arguments.most} more differences")
        _find_footer(diff, screen)
        remark_faults(diff.faults, found, screen, arguments.most)
    return FINDINGS if listed or diff.only_old or diff.only_new or diff.faults else FINE


def _is_listed(one: FindDifference) -> bool:
    from pytest_miopen_perf.database.diff import Change, Winner

    return one.change is not Change.SAME or one.winner is Winner.CHANGED


def _badness(one: FindDifference) -> float:
    """The slowest first, what cannot be compared last."""
    return float("inf") if one.ratio is None else -one.ratio


def _find_table(listed: list[FindDifference], screen: Screen) -> None:
    if not listed:
        return
    from pytest_miopen_perf.report.text_table import Column

    columns = (
        Column("problem, winner", folds=True),
        Column("old ms", "right"),
        Column("new ms", "right"),
        Column("new/old", "right"),
        Column("time"),
        Column("winner"),
    )
    rows: list[tuple[str, ...]] = []
    for one in listed:
        ratio = "" if one.ratio is None else f"{one.ratio:.3g}"
        rows.append((one.key, _ms(one.old), _ms(one.new), ratio, one.change.value, one.winner.value))
        rows.append((f"  {_winners(one)}",))
    screen.table(columns, rows, styles=_STYLES)
    screen.line()


def _ms(entry: FindEntry | None) -> str:
    return "-" if entry is None else f"{entry.stated_ms:.4g}"


def _winners(one: FindDifference) -> str:
    old, new = ("none" if entry is None else entry.solver for entry in (one.old, one.new))
    return new if old == new else f"{old} -> {new}"


def _find_footer(diff: FindDiff, screen: Screen) -> None:
    from pytest_miopen_perf.database.diff import Change, Winner

    times = ", ".join(f"{diff.count(change)} {change.value}" for change in Change)
    winners = f"{diff.count(Winner.CHANGED)} winners changed, {diff.count(Winner.TIED)} by luck within the noise"
    screen.paragraph(f"times    {times}; noise {diff.noise:.3g}")
    screen.paragraph(f"winners  {winners}")
    screen.paragraph(f"keys     {len(diff.only_old)} only in the old one, {len(diff.only_new)} only in the new one")
    if diff.geometric_mean is not None:
        screen.paragraph(f"suite    geometric mean of new over old {diff.geometric_mean:.4g}")


def _find_json(diff: FindDiff, found: Databases) -> dict[str, Any]:
    from pytest_miopen_perf.cli.database_input import fault_json

    return {
        "kind": "find-db",
        "noise": diff.noise,
        "geometric_mean": diff.geometric_mean,
        "differences": [
            {
                "key": one.key,
                "old": _entry_json(one.old),
                "new": _entry_json(one.new),
                "ratio": one.ratio,
                "change": one.change.value,
                "winner": one.winner.value,
            }
            for one in diff.differences
        ],
        "only_old": list(diff.only_old),
        "only_new": list(diff.only_new),
        "faults": [fault_json(fault, found) for fault in diff.faults],
    }


def _entry_json(entry: FindEntry | None) -> dict[str, Any] | None:
    if entry is None:
        return None
    return {"solver": entry.solver, "time_ms": entry.time_ms, "workspace_bytes": entry.workspace_bytes}


# --- Perf-dbs ---------------------------------------------------------------------------------------------------------


def _perf(diff: PerfDiff, found: Databases, screen: Screen, arguments: argparse.Namespace) -> int:
    from pytest_miopen_perf.cli.database_input import fault_json, remark_faults

    if arguments.json:
        screen.json(
            {
                "kind": "perf-db",
                "equal": diff.equal,
                "differences": [
                    {"key": one.key, "solver": one.solver, "old": one.old, "new": one.new} for one in diff.differences
                ],
                "faults": [fault_json(fault, found) for fault in diff.faults],
            }
        )
    else:
        for one in diff.differences[: arguments.most]:
            screen.line(f"{one.key} {one.solver}")
            screen.line(f"  - {'(none)' if one.old is None else one.old}")
            screen.line(f"  + {'(none)' if one.new is None else one.new}")
        if len(diff.differences) > arguments.most:
            screen.line(f"{len(diff.differences) - arguments.most} more differences")
        screen.line(f"{counted(len(diff.differences), 'different config')}, {diff.equal} equal")
        remark_faults(diff.faults, found, screen, arguments.most)
    return FINDINGS if diff.differences or diff.faults else FINE


SUBCOMMAND = Subcommand(
    name="diff",
    summary="two data bases of one kind, problem for problem",
    description="Compares the best time and the winner of each problem of two find-dbs, the slowest first; a winner "
    "that changed by luck, because both solvers are equally fast within the noise, is told from one that really did. "
    "Of perf-dbs the configs are compared, which have no times.",
    examples=(
        ("miopen-perf db diff old.ufdb.txt new.ufdb.txt --noise 3%", "what a new release chose"),
        ("miopen-perf db diff gfx942130.db tuned.udb.txt", "shipped configs against tuned ones"),
    ),
    findings="differences beyond the noise, or lines that could not be read",
    add_arguments=_add_arguments,
    run=_run,
)
