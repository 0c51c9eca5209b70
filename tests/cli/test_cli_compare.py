"""`miopen-perf compare`: two logs, results files or baselines."""

import json

import pytest
from cli.conftest import RUN
from driver.log_samples import COMMAND, VERIFIED, timed_run

from pytest_miopen_perf.gate.baseline import Run, baseline_of
from pytest_miopen_perf.gate.baseline_file import save_baseline
from pytest_miopen_perf.report.results_reader import parse_results


@pytest.fixture
def logs(write):
    """Writes two logs of six runs each: the second takes `factor` times as long."""

    def two(factor, **new):
        old = [line for i in range(6) for line in timed_run(3, *(2 + 0.002 * i + 0.001 * j for j in range(6)))]
        slow = [
            line
            for i in range(6)
            for line in timed_run(3, *(factor * (2 + 0.002 * i + 0.001 * j) for j in range(6)), **new)
        ]
        return write(*old, name="old.log"), write(*slow, name="new.log")

    return two


def test_equal_logs_pass(run, logs):
    outcome = run("compare", *logs(1))
    assert outcome.status == 0
    assert "1 PASS" in outcome.out


def test_every_command_of_a_log_is_a_process(run, logs):
    (row,) = json.loads(run("compare", *logs(1), "--json").out)["rows"]
    assert (row["unit"], row["units"]) == ("process", 6)


def test_a_log_is_judged_for_what_it_tells(run, logs):
    (row,) = json.loads(run("compare", *logs(1), "--gate", "time,accuracy,workspace", "--json").out)["rows"]
    words = {phase["phase"]: phase["decision"]["reason"] for phase in row["phases"]}
    assert words == {"accuracy": "within_margin", "workspace": "not_measured"}
    assert row["decision"]["verdict"] == "INCONCLUSIVE"
    outcome = run("compare", *logs(1), "--gate", "speed")
    assert outcome.status == 2
    assert "'speed' is nothing that can be judged" in outcome.err


def test_a_slower_log_is_a_regression(run, logs):
    outcome = run("compare", *logs(1.2))
    assert outcome.status == 1
    assert "REGRESSION" in outcome.out
    assert run("compare", *logs(1.2), "--margin", "50%").status == 0


def test_a_changed_solver_is_compared_and_named(run, logs):
    outcome = run("compare", *logs(1.2, solver="ConvDirectNaiveConvFwd"))
    assert outcome.status == 1
    assert "ConvDirectNaiveConvFwd" in outcome.out
    assert "ConvHipImplicitGemmGroupFwdXdlops" in outcome.out


def test_a_faster_log_is_no_finding(run, logs):
    outcome = run("compare", *logs(0.8))
    assert outcome.status == 0
    assert "1 IMPROVED" in outcome.out


def test_logs_that_were_not_verified_can_be_compared(run, logs, write):
    old, new = logs(1.2, verified=None)
    assert run("compare", old, new).status == 1


def test_a_log_and_a_results_file_compare(run, logs, tmp_path):
    old, new = logs(1.2)
    run("convert", old, "-o", tmp_path / "old.json")
    outcome = run("compare", tmp_path / "old.json", new)
    assert "1.2" not in outcome.err
    assert json.loads(run("compare", tmp_path / "old.json", new, "--json").out)["rows"][0]["change"] > 0.1


def test_a_baseline_is_compared(run, results_file, tmp_path):
    results = parse_results(results_file.read_text(), "x")
    baseline = tmp_path / "baseline.json"
    save_baseline(baseline, baseline_of(Run(processes=(results.cases,), ended=results.created)))
    outcome = run("compare", baseline, results_file)
    assert "+0.00%" in outcome.out


def test_a_case_that_is_gone_counts_when_strict(run, driver_log, write):
    other = [
        line.replace("-H 256", "-H 128").replace("128-256-256-3x3-128-256", "128-128-256-3x3-128-128") for line in RUN
    ]
    path = write(*other, name="other.log")
    assert run("compare", driver_log, path).status == 0
    outcome = run("compare", driver_log, path, "--strict")
    assert outcome.status == 1
    assert "vanished" in outcome.out


def test_wrong_numbers_are_a_finding(run, logs):
    failed = VERIFIED.replace('"OK"', '"FAILED"').replace("2.19793e-08", "0.5")
    outcome = run("compare", *logs(1, verified=failed))
    assert outcome.status == 1
    assert "TAINTED" in outcome.out


def test_a_case_without_a_result_is_a_finding(run, logs, write):
    old, _ = logs(1)
    outcome = run("compare", old, write(*timed_run(3, 2, 2, 2), COMMAND, '{"error":"broke"}', name="broken.log"))
    assert outcome.status == 1
    assert "broke" in outcome.out


@pytest.mark.parametrize("margin", ["0", "-1%", "200%", "much"])
def test_a_margin_that_is_none_is_refused(run, logs, margin):
    outcome = run("compare", *logs(1), f"--margin={margin}")
    assert outcome.status == 2
    assert "margin" in outcome.err


def test_without_scipy_nothing_is_judged(run, logs, monkeypatch):
    monkeypatch.setattr("pytest_miopen_perf.gate.why_unavailable", lambda: "install scipy")
    assert run("compare", *logs(1)) == (2, "", "miopen-perf: install scipy\n")
