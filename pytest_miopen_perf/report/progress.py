"""What is shown while something runs: a progress bar for a search, where somebody watches, and single lines."""

from __future__ import annotations

import contextlib
import math
import sys
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.report.units import short_time

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager

    import pytest

    from pytest_miopen_perf.tuning.rule import Progress


def search_progress(config: pytest.Config) -> Callable[[], AbstractContextManager[Callable[[Progress], None]]]:
    """What opens a display for one search: a bar on an interactive terminal, nothing elsewhere."""
    reporter = config.pluginmanager.getplugin("terminalreporter")
    if reporter is None or not reporter.hasmarkup or hasattr(config, "workerinput"):
        from pytest_miopen_perf.running.choosing import no_display

        return no_display
    return lambda: _search_bar(_uncaptured(config))


def live_lines(config: pytest.Config) -> Callable[[str], None]:
    """What shows a line at once, whatever pytest captures; workers of pytest-xdist have nobody to show it to."""

    def show(line: str) -> None:
        reporter = config.pluginmanager.getplugin("terminalreporter")
        if reporter is not None and not hasattr(config, "workerinput"):
            with _uncaptured(config)():
                reporter.ensure_newline()
                reporter.write_line(f"miopen-perf: {line}")

    return show


def _uncaptured(config: pytest.Config) -> Callable[[], AbstractContextManager[None]]:
    capture: Any = config.pluginmanager.getplugin("capturemanager")
    return contextlib.nullcontext if capture is None else capture.global_and_fixture_disabled


def progress_text(step: Progress) -> str:
    """What stands beside the bar: what is left, what failed, and the best so far."""
    words = []
    if step.finalists:
        words.append(f"race of {step.finalists}")
    elif step.seconds_left is None:
        limit = f"at most {time_left(step.most_seconds)} for " if math.isfinite(step.most_seconds) else ""
        words.append(f"{limit}{step.total} configs")
    else:
        words.append(f"{time_left(step.seconds_left)} left")
    if step.failed:
        words.append(f"{step.failed} failed")
    if step.best_seconds is not None:
        words.append(f"best {short_time(step.best_seconds)} {step.best_config}")
    return ", ".join(words)


def time_left(seconds: float) -> str:
    """Whole seconds, minutes and seconds, or hours and minutes: `42s`, `3m05s`, `2h10m`."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m{whole % 60:02d}s"
    return f"{whole // 3600}h{whole % 3600 // 60:02d}m"


@contextlib.contextmanager
def _search_bar(uncaptured: Callable[[], AbstractContextManager[None]]) -> Iterator[Callable[[Progress], None]]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
    from rich.progress import Progress as RichProgress

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=16),
        MofNCompleteColumn(),
        TextColumn("{task.fields[text]}", markup=False),
    )
    with (
        uncaptured(),
        RichProgress(*columns, console=Console(file=sys.stderr), transient=True) as bar,
    ):
        task = bar.add_task("search", total=None, text="")

        def show(step: Progress) -> None:
            bar.update(task, description=step.solver, completed=step.done, total=step.total, text=progress_text(step))

        yield show
