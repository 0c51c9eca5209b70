"""Phases beside the time, through the whole plugin: stored and paired, and what the log costs."""

import json
import shutil

import jsonschema
import pytest
from inner_processes import run_inside

from pytest_miopen_perf.ab import processes
from pytest_miopen_perf.gate.baseline_file import load_baseline
from pytest_miopen_perf.gate.phases import Phase
from pytest_miopen_perf.gate.report import VerdictReport
from pytest_miopen_perf.gate.verdict import Reason, Verdict
from pytest_miopen_perf.kernel_source.files import kernels_dir
from pytest_miopen_perf.schema import load_schema

FIRST = "MIOpenDriver conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1"
SECOND = FIRST.replace("-c 4", "-c 8")
NAIVE = "solvers=['HipConvNaiveFwd']"
GATE = "--miopen-perf-gate=time,compile,workspace,accuracy"


@pytest.fixture
def session(pytester, script, run):
    """A session on a device whose compiler takes `compile_seconds`."""

    def make(*arguments, compile_seconds=1.0, factor=1.0):
        rule = {"seconds": 1e-4 * factor, "variation": {"noise": 0.003}, "compile_seconds": compile_seconds}
        return run(script(rules=[rule]), "--miopen-perf-verdicts=verdicts.json", *arguments)

    return make


@pytest.fixture
def report(pytester):
    """The verdict file, valid and read back."""

    def read():
        document = json.loads((pytester.path / "verdicts.json").read_text())
        jsonschema.Draft202012Validator(load_schema("verdicts")).validate(document)
        return VerdictReport.from_json(document)

    return read


def test_a_longer_compile_is_red_only_where_it_is_judged(pytester, session, convolution_test, report):
    convolution_test(FIRST, arguments=NAIVE)
    assert session("--miopen-perf-save=main").ret == 0
    (entry,) = load_baseline(pytester.path / ".miopen-perf/main.json").entries
    assert dict(entry.phases)[Phase.COMPILE] == (1.0,)
    assert session("--miopen-perf-compare=main", compile_seconds=2.0).ret == 0
    result = session("--miopen-perf-compare=main", GATE, compile_seconds=2.0)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        [
            "E *REGRESSION fp32-F-1x4x6x6*compile 1 s -> 2 s (+100%), 1.5 s allowed: a single sample against 1",
            "compile  1 REGRESSION",
            "workspace 1 PASS",
            "accuracy 1 PASS",
        ]
    )
    assert report().rows[0].decision.reason is Reason.MORE
    assert session("--miopen-perf-compare=main", "--miopen-perf-gate=time,workspace", compile_seconds=2.0).ret == 0


def test_a_comparison_of_solvers_knows_what_its_winner_took_to_compile(pytester, session, convolution_test):
    convolution_test(FIRST)
    assert session("--miopen-perf-save=main").ret == 0
    (entry,) = load_baseline(pytester.path / ".miopen-perf/main.json").entries
    assert entry.key.policy.startswith("fastest of")
    assert dict(entry.phases)[Phase.COMPILE][0] >= 1.0


def test_a_marker_and_the_ini_file_say_what_is_judged(pytester, session, convolution_test, report):
    convolution_test(FIRST, arguments=NAIVE)
    session("--miopen-perf-save=main")
    pytester.makeini("[pytest]\nmiopen_perf_gate = compile\n")
    assert session("--miopen-perf-compare=main", factor=1.5).ret == 0
    assert report().rows[0].verdict is Verdict.PASS
    convolution_test(FIRST, arguments=f"{NAIVE}, gate='time,compile=90%'")
    assert session("--miopen-perf-compare=main", compile_seconds=1.8).ret == 0
    convolution_test(FIRST, arguments=f"{NAIVE}, gate='speed'")
    result = session("--miopen-perf-compare=main")
    result.stdout.fnmatch_lines(["*gate is 'speed': 'speed' is nothing that can be judged; give some of time, *"])


def test_a_wrong_option_is_a_usage_error(session, convolution_test):
    convolution_test(FIRST)
    result = session("--miopen-perf-gate=time=2%")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*--miopen-perf-gate is 'time=2%': the margin of the time is that of *"])


def test_cases_of_one_kernel_all_know_what_it_took_to_compile(pytester, session, convolution_test, report):
    convolution_test(FIRST, SECOND, arguments=NAIVE)
    session("--miopen-perf-save=main")
    entries = load_baseline(pytester.path / ".miopen-perf/main.json").entries
    assert [dict(entry.phases)[Phase.COMPILE] for entry in entries] == [(1.0,), (1.0,)]
    session("--miopen-perf-compare=main", GATE, compile_seconds=2.0).assert_outcomes(failed=2)
    assert {row.decision.reason for row in report().rows} == {Reason.MORE}


@pytest.fixture
def led(pytester, monkeypatch, convolution_test, script, run):
    """A session over two cases whose processes are inner sessions; arm "b" of the kernels compiles more slowly."""
    monkeypatch.setattr(processes, "run_to_end", run_inside(monkeypatch))
    convolution_test(FIRST, SECOND, arguments=NAIVE)

    def make(*arguments, compile_seconds=1.0):
        varies = {"noise": 0.002}
        slow = {"file": "*/b/*", "seconds": 1e-4, "variation": varies, "compile_seconds": compile_seconds}
        device = script(rules=[slow, {"seconds": 1e-4, "variation": varies, "compile_seconds": 1.0}])
        return run(f"{device}#{{process}}", "--miopen-perf-verdicts=verdicts.json", *arguments)

    return make


@pytest.mark.parametrize(("compile_seconds", "red"), [(1.1, 0), (2.0, 2)])
def test_compile_times_of_two_arms_are_tested_over_processes(pytester, led, report, compile_seconds, red):
    for arm in "ab":
        shutil.copytree(kernels_dir(), pytester.path / arm)
    result = led("--miopen-perf-ab=a,b", GATE, "--miopen-perf-margin=3%", compile_seconds=compile_seconds)
    result.assert_outcomes(failed=red, passed=2 - red)
    for row in report().rows:
        phases = {phase.phase: phase for phase in row.phases}
        assert phases[Phase.COMPILE].units >= 3
        assert phases[Phase.COMPILE].verdict is (Verdict.REGRESSION if red else Verdict.PASS)
        assert phases[Phase.WORKSPACE].verdict is Verdict.PASS


def test_the_log_is_held_against_its_absence(led, report):
    result = led("--miopen-perf-log-overhead", "--miopen-perf-margin=3%", "--miopen-perf-processes=5")
    assert result.ret == 0
    result.stdout.fnmatch_lines(
        [
            "    log: * us of the host a record (* .. *), * processes",
            "against  A level 0 of the log; B level 4, paired",
            "log      * us of the host a record, the median of 2 cases (* .. *)",
        ]
    )
    for row in report().rows:
        assert row.verdict is Verdict.PASS
        low, high = row.record_cost.interval
        assert low <= row.record_cost.seconds <= high
        assert row.record_cost.units == row.units >= 3


def test_the_log_is_held_against_its_absence_in_the_launch_mode_of_the_session(led, report):
    words = ("--miopen-perf-log-overhead", "--miopen-perf-launch=back-to-back", "--miopen-perf-processes=1")
    assert led(*words).ret == 0
    assert [(row.key.cache_mode, row.units) for row in report().rows] == [("warm, launches back-to-back", 1)] * 2
