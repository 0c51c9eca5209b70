"""`miopen-perf convert`: a log or a results file as a results file, or as comma-separated values."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_miopen_perf.cli.subcommand import FINDINGS, FINE, Subcommand

if TYPE_CHECKING:
    import argparse

    from pytest_miopen_perf.cli.screen import Screen


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    from pytest_miopen_perf.cli.measurements import STDERR_HELP

    parser.add_argument(
        "file", metavar="FILE", help="a log of MIOpenDriver, JSON or classic text, or a results file; - is stdin"
    )
    parser.add_argument("--stderr", metavar="FILE", help=STDERR_HELP)
    parser.add_argument("--csv", action="store_true", help="write comma-separated values, one row a case")
    parser.add_argument("-o", "--output", metavar="FILE", help="write there, all or nothing (default: stdout)")


def _run(arguments: argparse.Namespace, screen: Screen) -> int:
    import io
    import json

    from pytest_miopen_perf.cli.measurements import read_measurements
    from pytest_miopen_perf.cli.results_output import document, write_csv
    from pytest_miopen_perf.errors import InputError

    if arguments.csv and arguments.json:
        raise InputError("--csv and --json exclude each other; JSON is what is written without --csv")
    found = read_measurements(arguments.file, arguments.stderr)
    text = io.StringIO()
    if arguments.csv:
        write_csv(found, text)
    else:
        json.dump(document(found), text, indent=1, allow_nan=False)
        text.write("\n")
    if arguments.output is None:
        screen.out.write(text.getvalue())
    else:
        _write(Path(arguments.output), text.getvalue())
    for remark in found.remarks:
        screen.remark(remark)
    return FINDINGS if found.remarks else FINE


def _write(path: Path, text: str) -> None:
    from pytest_miopen_perf.atomic_file import write_atomically
    from pytest_miopen_perf.errors import InputError

    try:
        write_atomically(path, text)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror or error}; give another --output") from error


SUBCOMMAND = Subcommand(
    name="convert",
    summary="a performance log or a results file as results JSON or CSV",
    description="Writes what was measured as a results file (the form of --miopen-perf-json, with a published schema) "
    "or as comma-separated values, one row a case. Host names do not pass.",
    examples=(
        ("miopen-perf convert driver.log -o driver.json", "a results file, which compare takes as well"),
        ("miopen-perf convert results.json --csv > results.csv", "for a spreadsheet"),
    ),
    findings="a part of the log could not be read",
    add_arguments=_add_arguments,
    run=_run,
)
