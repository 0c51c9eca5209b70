"""What a subcommand is, and how its help reads."""

from __future__ import annotations

import argparse
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_miopen_perf.cli.screen import Screen

    Run: TypeAlias = Callable[[argparse.Namespace, Screen], int]

FINE, FINDINGS, USAGE = 0, 1, 2
"""Exit codes: nothing to say, something to say, and a command that could not be understood or carried out."""

INTERRUPTED, READER_GONE = 130, 141
"""Exit codes of a shell for Ctrl-C, and for a pipe whose reader has left."""

_WIDTH = 78


@dataclass(frozen=True, slots=True, kw_only=True)
class Subcommand:
    """One subcommand of `miopen-perf`.

    Attributes:
        name: The word that chooses it.
        summary: One line for the list of all.
        description: What it reads, and what it says.
        examples: Commands, and what each is for.
        findings: What exit code 1 means.
        add_arguments: Tells a parser its options.
        run: Does it; returns the exit code.
    """

    name: str
    summary: str
    description: str
    examples: Sequence[tuple[str, str]]
    findings: str
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Run

    def add_to(self, add_parser: Callable[..., argparse.ArgumentParser]) -> None:
        """Make its parser with what makes one; `--json` is an option of every subcommand."""
        parser = add_parser(
            self.name,
            help=self.summary,
            description=textwrap.fill(self.description, _WIDTH),
            epilog=self._epilog(),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        self.add_arguments(parser)
        parser.add_argument("--json", action="store_true", help="write JSON instead of text")
        parser.set_defaults(run=self.run)

    def _epilog(self) -> str:
        examples = [f"  {command}\n      {meaning}" for command, meaning in self.examples]
        return "\n".join(["examples:", *examples, "", exit_codes(self.findings)])


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """A subcommand that has subcommands of its own."""

    name: str
    summary: str
    description: str
    subcommands: Sequence[Subcommand]

    def add_to(self, add_parser: Callable[..., argparse.ArgumentParser]) -> None:
        """Make its parser and theirs with what makes one."""
        parser = add_parser(
            self.name,
            help=self.summary,
            description=textwrap.fill(self.description, _WIDTH),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        parser.set_defaults(run=None, print_help=parser.print_help)
        subparsers = parser.add_subparsers(title="commands", metavar="COMMAND")
        for subcommand in self.subcommands:
            subcommand.add_to(subparsers.add_parser)


def exit_codes(findings: str) -> str:
    """The closing lines of a help text."""
    meanings = ("fine", findings, "wrong usage, or input that cannot be read")
    return "\n".join(["exit codes:", *(f"  {code}  {meaning}" for code, meaning in enumerate(meanings))])
