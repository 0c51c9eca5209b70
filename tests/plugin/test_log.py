"""The performance log: MIOpenDriver's lines, grouped by problem, at each level what MIOpen shows at it."""

import json
from pathlib import Path

import pytest

from pytest_miopen_perf import records

ARGUMENTS = ("--miopen-perf-tune=force", "--miopen-perf-tune-configs=3", "--miopen-perf-log=log.jsonl")


def phases(lines):
    return [line["phase"] for line in lines if "solution" in line]


def kernels(lines):
    return [config["kernels"] for line in lines if "solution" in line for config in line["performance_configs"]]


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_a_run_logs_what_miopendriver_logs(run, convolution_test, log_lines, level):
    convolution_test(arguments="solvers=['HipConvImplicitGemmFwd', 'HipConvNaiveFwd']")
    assert run(f"--miopen-perf-level={level}", *ARGUMENTS).ret == 0
    lines = log_lines()
    for line in lines:
        records.validate(line)
    assert next(iter(lines[0])) == "command"
    assert [next(iter(line)) for line in lines[-2:]] == ["performance", "verification"]
    searched = ["solver_tuning", "tuning", "tuning", "validation"] if level > 2 else []
    assert phases(lines) == [*searched, "execution"]
    assert all((shown is None) == (level in (1, 3)) for shown in kernels(lines))


def test_at_level_0_there_is_no_log(pytester, run, convolution_test):
    convolution_test()
    result = run(*ARGUMENTS)
    assert result.ret == 0
    assert not (pytester.path / "log.jsonl").exists()


def test_the_default_is_stderr_as_in_miopen(run, convolution_test):
    convolution_test()
    result = run("--miopen-perf-level=1")
    lines = [json.loads(line) for line in result.errlines if line.startswith("{")]
    assert phases(lines) == ["execution"]
    assert not any(line.startswith("{") for line in result.outlines)


def test_on_an_interactive_terminal_the_default_is_a_file_named_in_the_summary(
    pytester, run, convolution_test, monkeypatch
):
    convolution_test()
    monkeypatch.setattr("pytest_miopen_perf.session.collector._is_watched", lambda stream: True)
    result = run("--miopen-perf-level=1")
    (path,) = [line.split()[1] for line in result.outlines if line.startswith("log ")]
    assert phases([json.loads(line) for line in Path(path).read_text().splitlines()]) == ["execution"]


def test_lines_stay_grouped_by_problem_under_xdist(run, convolution_test, log_lines):
    convolution_test("smoke")
    assert run("--miopen-perf-level=4", "--miopen-perf-log=log.jsonl", "-n", "2").ret == 0
    lines = log_lines()
    starts = [index for index, line in enumerate(lines) if "command" in line]
    assert len(starts) > 40
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        assert [next(iter(line)) for line in lines[end - 2 : end]] == ["performance", "verification"]
        assert lines[end - 2]["performance"]["db_key"] not in {
            line["performance"]["db_key"] for line in lines[:start] if "performance" in line
        }


def test_a_failed_config_of_a_search_is_in_the_log_without_times(run, script, convolution_test, log_lines):
    convolution_test(arguments="solvers=['HipConvImplicitGemm*'], iterations=3")
    broken = {"kernel": "implicit_gemm_conv_fwd", "defines": {"GEMM_K_PER_BLOCK": "16"}, "compile_error": "no"}
    run(script(rules=[broken, {}]), "--miopen-perf-level=3", "--miopen-perf-tune=force", "--miopen-perf-log=log.jsonl")
    (search,) = [line for line in log_lines() if line.get("phase") == "solver_tuning"]
    failed = [config for config in search["performance_configs"] if not config["time_executions_ms"]]
    assert failed
    assert all(config["config_descriptor"].split(",")[3] == "16" for config in failed)


def test_a_full_disk_loses_no_results_and_says_so(pytester, run, convolution_test, results):
    convolution_test()
    result = run("--miopen-perf-level=1", "--miopen-perf-log=/dev/full", "--miopen-perf-json=results.json")
    assert result.parseoutcomes() == {"passed": 1}
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(
        ["miopen-perf: the log /dev/full could not be written: *No space left*free some space*"]
    )
    assert len(results()["cases"]) == 1
