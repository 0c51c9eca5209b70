"""What is wrong, or not to be trusted, in a log: data, for people and for programs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_miopen_perf.severity import Severity


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One finding.

    Attributes:
        code: A short name that does not change, for programs.
        severity: How much it matters.
        message: A sentence for people.
        line_number: The physical line, from 1; 0 where it concerns the log as a whole.
        source: The stream, as the reader was told.
    """

    code: str
    severity: Severity
    message: str
    line_number: int
    source: str = ""

    def __str__(self) -> str:
        place = ":".join(str(part) for part in (self.source, self.line_number or "") if part)
        return f"{place + ': ' if place else ''}{self.severity.value}: {self.message} [{self.code}]"


def capped(findings: Iterable[Finding], limit: int) -> Iterator[Finding]:
    """The first `limit` findings of each code, and one finding that counts the rest of it."""
    counts: dict[str, int] = {}
    last: dict[str, Finding] = {}
    for finding in findings:
        counts[finding.code] = counts.get(finding.code, 0) + 1
        if counts[finding.code] <= limit:
            yield finding
        else:
            last[finding.code] = finding
    for code, finding in last.items():
        yield Finding(
            code=code,
            severity=finding.severity,
            message=f"{counts[code] - limit} more of this kind, the last of them: {finding.message}",
            line_number=finding.line_number,
            source=finding.source,
        )
