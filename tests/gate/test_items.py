"""The verdict on one test: two stages, and a bar that Benjamini and Hochberg never take back."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf.gate.baseline import Baseline, baseline_of
from pytest_miopen_perf.gate.compare import UnpairedRule
from pytest_miopen_perf.gate.decision import is_discovery
from pytest_miopen_perf.gate.items import Opponent, is_red, judge_item
from pytest_miopen_perf.gate.keys import CaseKey
from pytest_miopen_perf.gate.verdict import Reason, Verdict


def seconds(factor=1.0, count=20, seed=0):
    rng = np.random.default_rng(seed)
    return tuple((1e-3 * factor * np.exp(rng.normal(0, 0.003, count))).tolist())


@pytest.fixture
def judge(make_case, make_run):
    """The verdict on a case of these times, and how often it was measured again."""

    def judged(first, again=None, suite_size=1, base=True):
        asked = []

        def measure_again():
            asked.append(1)
            return make_run([make_case(again)])

        case = make_case(seconds(seed=1))
        baseline = baseline_of(make_run([case])) if base else Baseline()
        rule = UnpairedRule(noise_floors={CaseKey.of(case.result): 0.01})
        row = judge_item(
            make_run([make_case(first)]),
            Opponent(baseline=baseline, name="main"),
            rule=rule,
            suite_size=suite_size,
            measure_again=measure_again,
        )
        return row, len(asked)

    return judged


def test_a_slower_case_is_measured_again_and_both_must_agree(judge):
    row, asked = judge(seconds(1.05, seed=2), seconds(1.05, seed=3))
    assert (row.verdict, row.decision.reason, asked) == (Verdict.REGRESSION, Reason.SLOWER, 1)
    row, asked = judge(seconds(1.05, seed=2), seconds(1.0, seed=3))
    assert (row.verdict, row.decision.reason, asked) == (Verdict.INCONCLUSIVE, Reason.NOT_CONFIRMED, 1)


def test_the_row_shows_the_fresh_samples(judge):
    row, _ = judge(seconds(1.20, seed=2), seconds(1.05, seed=3))
    assert row.change == pytest.approx(0.05, abs=0.005)


def test_what_is_not_slower_is_measured_once(judge):
    assert judge(seconds(1.0, seed=2))[1] == 0
    row, asked = judge(seconds(0.9, seed=2))
    assert (row.verdict, asked) == (Verdict.IMPROVED, 0)
    row, asked = judge(seconds(1.5), base=False)
    assert (row.verdict, asked) == (Verdict.NO_BASELINE, 0)


def test_few_samples_do_not_stand_alone_in_a_large_suite(judge):
    few, again = seconds(1.05, count=3, seed=2), seconds(1.05, count=3, seed=3)
    assert judge(few, again, suite_size=1)[0].verdict is Verdict.REGRESSION
    row, asked = judge(few, again, suite_size=1_000_000)
    assert (row.decision.reason, asked) == (Reason.LOST_IN_THE_SUITE, 0)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=40))
def test_the_end_never_takes_back_what_a_test_has_said(p_values):
    kept = is_discovery(p_values, 0.05)
    alone = [p <= 0.05 / len(p_values) * (1 - 1e-9) for p in p_values]
    assert all(at_the_end for at_the_end, said in zip(kept, alone, strict=True) if said)


@pytest.mark.parametrize("verdict", Verdict)
def test_red_and_strictly_red(verdict):
    assert is_red(verdict, is_strict=False) == (verdict is Verdict.REGRESSION)
    assert is_red(verdict, is_strict=True) == (verdict not in (Verdict.PASS, Verdict.IMPROVED))
