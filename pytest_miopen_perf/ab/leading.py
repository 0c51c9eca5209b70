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
from pytest_miopen_perf.gate.arms import Arm
from pytest_miopen_perf.gate.campaign import CampaignRule, run_campaign
from pytest_miopen_perf.gate.decision import GateRule
from pytest_miopen_perf.gate.margins import DEFAULT_MARGIN
from pytest_miopen_perf.gate.noise_floor import NoiseFloor, paired_floor, session_floor
from pytest_miopen_perf.gate.report import VerdictReport
from pytest_miopen_perf.gate.store import known_floors, save_floors
from pytest_miopen_perf.kernel_files import kernels_dir

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pytest_miopen_perf.gate.campaign import Campaign
    from pytest_miopen_perf.gate.keys import CaseKey
    from pytest_miopen_perf.gate.verdict import VerdictRow
    from pytest_miopen_perf.settings import Settings

AA_PROCESSES = 8
"""Processes of an A/A run unless the user names another number."""

_OWN = ("ab", "aa", "save", "compare", "strict", "verdicts", "json", "log", "budget", "processes", "kernels", "part")
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
        elif not equals and name not in ("--miopen-perf-aa", "--miopen-perf-strict"):
            next(words, None)
    return [*kept, "--maxfail=0", *(["-n0"] if has_xdist else [])]


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """What was measured before the first test.

    Attributes:
        report: The verdicts.
        kernels: The kernels of arm B, which the tests of this session run.
        remarks: What is to be said beside the table.
    """

    report: VerdictReport
    kernels: Path
    remarks: tuple[str, ...] = ()

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
        versions = versions_of(base, new, self.scratch / "kernels")
        floors = {key: floor.paired for key, floor in known_floors(self.baselines).items()}
        rule = CampaignRule(
            seed=self.settings.seed,
            margin=self.settings.margin or DEFAULT_MARGIN,
            noise_floors=floors,
            most_rounds=self.settings.processes,
            budget_seconds=self.settings.budget_seconds,
        )
        campaign = self._run(versions, rule)
        assert versions.kernels is not None, "arms that differ in their kernels alone run in one process"
        return Lead(report=campaign.report(versions.sentence), kernels=versions.kernels[1], remarks=(_ended(campaign),))

    def measure_noise(self) -> Lead:
        """The version of this session against itself, and the noise floors that it leaves.

        Raises:
            ArmError: a process left no results.
            BaselineError: the floors cannot be stored.
        """
        kernels = self.settings.kernels_dir or kernels_dir()
        arm = Arm(text="itself", interpreter=sys.executable)
        versions = Versions(base=arm, new=arm, kernels=(kernels, kernels), sentence="itself (A/A)")
        count = self.settings.processes or AA_PROCESSES
        rule = CampaignRule(
            seed=self.settings.seed,
            rule=GateRule(looks=(max(2, count),), spending=(1.0,)),
            margin=self.settings.margin or DEFAULT_MARGIN,
            most_rounds=count,
        )
        campaign = self._run(versions, rule)
        floors = tuple(noise_floors(campaign, _now()))
        path = save_floors(self.baselines, floors)
        remark = f"noise    floors of {len(floors)} cases in {path}"
        return Lead(report=campaign.report(versions.sentence), kernels=kernels, remarks=(remark, _ended(campaign)))

    def _run(self, versions: Versions, rule: CampaignRule) -> Campaign:
        rounds = PytestRounds(
            base=versions.base,
            new=versions.new,
            arguments=self.arguments,
            seed=rule.seed,
            scratch=self.scratch,
            folder=self.folder,
            kernels=versions.kernels,
        )
        return run_campaign(rule, rounds.measure, time.monotonic, lambda campaign: self.tell(campaign.progress))


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


def _ended(campaign: Campaign) -> str:
    return f"rounds   {len(campaign.rounds)}, ended by {campaign.ended_by}, seed {campaign.rule.seed}"


def _now() -> str:
    from datetime import datetime, timezone

    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def new_scratch() -> tempfile.TemporaryDirectory[str]:
    """A folder that lives as long as the session."""
    return tempfile.TemporaryDirectory(prefix="miopen-perf-ab-")
