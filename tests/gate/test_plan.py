"""The sequencer: reproducible, fair to both arms, and it spends time only on what is undecided."""

import json
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_miopen_perf.errors import SettingsError
from pytest_miopen_perf.gate.decision import Evidence, Stage
from pytest_miopen_perf.gate.plan import PairedPlan, ProcessPlan, next_process, with_process

CASES = tuple(f"case {i}" for i in range(20))
FRESH = {case: Evidence(margin=0.01) for case in CASES}


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.integers(0, 30), st.integers(1, 9))
def test_a_process_runs_every_open_case_with_both_orders_alike(seed, index, blocks):
    process = next_process(PairedPlan(cases=CASES, seed=seed, blocks=blocks), FRESH, index)
    assert sorted(part.case for part in process.cases) == sorted(CASES)
    for part in process.cases:
        counts = Counter(part.orders)
        assert len(part.orders) == blocks
        assert abs(counts["ABBA"] - counts["BAAB"]) <= 1


def test_the_seed_alone_decides_the_order():
    plan = PairedPlan(cases=CASES, seed=5)
    assert next_process(plan, FRESH, 0) == next_process(plan, FRESH, 0)
    assert next_process(plan, FRESH, 0).cases[0].case == "case 11"
    orders = {tuple(part.case for part in next_process(plan, FRESH, index).cases) for index in range(20)}
    assert len(orders) == 20
    assert {next_process(plan, FRESH, index).first_arm for index in range(20)} == {"A", "B"}


def test_decided_cases_stop_and_suspects_are_confirmed():
    same, slow = (0.0, 1e-5, -1e-5), (0.05, 0.0501, 0.0499)
    suite = {
        "same": Evidence(margin=0.01, screening=same),
        "slow": Evidence(margin=0.01, screening=slow),
        "red": Evidence(margin=0.01, screening=slow, confirmation=slow),
        "new": Evidence(margin=0.01),
    }
    process = next_process(PairedPlan(cases=tuple(suite), seed=1), suite, 3)
    assert {part.case: part.stage for part in process.cases} == {
        "slow": Stage.CONFIRMATION,
        "new": Stage.SCREENING,
    }
    assert next_process(PairedPlan(cases=("same", "red"), seed=1), suite, 3) is None


def test_a_plan_survives_json():
    process = next_process(PairedPlan(cases=CASES, seed=5), FRESH, 2)
    assert ProcessPlan.from_json(json.loads(json.dumps(process.to_json()))) == process


def test_evidence_grows_where_it_was_planned_for():
    evidence = Evidence(margin=0.01)
    evidence = with_process(evidence, Stage.SCREENING, 0.1)
    evidence = with_process(evidence, Stage.CONFIRMATION, 0.2)
    evidence = with_process(evidence, Stage.SCREENING, 0.3, disturbed="another process ran")
    evidence = with_process(evidence, Stage.SCREENING, None)
    assert (evidence.screening, evidence.confirmation) == ((0.1,), (0.2,))
    assert evidence.disturbed == ("another process ran", "no valid time")


@pytest.mark.parametrize("changes", [{"cases": ()}, {"cases": ("a", "a")}, {"blocks": 0}, {"launches": 0}], ids=str)
def test_a_plan_that_measures_nothing_is_refused(changes):
    with pytest.raises(SettingsError):
        PairedPlan(**{"cases": ("a",), "seed": 1} | changes)
