"""The rules that make verdicts: their error levels, their symmetry, and each outcome once."""

import math
import random
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from pytest_miopen_perf.errors import SettingsError
from pytest_miopen_perf.gate.decision import (
    Evidence,
    GateRule,
    Stage,
    is_discovery,
    judge_suite,
    next_stage,
    shown_estimate,
    stage_result,
)
from pytest_miopen_perf.gate.verdict import Reason, Verdict

RULE = GateRule()
ratios = st.lists(st.floats(-0.1, 0.1), max_size=14).map(tuple)
evidences = st.builds(Evidence, margin=st.floats(0.001, 0.2), screening=ratios, confirmation=ratios)


def units(centre, count, deviation=0.004, seed=1):
    """Log ratios of exactly that mean and deviation, in a shuffled order."""
    spread = stats.zscore(range(count), ddof=1).tolist()
    random.Random(seed).shuffle(spread)
    return tuple(centre + deviation * z for z in spread)


def judge(suite_size=1, **changes):
    evidence = Evidence(**{"margin": 0.01} | changes)
    return judge_suite({"case": evidence}, RULE, suite_size)["case"], next_stage(evidence, RULE, suite_size)


SLOW, FAST, SAME = units(0.05, 12), units(-0.05, 12), units(0.0, 12)


@pytest.mark.parametrize(
    ("changes", "verdict", "reason", "stage"),
    [
        ({}, Verdict.INCONCLUSIVE, Reason.TOO_FEW_SAMPLES, Stage.SCREENING),
        ({"screening": SAME[:2]}, Verdict.INCONCLUSIVE, Reason.TOO_FEW_SAMPLES, Stage.SCREENING),
        ({"screening": SAME}, Verdict.PASS, Reason.WITHIN_MARGIN, Stage.DECIDED),
        ({"screening": FAST}, Verdict.IMPROVED, Reason.FASTER, Stage.DECIDED),
        ({"screening": SLOW}, Verdict.INCONCLUSIVE, Reason.UNCONFIRMED, Stage.CONFIRMATION),
        ({"screening": SLOW, "confirmation": SLOW}, Verdict.REGRESSION, Reason.SLOWER, Stage.DECIDED),
        ({"screening": SLOW, "confirmation": SAME}, Verdict.INCONCLUSIVE, Reason.NOT_CONFIRMED, Stage.DECIDED),
        ({"screening": units(0.0, 12, 0.05)}, Verdict.INCONCLUSIVE, Reason.TOO_NOISY, Stage.DECIDED),
        ({"screening": units(0.0, 8, 0.05)}, Verdict.INCONCLUSIVE, Reason.UNDECIDED, Stage.SCREENING),
        ({"screening": SLOW, "disturbed": ("hot",) * 4}, Verdict.TAINTED, Reason.DISTURBED, Stage.DECIDED),
        ({"screening": SAME, "disturbed": ("hot",) * 3}, Verdict.PASS, Reason.WITHIN_MARGIN, Stage.DECIDED),
    ],
)
def test_every_outcome(changes, verdict, reason, stage):
    decision, next_needed = judge(**changes)
    assert (decision.verdict, decision.reason, next_needed) == (verdict, reason, stage)
    assert decision.sentence


def test_a_weak_regression_is_red_alone_and_lost_in_a_great_suite():
    weak = units(0.0145, 12, 0.006)
    assert judge(screening=weak, confirmation=weak)[0].verdict is Verdict.REGRESSION
    decision, _ = judge(suite_size=3000, screening=weak, confirmation=weak)
    assert (decision.verdict, decision.reason) == (Verdict.INCONCLUSIVE, Reason.LOST_IN_THE_SUITE)


def test_many_regressions_carry_each_other_through_the_suite():
    weak = Evidence(margin=0.01, screening=units(0.0145, 12, 0.006), confirmation=units(0.0145, 12, 0.006))
    suite = {f"case {i}": weak for i in range(300)}
    assert {decision.verdict for decision in judge_suite(suite, RULE).values()} == {Verdict.REGRESSION}


def test_a_great_improvement_is_never_reported_as_a_mere_pass():
    early = units(-0.3, 3, 0.01)
    assert judge(suite_size=300, screening=early)[1] is Stage.SCREENING
    assert judge(suite_size=300, screening=units(-0.3, 5, 0.002))[0].verdict is Verdict.IMPROVED


def test_clear_cases_stop_at_the_first_look():
    for screening in (units(0, 3, 1e-4), units(0.05, 3, 1e-4)):
        assert judge(screening=screening)[1] is not Stage.SCREENING
    assert judge(screening=units(0, 3, 1e-4)[:2])[1] is Stage.SCREENING


@settings(max_examples=60)
@given(ratios, st.floats(0.001, 0.2))
def test_swapping_the_arms_mirrors_a_stage(values, margin):
    one = stage_result(values, margin, RULE)
    other = stage_result(tuple(-value for value in values), margin, RULE)
    assert (one.slower, one.faster) == (other.faster, other.slower)


@settings(max_examples=60)
@given(evidences, st.floats(1, 4))
def test_a_wider_margin_never_turns_a_case_red(evidence, factor):
    wider = replace(evidence, margin=evidence.margin * factor)
    narrow, wide = judge_suite({"case": evidence}, RULE), judge_suite({"case": wider}, RULE)
    if wide["case"].verdict is Verdict.REGRESSION:
        assert narrow["case"].verdict is Verdict.REGRESSION
    if narrow["case"].verdict is Verdict.PASS:
        assert wide["case"].verdict is Verdict.PASS


@settings(max_examples=60)
@given(evidences)
def test_red_needs_both_stages_and_the_level(evidence):
    decision = judge_suite({"case": evidence}, RULE)["case"]
    if decision.verdict is Verdict.REGRESSION:
        assert decision.p_value <= RULE.level
        for stage in (evidence.screening, evidence.confirmation):
            assert stage_result(stage, evidence.margin, RULE).slower <= RULE.agreement


@settings(max_examples=60)
@given(evidences)
def test_what_is_decided_is_not_inconclusive_for_want_of_time(evidence):
    decision = judge_suite({"case": evidence}, RULE)["case"]
    is_over = next_stage(evidence, RULE, 1) is Stage.DECIDED
    wants_time = decision.reason in (Reason.TOO_FEW_SAMPLES, Reason.UNDECIDED, Reason.UNCONFIRMED)
    # A PASS may go on, to see whether it is an improvement.
    assert wants_time != is_over or (decision.verdict is Verdict.PASS and not is_over)


@given(st.lists(st.floats(0, 1), max_size=20), st.floats(0.01, 0.4))
def test_discoveries_are_the_step_up_of_benjamini_and_hochberg(p_values, rate):
    ordered = sorted(p_values)
    count = len(ordered)
    # A value exactly on a step is left to rounding.
    if any(math.isclose(p, (i + 1) * rate / count, rel_tol=1e-9) for i, p in enumerate(ordered)):
        return
    passing = [i for i, p in enumerate(ordered) if p <= (i + 1) * rate / count]
    bar = ordered[passing[-1]] if passing else -1
    assert is_discovery(p_values, rate) == [p <= bar for p in p_values]


def test_looking_four_times_stays_within_the_error_level():
    chance = random.Random(7)
    bound = math.log1p(0.01)
    wrong = dict.fromkeys(("slower", "within", "faster"), 0)
    for _ in range(2000):
        noise = [chance.gauss(0, 0.004) for _ in range(12)]
        at_margin = stage_result([bound + x for x in noise], 0.01, RULE)
        wrong["slower"] += at_margin.slower <= 0.05
        wrong["within"] += at_margin.within <= 0.05
        wrong["faster"] += stage_result([x - bound for x in noise], 0.01, RULE).faster <= 0.05
    assert all(stats.binomtest(count, 2000, 0.05, "greater").pvalue > 0.01 for count in wrong.values())
    assert all(count > 20 for count in wrong.values())


def test_reports_show_the_fresh_processes_once_they_say_enough():
    evidence = Evidence(margin=0.01, screening=(0.1, 0.1, 0.1), confirmation=(0.2, 0.2))
    assert shown_estimate(evidence).log_ratio == pytest.approx(0.1)
    assert shown_estimate(replace(evidence, confirmation=(0.2,) * 3)).log_ratio == pytest.approx(0.2)
    assert shown_estimate(Evidence(margin=0.01)) is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"looks": (3, 5)}, "as many shares"),
        ({"looks": (5, 3, 8, 12)}, "must rise"),
        ({"looks": (1, 3, 5, 8)}, "at least 2"),
        ({"spending": (0.5, 0.5, 0.5, 0.5)}, "add up to 1"),
        ({"spending": (0.0, 0.0, 0.5, 0.5)}, "above 0"),
        ({"level": 0.7}, "between 0 and 0.5"),
    ],
)
def test_a_rule_that_contradicts_itself_is_refused(changes, words):
    with pytest.raises(SettingsError, match=words):
        GateRule(**changes)
