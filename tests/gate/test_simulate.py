"""The bars of the gate on synthetic machines; more trials by hand: `python -m pytest_miopen_perf.gate.simulate`."""

import math
import time
from collections import Counter

import numpy as np
import pytest
from scipy import stats

from pytest_miopen_perf.gate.decision import Evidence, GateRule, judge_suite
from pytest_miopen_perf.gate.estimators import Block, process_log_ratio
from pytest_miopen_perf.gate.margins import DEFAULT_MARGIN
from pytest_miopen_perf.gate.noise_model import SCENARIOS, Scenario, measure_paired
from pytest_miopen_perf.gate.plan import PairedPlan, next_process, with_process
from pytest_miopen_perf.gate.simulate import Trials, figures_of, main, table_lines
from pytest_miopen_perf.gate.verdict import Verdict

QUICK = Trials(unchanged=200, at_margin=150, two_percent=150, five_percent=60, rivals=100)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_the_bars_hold(scenario):
    figures = figures_of(scenario, QUICK, seed=11)
    assert figures.unchanged.red == 0
    assert figures.at_margin.red_share <= 0.01
    assert figures.two_percent.red_share >= 0.95
    assert figures.five_percent.red_share >= 0.99


def judged_suite(scenario, changes, seed):
    """A whole suite through the sequencer, process by process, until every case is decided."""
    rng, rule = np.random.default_rng(seed), GateRule()
    plan = PairedPlan(cases=tuple(f"kernel {i}" for i in range(len(changes))), seed=seed, rule=rule)
    effects = {case: math.log1p(change) for case, change in zip(plan.cases, changes, strict=True)}
    suite = {case: Evidence(margin=DEFAULT_MARGIN) for case in plan.cases}
    index = 0
    while (process := next_process(plan, suite, index)) is not None:
        measured = measure_paired(scenario, [effects[part.case] for part in process.cases], rng, processes=1)
        for part, ratio in zip(process.cases, measured.process_log_ratios()[:, 0].tolist(), strict=True):
            suite[part.case] = with_process(suite[part.case], part.stage, ratio)
        index += 1
    return judge_suite(suite, rule)


def test_a_whole_suite_through_the_sequencer():
    changes = [0.0] * 292 + [0.02] * 3 + [0.05] * 3 + [-0.2] * 2
    start = time.process_time()
    decisions = judged_suite(SCENARIOS[0], changes, seed=3)
    # The bar is 60 s; even a machine that is busy and slow stays far below it.
    assert time.process_time() - start < 60
    verdicts = [decision.verdict for decision in decisions.values()]
    assert Verdict.REGRESSION not in verdicts[:292]
    assert Counter(verdicts[:292])[Verdict.PASS] >= 290
    assert verdicts[292:] == [Verdict.REGRESSION] * 6 + [Verdict.IMPROVED] * 2


def test_the_vectorised_estimate_is_the_gates_own():
    measured = measure_paired(SCENARIOS[3], [0.0, 0.02], np.random.default_rng(4), processes=3)
    fast = measured.process_log_ratios()
    for case, process in np.ndindex(fast.shape):
        blocks = [
            Block(order="BAAB" if is_b_first else "ABBA", slots_seconds=tuple(map(tuple, np.exp(slots).tolist())))
            for slots, is_b_first in zip(
                measured.log_seconds[case, process], measured.is_b_first[case, process], strict=True
            )
        ]
        assert process_log_ratio(blocks) == pytest.approx(fast[case, process], abs=1e-12)


def test_arms_are_the_launches_of_their_slots():
    quiet = Scenario(name="quiet", launch=0, spike_probability=0, placement=0)
    measured = measure_paired(quiet, [0.5], np.random.default_rng(1), processes=2)
    assert measured.arm_launches("A").shape == measured.arm_launches("B").shape == (1, 2, 60)
    assert set(measured.arm_launches("A").ravel()) == {0.0}
    assert set(measured.arm_launches("B").ravel()) == {0.5}
    assert measured.process_log_ratios() == pytest.approx(0.5)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_the_noise_model_has_the_noise_that_it_names(scenario):
    measured = measure_paired(scenario, np.zeros(400), np.random.default_rng(2), processes=2)
    launches = measured.arm_launches("A")
    between_processes = np.std(np.median(launches, axis=-1))
    assert between_processes >= scenario.placement * 0.8
    assert np.std(measured.process_log_ratios()) < 0.02
    assert stats.skew(launches, axis=None) > 0


def test_the_table_has_a_row_a_scenario(capsys):
    assert main(["--scale", "0.002", "--seed", "2"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(any(line.startswith(scenario.name) for line in lines) for scenario in SCENARIOS)
    assert len(table_lines([])) == len(lines) - len(SCENARIOS)
