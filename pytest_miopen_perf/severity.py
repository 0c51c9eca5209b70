"""How much a finding matters: one scale for logs, data bases and the environment."""

from __future__ import annotations

import enum

from pytest_miopen_perf.wording import counted


class Severity(enum.Enum):
    """How much a finding matters to somebody who wants to trust what was measured.

    INFO: Worth knowing when the numbers are read.
    WARNING: A number, a name or a conclusion is not to be trusted, or may mislead MIOpen.
    ERROR: Something failed, is lost, or is wrong.
    """

    INFO = "info"
    WARNING = "warning"
    ERROR = "error"

    @property
    def rank(self) -> int:
        """0 for an error, 1 for a warning, 2 for mere information."""
        return WORST_FIRST.index(self)

    def counted(self, count: int) -> str:
        """So many findings of it, in words: "1 error", "2 warnings", "3 info"."""
        return f"{count} {self.value}" if self is Severity.INFO else counted(count, self.value)


WORST_FIRST = (Severity.ERROR, Severity.WARNING, Severity.INFO)
"""All of them."""
