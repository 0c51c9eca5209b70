"""The `miopen-perf` command: MIOpen's logs, data bases, problems and environment on a terminal or in a pipe.

`main` is the entry. Each subcommand is a module that names itself in `SUBCOMMAND` and imports what it works with when
it runs: `miopen-perf --help` loads nothing but the standard library.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
from typing import TYPE_CHECKING

from pytest_miopen_perf.cli.screen import Screen
from pytest_miopen_perf.cli.subcommand import FINE, INTERRUPTED, READER_GONE, USAGE, Group, Subcommand, exit_codes
from pytest_miopen_perf.errors import PerfError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TextIO

SUBCOMMANDS = (
    "show",
    "check",
    "validate",
    "compare",
    "ab",
    "convert",
    "db",
    "problems",
    "solvers",
    "devices",
    "codeobject",
    "doctor",
)
"""Modules of this package, in the order of the help text."""


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out one command and return its exit code; nothing else leaves this function.

    Args:
        argv: The words after the program's name; None for those of this process.
    """
    screen = Screen.of_this_process()
    try:
        status = _run(argv, screen)
        screen.flush()
    except PerfError as error:
        screen.remark(str(error))
        return USAGE
    except BrokenPipeError:
        _give_up(screen.out)
        return READER_GONE
    except OSError as error:  # what cannot be read is an InputError already: this is the output
        screen.remark(f"the output cannot be written: {error.strerror or error}")
        _give_up(screen.out)
        return USAGE
    except KeyboardInterrupt:
        return INTERRUPTED
    return status


def _run(argv: Sequence[str] | None, screen: Screen) -> int:
    parser = make_parser()
    try:
        arguments = parser.parse_args(argv)
    except SystemExit as end:  # argparse has said what there is to say
        return end.code if isinstance(end.code, int) else FINE
    if arguments.run is None:
        arguments.print_help(screen.err)
        return USAGE
    status: int = arguments.run(arguments, screen)
    return status


def make_parser() -> argparse.ArgumentParser:
    """The parser with all subcommands."""
    from pytest_miopen_perf import __version__

    parser = argparse.ArgumentParser(
        prog="miopen-perf",
        description="Read, check and compare what MIOpen, MIOpenDriver and pytest-miopen-perf write.",
        epilog="\n".join(
            [
                "miopen-perf COMMAND --help tells the options of a command, with examples.",
                "Every command takes --json; a file called - is stdin.",
                "",
                exit_codes("findings or differences"),
            ]
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"%(prog)s {__version__}")
    parser.set_defaults(run=None, print_help=parser.print_help)
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name in SUBCOMMANDS:
        _subcommand(name).add_to(subparsers.add_parser)
    return parser


def _subcommand(name: str) -> Subcommand | Group:
    found = importlib.import_module(f"{__name__}.{name}").SUBCOMMAND
    assert isinstance(found, Subcommand | Group), f"{name} names its subcommand"
    return found


def _give_up(out: TextIO) -> None:
    """Point stdout at nothing, so that the interpreter does not complain when it flushes at its exit."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), out.fileno())
