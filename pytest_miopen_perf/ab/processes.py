"""Rounds of a paired comparison as processes of pytest: one that runs both versions, or one for each."""

from __future__ import annotations

import math
import os
from collections import Counter
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pytest_miopen_perf.ab.part import Part
from pytest_miopen_perf.child_process import last_words, run_to_end
from pytest_miopen_perf.errors import ArmError, InputError
from pytest_miopen_perf.gate.campaign import Measured, Round
from pytest_miopen_perf.gate.estimators import hodges_lehmann
from pytest_miopen_perf.gate.keys import CaseKey, Fingerprint
from pytest_miopen_perf.gate.phases import CaseRule, phase_values
from pytest_miopen_perf.gate.what_changed import Execution
from pytest_miopen_perf.report.results_reader import parse_fresh_results

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pytest_miopen_perf.cases import Case
    from pytest_miopen_perf.gate.arms import Arm
    from pytest_miopen_perf.gate.campaign import Request
    from pytest_miopen_perf.report.results_reader import ResultsFile

Place = tuple[str, str, int]
"""Where a case stands in a session, whatever arm ran it: test, problem, and the how-manieth of these."""


@dataclass(slots=True, kw_only=True)
class PytestRounds:
    """Measures rounds with processes of pytest.

    Attributes:
        base: Arm A.
        new: Arm B.
        arguments: Of every pytest.
        seed: Of the orders.
        scratch: A folder for what the processes write.
        folder: Where the processes run; None is where this one does.
        kernels: The kernel folders of both arms where one process can run both; None where each has its own process.
        blocks: Blocks of a case in one process, where it runs both.
        launches: Launches of one slot of a block.
        canary: What arm B of the chosen cases is slowed by, for the gate's own test.
        levels: The levels of the log that are the arms, which one process runs both; None where versions are.
        started: Processes so far.
    """

    base: Arm
    new: Arm
    arguments: Sequence[str]
    seed: int
    scratch: Path
    folder: Path | None = None
    kernels: tuple[Path, Path] | None = None
    blocks: int = 6
    launches: int = 5
    canary: float = 0.0
    levels: tuple[int, int] | None = None
    started: int = field(default=0)

    def measure(self, request: Request) -> Round:
        """Run one round.

        Raises:
            ArmError: a process left no results; with its last words.
            KeyboardInterrupt: the user has had enough.
        """
        if self.kernels is not None or self.levels is not None:
            return round_of_pairs(self._run(self.base, request))
        if request.process.first_arm == "A":
            base = self._run(self.base, request)
            return round_of_arms(base, self._run(self.new, request))
        new = self._run(self.new, request)
        return round_of_arms(self._run(self.base, request), new)

    def _run(self, arm: Arm, request: Request) -> ResultsFile:
        self.started += 1
        folder = self.scratch / f"process-{self.started}"
        folder.mkdir(parents=True)
        part = Part(
            seed=self.seed,
            process=request.process,
            nodeids=request.nodeids,
            arms=self.kernels,
            blocks=self.blocks,
            launches=self.launches,
            canary=self.canary,
            levels=self.levels,
        )
        part.write(folder / "part.json")
        results = folder / "results.json"
        own = [f"--miopen-perf-part={folder / 'part.json'}", f"--miopen-perf-json={results}"]
        command = arm.command([*self.arguments, *own], self.started)
        log = folder / "output.txt"
        try:
            code = run_to_end(command, os.environ | arm.variables(self.started), log, self.folder)
        except OSError as error:
            raise ArmError(f"{command[0]} cannot be started: {error}") from error
        if not results.exists():
            raise ArmError(f"the process {' '.join(command)} ended with {code} and left no results:\n{last_words(log)}")
        try:
            return parse_fresh_results(results.read_text(encoding="utf-8"), str(results))
        except InputError as error:
            raise ArmError(f"the results of {' '.join(command)} cannot be read: {error}") from error


# --- What a round says ------------------------------------------------------------------------------------------------


def round_of_pairs(found: ResultsFile) -> Round:
    """What a process says that ran both versions."""
    cases: dict[str, Measured] = {}
    failures: dict[str, str] = {}
    for case in found.cases:
        new, paired = case.result, case.paired
        if case.outcome != "passed" or new is None or paired is None or new.sample is None or not paired.base.sample:
            failures[case.problem] = case.message or "it was not timed"
            continue
        key = CaseKey.of(new)
        cases.setdefault(
            key.sentence,
            Measured(
                key=key,
                device=Fingerprint.of(new.device),
                nodeid=case.nodeid,
                log_ratio=paired.log_ratio,
                base=Execution.of([paired.base]),
                new=Execution.of([new]),
                base_seconds=paired.base.sample.median_seconds,
                new_seconds=new.sample.median_seconds,
                rule=case.rule or CaseRule(),
                base_phases=phase_values(paired.base),
                new_phases=phase_values(new),
                record_seconds=hodges_lehmann(paired.record_seconds),
                disturbed=paired.base.taint or new.taint,
            ),
        )
    return Round(cases=cases, failures=failures)


def round_of_arms(base: ResultsFile, new: ResultsFile) -> Round:
    """What two processes say, one of each version; cases are the same where test and problem are."""
    before, after = dict(_placed(base.cases)), dict(_placed(new.cases))
    cases: dict[str, Measured] = {}
    failures: dict[str, str] = {}
    for place in before | after:
        reason = _why_untimed(before.get(place), "A") or _why_untimed(after.get(place), "B")
        reason = reason or _why_apart(before[place], after[place])
        if reason:
            failures[(before.get(place) or after[place]).problem] = reason
            continue
        key, measured = _measured(before[place], after[place])
        cases.setdefault(key.sentence, measured)
    return Round(cases=cases, failures=failures)


def _placed(cases: Sequence[Case]) -> Iterator[tuple[Place, Case]]:
    seen: Counter[tuple[str, str]] = Counter()
    for case in cases:
        at = case.nodeid, case.problem
        yield (*at, seen[at]), case
        seen[at] += 1


def _why_untimed(case: Case | None, arm: str) -> str:
    if case is None:
        return f"arm {arm} did not run it"
    if case.outcome != "passed" or case.result is None or case.result.sample is None:
        return f"arm {arm}: {case.message or 'it was not timed'}"
    return ""


def _why_apart(before: Case, after: Case) -> str:
    """Why the times of two arms cannot be compared; the software of the device may well be what differs."""
    assert before.result is not None, "a case without a time has been told apart"
    assert after.result is not None, "a case without a time has been told apart"
    base, new = (Fingerprint.of(case.result.device) for case in (before, after) if case.result)
    changes = base.hardware_differences(new)
    if not changes:
        return ""
    return f"the arms ran on two devices, whose times say nothing of the versions: {', '.join(changes)}"


def _measured(before: Case, after: Case) -> tuple[CaseKey, Measured]:
    base, new = before.result, after.result
    assert base is not None, "a case without a time has been told apart"
    assert base.sample is not None, "a case without a time has been told apart"
    assert new is not None, "a case without a time has been told apart"
    assert new.sample is not None, "a case without a time has been told apart"
    key = CaseKey.of(new)
    base_seconds, new_seconds = base.sample.median_seconds, new.sample.median_seconds
    return key, Measured(
        key=key,
        device=Fingerprint.of(new.device),
        nodeid=after.nodeid,
        log_ratio=math.log(new_seconds / base_seconds),
        base=Execution.of([base]),
        new=Execution.of([new]),
        base_seconds=base_seconds,
        new_seconds=new_seconds,
        rule=after.rule or CaseRule(),
        base_phases=phase_values(base),
        new_phases=phase_values(new),
        disturbed=base.taint or new.taint,
    )
