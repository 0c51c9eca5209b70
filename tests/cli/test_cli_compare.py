"""`miopen-perf compare`: two logs, results files or baselines."""

import json

import pytest
from cli.conftest import RUN
from driver.log_samples import COMMAND, FIND, VERIFIED, config, performance, solution, timed_run

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


def test_an_environment_that_one_log_does_not_state_is_no_change(run, logs):
    old, new = logs(1.2)
    new.write_text(f"{new.read_text()}{FIND}\n")
    changed = json.loads(run("compare", old, new, "--json").out)["rows"][0]["what_changed"]["sentence"]
    assert "unset" not in changed
    assert "MIOPEN_" not in changed


def test_an_environment_that_both_logs_state_is_compared(run, logs):
    old, new = logs(1.2)
    old.write_text(f"{old.read_text()}{FIND}\n")
    new.write_text(new.read_text() + FIND.replace('"MIOPEN_FIND_MODE":5', '"MIOPEN_FIND_MODE":1') + "\n")
    changed = json.loads(run("compare", old, new, "--json").out)["rows"][0]["what_changed"]["sentence"]
    assert changed.endswith("MIOPEN_FIND_MODE '5' -> '1'")


def own_run(*times):
    name = "HipConvNaiveFwd"
    record = solution(name, config(name, ",".join(map(str, times)), "2 0 2 2"), solver_id=10001)
    return COMMAND, record, performance(name, times[-1]).replace("137/", "10001/"), VERIFIED


def test_times_that_one_process_measured_twice_are_pooled_and_that_is_said(run, write):
    once = write(*own_run(3, 2, 2, 2, 2, 2), name="once.log")
    twice = write(*own_run(3, 2, 2, 2, 2, 2), *own_run(6, 4, 4, 4, 4, 4), name="twice.log")
    words = "twice.log: a case of it was run 2 times in one process, and the times are pooled; a log does not tell"
    assert words in run("compare", once, twice).err
    assert words in run("compare", twice, once).err
    assert run("compare", once, once).err == ""


def test_commands_of_miopendriver_are_processes_and_pooled_nowhere(run, logs):
    assert "pooled" not in run("compare", *logs(1)).err


@pytest.mark.parametrize("margin", ["0", "-1%", "200%", "much"])
def test_a_margin_that_is_none_is_refused(run, logs, margin):
    outcome = run("compare", *logs(1), f"--margin={margin}")
    assert outcome.status == 2
    assert "margin" in outcome.err


def test_without_scipy_nothing_is_judged(run, logs, monkeypatch):
    monkeypatch.setattr("pytest_miopen_perf.gate.why_unavailable", lambda: "install scipy")
    assert run("compare", *logs(1)) == (2, "", "miopen-perf: install scipy\n")
