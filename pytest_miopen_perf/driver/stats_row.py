"""The `stats:` rows of the driver's text: their layouts, and whether their figures follow from their sizes."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from pytest_miopen_perf.driver.directions import ROW_DIRECTION, B, F
from pytest_miopen_perf.driver.text_lines import StatsDialect, StatsRow
from pytest_miopen_perf.problems.driver_stats import driver_stats

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_miopen_perf.problem import ConvProblem, Direction

_NAME = re.compile(r"(?P<direction>fwd|bwdd|bwdw)-conv(?P<filter>\d{1,9}(?:x\d{1,9}){1,2})u\d{1,9}")
_SEPARATOR = re.compile(r"\s*,\s*|\s+")
_INTEGER = re.compile(r"\d{1,30}")
_FIGURES = 6
_HALF_OF_LAST_DIGIT = 0.5
_HALF_NANOSECOND_MS = 5.01e-7


def read_stats_row(text: str) -> StatsRow | None:
    """The row behind `stats: `, or None when it is none.

    Rows separate by commas, except that the old 3-D row of backward data lacks one; old rows have two blanks before the
    operations.
    """
    words = [word for word in _SEPARATOR.split(text.strip()) if word]
    name = _NAME.fullmatch(words[0]) if words else None
    if name is None:
        return None
    direction = ROW_DIRECTION[name["direction"]]
    filter_size = tuple(map(int, name["filter"].split("x")))
    sizes, counts, rates = words[1:-_FIGURES], words[-_FIGURES:-3], words[-3:]
    is_whole = len(sizes) == 3 + 2 * len(filter_size) and all(map(_INTEGER.fullmatch, (*sizes, *counts)))
    try:
        gflops, gb_per_s, time_ms = map(float, rates)
    except ValueError:
        return None
    if not is_whole:
        return None
    dialect, n, c, k, output, row_filter = _arranged(tuple(map(int, sizes)), filter_size, direction, text.strip())
    flops, read, written = map(int, counts)
    return StatsRow(
        direction=direction,
        name=words[0],
        dialect=dialect,
        n=n,
        c=c,
        k=k,
        output=output,
        filter=row_filter,
        flops=flops,
        bytes_read=read,
        bytes_written=written,
        gflops=gflops,
        gb_per_s=gb_per_s,
        time_ms=time_ms,
    )


def _arranged(
    sizes: tuple[int, ...], filter_size: tuple[int, ...], direction: Direction, text: str
) -> tuple[StatsDialect, int, int, int, tuple[int, ...], tuple[int, ...]]:
    """The sizes in the order of `StatsRow`; the name's filter tells where the filter stands in backward data."""
    rank = len(filter_size)
    is_old = "  " in text
    n, c, *rest = sizes
    first, second = tuple(rest[:rank]), tuple(rest[rank:])
    new = (n, c, second[-1], first, second[:-1])
    old = (n, c, second[0], second[1:], first)
    if direction is B:
        fits_new, fits_old = new[-1] == filter_size, old[-1] == filter_size
        is_old = is_old if fits_new is fits_old else fits_old
        return (StatsDialect.OLD, *old) if is_old else (StatsDialect.NEW, *new)
    return (StatsDialect.OLD if is_old else StatsDialect.NEW, *new)


def check_stats(row: StatsRow, problem: ConvProblem | None) -> Iterator[tuple[str, str]]:
    """What of a row does not follow: a code and a sentence each.

    Args:
        row: The row.
        problem: What was computed, or None when that is not known; then the row is held against its own sizes.
    """
    if _NAME.fullmatch(row.name) is None or "x".join(map(str, row.filter)) not in row.name:
        yield "stats-mismatch", f"{row.name}: its sizes have the filter {'x'.join(map(str, row.filter))}"
    yield from _check_counts(row, problem) if problem is not None else _check_own_counts(row)
    for name, stated, count in (
        ("GFLOPs", row.gflops, row.flops),
        ("GB/s", row.gb_per_s, row.bytes_read + row.bytes_written),
    ):
        low, high = _rate_limits(count, row.time_ms)
        if not low <= stated <= high and row.time_ms > 0:
            yield (
                "stats-rate",
                f"{row.name}: {name} is {stated:.6g}, but its count and its time give {count / row.time_ms / 1e6:.6g}",
            )


def _check_counts(row: StatsRow, problem: ConvProblem) -> Iterator[tuple[str, str]]:
    expected = driver_stats(problem)
    sizes = (row.n, row.c, row.k, row.output, row.filter)
    asked = (problem.n, problem.c, problem.k, problem.miopen_output, problem.filter)
    if row.name != expected.name or sizes != asked:
        yield (
            "stats-mismatch",
            f"{row.name} with the sizes {sizes} is not the row of the command, {expected.name} with {asked}",
        )
        return
    if row.flops != expected.flops:
        depth = problem.spatial[0] if problem.rank == 3 and row.direction is F else 1
        if row.flops == expected.flops * depth:
            yield (
                "old-3d-flops",
                f"{row.name}: the operations hold an extra factor of the depth {depth}, a fault of old drivers",
            )
        else:
            yield "stats-count", f"{row.name}: flopCnt is {row.flops}, the command makes it {expected.flops}"
    for name, stated, count in (
        ("bytesRead", row.bytes_read, expected.bytes_read),
        ("bytesWritten", row.bytes_written, expected.bytes_written),
    ):
        if stated != count:
            wrapped = "; 32-bit products wrap for such sizes" if count >= 2**31 else ""
            yield "stats-count", f"{row.name}: {name} is {stated}, the command makes it {count}{wrapped}"


def _check_own_counts(row: StatsRow) -> Iterator[tuple[str, str]]:
    """Without the command the groups are not known: the operations have to be those of some number of groups."""
    ungrouped = 2 * math.prod((row.n, row.c, row.k, *row.output, *row.filter))
    groups, rest = divmod(ungrouped, row.flops) if row.flops else (0, ungrouped)
    if rest or (ungrouped and (not groups or row.c % groups or row.k % groups)):
        yield "stats-count", f"{row.name}: flopCnt is {row.flops}, its sizes make it {ungrouped} for one group"


def _rate_limits(count: int, time_ms: float) -> tuple[float, float]:
    """What a rate may be, given that it is rounded to an integer and the time to a nanosecond."""
    shortest = time_ms - _HALF_NANOSECOND_MS
    low = count / (time_ms + _HALF_NANOSECOND_MS) / 1e6 - _HALF_OF_LAST_DIGIT
    high = count / shortest / 1e6 + _HALF_OF_LAST_DIGIT if shortest > 0 else math.inf
    slack = 1e-9 * count / time_ms / 1e6 if time_ms > 0 else 0.0
    return low - slack, high + slack
