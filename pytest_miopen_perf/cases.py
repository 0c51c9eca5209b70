"""A case: one problem that a test ran, how it ended, and the log lines it wrote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pytest_miopen_perf.results import Result

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pytest_miopen_perf.gate.blocks import PairedTimes
    from pytest_miopen_perf.gate.phases import CaseRule
    from pytest_miopen_perf.gate.verdict import VerdictRow

Outcome = Literal["passed", "failed", "error"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What the controller learns of one run.

    Attributes:
        nodeid: The test.
        problem: The problem's short name; "" for log lines that a test wrote by itself.
        outcome: "passed", "failed" (wrong numbers) or "error" (did not compile or run).
        message: Why it is not passed, in one sentence.
        result: What was measured; None when nothing was.
        log: Complete lines of the performance log, in order.
        verdict: What the gate says of its time; None where nothing was compared.
        paired: The other arm, where one process ran two versions; `result` is that of arm B.
        rule: What the test asks of the gate, where a process measures for another one that judges.
        process: Who measured it, where that was not the process of the test: a run of MIOpenDriver, or a log's.
    """

    nodeid: str
    problem: str = ""
    outcome: Outcome = "passed"
    message: str = ""
    result: Result | None = None
    log: tuple[str, ...] = ()
    verdict: VerdictRow | None = None
    paired: PairedTimes | None = None
    rule: CaseRule | None = None
    process: str = ""

    def to_json(self) -> dict[str, Any]:
        """As builtins."""
        return {
            "nodeid": self.nodeid,
            "problem": self.problem,
            "outcome": self.outcome,
            "message": self.message,
            "result": None if self.result is None else self.result.to_json(),
            "log": list(self.log),
            **({} if self.verdict is None else {"verdict": self.verdict.to_json()}),
            **({} if self.paired is None else {"paired": self.paired.to_json()}),
            **({} if self.rule is None else {"rule": self.rule.to_json()}),
            **({"process": self.process} if self.process else {}),
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Case:
        """The inverse of `to_json`."""
        result = None if data["result"] is None else Result.from_json(data["result"])
        kept = {**data, "result": result, "log": tuple(data["log"])}
        if "verdict" in data:
            from pytest_miopen_perf.gate.verdict import VerdictRow

            kept["verdict"] = VerdictRow.from_json(data["verdict"])
        if "paired" in data:
            from pytest_miopen_perf.gate.blocks import PairedTimes

            kept["paired"] = PairedTimes.from_json(data["paired"])
        if "rule" in data:
            from pytest_miopen_perf.gate.phases import CaseRule

            kept["rule"] = CaseRule.from_json(data["rule"])
        return Case(**kept)


def by_process(cases: Iterable[Case]) -> tuple[tuple[Case, ...], ...]:
    """The cases of each process that measured some, in the order of its first one."""
    found: dict[str, list[Case]] = {}
    for case in cases:
        found.setdefault(case.process, []).append(case)
    return tuple(map(tuple, found.values()))
