"""What the doctor says: one finding a fact, as data."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class Severity(enum.Enum):
    """How much a finding matters to somebody who wants to trust a measurement."""

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """0 for an error, 1 for a warning, 2 for mere information: worst first."""
        return (Severity.ERROR, Severity.WARNING, Severity.INFO).index(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that is worth knowing.

    Attributes:
        code: A stable word for machines: "set", "misread", "rejected", "benchmark", "unknown", "combination", or for
            the installation "back-end", "compiler", "kernels", "cache", "package".
        variable: The variable or variables, or what of the installation it is about.
        value: The text that is set, "" where there is none.
        effective: What the text comes to, in words; "" where nothing can be said.
        severity: Whether it matters.
        sentence: The fact.
        advice: What to do, "" when there is nothing to do.
    """

    code: str
    variable: str
    value: str = ""
    effective: str = ""
    severity: Severity = Severity.INFO
    sentence: str
    advice: str = ""

    def to_json(self) -> dict[str, str]:
        """As builtins."""
        return {
            "code": self.code,
            "variable": self.variable,
            "value": self.value,
            "effective": self.effective,
            "severity": self.severity.value,
            "sentence": self.sentence,
            "advice": self.advice,
        }
