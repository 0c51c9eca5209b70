"""A verdict report as a whole, and the document `verdicts.json`, whose schema ships as `verdicts.schema.json`."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf import __version__
from pytest_miopen_perf.errors import VerdictFileError
from pytest_miopen_perf.gate.estimators import CONFIDENCE, Estimate, geometric_mean, t_quantile
from pytest_miopen_perf.gate.verdict import Comparison, Verdict, VerdictRow

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

FORMAT = "pytest-miopen-perf verdicts"
VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteChange:
    """The geometric mean of the ratios of all cases that could be compared, each weighing the same.

    Attributes:
        change: 0.02 is 2 % slower.
        interval: Its 95 % interval, from the noise of the measurement; None where the noise is unknown.
        cases: How many cases are in it.
    """

    change: float
    interval: tuple[float, float] | None
    cases: int

    @staticmethod
    def of(estimates: Sequence[Estimate]) -> SuiteChange | None:
        """The change of a suite from those of its cases; None without cases."""
        mean = geometric_mean(estimates)
        if mean is None:
            return None
        return SuiteChange(change=mean.change, interval=mean.change_interval(), cases=len(estimates))

    @staticmethod
    def of_rows(rows: Iterable[VerdictRow]) -> SuiteChange | None:
        """The change of a suite from what its rows show, which may be fresh samples; None where none shows a change."""
        return SuiteChange.of([estimate for row in rows if (estimate := _estimate_of(row)) is not None])

    def to_json(self) -> dict[str, Any]:
        """As builtins."""
        return {
            "change": self.change,
            "interval": None if self.interval is None else list(self.interval),
            "cases": self.cases,
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> SuiteChange:
        """The inverse of `to_json`."""
        interval = None if data["interval"] is None else (data["interval"][0], data["interval"][1])
        return SuiteChange(change=data["change"], interval=interval, cases=data["cases"])


def _estimate_of(row: VerdictRow) -> Estimate | None:
    """The estimate whose t interval is as wide as the one of the row."""
    if row.change is None:
        return None
    log_ratio, degrees = math.log1p(row.change), max(1, row.units - 1)
    if row.interval is None:
        return Estimate(log_ratio=log_ratio, standard_error=None, degrees=0, units=row.units)
    low, high = map(math.log1p, row.interval)
    error = (high - low) / 2 / t_quantile((1 + CONFIDENCE) / 2, degrees)
    return Estimate(log_ratio=log_ratio, standard_error=error, degrees=degrees, units=row.units)


@dataclass(frozen=True, slots=True, kw_only=True)
class VerdictReport:
    """The verdicts of a session.

    Attributes:
        comparison: Paired or unpaired.
        versus: What the ratios are against, for the reader: a baseline's name, or what arm A is.
        rows: One a case, worst first.
        suite: The change of the suite; None when nothing could be compared.
        vanished: Cases of the baseline that did not run, one sentence each.
        unmeasured: Cases that came to no result, one sentence each.
    """

    comparison: Comparison
    versus: str
    rows: tuple[VerdictRow, ...]
    suite: SuiteChange | None
    vanished: tuple[str, ...] = ()
    unmeasured: tuple[str, ...] = ()

    @property
    def counts(self) -> dict[Verdict, int]:
        """How many rows have each verdict, zeros included."""
        found = Counter(row.verdict for row in self.rows)
        return {verdict: found[verdict] for verdict in Verdict}

    def has_findings(self, *, is_strict: bool) -> bool:
        """Whether a program should fail for it: what got worse or has no result; when strict, all that is open."""
        counts = self.counts
        is_worse = bool(counts[Verdict.REGRESSION] or counts[Verdict.TAINTED] or self.unmeasured)
        is_open = bool(counts[Verdict.INCONCLUSIVE] or counts[Verdict.NO_BASELINE] or self.vanished)
        return is_worse or (is_strict and is_open)

    def to_json(self, created: str) -> dict[str, Any]:
        """The document as builtins.

        Args:
            created: When, ISO 8601 in UTC.
        """
        return {
            "format": FORMAT,
            "version": VERSION,
            "generator": f"pytest-miopen-perf {__version__}",
            "created": created,
            "comparison": self.comparison,
            "versus": self.versus,
            "confidence": CONFIDENCE,
            "counts": {verdict.value: count for verdict, count in self.counts.items()},
            "suite": None if self.suite is None else self.suite.to_json(),
            "rows": [row.to_json() for row in self.rows],
            "vanished": list(self.vanished),
            "unmeasured": list(self.unmeasured),
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> VerdictReport:
        """The inverse of `to_json`.

        Raises:
            VerdictFileError: it is another kind of document, or one of a newer version.
        """
        if data.get("format") != FORMAT:
            raise VerdictFileError(f"the document is no verdict file: its format is {data.get('format')!r}")
        if data.get("version") != VERSION:
            raise VerdictFileError(
                f"the verdict file has version {data.get('version')!r}, and version {VERSION} is known; "
                "update pytest-miopen-perf"
            )
        return VerdictReport(
            comparison=data["comparison"],
            versus=data["versus"],
            rows=tuple(map(VerdictRow.from_json, data["rows"])),
            suite=None if data["suite"] is None else SuiteChange.from_json(data["suite"]),
            vanished=tuple(data["vanished"]),
            unmeasured=tuple(data["unmeasured"]),
        )


def verdicts_text(document: Mapping[str, Any]) -> str:
    """The text of the file."""
    return json.dumps(document, indent=1, allow_nan=False) + "\n"
