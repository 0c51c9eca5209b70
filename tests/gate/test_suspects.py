"""What is said of cases that looked slower when a comparison ended too early."""

import math

import pytest

from pytest_miopen_perf.gate.campaign import Campaign, CampaignRule, Round
from pytest_miopen_perf.gate.decision import Evidence
from pytest_miopen_perf.gate.plan import first_process
from pytest_miopen_perf.gate.suspects import suspect_lines, suspects_of

SLOW = tuple(math.log1p(change) for change in (0.2, 0.215, 0.23))


def campaign_of(**suite):
    done = (first_process(1), Round(cases={}))
    evidence = {name: Evidence(margin=0.01, **stages) for name, stages in suite.items()}
    return Campaign(
        rule=CampaignRule(seed=1), rounds=[done] * 3, suite=evidence, seconds=[4.0, 2.0, 3.0], ended_by="budget"
    )


@pytest.mark.parametrize(
    ("stages", "rounds_left"),
    [
        ({"screening": SLOW[:2]}, 22),
        ({"screening": SLOW}, 12),
        ({"screening": SLOW, "confirmation": SLOW[:1]}, 11),
    ],
)
def test_a_case_that_looks_slower_and_is_open_is_suspect(stages, rounds_left):
    (suspect,) = suspects_of(campaign_of(case=stages))
    assert suspect.case == "case"
    assert suspect.change == pytest.approx(0.21, abs=0.01)
    assert suspect.rounds_left == rounds_left


def test_what_is_decided_faster_or_unknown_is_none():
    confirmed = {"screening": SLOW, "confirmation": SLOW}
    faster = {"screening": tuple(-ratio for ratio in SLOW[:2])}
    assert list(suspect_lines(campaign_of(red=confirmed, faster=faster, same={"screening": (0.0,)}, new={}))) == []


def test_the_lines_say_how_many_how_slow_and_what_would_do():
    assert list(suspect_lines(campaign_of(one={"screening": SLOW[:2]}, other={"screening": SLOW[:1]}))) == [
        "SUSPECT  2 cases look slower than the margin (worst +20.7%), undecided: ended by budget",
        "         at most 26 processes and a budget of 78s decide; strict makes it red",
    ]
