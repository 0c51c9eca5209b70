"""What the gate judges beside the time: the words of the option, what a result tells, and the verdicts."""

import json
import math
import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from pytest_miopen_perf.checking.check import Reason as CheckReason
from pytest_miopen_perf.errors import BaselineError, SettingsError
from pytest_miopen_perf.gate.baseline import Baseline, baseline_of
from pytest_miopen_perf.gate.baseline_file import baseline_text, parse_baseline
from pytest_miopen_perf.gate.compare import UnpairedRule, compare
from pytest_miopen_perf.gate.keys import CaseKey
from pytest_miopen_perf.gate.phase_verdicts import as_a_whole, counted, judge_arms, judge_sessions
from pytest_miopen_perf.gate.phases import TIME_ALONE, CaseRule, Phase, PhaseRule, parse_phases, phase_values
from pytest_miopen_perf.gate.verdict import Decision, PhaseRow, Reason, Verdict, VerdictRow
from pytest_miopen_perf.measuring.circumstances import Circumstances
from pytest_miopen_perf.results import Tuning
from pytest_miopen_perf.telemetry import BlockReadings, Reading

DISTURBED = Circumstances(blocks=(BlockReadings(before=Reading(other_processes=1), after=Reading()),))
ALL = parse_phases("time,compile,tuning,first-launch,workspace,accuracy")
AMOUNTS = st.floats(1e-9, 1e9)


def check_of(case, rms_error):
    return replace(case.result.check, rms_error=rms_error)


def tuning_of(seconds):
    return Tuning(
        solver="ConvFast",
        default_config="a",
        best_config="b",
        trials=(),
        valid_configs=2,
        seconds=seconds,
        stopped_by="exhausted",
        seed=1,
    )


# --- The option -------------------------------------------------------------------------------------------------------


def test_the_words_of_the_option():
    rules = {rule.phase: rule for rule in parse_phases("time, compile=80%,workspace=0.1,accuracy=3")}
    assert list(rules) == [Phase.TIME, Phase.COMPILE, Phase.WORKSPACE, Phase.ACCURACY]
    assert (rules[Phase.COMPILE].share, rules[Phase.COMPILE].least) == (0.8, 0.2)
    assert rules[Phase.WORKSPACE].share == 0.1
    assert rules[Phase.ACCURACY].share == 2.0
    usual = {rule.phase: (rule.share, rule.least) for rule in ALL}
    assert usual[Phase.COMPILE] == usual[Phase.TUNING] == (0.5, 0.2)
    assert usual[Phase.WORKSPACE] == (0.0, 0.0)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "'' is nothing that can be judged; give some of time, compile"),
        ("time,speed", "'speed' is nothing that can be judged"),
        ("time,time", "names a phase twice"),
        ("time=2%", "--miopen-perf-margin; give time alone"),
        ("compile=5", "did you mean 5%?"),
        ("compile=-1%", "above zero"),
        ("accuracy=1", "give one above 1 such as 2"),
        ("accuracy=50%", "give one above 1 such as 2"),
    ],
)
def test_a_wrong_word_is_a_sentence(text, sentence):
    with pytest.raises(SettingsError) as caught:
        parse_phases(text)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("factor", ["1000.5", "99999999999999999999999", "9" * 400])
def test_a_factor_that_nothing_could_exceed_is_none(factor):
    with pytest.raises(SettingsError, match="at most 1000"):
        parse_phases(f"accuracy={factor}")
    (rule,) = parse_phases("accuracy=1000")
    assert rule.share == 999


@given(st.sampled_from(Phase), st.none() | st.floats(0.001, 0.9))
def test_a_rule_survives_json(phase, margin):
    rule = CaseRule(margin=margin, phases=(PhaseRule(phase=phase, share=0.5, least=0.1),))
    assert CaseRule.from_json(json.loads(json.dumps(rule.to_json()))) == rule


# --- What a result tells ----------------------------------------------------------------------------------------------


def test_what_was_not_measured_is_not_there(make_result):
    bare = make_result()
    assert phase_values(bare) == {Phase.WORKSPACE: 0.0, Phase.ACCURACY: 0.0}
    full = make_result(
        compile_seconds=1.23456789,
        tuning=(tuning_of(2.0), tuning_of(3.0)),
        first_launch_seconds=1e-3,
        workspace_bytes=123456789,
        check=replace(bare.check, rms_error=1.5e-7),
    )
    assert phase_values(full) == {
        Phase.COMPILE: 1.23457,
        Phase.TUNING: 5.0,
        Phase.FIRST_LAUNCH: 1e-3,
        Phase.WORKSPACE: 123456789.0,
        Phase.ACCURACY: 1.5e-7,
    }
    nothing = {"compile_seconds": None, "first_launch_seconds": None, "workspace_bytes": None}
    assert phase_values(make_result(**nothing, check=replace(bare.check, rms_error=None))) == {}


# --- Against a baseline -----------------------------------------------------------------------------------------------


def judged(text, base, *new):
    (rule,) = parse_phases(text)
    rows = judge_sessions([rule], {rule.phase: base}, [{rule.phase: value} for value in new])
    return rows[0] if rows else None


@pytest.mark.parametrize(
    ("text", "base", "new", "verdict", "reason"),
    [
        ("compile", (1.0,), 1.49, Verdict.PASS, Reason.WITHIN_MARGIN),
        ("compile", (1.0,), 1.51, Verdict.REGRESSION, Reason.MORE),
        ("compile", (1.0,), 0.49, Verdict.IMPROVED, Reason.LESS),
        ("compile", (0.01,), 0.19, Verdict.PASS, Reason.WITHIN_MARGIN),
        ("compile", (0.01,), 0.22, Verdict.REGRESSION, Reason.MORE),
        ("compile", (1.0, 1.0, 2.5), 2.4, Verdict.PASS, Reason.WITHIN_MARGIN),
        ("compile=80%", (1.0,), 1.7, Verdict.PASS, Reason.WITHIN_MARGIN),
        ("workspace", (4096.0,), 4096.0, Verdict.PASS, Reason.WITHIN_MARGIN),
        ("workspace", (4096.0,), 4097.0, Verdict.REGRESSION, Reason.MORE),
        ("workspace", (4096.0,), 0.0, Verdict.IMPROVED, Reason.LESS),
        ("workspace", (0.0,), 1.0, Verdict.REGRESSION, Reason.MORE),
        ("workspace=10%", (1000.0,), 1100.0, Verdict.PASS, Reason.WITHIN_MARGIN),
        ("accuracy", (1e-6,), 1.9e-6, Verdict.PASS, Reason.WITHIN_MARGIN),
        ("accuracy", (1e-6,), 2.1e-6, Verdict.REGRESSION, Reason.LESS_EXACT),
        ("accuracy", (1e-8,), 5e-8, Verdict.PASS, Reason.WITHIN_MARGIN),
        ("accuracy", (0.0,), 1e-7, Verdict.REGRESSION, Reason.LESS_EXACT),
        ("accuracy=3", (1e-6,), 2.9e-6, Verdict.PASS, Reason.WITHIN_MARGIN),
        ("first-launch", (1e-3,), 2e-3, Verdict.REGRESSION, Reason.MORE),
        ("tuning", (10.0,), 16.0, Verdict.REGRESSION, Reason.MORE),
    ],
)
def test_a_single_sample_against_a_baseline(text, base, new, verdict, reason):
    row = judged(text, base, new)
    assert (row.verdict, row.decision.reason) == (verdict, reason)
    assert f"a single sample against {len(base)}" in row.decision.sentence


@given(st.sampled_from(["compile", "workspace", "accuracy"]), st.lists(AMOUNTS, min_size=1, max_size=8))
def test_what_a_baseline_has_seen_is_never_red(text, base):
    for value in base:
        assert judged(text, base, value).verdict is not Verdict.REGRESSION


def test_what_is_missing_is_said():
    cached = judged("compile", (1.0,))
    assert (cached.verdict, cached.decision.reason) == (Verdict.INCONCLUSIVE, Reason.NOT_MEASURED)
    assert "give an empty --miopen-perf-cache" in cached.decision.sentence
    new = judged("compile", (), 1.0)
    assert (new.verdict, new.decision.reason) == (Verdict.NO_BASELINE, Reason.NOT_IN_BASELINE)
    assert judged("tuning", ()) is None


# --- Between arms -----------------------------------------------------------------------------------------------------


def arms(text, base, new):
    (rule,) = parse_phases(text)
    return judge_arms([rule], [({rule.phase: a}, {rule.phase: b}) for a, b in zip(base, new, strict=True)])[0]


@given(st.lists(st.tuples(st.floats(0.5, 20), st.floats(0.5, 20)), min_size=3, max_size=8))
def test_processes_are_tested_as_scipy_does(pairs):
    (rule,) = parse_phases("compile")
    (row,) = judge_arms([rule], [({Phase.COMPILE: a}, {Phase.COMPILE: b}) for a, b in pairs])
    ratios = np.log([b / a for a, b in pairs])
    if np.ptp(ratios) < 1e-9:
        return
    gap = np.median([b for _, b in pairs]) - np.median([a for a, _ in pairs])
    p_above = stats.ttest_1samp(ratios, math.log(1.5), alternative="greater").pvalue
    p_below = stats.ttest_1samp(ratios, math.log(1.5), alternative="less").pvalue
    assert (row.verdict is Verdict.REGRESSION) == (p_above <= 0.01 and gap > 0.2)
    if row.verdict is Verdict.PASS:
        assert p_below <= 0.01 or gap <= 0.2
    assert f"{len(pairs)} processes" in row.decision.sentence


def test_false_alarms_at_the_margin_are_as_rare_as_promised():
    chance = random.Random(5)
    red = 0
    for _ in range(1000):
        base = [chance.lognormvariate(1, 0.1) for _ in range(5)]
        new = [1.5 * chance.lognormvariate(1, 0.1) for _ in range(5)]
        red += arms("compile", base, new).verdict is Verdict.REGRESSION
    assert red <= stats.binom.ppf(0.999, 1000, 0.01)


def test_few_processes_are_judged_by_their_medians_and_exact_phases_by_the_worst():
    assert arms("compile", [1.0, 1.1], [2.0, 2.2]).verdict is Verdict.REGRESSION
    assert "2 samples against 2" in arms("compile", [1.0, 1.1], [2.0, 2.2]).decision.sentence
    assert arms("workspace", [64.0] * 5, [65.0] * 5).verdict is Verdict.REGRESSION
    assert arms("accuracy", [1e-6] * 5, [1e-6] * 5).verdict is Verdict.PASS
    noisy = arms("compile", [1.0, 5.0, 1.0], [5.0, 1.0, 20.0])
    assert (noisy.verdict, noisy.decision.reason) == (Verdict.INCONCLUSIVE, Reason.TOO_NOISY)


# --- The case as a whole ----------------------------------------------------------------------------------------------


def phase_row(phase, verdict, reason=Reason.MORE):
    return PhaseRow(phase=phase, decision=Decision(verdict=verdict, reason=reason, sentence=f"{phase.value} words"))


def row_of(make_result, verdict, *phases):
    key = CaseKey.of(make_result())
    decision = Decision(verdict=verdict, reason=Reason.WITHIN_MARGIN, sentence="time words", p_value=0.5)
    return VerdictRow(key=key, name="x", decision=decision, comparison="unpaired", margin=0.01, phases=phases)


@pytest.mark.parametrize("time", [v for v in Verdict if v not in (Verdict.NO_BASELINE, Verdict.TAINTED)])
@pytest.mark.parametrize("phase", [Verdict.REGRESSION, Verdict.INCONCLUSIVE, Verdict.NO_BASELINE, Verdict.PASS])
def test_the_worst_verdict_is_that_of_the_case(make_result, time, phase):
    row = as_a_whole(row_of(make_result, time, phase_row(Phase.COMPILE, phase)), ALL)
    order = [Verdict.REGRESSION, Verdict.INCONCLUSIVE, Verdict.NO_BASELINE, Verdict.IMPROVED, Verdict.PASS]
    assert row.verdict is (time if phase is Verdict.PASS else min(time, phase, key=order.index))
    assert row.decision.p_value == 0.5


def test_faster_but_less_exact_is_red_and_says_so(make_result):
    inexact = phase_row(Phase.ACCURACY, Verdict.REGRESSION, Reason.LESS_EXACT)
    row = as_a_whole(row_of(make_result, Verdict.IMPROVED, inexact), ALL)
    assert (row.verdict, row.decision.reason) == (Verdict.REGRESSION, Reason.FASTER_BUT_LESS_EXACT)
    assert row.decision.sentence == "faster but less exact: accuracy words; the time is time words"
    slower = as_a_whole(row_of(make_result, Verdict.PASS, inexact), ALL)
    assert slower.decision.reason is Reason.LESS_EXACT


def test_a_time_that_is_not_judged_does_not_decide(make_result):
    rules = parse_phases("workspace")
    green = as_a_whole(row_of(make_result, Verdict.REGRESSION, phase_row(Phase.WORKSPACE, Verdict.PASS)), rules)
    assert green.verdict is Verdict.PASS
    assert as_a_whole(row_of(make_result, Verdict.REGRESSION), rules).verdict is Verdict.PASS
    new = row_of(make_result, Verdict.NO_BASELINE)
    assert as_a_whole(new, rules) is new
    alone = row_of(make_result, Verdict.REGRESSION)
    assert as_a_whole(alone, TIME_ALONE) is alone


def test_verdicts_are_counted_by_phase(make_result):
    rows = [
        row_of(make_result, Verdict.PASS, phase_row(Phase.COMPILE, Verdict.PASS)),
        row_of(make_result, Verdict.PASS, phase_row(Phase.COMPILE, Verdict.REGRESSION)),
    ]
    assert list(counted(rows)) == [(Phase.COMPILE, {Verdict.REGRESSION: 1, Verdict.PASS: 1})]


# --- The baseline -----------------------------------------------------------------------------------------------------


def test_samples_gather_over_sessions_of_the_same_kernels(make_case, make_run):
    def saved(compile_seconds, **changes):
        return baseline_of(make_run([make_case(compile_seconds=compile_seconds, workspace_bytes=64, **changes)]))

    whole = Baseline()
    for number in range(1, 11):
        whole = whole.updated(saved(float(number)))
    phases = dict(whole.entries[0].phases)
    assert phases[Phase.COMPILE] == tuple(map(float, range(3, 11)))
    assert phases[Phase.WORKSPACE] == (64.0,)
    cached = whole.updated(saved(0.0))
    assert dict(cached.entries[0].phases)[Phase.COMPILE] == phases[Phase.COMPILE]
    other = whole.updated(saved(1.0, compile_key="other"))
    assert dict(other.entries[0].phases)[Phase.COMPILE] == (1.0,)


def test_phases_survive_the_file_and_a_file_of_version_1_has_none(make_case, make_run):
    baseline = baseline_of(make_run([make_case(compile_seconds=1.5, workspace_bytes=64)]))
    text = baseline_text(baseline)
    assert parse_baseline(text, "file") == baseline
    old = json.loads(text)
    old["version"] = 1
    del old["cases"][0]["phases"]
    (entry,) = parse_baseline(json.dumps(old), "file").entries
    assert entry.phases == ()
    assert entry.seconds == baseline.entries[0].seconds


@pytest.mark.parametrize(
    ("phases", "sentence"),
    [
        ({"compile": []}, "has no value of its compile; save it again"),
        ({"compile": [-1.0]}, "has -1.0 as its compile; save it again"),
        ({"compile": ["long"]}, "damaged"),
        ({"speed": [1.0]}, "damaged"),
        ([], "damaged"),
    ],
)
def test_damaged_phases_are_a_sentence(make_case, make_run, phases, sentence):
    data = json.loads(baseline_text(baseline_of(make_run([make_case()]))))
    data["cases"][0]["phases"] = phases
    with pytest.raises(BaselineError, match=sentence):
        parse_baseline(json.dumps(data), "file")


def test_a_comparison_judges_what_it_is_told_to(make_case, make_run):
    steady = tuple(1e-3 * (1 + 0.001 * (i % 5)) for i in range(30))
    base = make_case(steady, workspace_bytes=64)
    base = replace(base, result=replace(base.result, check=check_of(base, 1e-6)))
    baseline = baseline_of(make_run([base]))
    fast = tuple(t * 0.8 for t in steady)
    new = make_case(fast, workspace_bytes=65, compile_seconds=1.0, check=check_of(base, 1e-5))

    def row(rules):
        (found,) = compare(baseline, make_run([new]), name="main", rule=UnpairedRule(phases=rules)).rows
        return found

    assert row(TIME_ALONE).verdict is Verdict.IMPROVED
    whole = row(ALL)
    assert whole.decision.reason is Reason.FASTER_BUT_LESS_EXACT
    words = {phase.phase: phase.verdict for phase in whole.phases}
    assert words == {
        Phase.COMPILE: Verdict.NO_BASELINE,
        Phase.FIRST_LAUNCH: Verdict.INCONCLUSIVE,
        Phase.WORKSPACE: Verdict.REGRESSION,
        Phase.ACCURACY: Verdict.REGRESSION,
    }
    assert VerdictRow.from_json(json.loads(json.dumps(whole.to_json()))) == whole
    assert row(parse_phases("time,workspace")).decision.reason is Reason.MORE


@pytest.mark.parametrize("gate", ["accuracy", "time,accuracy", "accuracy,compile"])
def test_a_tainted_time_hides_no_lost_accuracy(make_case, make_run, gate):
    case = make_case()
    exact, inexact = (check_of(case, error) for error in (1e-6, 5e-6))
    baseline = baseline_of(make_run([make_case(check=exact, compile_seconds=1.0)]))

    def decision(**changes):
        run = make_run([make_case(circumstances=DISTURBED, compile_seconds=1.0, **changes)])
        (row,) = compare(baseline, run, name="x", rule=UnpairedRule(phases=parse_phases(gate))).rows
        return row.decision

    assert decision(check=inexact).verdict is Verdict.REGRESSION
    assert decision(check=inexact).reason is Reason.LESS_EXACT
    expected = Verdict.PASS if gate == "accuracy" else Verdict.TAINTED
    assert decision(check=exact).verdict is expected


def test_a_tainted_time_between_two_arms_hides_no_workspace(make_result):
    row = VerdictRow(
        key=CaseKey.of(make_result()),
        name="a case",
        decision=Decision(verdict=Verdict.TAINTED, reason=Reason.DISTURBED, sentence="disturbed"),
        comparison="paired",
        margin=0.01,
        phases=judge_arms(ALL, [({Phase.WORKSPACE: 10.0}, {Phase.WORKSPACE: 20.0})]),
    )
    assert as_a_whole(row, ALL).verdict is Verdict.REGRESSION


def test_wrong_numbers_and_new_cases_stay_what_they_are(make_case, make_run):
    rule = UnpairedRule(phases=parse_phases("accuracy"))
    baseline = baseline_of(make_run([make_case()]))
    wrong = replace(make_case().result.check, reason=CheckReason.RMS, sentence="wrong")
    (row,) = compare(baseline, make_run([make_case(check=wrong)]), name="x", rule=rule).rows
    assert (row.verdict, row.decision.reason) == (Verdict.TAINTED, Reason.WRONG_NUMBERS)
    (row,) = compare(baseline, make_run([make_case(channels=8)]), name="x", rule=rule).rows
    assert row.verdict is Verdict.NO_BASELINE
    (row,) = compare(baseline, make_run([make_case(channels=8, circumstances=DISTURBED)]), name="x", rule=rule).rows
    assert row.verdict is Verdict.NO_BASELINE
    (row,) = compare(baseline, make_run([make_case(None)]), name="x", rule=rule).rows
    assert row.verdict is Verdict.PASS


def test_a_phase_that_the_baseline_lacks_says_how_to_save_it():
    (row,) = judge_sessions(parse_phases("compile"), {}, [{Phase.COMPILE: 1.0}])
    assert "save that anew with --miopen-perf-gate=compile" in row.decision.sentence
