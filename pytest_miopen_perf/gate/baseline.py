"""A stored baseline as data: times of many cases on one or more devices, by what was measured, never by test names."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_miopen_perf import statistics
from pytest_miopen_perf.errors import BaselineError
from pytest_miopen_perf.gate.keys import CaseKey, Fingerprint
from pytest_miopen_perf.gate.phases import Phase, phase_values
from pytest_miopen_perf.gate.what_changed import Execution

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pytest_miopen_perf.cases import Case
    from pytest_miopen_perf.gate.phases import PhaseValues
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
        interruption: Why the session ended early, as a sentence; "" when it came to its end.
        environment: The set variables that change what kernels do.
    """

    processes: tuple[tuple[Case, ...], ...]
    ended: str
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
        phases: What was measured beside the time: a value of each session that saved it with this very choice and
            text of the kernels, the oldest first; of what does not vary the last one alone.
    """

    key: CaseKey
    device: Fingerprint
    saved: str
    seconds: Processes
    execution: Execution
    environment: tuple[tuple[str, str], ...] = ()
    phases: tuple[tuple[Phase, tuple[float, ...]], ...] = ()

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

    def after(self, older: Entry | None) -> Entry:
        """This entry with what an older one knows of the phases of the same kernels."""
        if older is None or not older.execution.is_same_as(self.execution):
            return self
        ours, theirs = dict(self.phases), dict(older.phases)
        known = [phase for phase in Phase if phase in ours or phase in theirs]
        return replace(self, phases=tuple((phase, _history(phase, theirs, ours)) for phase in known))


_MOST_SAMPLES = 8


def _history(
    phase: Phase, older: Mapping[Phase, tuple[float, ...]], newer: Mapping[Phase, tuple[float, ...]]
) -> tuple[float, ...]:
    if phase.is_exact:
        return newer.get(phase) or older[phase]
    return (*older.get(phase, ()), *newer.get(phase, ()))[-_MOST_SAMPLES:]


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
        older = self.by_key()
        fresh = {key: entry.after(older.get(key)) for key, entry in newer.by_key().items()}
        return Baseline.of((older | fresh).values())


def baseline_of(run: Run) -> Baseline:
    """The baseline that a session leaves.

    Raises:
        BaselineError: the session was interrupted, a case of it failed, a time is tainted, or nothing was timed. What
            failed says nothing about the time of what works, and an old baseline is worth more than half a new one.
    """
    if run.interruption:
        raise BaselineError(f"no baseline is saved of a session that was interrupted: {run.interruption}; run it again")
    bad = [case for case in run.cases if case.outcome != "passed"]
    if bad:
        more = f" and {len(bad) - 1} more" if len(bad) > 1 else ""
        raise BaselineError(f"no baseline is saved of a session with failures: {bad[0].problem}{more}; mend them first")
    tainted = [case for case in run.cases if case.result is not None and case.result.taint]
    if tainted:
        why = f"{tainted[0].problem}: {tainted[0].result.taint}" if tainted[0].result else ""
        raise BaselineError(
            f"no baseline is saved of a session with tainted times: {why}; run it when nobody else does"
        )
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
            phases=_phases_of([phase_values(results[0]) for results in processes]),
        )
        for (key, device), processes in groups.items()
    )


def _phases_of(processes: Sequence[PhaseValues]) -> tuple[tuple[Phase, tuple[float, ...]], ...]:
    found = {phase: tuple(values[phase] for values in processes if phase in values) for phase in Phase}
    return tuple((phase, (max(values),) if phase.is_exact else values) for phase, values in found.items() if values)


def timed_results(run: Run) -> dict[EntryKey, list[list[Result]]]:
    """The right and timed results of each case, grouped by process: a process that ran a case twice is one unit.

    Tainted times are none.
    """
    groups: dict[EntryKey, list[list[Result]]] = {}
    for process in run.processes:
        found: dict[EntryKey, list[Result]] = {}
        for case in process:
            result = case.result
            if result is not None and result.sample is not None and result.check.passed and not result.taint:
                key = CaseKey.of(result), Fingerprint.of(result.device)
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
