"""The results file: versioned, validated by its published schema, whole or not at all."""

import json
import os
import subprocess

import jsonschema
import pytest

from pytest_miopen_perf.cases import Case
from pytest_miopen_perf.schema import load_schema


def test_it_satisfies_its_schema_and_reads_back(run, script, convolution_test, results):
    convolution_test("smoke", arguments="solvers=['HipConvNaive*']")
    device = script(rules=[{"kernel": "naive_conv_bwd", "wrong": "nan"}, {"kernel": "naive_conv_wrw", "hang": True}])
    run(device, "--miopen-perf-level=4", "--miopen-perf-json=results.json", "--miopen-perf-log=log.jsonl")
    document = results()
    jsonschema.Draft202012Validator(load_schema("results")).validate(document)
    assert {case["outcome"] for case in document["cases"]} == {"passed", "failed", "error"}
    for data in document["cases"]:
        case = Case.from_json({**data, "log": []})
        assert case.to_json() == {**data, "log": []}


def test_the_schema_refuses_what_is_not_said(run, convolution_test, results):
    convolution_test()
    run("--miopen-perf-level=1", "--miopen-perf-json=results.json", "--miopen-perf-log=log.jsonl")
    document = results()
    validator = jsonschema.Draft202012Validator(load_schema("results"))
    for broken in (
        {**document, "version": 2},
        {**document, "hostname": "h"},
        {**document, "cases": [{**document["cases"][0], "outcome": "perhaps"}]},
    ):
        assert not validator.is_valid(broken)


def test_an_interrupt_keeps_what_was_measured(pytester, run, results):
    pytester.makepyfile(
        """
        import pytest

        LINE = "MIOpenDriver conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1"

        def test_first(miopen_perf):
            miopen_perf(LINE)

        def test_second(miopen_perf):
            miopen_perf(LINE.replace("-c 4", "-c 8"))
            raise KeyboardInterrupt
        """
    )
    arguments = ("--miopen-perf-backend=scripted", "--miopen-perf-level=1", "--miopen-perf-log=log.jsonl")
    result = pytester.runpytest_subprocess(*arguments, "--miopen-perf-json=results.json")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    document = results()
    assert document["complete"] is False
    assert [case["problem"] for case in document["cases"]] == ["fp32-F-1x4x6x6-k4-3x3-p1", "fp32-F-1x8x6x6-k4-3x3-p1"]
    result.stdout.fnmatch_lines(["cases    2 passed"])
    assert (pytester.path / "log.jsonl").read_text().count('"performance"') == 2


def test_a_cancelled_job_keeps_what_was_measured(pytester, results):
    pytester.makepyfile(
        """
        import os, signal

        LINE = "MIOpenDriver conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1"

        def test_first(miopen_perf):
            miopen_perf(LINE)

        def test_second():
            os.kill(os.getpid(), signal.SIGTERM)
        """
    )
    arguments = ("--miopen-perf-backend=scripted", "--miopen-perf-level=1", "--miopen-perf-json=results.json")
    assert pytester.runpytest_subprocess(*arguments).ret == pytest.ExitCode.INTERRUPTED
    assert [case["outcome"] for case in results()["cases"]] == ["passed"]
    assert results()["complete"] is False


def test_an_interrupt_in_the_middle_of_a_run_is_a_row(pytester, results, convolution_test):
    pytester.makeconftest(
        """
        from pytest_miopen_perf.measuring import timing

        def interrupted(*arguments):
            raise KeyboardInterrupt

        timing.measure = interrupted
        """
    )
    convolution_test()
    arguments = ("--miopen-perf-backend=scripted", "--miopen-perf-level=1", "--miopen-perf-json=results.json")
    assert pytester.runpytest_subprocess(*arguments).ret == pytest.ExitCode.INTERRUPTED
    (case,) = results()["cases"]
    assert (case["outcome"], case["message"]) == ("error", "interrupted")


def test_an_interrupt_while_the_first_case_is_handed_over_loses_nothing(pytester, results, convolution_test):
    pytester.makeconftest(
        """
        from pytest_miopen_perf.session import collector

        class Interrupted(collector.Collector):
            def __init__(self, *arguments):
                collector.Collector = Interrupted.__base__
                raise KeyboardInterrupt

        collector.Collector = Interrupted
        """
    )
    convolution_test()
    arguments = ("--miopen-perf-backend=scripted", "--miopen-perf-level=1", "--miopen-perf-json=results.json")
    assert pytester.runpytest_subprocess(*arguments).ret == pytest.ExitCode.INTERRUPTED
    assert [case["outcome"] for case in results()["cases"]] == ["passed"]
    assert results()["complete"] is False


def test_an_internal_error_is_not_a_complete_session(pytester, results, convolution_test):
    pytester.makeconftest(
        """
        def pytest_runtest_logfinish():
            raise RuntimeError("broken")
        """
    )
    convolution_test()
    arguments = ("--miopen-perf-backend=scripted", "--miopen-perf-level=1", "--miopen-perf-json=results.json")
    assert pytester.runpytest_subprocess(*arguments).ret == pytest.ExitCode.INTERNAL_ERROR
    assert results()["complete"] is False


def test_a_full_disk_leaves_the_old_file(pytester, run, convolution_test, monkeypatch):
    convolution_test()
    (pytester.path / "results.json").write_text("old")

    def full(*arguments, **named):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    result = run("--miopen-perf-json=results.json")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["miopen-perf: the results file *results.json could not be written: *No space left*"])
    assert (pytester.path / "results.json").read_text() == "old"
    assert [path.name for path in pytester.path.iterdir() if path.suffix == ".tmp"] == []


def test_a_pipe_takes_the_text_and_stays_a_pipe(pytester, run, convolution_test):
    """Once, a device that was named as the file was replaced by one."""
    convolution_test()
    pipe = pytester.path / "pipe"
    os.mkfifo(pipe)
    with subprocess.Popen(["cat", pipe], stdout=subprocess.PIPE, text=True) as reader:
        assert run(f"--miopen-perf-json={pipe}").ret == 0
        text, _ = reader.communicate(timeout=20)
    assert json.loads(text)["format"] == "pytest-miopen-perf results"
    assert pipe.is_fifo()


def test_it_holds_the_variables_that_matter_and_no_host_name(run, convolution_test, results, monkeypatch):
    import platform

    monkeypatch.setenv("MIOPEN_FIND_MODE", "1")
    convolution_test()
    run("--miopen-perf-json=results.json")
    assert results()["environment"]["MIOPEN_FIND_MODE"] == "1"
    assert f'"{platform.node()}"' not in json.dumps(results())


def test_it_is_written_under_xdist_and_without_a_terminal(run, convolution_test, results):
    convolution_test("smoke")
    assert run("--miopen-perf-json=results.json", "-n", "2", "-p", "no:terminal").ret == 0
    assert len(results()["cases"]) > 40
