"""A progress bar for a search, where somebody watches."""

from __future__ import annotations

import contextlib
import sys
from typing import TYPE_CHECKING

from pytest_miopen_perf.report.units import short_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    import pytest

    from pytest_miopen_perf.tuning.rule import Progress


def search_progress(config: pytest.Config) -> Callable[[], AbstractContextManager[Callable[[Progress], None]]]:
    """What opens a display for one search: a bar on an interactive terminal, nothing elsewhere."""
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if reporter is None or not reporter.isatty() or hasattr(config, "workerinput"):
        from pytest_miopen_perf.choosing import no_display

        return no_display
    capture = config.pluginmanager.getplugin("capturemanager")
    uncaptured = contextlib.nullcontext if capture is None else capture.global_and_fixture_disabled
    return lambda: _search_bar(uncaptured)


@contextlib.contextmanager
def _search_bar(uncaptured: Callable[[], AbstractContextManager[None]]) -> Iterator[Callable[[Progress], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
    from rich.progress import Progress as RichProgress

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=16),
        MofNCompleteColumn(),
        TextColumn("{task.fields[best]}"),
        TimeRemainingColumn(),
    )
    with (
        uncaptured(),
        RichProgress(*columns, console=Console(file=sys.stderr), transient=True) as bar,
    ):
        task = bar.add_task("search", total=None, best="")

        def show(step: Progress) -> None:
            best = "" if step.best_seconds is None else f"best {short_time(step.best_seconds)} {step.best_config}"
            bar.update(task, description=step.solver, completed=step.done, total=step.total, best=best)

        yield show
