"""The judgement of one result, as plain data: `verification` makes it, reports read it."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_miopen_perf.problem import Shape


class Reason(enum.Enum):
    """Why a result passed or failed; the value is a stable code for machines."""

    RIGHT = "right"
    UNWRITTEN = "unwritten"
    NOT_FINITE = "not_finite"
    ALL_ZERO = "all_zero"
    NOT_EXACT = "not_exact"
    ELEMENT = "element"
    RMS = "rms"
    UNCHECKED = "unchecked"


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """The verdict on one result.

    Attributes:
        reason: Why it passed or failed.
        rms_error: MIOpen's rms_range; None when an element is not finite.
        rms_tolerance: The most that MIOpen allows, times the user's factor.
        worst: Logical coordinates of the faulty element that is furthest from the truth, measured in bounds; in a
            right result, of the one that comes nearest to its bound.
        got: That element as computed; None when it is not finite.
        want: The same element of the float64 reference; None, as the next, where only an aggregate is known.
        bound: How far apart the two may be.
        sentence: All of it in words.
    """

    reason: Reason
    rms_error: float | None
    rms_tolerance: float
    worst: Shape
    got: float | None
    want: float | None
    bound: float | None
    sentence: str

    @property
    def passed(self) -> bool:
        """Whether the result is right, or nobody looked: a log of MIOpenDriver with `-V 0` says nothing of it."""
        return self.reason in (Reason.RIGHT, Reason.UNCHECKED)

    def to_json(self) -> dict[str, Any]:
        """Builtins without NaN or infinity, for any process to read; `from_json` is the inverse."""
        return {
            "reason": self.reason.value,
            "rms_error": self.rms_error,
            "rms_tolerance": self.rms_tolerance,
            "worst": list(self.worst),
            "got": self.got,
            "want": self.want,
            "bound": self.bound,
            "sentence": self.sentence,
        }

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> Check:
        """A check from what `to_json` gave."""
        return cls(**{**data, "reason": Reason(data["reason"]), "worst": tuple(data["worst"])})
