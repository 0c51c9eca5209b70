"""Rows of text as an aligned table, in as many columns as the screen has."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rich.console import RenderableType


class Column(NamedTuple):
    """A column: its heading, the side that its cells lean on, and whether long cells go on in a further line."""

    heading: str
    justify: Literal["left", "right"] = "left"
    folds: bool = False


def table_lines(
    columns: Sequence[Column],
    rows: Iterable[Sequence[str]],
    *,
    width: int,
    has_colour: bool,
    styles: Mapping[str, str] | None = None,
) -> list[str]:
    """The table as lines of text, with colour codes where the screen shows colour.

    Args:
        columns: From left to right.
        rows: One text a column; missing ones at the end are empty.
        width: Columns of the screen.
        has_colour: Whether it shows colour.
        styles: Colours of rich by the text of a cell.
    """
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for column in columns:
        table.add_column(
            column.heading,
            justify=column.justify,
            no_wrap=not column.folds,
            overflow="fold",
            header_style="bold",
        )
    for row in rows:
        table.add_row(*(cell_text(cell, (styles or {}).get(cell, "")) for cell in row))
    text = io.StringIO()
    console = Console(
        file=text, width=width, force_terminal=has_colour, no_color=not has_colour, highlight=False, markup=False
    )
    console.print(table)
    return [line.rstrip() for line in text.getvalue().splitlines()]


def cell_text(text: str, style: str) -> RenderableType:
    """A cell whose further lines, where it is too long for its column, stand under its first one and not further left.

    Args:
        text: With blanks in front where it is indented.
        style: Rich's.
    """
    from rich.padding import Padding
    from rich.text import Text

    indent = len(text) - len(text.lstrip())
    plain = Text(text[indent:], style=style, overflow="fold")
    return Padding(plain, (0, 0, 0, indent)) if indent else plain
