"""A stored baseline as data: times of many cases on one or more devices, by what was measured, never by test names."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf import statistics
from pytest_miopen_perf.errors import BaselineError
from pytest_miopen_perf.gate.keys import CaseKey, Fingerprint
from pytest_miopen_perf.gate.what_changed import Execution

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_miopen_perf.cases import Case
    from pytest_miopen_perf.results import Result

EntryKey = tuple[CaseKey, Fingerprint]
"""A case on a kind of device."""

Processes = tuple[tuple[float, ...], ...]
"""Counted times in seconds, one inner tuple a process."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A finished session of one or more processes.

    Attributes:
        processes: The cases of each process.
        ended: When, ISO 8601 in UTC.
        tune: The tuning policy: "off", "missing" or "force".
        interruption: Why the session ended early, as a sentence; "" when it came to its end.
        environment: The set variables that change what kernels do.
    """

    processes: tuple[tuple[Case, ...], ...]
    ended: str
    tune: str = "off"
    interruption: str = ""
    environment: tuple[tuple[str, str], ...] = ()

    @property
    def cases(self) -> tuple[Case, ...]:
        """All cases that ran a problem."""
        return tuple(case for process in self.processes for case in process if case.problem)


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One case of a baseline.

    Attributes:
        key: What was measured.
        device: On what.
        saved: When, ISO 8601 in UTC.
        seconds: The times of each process, with six significant digits.
        execution: What ran.
        environment: The set variables that change what kernels do.
    """

    key: CaseKey
    device: Fingerprint
    saved: str
    seconds: Processes
    execution: Execution
    environment: tuple[tuple[str, str], ...] = ()

    def __post_init__(self) -> None:
        if not self.seconds or not all(self.seconds):
            raise BaselineError(f"the case {self.key.sentence} has no times; measure it again and save it")

    @property
    def entry_key(self) -> EntryKey:
        """Case and device."""
        return self.key, self.device

    @property
    def median_seconds(self) -> float:
        """The median over processes of the medians of their times."""
        return median_of_processes(self.seconds)


@dataclass(frozen=True, slots=True, kw_only=True)
class Baseline:
    """Entries, each key once, in order.

    Raises:
        BaselineError: a case is there twice.
    """

    entries: tuple[Entry, ...] = ()

    def __post_init__(self) -> None:
        keys = [entry.entry_key for entry in self.entries]
        if len(set(keys)) != len(keys):
            twice = next(key for key in keys if keys.count(key) > 1)
            raise BaselineError(f"the case {twice[0].sentence} is there twice for {twice[1].key}; remove one of them")

    @staticmethod
    def of(entries: Iterable[Entry]) -> Baseline:
        """The entries, sorted by what was measured."""
        return Baseline(entries=tuple(sorted(entries, key=lambda entry: entry.entry_key)))

    def by_key(self) -> dict[EntryKey, Entry]:
        """The entries by case and device."""
        return {entry.entry_key: entry for entry in self.entries}

    def updated(self, newer: Baseline) -> Baseline:
        """This baseline with every entry of a newer one; cases that the newer one has not measured stay."""
        return Baseline.of((self.by_key() | newer.by_key()).values())


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Two baselines as one.

    Attributes:
        baseline: The union of both by key.
        conflicts: A sentence for each key that has different content in the two, which says which one stayed.
    """

    baseline: Baseline
    conflicts: tuple[str, ...]


def merge(ours: Baseline, theirs: Baseline) -> Merge:
    """The union by key; where both have one, the entry that was saved later stays, and the conflict is listed."""
    merged = ours.by_key()
    conflicts = []
    for key, their in theirs.by_key().items():
        our = merged.get(key)
        if our is None:
            merged[key] = their
        elif our != their:
            merged[key] = max(our, their, key=lambda entry: entry.saved)
            stayed, gone = (our, their) if merged[key] is our else (their, our)
            conflicts.append(
                f"{key[0].sentence} on {key[1].key}: kept {stayed.saved} ({stayed.median_seconds:.6g} s), "
                f"dropped {gone.saved} ({gone.median_seconds:.6g} s)"
            )
    return Merge(baseline=Baseline.of(merged.values()), conflicts=tuple(conflicts))


def baseline_of(run: Run) -> Baseline:
    """The baseline that a session leaves.

    Raises:
        BaselineError: the session was interrupted, a case of it failed, or nothing was timed. What failed says nothing
            about the time of what works, and an old baseline is worth more than half a new one.
    """
    if run.interruption:
        raise BaselineError(f"no baseline is saved of a session that was interrupted: {run.interruption}; run it again")
    bad = [case for case in run.cases if case.outcome != "passed"]
    if bad:
        more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
        raise BaselineError(f"no baseline is saved of a session with failures: {bad[0].problem}{more}; mend them first")
    groups = timed_results(run)
    if not groups:
        raise BaselineError("no baseline is saved of a session that timed nothing; run at level 1 or above")
    return Baseline.of(
        Entry(
            key=key,
            device=device,
            saved=run.ended,
            seconds=seconds_of(processes),
            execution=Execution.of([result for process in processes for result in process]),
            environment=run.environment,
        )
        for (key, device), processes in groups.items()
    )


def timed_results(run: Run) -> dict[EntryKey, list[list[Result]]]:
    """The right and timed results of each case, grouped by process: a process that ran a case twice is one unit."""
    groups: dict[EntryKey, list[list[Result]]] = {}
    for process in run.processes:
        found: dict[EntryKey, list[Result]] = {}
        for case in process:
            result = case.result
            if result is not None and result.sample is not None and result.check.passed:
                key = CaseKey.of(result, run.tune), Fingerprint.of(result.device)
                found.setdefault(key, []).append(result)
        for key, results in found.items():
            groups.setdefault(key, []).append(results)
    return groups


def seconds_of(processes: Sequence[Sequence[Result]]) -> Processes:
    """The counted times of each process with six significant digits, which is more than any device's clock tells."""
    return tuple(
        tuple(float(f"{t:.6g}") for result in results if result.sample for t in result.sample.counted)
        for results in processes
    )


def median_of_processes(processes: Sequence[Sequence[float]]) -> float:
    """The median over processes of the medians of their times; no process is empty."""
    medians = [median for times in processes if (median := statistics.median(times)) is not None]
    middle = statistics.median(medians)
    assert middle is not None, "an entry has times"
    return middle
