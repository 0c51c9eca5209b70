"""What the leading process of a pytest session measures before its first test: both arms, in processes of their own.

The verdict of a paired comparison needs several processes, and a test must fail while it runs. So the processes run
first, each the same session once more with a part of the tests; then the tests of this session run with arm B, check
their numbers, and are told their verdicts.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_miopen_perf.ab.processes import PytestRounds
from pytest_miopen_perf.ab.versions import Versions, versions_of
from pytest_miopen_perf.atomic_file import write_atomically
from pytest_miopen_perf.canary import is_slowed
from pytest_miopen_perf.gate.arms import Arm
from pytest_miopen_perf.gate.campaign import CampaignRule, run_campaign
from pytest_miopen_perf.gate.decision import GateRule
from pytest_miopen_perf.gate.margins import DEFAULT_MARGIN
from pytest_miopen_perf.gate.noise_floor import NoiseFloor, paired_floor, session_floor
from pytest_miopen_perf.gate.report import VerdictReport
from pytest_miopen_perf.gate.store import known_floors, save_floors
from pytest_miopen_perf.gate.suspects import suspect_lines
from pytest_miopen_perf.gate.verdict import Verdict
from pytest_miopen_perf.kernel_source.files import kernels_dir
from pytest_miopen_perf.moments import now
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.running.log_cost import LEVELS
from pytest_miopen_perf.statistics import median
from pytest_miopen_perf.wording import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pytest_miopen_perf.gate.campaign import Campaign
    from pytest_miopen_perf.gate.keys import CaseKey
    from pytest_miopen_perf.gate.verdict import VerdictRow
    from pytest_miopen_perf.settings import Settings

AA_PROCESSES = 8
"""Processes of an A/A run unless the user names another number."""

_FLAGS = tuple(f"--miopen-perf-{name}" for name in ("aa", "log-overhead", "strict"))
"""Those of them that take no value."""

_OWN = (
    "ab",
    "aa",
    "canary",
    "log-overhead",
    "save",
    "compare",
    "strict",
    "verdicts",
    "json",
    "log",
    "budget",
    "processes",
    "kernels",
    "part",
)
"""Options that belong to the leading process alone."""


def arguments_of_parts(arguments: Iterable[str], *, has_xdist: bool) -> list[str]:
    """The command line of the processes that measure: without what is the leading one's own, and without workers."""
    own = tuple(f"--miopen-perf-{name}" for name in _OWN)
    kept: list[str] = []
    words = iter(arguments)
    for word in words:
        name, equals, _ = word.partition("=")
        if name not in own:
            kept.append(word)
        elif not equals and name not in _FLAGS:
            next(words, None)
    return [*kept, "--maxfail=0", *(["-n0"] if has_xdist else [])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """What was measured before the first test.

    Attributes:
        report: The verdicts.
        kernels: The kernels of arm B, which the tests of this session run.
        remarks: What is to be said beside the table.
        problems: What fails the session.
    """

    report: VerdictReport
    kernels: Path
    remarks: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    def write(self, path: Path) -> None:
        """Write it for the workers of this session."""
        write_atomically(path, json.dumps({"kernels": str(self.kernels), "report": self.report.to_json("")}))

    @staticmethod
    def read(path: Path) -> Lead:
        """What `write` wrote."""
        data = json.loads(path.read_text(encoding="utf-8"))
        return Lead(report=VerdictReport.from_json(data["report"]), kernels=Path(data["kernels"]))

    def row(self, key: CaseKey) -> VerdictRow | None:
        """The verdict on a case; None where no process measured it."""
        return next((row for row in self.report.rows if row.key == key), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class Leader:
    """Measures what the options ask for.

    Attributes:
        settings: Of the session.
        arguments: Of the processes that measure.
        folder: Where these run.
        baselines: Where noise floors lie.
        scratch: For what the processes write.
        tell: Shows a line of progress.
    """

    settings: Settings
    arguments: Sequence[str]
    folder: Path
    baselines: Path
    scratch: Path
    tell: Callable[[str], None]

    def compare(self, first: str, second: str) -> Lead:
        """Arm B against arm A.

        Raises:
            SettingsError: an arm is not there.
            ArmError: a process left no results.
            BaselineError: the noise floors cannot be read.
        """
        base, new = (Arm(text=text, kernels=text) for text in (first, second))
        versions = versions_of(base, new, self.scratch / "kernels", self._kernels)
        campaign = self._run(versions, self._usual_rule())
        assert versions.kernels is not None, "arms that differ in their kernels alone run in one process"
        report = campaign.report(versions.sentence)
        return Lead(
            report=report, kernels=versions.kernels[1], remarks=_ended(campaign), problems=tuple(_untimed(report))
        )

    def measure_noise(self) -> Lead:
        """The version of this session against itself, and the noise floors that it leaves.

        Raises:
            ArmError: a process left no results.
            BaselineError: the floors cannot be stored.
        """
        versions = self._same("itself (A/A)")
        count = self.settings.processes or AA_PROCESSES
        rule = CampaignRule(
            seed=self.settings.seed,
            rule=GateRule(looks=(max(2, count),), spending=(1.0,)),
            margin=self.settings.margin or DEFAULT_MARGIN,
            most_rounds=count,
        )
        campaign = self._run(versions, rule)
        floors = tuple(noise_floors(campaign, now()))
        path = save_floors(self.baselines, floors)
        remark = f"noise    floors of {counted(len(floors), 'case')} in {path}"
        report = campaign.report(versions.sentence)
        return Lead(report=report, kernels=self._kernels, remarks=(remark, *_ended(campaign)))

    def sing(self, share: float) -> Lead:
        """The gate's own test: half of the cases are slowed by a share, and nothing but these may be red.

        Args:
            share: 0.02 slows by 2 %.

        Raises:
            ArmError: a process left no results.
            BaselineError: the noise floors cannot be read.
        """
        versions = self._same(f"itself, some cases slowed by {share:.2%}")
        campaign = self._run(versions, self._usual_rule(), canary=share)
        report = campaign.report(versions.sentence)
        song = Song.of(report, self.settings.seed)
        return Lead(
            report=report,
            kernels=self._kernels,
            remarks=(song.sentence(share), *_ended(campaign)),
            problems=song.problems,
        )

    def measure_log_cost(self) -> Lead:
        """The session at level 4 of the log against level 0: what the log itself costs.

        Raises:
            ArmError: a process left no results.
            BaselineError: the noise floors cannot be read.
        """
        arm = Arm(text="itself", interpreter=sys.executable)
        versions = Versions(
            base=arm, new=arm, kernels=None, sentence="A level {} of the log; B level {}".format(*LEVELS)
        )
        campaign = self._run(versions, self._usual_rule(), levels=LEVELS)
        report = campaign.report(versions.sentence)
        remarks = (*record_cost_sentences(report), *_ended(campaign))
        return Lead(report=report, kernels=self._kernels, remarks=remarks, problems=tuple(_untimed(report)))

    @property
    def _kernels(self) -> Path:
        return self.settings.kernels_dir or kernels_dir()

    def _same(self, sentence: str) -> Versions:
        arm = Arm(text="itself", interpreter=sys.executable)
        return Versions(base=arm, new=arm, kernels=(self._kernels, self._kernels), sentence=sentence)

    def _usual_rule(self) -> CampaignRule:
        return CampaignRule(
            seed=self.settings.seed,
            margin=self.settings.margin or DEFAULT_MARGIN,
            noise_floors={key: floor.paired for key, floor in known_floors(self.baselines).items()},
            most_rounds=self.settings.processes,
            budget_seconds=self.settings.budget_seconds,
        )

    def _run(
        self, versions: Versions, rule: CampaignRule, *, canary: float = 0.0, levels: tuple[int, int] | None = None
    ) -> Campaign:
        rounds = PytestRounds(
            base=versions.base,
            new=versions.new,
            arguments=self.arguments,
            seed=rule.seed,
            scratch=self.scratch,
            folder=self.folder,
            kernels=versions.kernels,
            canary=canary,
            levels=levels,
        )
        return run_campaign(rule, rounds.measure, time.monotonic, lambda campaign: self.tell(campaign.progress))


@dataclass(frozen=True, slots=True, kw_only=True)
class Song:
    """What the gate made of the canary.

    Attributes:
        slowed: Verdicts on the cases that were slowed.
        others: Verdicts on the cases that were not.
    """

    slowed: tuple[Verdict, ...]
    others: tuple[Verdict, ...]

    @staticmethod
    def of(report: VerdictReport, seed: int) -> Song:
        """Tell the cases apart as the processes did."""
        flags = [is_slowed(ConvProblem.from_driver(row.key.problem)[0], seed) for row in report.rows]
        verdicts = [row.verdict for row in report.rows]
        return Song(
            slowed=tuple(verdict for verdict, flag in zip(verdicts, flags, strict=True) if flag),
            others=tuple(verdict for verdict, flag in zip(verdicts, flags, strict=True) if not flag),
        )

    @property
    def found(self) -> int:
        """How many of the slowed cases are red."""
        return self.slowed.count(Verdict.REGRESSION)

    @property
    def false_alarms(self) -> int:
        """How many of the others are red."""
        return self.others.count(Verdict.REGRESSION)

    def sentence(self, share: float) -> str:
        """Power and false-alarm rate of this machine."""
        power = f"{self.found} of {len(self.slowed)} found ({_rate(self.found, len(self.slowed))})"
        alarms = (
            f"{self.false_alarms} of {len(self.others)} false alarms ({_rate(self.false_alarms, len(self.others))})"
        )
        return f"canary   +{share:.2%}: {power}, {alarms}"

    @property
    def problems(self) -> tuple[str, ...]:
        """Why the gate is not to be trusted here; none when it is."""
        if not self.slowed or not self.others:
            return ("the canary needs cases that it slows and cases that it leaves alone; run more of them",)
        missed = len(self.slowed) - self.found
        sentences = (
            f"the gate missed {missed} of {len(self.slowed)} slowed cases; allow more processes or a smaller margin",
            f"the gate called {self.false_alarms} unchanged cases slower; measure the noise with --miopen-perf-aa",
        )
        return tuple(s for s, count in zip(sentences, (missed, self.false_alarms), strict=True) if count)


def record_cost_sentences(report: VerdictReport) -> Iterator[str]:
    """What a record takes, over all cases that have a figure; the rows tell of each."""
    costs = [row.record_cost.seconds * 1e6 for row in report.rows if row.record_cost is not None]
    if costs:
        middle, low, high = median(costs), min(costs), max(costs)
        spread = f", the median of {len(costs)} cases ({low:.1f} .. {high:.1f})" if len(costs) > 1 else ""
        yield f"log      {middle:.1f} us of the host a record{spread}"


def _rate(count: int, whole: int) -> str:
    return f"{count / whole:.0%}" if whole else "-"


def noise_floors(campaign: Campaign, now: str) -> Iterator[NoiseFloor]:
    """What an A/A comparison says of each case that enough processes have measured.

    Args:
        campaign: One version against itself.
        now: ISO 8601 in UTC.
    """
    for sentence, evidence in campaign.suite.items():
        measured = campaign.measured(sentence)
        ratios = (*evidence.screening, *evidence.confirmation)
        paired = paired_floor(ratios)
        session = session_floor([math.log(one.base_seconds) for one in measured])
        if paired is not None and session is not None:
            yield NoiseFloor(
                key=measured[-1].key,
                device=measured[-1].device,
                measured=now,
                processes=len(measured),
                paired=paired,
                session=session,
            )


def _untimed(report: VerdictReport) -> Iterator[str]:
    """That cases came to no time in an arm, which no test of this session would tell."""
    if report.unmeasured:
        yield f"{counted(len(report.unmeasured), 'case')} came to no time in an arm: {report.unmeasured[0]}"


def _ended(campaign: Campaign) -> tuple[str, ...]:
    rounds = f"rounds   {len(campaign.rounds)}, ended by {campaign.ended_by}, seed {campaign.rule.seed}"
    return rounds, *suspect_lines(campaign), *(f"lost     {sentence}" for sentence in campaign.lost)


def new_scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder that lives as long as the session."""
    return tempfile.TemporaryDirectory(prefix="miopen-perf-ab-")
