"""What the tuned configs of a store were measured at: `find-db key=Solver:time_ms,config`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pytest_miopen_perf.database.perf_db import PerfEntry
from pytest_miopen_perf.errors import DatabaseKeyError
from pytest_miopen_perf.problems.db_key import parse_find_db_key, perf_db_key

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pytest_miopen_perf.database.merge import Candidate
    from pytest_miopen_perf.database.record_file import Table


def split_time(value: str) -> tuple[float, str] | None:
    """The time in ms and the config of an entry; None when it is something else."""
    time, comma, config = value.partition(",")
    try:
        time_ms = float(time)
    except ValueError:
        return None
    return (time_ms, config) if comma and math.isfinite(time_ms) else None


def merged_times(tables: Iterable[Table]) -> Table:
    """One table out of several: of each problem and solver the config with the least time, the first of equals."""
    merged: Table = {}
    for table in tables:
        for key, solvers in table.items():
            kept = merged.setdefault(key, {})
            for solver, value in solvers.items():
                kept[solver] = min(kept.get(solver, value), value, key=_time_or_never)
    return merged


def fastest_config(tables: Iterable[Table]) -> Callable[[str, Sequence[Candidate]], Candidate]:
    """Chooses among configs of one perf-db key by their times; the first one where none is known."""
    times: dict[tuple[str, str, str], float] = {}
    for table in tables:
        for find_key, solvers in table.items():
            perf_key = _perf_key(find_key)
            for solver, value in solvers.items():
                if perf_key and (measured := split_time(value)):
                    case = perf_key, solver, measured[1]
                    times[case] = min(times.get(case, math.inf), measured[0])

    def choose(key: str, candidates: Sequence[Candidate]) -> Candidate:
        def time_ms(candidate: Candidate) -> float:
            entry = candidate.entry
            return times.get((key, entry.solver, entry.config), math.inf) if isinstance(entry, PerfEntry) else math.inf

        return min(candidates, key=time_ms)

    return choose


def _perf_key(find_key: str) -> str:
    """The perf-db key of the same problem; "" when somebody has put something there that is no key."""
    try:
        return perf_db_key(parse_find_db_key(find_key))
    except DatabaseKeyError:
        return ""


def _time_or_never(value: str) -> float:
    measured = split_time(value)
    return measured[0] if measured else math.inf
