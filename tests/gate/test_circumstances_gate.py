"""Times that were taken under other circumstances are another case, and disturbed ones are none."""

import math

import pytest

from pytest_miopen_perf.errors import BaselineError
from pytest_miopen_perf.gate.baseline import baseline_of, timed_results
from pytest_miopen_perf.gate.compare import UnpairedRule, compare
from pytest_miopen_perf.gate.keys import CaseKey
from pytest_miopen_perf.gate.verdict import Reason, Verdict
from pytest_miopen_perf.measuring.circumstances import Circumstances
from pytest_miopen_perf.telemetry import BlockReadings, Reading

TIMES = tuple(1e-3 * (1 + 0.001 * math.sin(n)) for n in range(20))
DISTURBED = Circumstances(blocks=(BlockReadings(before=Reading(other_processes=0), after=Reading(other_processes=1)),))


@pytest.fixture
def report(make_case, make_run):
    """The report of cases against a baseline of one undisturbed case."""
    baseline = baseline_of(make_run([make_case(TIMES)]))
    return lambda *processes: compare(baseline, make_run(*processes), name="main", rule=UnpairedRule())


def test_a_disturbed_time_is_tainted_whatever_it_is(report, make_case):
    for factor in (0.5, 1.0, 2.0):
        slow = make_case([factor * time for time in TIMES], circumstances=DISTURBED)
        (row,) = report([slow]).rows
        assert (row.verdict, row.decision.reason, row.change) == (Verdict.TAINTED, Reason.DISTURBED, None)
        assert "another process held the device" in row.decision.sentence


def test_a_case_with_an_undisturbed_time_is_judged_by_that(report, make_case):
    disturbed = make_case([2 * time for time in TIMES], circumstances=DISTURBED)
    (row,) = report([make_case(TIMES)], [disturbed]).rows
    assert row.verdict is Verdict.PASS


def test_a_disturbed_case_has_not_vanished(report, make_case):
    assert report([make_case(TIMES, circumstances=DISTURBED)]).vanished == ()


def test_disturbed_times_become_no_baseline(make_case, make_run):
    run = make_run([make_case(TIMES), make_case(TIMES, channels=8, circumstances=DISTURBED)])
    assert len(timed_results(run)) == 1
    with pytest.raises(BaselineError, match=r"tainted times: fp32-F-1x8.*: another process held the device"):
        baseline_of(run)


@pytest.mark.parametrize(
    "changes",
    [
        {"cache_mode": "cold"},
        {"circumstances": Circumstances(launch_mode="back-to-back")},
    ],
)
def test_other_circumstances_are_another_case(report, make_case, changes):
    (row,) = report([make_case(TIMES, **changes)]).rows
    assert (row.verdict, row.decision.reason) == (Verdict.NO_BASELINE, Reason.NEW_CASE)


def test_a_kernel_that_grows_out_of_the_batches_of_a_coarse_timer_is_the_same_case_and_red(make_case, make_run):
    def run(seconds, launch_mode):
        return make_run([make_case(seconds, circumstances=Circumstances(launch_mode=launch_mode))])

    short = run(TIMES, "batched")
    row = compare(baseline_of(short), run([3 * t for t in TIMES], "isolated"), name="x", rule=UnpairedRule()).rows[0]
    assert row.verdict is Verdict.REGRESSION


def test_isolated_launches_need_no_word_in_the_key(make_result):
    result = make_result()
    assert CaseKey.of(result).cache_mode == "warm"
