"""A case: one problem that a test ran, how it ended, and the log lines it wrote."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from pytest_miopen_perf.results import Result

if TYPE_CHECKING:
    from collections.abc import Mapping

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
    """

    nodeid: str
    problem: str = ""
    outcome: Outcome = "passed"
    message: str = ""
    result: Result | None = None
    log: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """As builtins."""
        return {
            "nodeid": self.nodeid,
            "problem": self.problem,
            "outcome": self.outcome,
            "message": self.message,
            "result": None if self.result is None else self.result.to_json(),
            "log": list(self.log),
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Case:
        """The inverse of `to_json`."""
        result = None if data["result"] is None else Result.from_json(data["result"])
        return Case(**{**data, "result": result, "log": tuple(data["log"])})
