"""What a comparison that ended early must not keep to itself: cases that look slower and were not decided."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.gate.decision import Stage, shown_estimate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_miopen_perf.gate.campaign import Campaign

_STAGES_LEFT = {Stage.SCREENING: 2, Stage.CONFIRMATION: 1}


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """A case that is not decided and whose estimate is beyond its margin.

    Attributes:
        case: The sentence of its key.
        change: As the report shows it.
        rounds_left: After so many more rounds it is decided at the latest.
    """

    case: str
    change: float
    rounds_left: int


def suspects_of(campaign: Campaign) -> Iterator[Suspect]:
    """The cases that look slower than their margin and need more rounds."""
    for stage, stages_left in _STAGES_LEFT.items():
        for case in campaign.open_cases(stage):
            evidence = campaign.suite[case]
            estimate = shown_estimate(evidence)
            if estimate is not None and estimate.change > evidence.margin:
                done = evidence.screening if stage is Stage.SCREENING else evidence.confirmation
                rounds_left = stages_left * campaign.rule.rule.looks[-1] - len(done)
                yield Suspect(case=case, change=estimate.change, rounds_left=rounds_left)


def suspect_lines(campaign: Campaign) -> Iterator[str]:
    """How many there are, the worst of them, and what would decide them all; nothing where there are none."""
    suspects = list(suspects_of(campaign))
    if suspects:
        cases = "1 case looks" if len(suspects) == 1 else f"{len(suspects)} cases look"
        worst = max(suspect.change for suspect in suspects)
        rounds = len(campaign.rounds) + max(suspect.rounds_left for suspect in suspects)
        budget_seconds = math.ceil(math.fsum(campaign.seconds) / len(campaign.rounds) * rounds)
        yield f"SUSPECT  {cases} slower than the margin (worst {worst:+.1%}), undecided: ended by {campaign.ended_by}"
        yield f"         at most {rounds} processes and a budget of {budget_seconds}s decide; strict makes it red"
