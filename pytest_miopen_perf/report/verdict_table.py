"""The verdicts on a terminal: the worst first, one case in a few lines, in 80 columns, and nothing left out unsaid."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from pytest_miopen_perf.gate.phase_verdicts import counted
from pytest_miopen_perf.gate.verdict import Verdict
from pytest_miopen_perf.report.units import percent, rate, short_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pytest_miopen_perf.gate.report import SuiteChange, VerdictReport
    from pytest_miopen_perf.gate.verdict import Comparison, RecordCost, VerdictRow

_COLOURS = {
    Verdict.REGRESSION: "31;1",
    Verdict.TAINTED: "33;1",
    Verdict.INCONCLUSIVE: "33",
    Verdict.NO_BASELINE: "33",
    Verdict.PASS: "32",
    Verdict.IMPROVED: "32;1",
}
_QUIET = (Verdict.PASS, Verdict.IMPROVED)
_INDENT = " " * 4


def verdict_lines(report: VerdictReport, *, width: int, has_colour: bool) -> list[str]:
    """The table as lines of text.

    A line a case: verdict, change and interval, what it could have seen, times, problem. What is not green says why
    on further lines, with what changed and how to reproduce it.

    Args:
        report: The verdicts.
        width: Columns of the terminal.
        has_colour: Whether it shows colour codes.
    """
    rows = [line for row in report.rows for line in _row_lines(row, width, has_colour=has_colour)]
    return [
        *([_HEADING, *rows, ""] if rows else []),
        *_listed("vanished", report.vanished, width),
        *_listed("no result", report.unmeasured, width),
        *_footer(report, width),
    ]


_HEADING = f"{'verdict':<12} {'change':>8} {'95 % interval':>18} {'could see':>9} {'base':>8} {'new':>8}  n"

_LEGENDS: dict[Comparison, str] = {
    "paired": "change   mean over processes; base, new: medians of the process nearest to it; "
    "could see: the slowdown that 95 of 100 such runs find",
    "unpaired": "change   median of all ratios of new to base, which need not be that of their medians; "
    "could see: the slowdown that 95 of 100 such runs find",
}


def _row_lines(row: VerdictRow, width: int, *, has_colour: bool) -> Iterator[str]:
    visible = row.smallest_detectable_change
    figures = (
        f"{'' if row.change is None else signed_percent(row.change):>8}",
        f"{'' if row.interval is None else _interval(row.interval):>18}",
        f"{'' if visible is None else signed_percent(visible):>9}",
        f"{'' if row.base_seconds is None else short_time(row.base_seconds):>8}",
        f"{'' if row.new_seconds is None else short_time(row.new_seconds):>8}",
        f"{row.units or '':>2}",
    )
    line = " ".join((f"{row.verdict.value:<12}", *figures)).rstrip()
    yield _coloured(line, row.verdict) if has_colour else line
    yield from _wrapped(f"{row.name}  [{row.key.policy}]", width, "  ")
    if row.record_cost is not None:
        yield from _wrapped(f"log: {_cost(row.record_cost)}", width, _INDENT)
    if row.doubt:
        yield from _wrapped(row.doubt, width, _INDENT)
    if row.verdict in _QUIET:
        return
    yield from _wrapped(f"{row.decision.sentence}; margin {percent(row.margin)}", width, _INDENT)
    if row.what_changed is not None:
        yield from _wrapped(f"changed: {row.what_changed.sentence}", width, _INDENT)
    if row.baseline is not None:
        age = f"{row.baseline.name}, saved {row.baseline.saved}, {_age(row.baseline.age_days)}"
        yield from _wrapped(f"baseline: {age}", width, _INDENT)
    if row.reproducer:
        # One line whatever its length, so that it can be copied.
        yield f"{_INDENT}reproduce: {row.reproducer}"


def _coloured(line: str, verdict: Verdict) -> str:
    word = verdict.value
    return f"\x1b[{_COLOURS[verdict]}m{word}\x1b[0m{line[len(word) :]}"


def signed_percent(change: float) -> str:
    """A change in at most eight characters: `+2.13%`, `-0.05%`, `+134%`; beyond a factor of 10 `x11.3`, `x1/34.8`."""
    ratio = 1 + change
    if ratio >= 9.995:
        return f"x{rate(ratio)}"
    if 0 < ratio <= 1 / 9.995:
        return f"x1/{rate(1 / ratio)}"
    return f"{change * 100:+.2f}%" if abs(change) < 0.09995 else f"{change * 100:+.3g}%"


def _interval(interval: tuple[float, float]) -> str:
    return f"{signed_percent(interval[0])} .. {signed_percent(interval[1])}"


def _age(days: float) -> str:
    if days < 1:
        # Clocks of two machines may disagree by a little.
        return f"{max(0.0, days) * 24:.0f} h ago"
    return "1 day ago" if days < 1.5 else f"{days:.0f} days ago"


def _wrapped(text: str, width: int, indent: str) -> list[str]:
    return textwrap.wrap(text, width, initial_indent=indent, subsequent_indent=indent + "  ", break_on_hyphens=False)


def _listed(word: str, sentences: Sequence[str], width: int) -> Iterator[str]:
    for sentence in sentences:
        yield from _wrapped(f"{word}: {sentence}", width, "")


def _footer(report: VerdictReport, width: int) -> Iterator[str]:
    yield from _wrapped(f"verdicts {_counts(report)}", width, "")
    for phase, counts in counted(report.rows):
        words = ", ".join(f"{count} {verdict.value}" for verdict, count in counts.items())
        yield from _wrapped(f"{phase.value:<8} {words}", width, "")
    yield from _wrapped(f"against  {report.versus}, {report.comparison}{_age_range(report.rows)}", width, "")
    if report.suite is not None:
        yield from _wrapped(f"suite    {_suite(report.suite)}", width, "")
        yield from _wrapped(_LEGENDS[report.comparison], width, "")


def _counts(report: VerdictReport) -> str:
    counts = [f"{count} {verdict.value}" for verdict, count in report.counts.items() if count]
    gone = [f"{len(report.vanished)} vanished"] if report.vanished else []
    failed = [f"{len(report.unmeasured)} without a result"] if report.unmeasured else []
    return ", ".join([*counts, *gone, *failed]) or "none"


def _suite(suite: SuiteChange) -> str:
    interval = "" if suite.interval is None else f" ({_interval(suite.interval)})"
    cases = "1 case" if suite.cases == 1 else f"{suite.cases} cases"
    return f"geometric mean {signed_percent(suite.change)}{interval} over {cases}"


def _cost(cost: RecordCost) -> str:
    interval = "" if cost.interval is None else f" ({' .. '.join(f'{end * 1e6:.1f}' for end in cost.interval)})"
    processes = "1 process" if cost.units == 1 else f"{cost.units} processes"
    return f"{cost.seconds * 1e6:.1f} us of the host a record{interval}, {processes}"


def _age_range(rows: Iterable[VerdictRow]) -> str:
    ages = [row.baseline.age_days for row in rows if row.baseline is not None]
    if not ages:
        return ""
    youngest, oldest = _age(min(ages)), _age(max(ages))
    return f", saved {oldest}" if youngest == oldest else f", saved {oldest} to {youngest}"
