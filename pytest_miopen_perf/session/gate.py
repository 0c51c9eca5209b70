"""The gate of one pytest process: what it compares with, opened once, and the verdict on each case as its test runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_miopen_perf.cases import by_process
from pytest_miopen_perf.environment import performance_variables
from pytest_miopen_perf.errors import SettingsError
from pytest_miopen_perf.gate import why_unavailable
from pytest_miopen_perf.gate.baseline import Run
from pytest_miopen_perf.gate.baseline_file import load_baseline
from pytest_miopen_perf.gate.compare import UnpairedRule
from pytest_miopen_perf.gate.items import Opponent, judge_item
from pytest_miopen_perf.gate.keys import CaseKey, Fingerprint
from pytest_miopen_perf.gate.margins import DEFAULT_MARGIN
from pytest_miopen_perf.gate.phases import TIME_ALONE, CaseRule
from pytest_miopen_perf.gate.store import baseline_path, check_writable, known_floors, noise_path
from pytest_miopen_perf.gate.verdict import Decision, Reason, Verdict, VerdictRow
from pytest_miopen_perf.moments import now
from pytest_miopen_perf.report.units import percent, short_time
from pytest_miopen_perf.report.verdict_table import signed_percent

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from pytest_miopen_perf.ab.leading import Lead
    from pytest_miopen_perf.cases import Case
    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.results import Result
    from pytest_miopen_perf.settings import Settings


class SessionGate:
    """Baselines and margins of a session.

    Args:
        settings: Of the session.
        root: What relative folders are relative to.

    Raises:
        SettingsError: the gate cannot work here, or a name is wrong.
        BaselineError: the baseline or the noise floors cannot be read, or what is to be written cannot be.
    """

    def __init__(self, settings: Settings, root: Path) -> None:
        if reason := why_unavailable():
            raise SettingsError(reason)
        self._settings = settings
        self.folder = root / settings.baselines_dir
        self.save_path = None if settings.save is None else baseline_path(settings.save, self.folder)
        self.opponent = None if settings.compare is None else _opponent(settings.compare, self.folder)
        self._floors = known_floors(self.folder)
        self._check_places()
        self.lead: Lead | None = None
        self._environment = tuple(performance_variables().items())

    def _check_places(self) -> None:
        """Refuse now what could only be refused when all has been measured."""
        if self.save_path is not None:
            check_writable(self.save_path)
            if self.save_path.exists():
                load_baseline(self.save_path)
        if self._settings.aa:
            check_writable(noise_path(self.folder))

    def run_of(self, cases: Iterable[Case], interruption: str = "") -> Run:
        """Cases as a session that ends now.

        Args:
            cases: What ran.
            interruption: Why it ended early; "" when it came to its end.
        """
        return Run(
            processes=by_process(cases),
            ended=now(),
            interruption=interruption,
            environment=self._environment,
        )

    def rule(self, device: DeviceInfo | None, asked: CaseRule | None = None) -> UnpairedRule:
        """How cases on a device are held against the baseline: as their test asks, or else the session."""
        found = None if device is None else Fingerprint.of(device)
        floors = {key: floor.session for (key, where), floor in self._floors.items() if where == found}
        given = asked or CaseRule(phases=self._settings.gate or TIME_ALONE)
        margin = given.margin or self._settings.margin or DEFAULT_MARGIN
        return UnpairedRule(margin=margin, noise_floors=floors, phases=given.phases)

    @property
    def tells_what_was_led(self) -> bool:
        """Whether tests are told the paired verdicts; those of an A/A run and of the canary are the gate's own."""
        return self._settings.ab is not None or self._settings.log_overhead

    def judge(
        self, case: Case, *, asked: CaseRule, suite_size: int, measure_again: Callable[[], Case]
    ) -> VerdictRow | None:
        """The verdict on a case that has a result; None where nothing is compared or nothing was timed."""
        if case.result is None or case.result.sample is None:
            return None
        if self.lead is not None and self.tells_what_was_led:
            return self._paired_row(self.lead, case.result)
        if self.opponent is None:
            return None
        return judge_item(
            self.run_of([case]),
            self.opponent,
            rule=self.rule(case.result.device, asked),
            suite_size=suite_size,
            measure_again=lambda: self.run_of([measure_again()]),
        )

    def _paired_row(self, lead: Lead, result: Result) -> VerdictRow:
        key = CaseKey.of(result)
        sentence = "no process measured it in both arms"
        decision = Decision(verdict=Verdict.INCONCLUSIVE, reason=Reason.UNDECIDED, sentence=sentence)
        margin = self._settings.margin or DEFAULT_MARGIN
        return lead.row(key) or VerdictRow(
            key=key, name=key.name, decision=decision, comparison="paired", margin=margin
        )


def _opponent(text: str, folder: Path) -> Opponent:
    return Opponent(baseline=load_baseline(baseline_path(text, folder)), name=text)


def complaint(row: VerdictRow) -> str:
    """Why a test fails for its time: verdict, figures, reason, what changed, and how to see it again."""
    lines = [f"{row.verdict.value} {row.name}: {_figures(row)}{row.decision.sentence}"]
    if row.doubt:
        lines.append(row.doubt)
    if row.what_changed is not None:
        lines.append(f"changed: {row.what_changed.sentence}")
    if row.baseline is not None:
        lines.append(f"baseline: {row.baseline.name}, saved {row.baseline.saved}")
    if row.reproducer:
        lines.append(f"reproduce: {row.reproducer}")
    return "\n".join(lines)


def _figures(row: VerdictRow) -> str:
    if row.change is None or row.base_seconds is None or row.new_seconds is None:
        return ""
    interval = "" if row.interval is None else f" ({' .. '.join(map(signed_percent, row.interval))})"
    times = f"{short_time(row.base_seconds)} -> {short_time(row.new_seconds)}"
    return f"{signed_percent(row.change)}{interval}, {times}, margin {percent(row.margin)}; "
