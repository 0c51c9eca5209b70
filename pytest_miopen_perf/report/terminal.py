"""The terminal summary: worst news first, a problem on one line and what computed it on the next, in 80 columns."""

from __future__ import annotations

import io
from collections import Counter
from typing import TYPE_CHECKING

from pytest_miopen_perf.checking.check import Reason
from pytest_miopen_perf.report.circumstance_lines import cache_words, circumstance_lines, seed_words
from pytest_miopen_perf.report.row_labels import row_labels
from pytest_miopen_perf.report.units import percent, rate, short_time
from pytest_miopen_perf.results import TrialStatus

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    from rich.table import Table

    from pytest_miopen_perf.cases import Case
    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.results import Result, Trial, Tuning
    from pytest_miopen_perf.settings import Settings

NOISY = 0.10
"""Relative interquartile range above which a time is marked: it says little."""

_SHOWN_FAILURES = 3
"""Of one search."""

_RANK = {"failed": 0, "error": 1, "passed": 2}
_HEADINGS = ("problem, solver, config", "n", "median", "noise", "MIOpen", "GFLOP/s", "check")

Row = tuple[str, ...]


def summary_lines(
    cases: Sequence[Case],
    settings: Settings,
    *,
    log_path: Path | None,
    width: int,
    has_colour: bool,
    conditions: str | None = None,
) -> list[str]:
    """The summary as lines of text, with colour codes where the terminal shows colour.

    At level 0 there is a table only of what went wrong; at 2 and 4 with kernels, at 3 and 4 with what was tried.

    Args:
        cases: What was measured.
        settings: Of the session; of what was read from a file the level alone, which says how much to show.
        log_path: Where the log is, for the footer.
        width: Columns of the screen.
        has_colour: Whether it shows colour.
        conditions: What is known of the data and the caches, "" for nothing; None: what results and settings say.
    """
    groups = _by_problem(cases)
    if not groups:
        return []
    rows = [row for group in groups for row in _group_rows(group, settings.level)]
    lines = _rendered(_table(rows), width, has_colour=has_colour) if rows else []
    return [
        *lines,
        *([""] if lines else []),
        *_footer([case for group in groups for case in group], settings, log_path, conditions),
    ]


def _by_problem(cases: Sequence[Case]) -> list[list[Case]]:
    """The cases of one problem together, the problem with the worst news first, then the noisiest."""
    groups: dict[str, list[Case]] = {}
    for case in cases:
        if case.problem:
            groups.setdefault(case.problem, []).append(case)
    return sorted(groups.values(), key=lambda group: min(map(_badness, group)))


def _badness(case: Case) -> tuple[int, float]:
    noise = case.result.sample.noise if case.result and case.result.sample else 0.0
    return _RANK[case.outcome], -noise


def _group_rows(group: Sequence[Case], level: int) -> Iterator[Row]:
    shown = [case for case in group if case.outcome != "passed" or (case.result and case.result.sample)]
    if shown:
        yield (group[0].problem,)
    ordered = sorted(shown, key=_badness)
    for case, label in zip(ordered, row_labels(ordered), strict=True):
        if case.outcome == "error":
            yield ("  " + case.message.splitlines()[0], "", "", "", "", "", "ERROR")
        if case.result is not None:
            yield _main_row(case.result)
        if label:
            yield (f"    {label}",)
        if case.result is not None:
            yield from _detail_rows(case.result, level)


def _detail_rows(result: Result, level: int) -> Iterator[Row]:
    if result.config:
        yield (f"    config {result.config} ({result.config_origin})",)
    if result.memory_note:
        yield (f"    short of memory: {result.memory_note}",)
    if level in (2, 4):
        for kernel in result.kernels:
            note = " (transformation)" if kernel.is_transformation else ""
            yield (f"    {kernel.name}{note}", str(len(kernel.seconds)), short_time(kernel.median_seconds))
    if level >= 3:
        for tuning in result.tuning:
            yield from _tuning_rows(tuning)
        for trial in result.find:
            yield from _trial_rows(trial)


def _main_row(result: Result) -> Row:
    name = f"  {result.solver}"
    check = "-" if result.check.reason is Reason.UNCHECKED else "ok" if result.check.passed else "WRONG"
    sample = result.sample
    if sample is None:
        return (name, "", "", "", "", "", check)
    noise = percent(sample.noise) + ("!" if sample.noise > NOISY else "")
    miopen = short_time(sample.miopen_time_ms / 1e3)
    gflops = rate(result.gflops_per_second or 0.0)
    return (name, str(len(sample.counted)), short_time(sample.median_seconds), noise, miopen, gflops, check)


def _trial_rows(trial: Trial) -> Iterator[Row]:
    time = "" if trial.median_seconds is None else short_time(trial.median_seconds)
    samples = str(trial.samples) if trial.samples else ""
    yield (f"    find {trial.solver}", samples, time, "", "", "", "FAILED" if trial.is_failed else "")
    if trial.is_failed or trial.status is TrialStatus.NO_MEMORY:
        yield (f"      {trial.status.value}",)


def _tuning_rows(tuning: Tuning) -> Iterator[Row]:
    yield (f"    tuned {tuning.solver}", str(len(tuning.trials)), short_time(tuning.seconds) if tuning.seconds else "")
    failed = f", {tuning.failed} failed" if tuning.failed else ""
    if tuning.known_before:
        yield (f"      {tuning.known_before} known from before",)
    if tuning.stopped_by:  # which no log tells
        end = "all tried" if tuning.stopped_by == "exhausted" else f"by {tuning.stopped_by}"
        yield (f"      of {tuning.valid_configs} valid{failed}, {end}",)
    elif failed:
        yield (f"      {tuning.failed} failed",)
    if tuning.speedup is not None:
        yield (f"      best {tuning.speedup:.2f}x of the default's speed",)
    elif tuning.best_config == tuning.default_config:
        yield ("      nothing was measured, the default config stays",)
    for config in tuning.ties:
        yield (f"      {config} is as fast",)
    yield from _failure_rows([trial for trial in tuning.trials if trial.is_failed])


def _failure_rows(failed: Sequence[Trial]) -> Iterator[Row]:
    """The first few; the results file has all of them, with the compiler's words."""
    for trial in failed[:_SHOWN_FAILURES]:
        words = trial.reason.splitlines()[0] if trial.reason else trial.status.value
        yield (f"      {trial.config}: {words}", "", "", "", "", "", "FAILED")
    if len(failed) > _SHOWN_FAILURES:
        yield (f"      and {len(failed) - _SHOWN_FAILURES} more",)


def _table(rows: Iterable[Row]) -> Table:
    from rich.table import Table

    from pytest_miopen_perf.report.text_table import cell_text

    table = Table(box=None, pad_edge=False, padding=(0, 1, 0, 0))
    for index, heading in enumerate(_HEADINGS):
        is_text = index in (0, len(_HEADINGS) - 1)
        table.add_column(
            heading, justify="left" if is_text else "right", no_wrap=index > 0, overflow="fold", header_style="bold"
        )
    for row in rows:
        table.add_row(*(cell_text(cell, _style(cell)) for cell in row))
    return table


def _style(cell: str) -> str:
    if cell in ("WRONG", "ERROR", "FAILED"):
        return "bold red"
    if cell.endswith("%!"):
        return "yellow"
    return "green" if cell == "ok" else ""


def _rendered(table: Table, width: int, *, has_colour: bool) -> list[str]:
    from rich.console import Console

    text = io.StringIO()
    console = Console(
        file=text, width=width, force_terminal=has_colour, no_color=not has_colour, highlight=False, markup=False
    )
    console.print(table)
    return [line.rstrip() for line in text.getvalue().splitlines()]


def _footer(cases: Sequence[Case], settings: Settings, log_path: Path | None, conditions: str | None) -> Iterator[str]:
    for device in dict.fromkeys(case.result.device for case in cases if case.result):
        kind = ", ".join(filter(None, (device.backend, device.arch)))
        yield f"device   {device.name} ({kind})" + (f"; {device.compiler}" if device.compiler else "")
        yield from _honesty(device)
    results = [case.result for case in cases if case.result]
    if words := _conditions(results, settings) if conditions is None else conditions:
        yield f"data     {words}"
    yield from circumstance_lines(results)
    if log_path is not None:
        yield f"log      {log_path}"
    if settings.json_path is not None:
        yield f"results  {settings.json_path}"
    yield from _failed_configs(results, settings.level)
    outcomes = Counter(case.outcome for case in cases)
    counts = ", ".join(f"{outcomes[word]} {word}" for word in ("failed", "error", "passed") if outcomes[word])
    untimed = sum(case.outcome == "passed" and case.result is not None and case.result.sample is None for case in cases)
    yield f"cases    {counts}" + (f"; {untimed} checked but not timed" if untimed else "")


def _failed_configs(results: Sequence[Result], level: int) -> Iterator[str]:
    """That configs of searches failed, where the table does not show them: they fail no test."""
    tunings = [tuning for result in results for tuning in result.tuning]
    failed = sum(tuning.failed for tuning in tunings)
    if failed and level < 3:
        tried = sum(len(tuning.trials) for tuning in tunings)
        yield f"searches {failed} of {tried} configs failed; level 3 tells which, and why"


def _conditions(results: Sequence[Result], settings: Settings) -> str:
    """What is known of the data and the caches: of a log the seed alone, whatever this session is set to."""
    if results and all(result.device.backend == "log" for result in results):
        return seed_words(results)
    return f"seed {settings.seed}, {settings.data}; caches {cache_words(results)}; level {settings.level}"


def _honesty(device: DeviceInfo) -> Iterator[str]:
    """A time that is no GPU's says so."""
    if device.backend == "cpu":
        yield "         times are of this CPU running the HIP text, never of a GPU"
    if device.backend == "scripted":
        yield "         times come from a script, not from hardware"
    if device.backend == "miopendriver":
        yield "         times are what MIOpenDriver says of its own runs"
    if device.backend == "log":
        yield "         times are what a log says"
