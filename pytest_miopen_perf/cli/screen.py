"""Where a subcommand writes: tables or JSON on stdout, remarks on stderr."""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_miopen_perf.report.text_table import Column

_PROGRAM = "miopen-perf"
_NARROWEST = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """Two streams and what the first one can show.

    Attributes:
        out: For results.
        err: For remarks and errors.
        width: Columns.
        has_colour: Whether colour codes show as colour.
    """

    out: TextIO
    err: TextIO
    width: int
    has_colour: bool

    @staticmethod
    def of_this_process() -> Screen:
        """Standard output and error; colour on a terminal, unless NO_COLOR is set."""
        _fill_closed_streams()
        for stream in (sys.stdout, sys.stderr):
            # A name from a damaged log must not end the program; what the stream cannot show it shows escaped.
            getattr(stream, "reconfigure", lambda **_: None)(errors="backslashreplace")
        is_plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
        return Screen(
            out=sys.stdout,
            err=sys.stderr,
            width=max(_NARROWEST, shutil.get_terminal_size((80, 24)).columns),
            has_colour=sys.stdout.isatty() and not is_plain,
        )

    def line(self, text: str = "") -> None:
        """Write one line of the result as it is."""
        self.out.write(f"{text}\n")

    def lines(self, lines: Iterable[str]) -> None:
        """Write lines of the result as they are."""
        for line in lines:
            self.line(line)

    def paragraph(self, text: str, indent: str = "") -> None:
        """Write a sentence, wrapped to the screen."""
        self.lines(
            textwrap.wrap(
                text, self.width, initial_indent=indent, subsequent_indent=f"{indent}  ", break_on_hyphens=False
            )
        )

    def table(
        self, columns: Sequence[Column], rows: Iterable[Sequence[str]], styles: Mapping[str, str] | None = None
    ) -> None:
        """Write a table, wrapped to the screen; see `table_lines`."""
        from pytest_miopen_perf.report.text_table import table_lines

        self.lines(table_lines(columns, rows, width=self.width, has_colour=self.has_colour, styles=styles))

    def json(self, data: Any) -> None:
        """Write JSON."""
        json.dump(data, self.out, indent=1, allow_nan=False)
        self.out.write("\n")

    def remark(self, text: str) -> None:
        """Tell something beside the result, on stderr."""
        self.err.write(f"{_PROGRAM}: {text}\n")

    def flush(self) -> None:
        """Hand everything on, so that a reader that has gone is noticed here and not at the exit."""
        self.out.flush()
        self.err.flush()


def _fill_closed_streams() -> None:
    """Put something in the place of standard streams that the caller has closed, as in `>&-`.

    Otherwise the next file that is opened would become one of them. Nothing can be written to a closed output, which
    is an error as soon as there is something to write; remarks nobody wanted are dropped.
    """
    if sys.stdin is None:
        os.open(os.devnull, os.O_RDONLY)  # `sys.stdin` stays None: who reads it is told
    if sys.stdout is None:
        sys.stdout = os.fdopen(os.open(os.devnull, os.O_RDONLY), "w", encoding="utf-8")
    if sys.stderr is None:
        sys.stderr = os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")
