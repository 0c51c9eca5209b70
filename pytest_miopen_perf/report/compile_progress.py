"""A progress bar for many compilations, where somebody watches."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextlib.contextmanager
def compile_progress(total: int) -> Iterator[Callable[[], None]]:
    """Open a bar on stderr when it is a terminal; what comes out of it is called once a kernel, by any thread.

    Args:
        total: How many kernels are to be compiled.
    """
    if not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("compiling"), BarColumn(bar_width=16), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(file=sys.stderr), transient=True) as bar:
        task = bar.add_task("compiling", total=total)
        yield lambda: bar.advance(task)
