"""A session against a stored baseline: every verdict, and what is shown beside it."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest

from pytest_miopen_perf.cases import Case
from pytest_miopen_perf.checking import check
from pytest_miopen_perf.gate.baseline import Baseline, baseline_of
from pytest_miopen_perf.gate.compare import ASSUMED_SESSION_NOISE, UnpairedRule, compare
from pytest_miopen_perf.gate.keys import CaseKey
from pytest_miopen_perf.gate.report import VerdictReport
from pytest_miopen_perf.gate.verdict import Reason, Verdict
from pytest_miopen_perf.gate.what_changed import Difference

MARGINS = [n * 1e-4 for n in range(1, 200)]
OLD, NOW = "2026-02-01T12:00:00+00:00", "2026-03-03T12:00:00+00:00"


def seconds(factor=1.0, count=20, seed=0, deviation=0.003):
    rng = np.random.default_rng(seed)
    return tuple((1e-3 * factor * np.exp(rng.normal(0, deviation, count))).tolist())


@pytest.fixture
def judge(make_case, make_run):
    """The report of new cases against base cases, one process each."""

    def compared(base, new, rule=None, **changes):
        baseline = baseline_of(make_run(base, ended=OLD)) if base else Baseline()
        return compare(baseline, make_run(new, ended=NOW, **changes), name="main", rule=rule or UnpairedRule())

    return compared


@pytest.mark.parametrize(
    ("factor", "verdict", "reason"),
    [
        (1.0, Verdict.PASS, Reason.WITHIN_MARGIN),
        (1.03, Verdict.PASS, Reason.WITHIN_MARGIN),
        (1.10, Verdict.REGRESSION, Reason.SLOWER),
        (0.90, Verdict.IMPROVED, Reason.FASTER),
        (1.0512, Verdict.INCONCLUSIVE, Reason.TOO_NOISY),
    ],
)
def test_one_session_against_one(judge, make_case, factor, verdict, reason):
    (row,) = judge([make_case(seconds(seed=1))], [make_case(seconds(factor, seed=2))]).rows
    assert (row.verdict, row.decision.reason, row.comparison, row.unit) == (verdict, reason, "unpaired", "launch")
    assert row.margin == ASSUMED_SESSION_NOISE
    assert "unpaired" in row.decision.sentence
    assert row.change == pytest.approx(factor - 1, abs=0.004)
    assert row.interval[0] < row.change < row.interval[1]
    assert row.smallest_detectable_change > row.margin
    assert row.baseline.age_days == 30.0


def test_a_measured_noise_floor_replaces_the_assumed_one(judge, make_case):
    base, new = make_case(seconds(seed=1)), make_case(seconds(1.03, seed=2))
    rule = UnpairedRule(noise_floors={CaseKey.of(base.result): 0.012})
    (row,) = judge([base], [new], rule).rows
    assert (row.verdict, row.margin) == (Verdict.REGRESSION, 0.012)


def test_a_case_has_its_own_margin(judge, make_case):
    base, new = make_case(seconds(seed=1)), make_case(seconds(1.10, seed=2))
    rule = UnpairedRule(margins={CaseKey.of(base.result): 0.2})
    assert judge([base], [new], rule).rows[0].verdict is Verdict.PASS


def test_enough_processes_are_the_unit_and_need_no_assumption(make_case, make_run):
    def processes(factor, first_seed):
        return [[make_case(seconds(factor, seed=first_seed + i))] for i in range(6)]

    baseline = baseline_of(make_run(*processes(1.0, 0), ended=OLD))
    run = make_run(*processes(1.03, 10), ended=NOW)
    (row,) = compare(baseline, run, name="main", rule=UnpairedRule()).rows
    assert (row.verdict, row.unit, row.units, row.margin) == (Verdict.REGRESSION, "process", 6, 0.01)


def test_too_few_samples_say_so(judge, make_case):
    (row,) = judge([make_case((1.0, 1.01))], [make_case((2.0, 2.01))]).rows
    assert (row.verdict, row.decision.reason, row.interval) == (Verdict.INCONCLUSIVE, Reason.TOO_FEW_SAMPLES, None)


def test_an_interval_inside_the_margin_that_is_not_enough_says_what_was_asked(judge, make_case):
    """The interval is of 95 %, two-sided; the verdict is of 99 %, one-sided."""
    base = make_case(seconds(deviation=0.01, count=8, seed=1))
    reports = (
        judge([base], [base], UnpairedRule(margin=m, noise_floors={CaseKey.of(base.result): m})) for m in MARGINS
    )
    row = next(row for report in reports for row in report.rows if max(map(abs, row.interval)) < row.margin)
    assert (row.verdict, row.decision.reason) == (Verdict.INCONCLUSIVE, Reason.TOO_NOISY)
    assert re.search(r"refuted with p = 0\.0[12]\d*, and 0\.01 is asked, one-sided", row.decision.sentence)


def test_a_new_case_has_no_baseline(judge, make_case):
    report = judge([make_case()], [make_case(), make_case(channels=8)])
    (row,) = (row for row in report.rows if row.verdict is Verdict.NO_BASELINE)
    assert (row.decision.reason, row.change) == (Reason.NEW_CASE, None)
    assert row.new_seconds == 1e-3


def test_another_device_has_no_baseline_and_both_are_shown(judge, make_case):
    case = make_case()
    report = judge([case], [make_case(device=replace(case.result.device, driver="6.2"))])
    (row,) = report.rows
    assert (row.verdict, row.decision.reason) == (Verdict.NO_BASELINE, Reason.OTHER_DEVICE)
    assert "driver 6.1 -> 6.2" in row.decision.sentence
    assert "baseline: backend scripted" in row.decision.sentence
    assert "this run: backend scripted" in row.decision.sentence
    assert report.vanished == ()


def test_a_renamed_test_keeps_its_history(judge, make_case):
    report = judge([make_case(nodeid="old.py::test")], [make_case(nodeid="new.py::other")])
    assert report.rows[0].verdict is not Verdict.NO_BASELINE
    assert report.vanished == ()


def test_what_vanished_and_what_failed_are_listed_apart(judge, make_case):
    gone, broken = make_case(channels=8), make_case(channels=12)
    error = Case(nodeid="t", problem=broken.problem, outcome="error", message="no compiler")
    report = judge([make_case(), gone, broken], [make_case(), error])
    assert report.vanished == (CaseKey.of(gone.result).sentence,)
    assert report.unmeasured == (f"{broken.problem}: no compiler",)


def test_wrong_numbers_taint_and_untimed_cases_are_inconclusive(judge, make_case):
    base = [make_case(), make_case(channels=8)]
    wrong = replace(base[0].result.check, reason=check.Reason.ELEMENT, sentence="element (0,) is 2.0, not 1.0")
    new = [make_case(None, check=wrong, outcome="failed"), make_case(None, channels=8)]
    reasons = {row.decision.reason: row.verdict for row in judge(base, new).rows}
    assert reasons == {Reason.WRONG_NUMBERS: Verdict.TAINTED, Reason.NOT_TIMED: Verdict.INCONCLUSIVE}


def test_what_changed_is_said_with_variables(judge, make_case):
    base = make_case(seconds(seed=1))
    new = make_case(seconds(1.2, seed=2), config="8,8")
    (row,) = judge([base], [new], environment=(("MIOPEN_DEBUG_X", "1"),)).rows
    assert row.what_changed.difference is Difference.OTHER_CONFIG
    assert "config 16,16 -> 8,8" in row.what_changed.sentence
    assert "MIOPEN_DEBUG_X unset -> '1'" in row.what_changed.sentence


def test_rows_come_worst_first_and_the_suite_is_their_mean(judge, make_case):
    factors = {4: 1.0, 8: 0.9, 12: 1.3, 16: 1.08}
    base = [make_case(seconds(), channels=c) for c in factors]
    new = [make_case(seconds(f), channels=c) for c, f in factors.items()]
    report = judge(base, [*new, make_case(channels=20)])
    changes = [row.change for row in report.rows]
    # Equal noise: by effect over noise is by effect; times are kept with six digits.
    assert changes[:4] == pytest.approx([0.3, 0.08, 0.0, -0.1], abs=1e-5)
    assert changes[4] is None
    assert 1 + report.suite.change == pytest.approx(math.prod(factors.values()) ** 0.25, rel=1e-5)
    assert report.suite.cases == 4
    assert report.counts[Verdict.REGRESSION] == 2


def test_times_of_one_tick_are_judged_all_the_same(judge, make_case):
    (row,) = judge([make_case((1e-3,) * 20)], [make_case((1.2e-3,) * 20)]).rows
    assert (row.verdict, row.effect_over_noise) == (Verdict.REGRESSION, math.inf)
    text = json.dumps(row.to_json(), allow_nan=False)
    assert type(row).from_json(json.loads(text)) == row


def test_the_report_survives_json(judge, make_case):
    report = judge([make_case(), make_case(channels=8)], [make_case(), make_case(channels=12)])
    document = json.loads(json.dumps(report.to_json(NOW), allow_nan=False))
    assert VerdictReport.from_json(document) == report
