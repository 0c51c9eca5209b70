"""`miopen-perf db merge`: one data base out of those of several workers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.cli.subcommand import FINDINGS, FINE, Subcommand
from pytest_miopen_perf.wording import counted

if TYPE_CHECKING:
    import argparse

    from pytest_miopen_perf.cli.database_input import Databases
    from pytest_miopen_perf.cli.screen import Screen
    from pytest_miopen_perf.database.merge import Candidate, Conflict, Merge

_MOST = 20


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("files", nargs="+", metavar="FILE", help="find-dbs, or perf-dbs; the newest last; - is stdin")
    parser.add_argument("-o", "--output", metavar="FILE", help="write there, all or nothing (default: stdout)")
    parser.add_argument(
        "--most", type=int, default=_MOST, metavar="N", help=f"tell at most so many conflicts (default: {_MOST})"
    )


def _run(arguments: argparse.Namespace, screen: Screen) -> int:
    from pytest_miopen_perf.cli.database_input import databases, remark_faults
    from pytest_miopen_perf.database.files import format_record, write_records
    from pytest_miopen_perf.database.merge import merge_databases
    from pytest_miopen_perf.errors import InputError

    if arguments.json and arguments.output is None:
        raise InputError("--json tells what was merged, on stdout; name a file for the records with --output")
    with databases(arguments.files) as found:
        merge = merge_databases(found.paths)
    if arguments.output is None:
        screen.lines(format_record(record) for record in merge.records)
    else:
        write_records(Path(arguments.output), merge.records)
    if arguments.json:
        screen.json(_json(merge, found))
    else:
        remark_faults(merge.faults, found, screen, arguments.most)
        _remark_conflicts(merge, found, screen, arguments.most)
    return FINDINGS if merge.conflicts or merge.faults else FINE


def _remark_conflicts(merge: Merge, found: Databases, screen: Screen, most: int) -> None:
    for conflict in merge.conflicts[:most]:
        dropped = ", ".join(_candidate(candidate, found) for candidate in conflict.dropped)
        kept = _candidate(conflict.kept, found)
        screen.remark(f"{conflict.key} {conflict.solver}: kept {kept}; dropped {dropped}")
    if len(merge.conflicts) > most:
        screen.remark(f"{len(merge.conflicts) - most} more conflicts")
    held = f"{counted(len(merge.records), 'record')}, {counted(len(merge.conflicts), 'conflict')}"
    screen.remark(f"{held}, {len(merge.faults)} unreadable")


def _candidate(candidate: Candidate, found: Databases) -> str:
    return f"{_value(candidate)} of {found.name(candidate.file)}:{candidate.line}"


def _value(candidate: Candidate) -> str:
    from pytest_miopen_perf.database.find_db import FindEntry

    entry = candidate.entry
    if isinstance(entry, FindEntry):
        return f"{entry.stated_ms:g} ms"
    return entry.config if candidate.tuned_ms is None else f"{entry.config} ({candidate.tuned_ms:g} ms)"


def _json(merge: Merge, found: Databases) -> dict[str, Any]:
    from pytest_miopen_perf.cli.database_input import fault_json

    return {
        "records": len(merge.records),
        "conflicts": [_conflict_json(conflict, found) for conflict in merge.conflicts],
        "faults": [fault_json(fault, found) for fault in merge.faults],
    }


def _conflict_json(conflict: Conflict, found: Databases) -> dict[str, Any]:
    def side(candidate: Candidate) -> dict[str, Any]:
        return {"file": found.name(candidate.file), "line": candidate.line, "value": _value(candidate)}

    return {
        "key": conflict.key,
        "solver": conflict.solver,
        "kept": side(conflict.kept),
        "dropped": [side(candidate) for candidate in conflict.dropped],
    }


SUBCOMMAND = Subcommand(
    name="merge",
    summary="one data base out of those of several workers",
    description="Merges find-dbs, or perf-dbs, of the same device: each problem and solver once. Of find-db entries "
    "that differ the fastest measured one stays. Of tuned configs the fastest stays, by the .times.txt that "
    "--miopen-perf-db keeps beside them; without it, as of MIOpen's own perf-dbs, the file named last counts as the "
    "newest. What was dropped is listed. The result is in MIOpen's present text form.",
    examples=(
        ("miopen-perf db merge gpu*/gfx942130.ufdb.txt -o gfx942130.ufdb.txt", "the user find-dbs of several GPUs"),
        ("miopen-perf db merge old.udb.txt new.udb.txt > merged.udb.txt", "new configs over old ones"),
    ),
    findings="entries that differed, or lines that could not be read",
    add_arguments=_add_arguments,
    run=_run,
)
