"""How much of a log could be read: counts that add up to the whole."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.driver.log_item import ItemKind
from pytest_miopen_perf.records import KernelPhase, SolutionRecord

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_miopen_perf.driver.log_item import LogItem


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSummary:
    """What a log holds.

    `records + corrupt + foreign + noise == items`, and the counts of `kinds` add up to `records`.

    Attributes:
        lines: Physical lines, of all sources together.
        items: Pieces of them.
        records: Pieces that are records.
        repaired: Records that had to be repaired to be read.
        doubtful: Records of which something is not to be trusted.
        corrupt: Pieces that were meant as records, and could not be read.
        foreign: Pieces of sound JSON that are no lines of a released log.
        noise: All other pieces.
        kinds: Records by the key that tells their line kind.
        notes: Repairs and doubts by their code.
        level: The level, 1 to 4, that the solution records show; None without any. Above 4 acts as 3.
    """

    lines: int
    items: int
    records: int
    repaired: int
    doubtful: int
    corrupt: int
    foreign: int
    noise: int
    kinds: Mapping[str, int]
    notes: Mapping[str, int]
    level: int | None


def summarize(items: Iterable[LogItem]) -> LogSummary:
    """The counts of a log; memory does not grow with the log."""
    others: Counter[ItemKind] = Counter()
    kinds: Counter[str] = Counter()
    notes: Counter[str] = Counter()
    last_lines: Counter[str] = Counter()
    repaired = doubtful = 0
    is_searched = lists_kernels = False
    for item in items:
        record = item.record
        last_lines[item.source] = max(last_lines[item.source], item.last_line_number)
        if record is None:
            others[item.kind] += 1
        else:
            kinds[record.KEY] += 1
            repaired += bool(item.repairs)
            doubtful += bool(item.doubts)
        if isinstance(record, SolutionRecord):
            is_searched |= record.phase is not KernelPhase.EXECUTION
            lists_kernels |= record.performance_configs[0].kernels is not None
        if item.repairs or item.doubts:
            notes.update(note.code for note in (*item.repairs, *item.doubts))
    records = sum(kinds.values())
    return LogSummary(
        lines=sum(last_lines.values()),
        items=records + sum(others.values()),
        records=records,
        repaired=repaired,
        doubtful=doubtful,
        corrupt=others[ItemKind.CORRUPT],
        foreign=others[ItemKind.FOREIGN],
        noise=others[ItemKind.NOISE],
        kinds=dict(kinds),
        notes=dict(notes),
        level=1 + lists_kernels + 2 * is_searched if kinds[SolutionRecord.KEY] else None,
    )
