"""Two data bases of one kind side by side: what became faster, what slower, where another solver wins, and by luck."""

from __future__ import annotations

import enum
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from pytest_miopen_perf.database.files import DatabaseKind, database_kind, read_records
from pytest_miopen_perf.database.find_db import FindRecord, read_find_db
from pytest_miopen_perf.database.perf_db import PerfRecord
from pytest_miopen_perf.database.record_lines import Fault
from pytest_miopen_perf.errors import DatabaseError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike

    from pytest_miopen_perf.database.files import Record
    from pytest_miopen_perf.database.find_db import FindEntry

NOISE = 0.05
"""Times of separate runs that differ by less are taken as equal: 5 to 14 % of shipped winners win by less."""

R = TypeVar("R", FindRecord, PerfRecord)


class Change(enum.Enum):
    """How the best time of a problem changed."""

    FASTER = "faster"
    SAME = "same"
    SLOWER = "slower"
    UNMEASURED = "unmeasured"


class Winner(enum.Enum):
    """Whether the same solver is the fastest.

    TIED: another one is, but in one of the data bases both are equally fast within the noise, so that it is luck.
    """

    SAME = "same"
    TIED = "tied"
    CHANGED = "changed"
    UNMEASURED = "unmeasured"


@dataclass(frozen=True, slots=True, kw_only=True)
class FindDifference:
    """One problem that both find-dbs hold.

    Attributes:
        key: The find-db key.
        old: The fastest entry before; None when nothing was measured.
        new: The fastest entry now; None when nothing was measured.
        ratio: New time over old time; None unless both were measured.
        change: What the ratio means.
        winner: What became of the fastest solver.
    """

    key: str
    old: FindEntry | None
    new: FindEntry | None
    ratio: float | None
    change: Change
    winner: Winner


@dataclass(frozen=True, slots=True, kw_only=True)
class FindDiff:
    """Two find-dbs.

    Attributes:
        noise: The share below which times are taken as equal.
        differences: The problems that both hold, in the order of the old one.
        only_old: Keys that only the old one holds.
        only_new: Keys that only the new one holds.
        faults: What could not be read in either.
    """

    noise: float
    differences: tuple[FindDifference, ...]
    only_old: tuple[str, ...]
    only_new: tuple[str, ...]
    faults: tuple[Fault, ...]

    @property
    def geometric_mean(self) -> float | None:
        """Of new time over old time, over the problems that both measured; None when there is none."""
        logarithms = [math.log(one.ratio) for one in self.differences if one.ratio is not None]
        return math.exp(math.fsum(logarithms) / len(logarithms)) if logarithms else None

    def count(self, what: Change | Winner) -> int:
        """How many problems a change or a fate of the winner applies to."""
        return sum(what in (one.change, one.winner) for one in self.differences)


@dataclass(frozen=True, slots=True, kw_only=True)
class PerfDifference:
    """One solver of one problem whose tuned config differs; None where a perf-db has none."""

    key: str
    solver: str
    old: str | None
    new: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PerfDiff:
    """Two perf-dbs.

    Attributes:
        differences: What differs, in the order of the old one, then what is only in the new one.
        equal: Configs that are the same in both.
        faults: What could not be read in either.
    """

    differences: tuple[PerfDifference, ...]
    equal: int
    faults: tuple[Fault, ...]


def diff_find_dbs(old: str | PathLike[str], new: str | PathLike[str], noise: float = NOISE) -> FindDiff:
    """Compare two find-dbs problem for problem.

    Args:
        old: The find-db before.
        new: The find-db now.
        noise: Share of the time below which two times are taken as equal.

    Raises:
        DatabaseError: a file cannot be read, or is no find-db.
    """
    for path in (old, new):
        if database_kind(path) is not DatabaseKind.FIND_TEXT:
            raise DatabaseError(f"{path} is no find-db; only find-dbs hold times that can be compared")
    faults: list[Fault] = []
    olds, news = _by_key(read_find_db(old), FindRecord, faults), _by_key(read_find_db(new), FindRecord, faults)
    return FindDiff(
        noise=noise,
        differences=tuple(_find_difference(record, news[key], noise) for key, record in olds.items() if key in news),
        only_old=tuple(key for key in olds if key not in news),
        only_new=tuple(key for key in news if key not in olds),
        faults=tuple(faults),
    )


def diff_perf_dbs(old: str | PathLike[str], new: str | PathLike[str]) -> PerfDiff:
    """Compare two perf-dbs, text or SQLite, config for config.

    Raises:
        DatabaseError: a file cannot be read, or is no perf-db.
    """
    faults: list[Fault] = []
    sides = []
    for path in (old, new):
        if database_kind(path) is DatabaseKind.FIND_TEXT:
            raise DatabaseError(f"{path} is a find-db; compare it with another find-db")
        records = _by_key(read_records(path), PerfRecord, faults)
        sides.append({(key, entry.solver): entry.config for key, record in records.items() for entry in record.entries})
    olds, news = sides
    cases = dict.fromkeys([*olds, *news])
    differences = tuple(
        PerfDifference(key=case[0], solver=case[1], old=olds.get(case), new=news.get(case))
        for case in cases
        if olds.get(case) != news.get(case)
    )
    return PerfDiff(differences=differences, equal=len(cases) - len(differences), faults=tuple(faults))


def _by_key(items: Iterable[Record | Fault], kind: type[R], faults: list[Fault]) -> dict[str, R]:
    """The first record of each key, which is the one that MIOpen finds."""
    records: dict[str, R] = {}
    for item in items:
        if isinstance(item, Fault):
            faults.append(item)
        elif isinstance(item, kind):
            records.setdefault(item.key, item)
    return records


def _find_difference(old: FindRecord, new: FindRecord, noise: float) -> FindDifference:
    before, now = old.best, new.best
    if before is None or now is None:
        return FindDifference(
            key=old.key, old=before, new=now, ratio=None, change=Change.UNMEASURED, winner=Winner.UNMEASURED
        )
    ratio = now.stated_ms / before.stated_ms
    return FindDifference(
        key=old.key,
        old=before,
        new=now,
        ratio=ratio,
        change=_change(ratio, noise),
        winner=_winner(old.entries, new.entries, before, now, noise),
    )


def _change(ratio: float, noise: float) -> Change:
    """Symmetric: what is slower one way is faster the other way."""
    if ratio > 1 + noise:
        return Change.SLOWER
    return Change.FASTER if ratio * (1 + noise) < 1 else Change.SAME


def _winner(
    olds: Sequence[FindEntry], news: Sequence[FindEntry], before: FindEntry, now: FindEntry, noise: float
) -> Winner:
    if before.solver == now.solver:
        return Winner.SAME
    is_tied = _is_near(olds, now.solver, before, noise) or _is_near(news, before.solver, now, noise)
    return Winner.TIED if is_tied else Winner.CHANGED


def _is_near(entries: Sequence[FindEntry], solver: str, best: FindEntry, noise: float) -> bool:
    """Whether a solver is as fast as the best one but for the noise."""
    times = [entry.time_ms for entry in entries if entry.solver == solver and entry.time_ms is not None]
    return any(time <= best.stated_ms * (1 + noise) for time in times)
