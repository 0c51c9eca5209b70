"""The table of verdicts: everything is said, the worst first, in the width there is."""

import re
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_miopen_perf.gate.keys import CaseKey
from pytest_miopen_perf.gate.report import SuiteChange, VerdictReport
from pytest_miopen_perf.gate.verdict import BaselineReference, Decision, Reason, Verdict, VerdictRow
from pytest_miopen_perf.gate.what_changed import Difference, WhatChanged
from pytest_miopen_perf.report.verdict_table import signed_percent, verdict_lines

KEY = CaseKey(
    problem="conv -n 1 -c 4 -H 6 -W 6 -k 4 -F 1", policy="ConvFast; tuned config", cache_mode="warm", data="miopen"
)
RED = VerdictRow(
    key=KEY,
    name="fwd-fp32-n1-c4-k4-6x6-3x3",
    decision=Decision(
        verdict=Verdict.REGRESSION,
        reason=Reason.SLOWER,
        sentence="beyond the margin in 3 processes and again in 5 fresh ones",
        p_value=1e-6,
    ),
    comparison="unpaired",
    margin=0.01,
    unit="process",
    units=5,
    change=0.0512,
    interval=(0.0481, 0.0543),
    smallest_detectable_change=0.0163,
    effect_over_noise=40.0,
    base_seconds=12.3e-6,
    new_seconds=12.9e-6,
    what_changed=WhatChanged(difference=Difference.OTHER_CONFIG, sentence="ConvFast: config 16,16 -> 8,8"),
    baseline=BaselineReference(name="main", saved="2026-03-01T12:00:00+00:00", age_days=2.4),
    reproducer="pytest " + "x" * 200,
)
GREEN = replace(
    RED,
    name="fwd-fp32-n2-c4-k4-6x6-3x3",
    decision=Decision(verdict=Verdict.PASS, reason=Reason.WITHIN_MARGIN, sentence="within the margin"),
    change=-0.0003,
    new_seconds=12.3e-6,
    interval=(-0.0021, 0.0015),
)
GREY = VerdictRow(
    key=KEY,
    name="new",
    decision=Decision(verdict=Verdict.NO_BASELINE, reason=Reason.NEW_CASE, sentence="a new case"),
    comparison="unpaired",
    margin=0.01,
)
REPORT = VerdictReport(
    comparison="unpaired",
    versus="main",
    rows=(RED, GREEN, GREY),
    suite=SuiteChange(change=0.0251, interval=(0.0201, 0.0302), cases=2),
    vanished=("conv -n 9",),
    unmeasured=("problem: no compiler",),
)


def lines_of(report, width=80):
    return verdict_lines(report, width=width, has_colour=False)


def test_the_whole_table():
    assert [line for line in lines_of(REPORT) if "reproduce" not in line] == [
        "verdict        change      95 % interval could see     base      new  n",
        "REGRESSION     +5.12%   +4.81% .. +5.43%    +1.63%  12.3 us  12.9 us  5",
        "  fwd-fp32-n1-c4-k4-6x6-3x3  [ConvFast; tuned config]",
        "    beyond the margin in 3 processes and again in 5 fresh ones; margin 1.00%",
        "    changed: ConvFast: config 16,16 -> 8,8",
        "    baseline: main, saved 2026-03-01T12:00:00+00:00, 2 days ago",
        "PASS           -0.03%   -0.21% .. +0.15%    +1.63%  12.3 us  12.3 us  5",
        "  fwd-fp32-n2-c4-k4-6x6-3x3  [ConvFast; tuned config]",
        "NO_BASELINE",
        "  new  [ConvFast; tuned config]",
        "    a new case; margin 1.00%",
        "",
        "vanished: conv -n 9",
        "no result: problem: no compiler",
        "verdicts 1 REGRESSION, 1 NO_BASELINE, 1 PASS, 1 vanished, 1 without a result",
        "against  main, unpaired, saved 2 days ago",
        "suite    geometric mean +2.51% (+2.01% .. +3.02%) over 2 cases",
        "change   median of all ratios of new to base, which need not be that of their",
        "  medians; could see: the slowdown that 95 of 100 such runs find",
    ]


def test_a_reproducer_stays_one_line():
    assert f"    reproduce: {RED.reproducer}" in lines_of(REPORT)


def test_colour_changes_nothing_but_codes():
    coloured = verdict_lines(REPORT, width=80, has_colour=True)
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in coloured]
    assert plain == lines_of(REPORT)
    assert any("\x1b[31;1mREGRESSION" in line for line in coloured)


@settings(max_examples=60)
@given(st.lists(st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=30), max_size=30))
def test_long_sentences_wrap_and_lose_nothing(words):
    row = replace(RED, decision=replace(RED.decision, sentence=" ".join(words)), reproducer="")
    lines = lines_of(replace(REPORT, rows=(row,)))
    assert max(map(len, lines)) <= 80
    joined = " ".join(" ".join(lines).split())
    assert " ".join(words) in joined


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (0.0213, "+2.13%"),
        (-0.0005, "-0.05%"),
        (0.0, "+0.00%"),
        (0.0999, "+9.99%"),
        (0.09999, "+10%"),
        (1.34, "+134%"),
        (-0.5, "-50%"),
        (8.99, "+899%"),
        (9, "x10.0"),
        (150, "x151"),
        (0.08 / 2.8 - 1, "x1/35.0"),
        (-1, "-100%"),
    ],
)
def test_changes_are_short(change, text):
    assert signed_percent(change) == text


@given(st.floats(-0.999, 1e4))
def test_no_change_breaks_the_columns(change):
    assert len(signed_percent(change)) <= 8


@pytest.mark.parametrize(
    ("days", "text"), [(-0.001, "0 h ago"), (0.5, "12 h ago"), (1.2, "1 day ago"), (40, "40 days ago")]
)
def test_ages(days, text):
    row = replace(RED, baseline=replace(RED.baseline, age_days=days))
    assert f"saved {text}" in lines_of(replace(REPORT, rows=(row,)))[-4]


def test_different_ages_are_a_range():
    old = replace(RED, baseline=replace(RED.baseline, age_days=90))
    assert "saved 90 days ago to 2 days ago" in lines_of(replace(REPORT, rows=(RED, old)))[-4]


def test_an_empty_report_has_a_footer():
    empty = VerdictReport(comparison="paired", versus="HEAD~1", rows=(), suite=None)
    assert lines_of(empty) == ["verdicts none", "against  HEAD~1, paired"]


def test_medians_that_contradict_the_change_are_told_even_of_a_green_row():
    row = replace(RED, change=-0.0782, interval=(-0.10, -0.05), base_seconds=61.8e-6, new_seconds=43.9e-6)
    row = replace(row, decision=replace(row.decision, verdict=Verdict.IMPROVED))
    words = "    the medians differ by -29.0%, so that the times are bimodal or noisy"
    assert words in lines_of(replace(REPORT, rows=(row,)))
    for agrees in (replace(row, new_seconds=57.5e-6), replace(row, interval=None), replace(row, margin=0.3)):
        assert agrees.doubt == ""
