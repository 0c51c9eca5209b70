"""What the doctor says: one finding a fact, as data."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_miopen_perf.severity import Severity


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
