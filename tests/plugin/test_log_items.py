"""A log of MIOpenDriver is a test file."""

import os
import subprocess
import xml.etree.ElementTree as ET

import pytest
from driver import log_samples
from driver.log_samples import COMMAND, DRAFTS, S5, S9, S16, VERIFIED, config, solution
from driver.stand_in.install import install_stand_in

from pytest_miopen_perf.gate.baseline_file import load_baseline
from pytest_miopen_perf.report.results_reader import results_fault

SOLVER = "ConvA"
OWN = "HipConvNaiveFwd"
NAME = "bf16-F-1x128x256x256-k128-3x3-p1"
TEXT = """\
MIOpenDriver conv -n 1 -c 3 -H 224 -W 224 -k 64 -y 3 -x 3 -p 1 -q 1 -F 1 -t 1
MIOpen Forward Conv. Algorithm: 5, Solution: 137/ConvA
GPU Kernel Time Forward Conv. Elapsed: 0.056871 ms (average)
stats: name, n, c, ho, wo, y, x, k, flopCnt, bytesRead, bytesWritten, GFLOPs, GB/s, timeMs
stats: fwd-conv3x3u1, 1, 3, 224, 224, 3, 3, 64, 173408256, 609024, 12845056, 3049, 237, 0.056871
Forward Convolution Verifies OK on GPU reference (2.19793e-08 < 1.5e-06)
"""


def timed_run(scale=1.0, solver=SOLVER, **how):
    """A run of ten times around 2 ms."""
    times_ms = (scale * time for time in (3, 2.5, 2, 2.01, 1.99, 2.02, 1.98, 2, 2.01, 1.99))
    return log_samples.timed_run(*times_ms, solver=solver, **how)


@pytest.fixture
def log(pytester):
    """Write lines as a log."""

    def make(*lines, name="driver.log"):
        (pytester.path / name).write_text("".join(f"{line}\n" for line in lines))
        return name

    return make


def names(result):
    return [line.partition("::")[2] for line in result.outlines if "::" in line]


# --- What is collected ------------------------------------------------------------------------------------------------


def test_one_item_a_record_and_one_a_direction_that_ran(pytester, log):
    result = pytester.runpytest(log(*timed_run(), S5), "--collect-only", "-q")
    assert names(result) == ["ConvA-execution@line2", f"{NAME}@line3", "ConvDirectNaiveConvFwd-solver_tuning@line5"]


def test_a_sound_log_passes_and_its_figures_are_in_summary_and_files(pytester, log, results):
    result = pytester.runpytest(log(*timed_run()), "--miopen-perf-json=results.json")
    assert result.parseoutcomes() == {"passed": 2}
    assert f"{NAME}\n  ConvA " in result.stdout.str()
    assert results_fault(results()) == ""
    (case,) = results()["cases"]
    assert case["nodeid"] == f"driver.log::{NAME}@line3"
    assert (case["outcome"], case["result"]["sample"]["count"]) == ("passed", 8)
    assert case["result"]["sample"]["median_seconds"] == pytest.approx(2e-3)


@pytest.mark.parametrize("name", ["net.miopen.jsonl", "net.miopen.log"])
def test_names_of_logs_are_found_in_folders(pytester, log, name):
    log(*timed_run(), name=name)
    assert pytester.runpytest().parseoutcomes() == {"passed": 2}


@pytest.mark.parametrize("name", ["net.log", "net.jsonl", "net.txt"])
def test_other_names_are_not_found_and_log_files_can_be_named(pytester, log, name):
    log(*timed_run(), name=name)
    assert pytester.runpytest().ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert pytester.runpytest(name).parseoutcomes().get("passed", 0) == (0 if name == "net.txt" else 2)


def test_patterns_of_the_ini_file_choose_the_files(pytester, log):
    log(*timed_run(), name="net.txt")
    pytester.makeini("[pytest]\nmiopen_perf_logs = net.t?t\n")
    assert pytester.runpytest().parseoutcomes() == {"passed": 2}


def test_classic_text_is_collected_too(pytester, log, results):
    result = pytester.runpytest(log(TEXT), "--miopen-perf-json=results.json")
    assert result.parseoutcomes() == {"passed": 1}
    assert results()["cases"][0]["result"]["sample"]["seconds"] == [5.6871e-05]


@pytest.mark.parametrize("content", ["", "\n", "nothing of interest\n", '{"some": "json"}\n'])
def test_a_file_that_is_no_log_is_a_collection_error_in_one_sentence(pytester, content):
    (pytester.path / "build.log").write_text(content)
    result = pytester.runpytest("build.log")
    assert result.parseoutcomes() == {"errors": 1}
    assert "build.log is no log of MIOpenDriver: nothing in it is a record or a time" in result.stdout.str()
    assert "Traceback" not in result.stdout.str()


def test_names_are_unique_and_can_stand_in_an_id(pytester, log):
    line = timed_run(solver=r"Conv\n A::B[<2-3>]")[1]
    file = log(line + line, line)
    assert names(pytester.runpytest(file, "--collect-only", "-q")) == [
        "Conv_A_B[<2-3>]-execution@line1",
        "Conv_A_B[<2-3>]-execution@line1-2",
        "Conv_A_B[<2-3>]-execution@line2",
    ]
    assert pytester.runpytest(f"{file}::Conv_A_B[<2-3>]-execution@line1-2", "-Wdefault").parseoutcomes()["passed"] == 1


# --- What fails -------------------------------------------------------------------------------------------------------

FAILED = VERIFIED.replace('"OK"', '"FAILED"').replace("2.19793e-08", "0.5")


def test_a_failed_verification_fails_the_direction_once(pytester, log, results):
    result = pytester.runpytest(log(*timed_run(verified=FAILED)), "--miopen-perf-json=results.json")
    assert result.parseoutcomes() == {"passed": 1, "failed": 1}
    assert f"{NAME}: MIOpenDriver against its GPU reference: error 0.5" in result.stdout.str()
    assert "log_items.py" not in result.stdout.str()
    assert results()["cases"][0]["outcome"] == "failed"


def test_an_error_line_fails_the_run_that_it_stands_in(pytester, log):
    lines = [*timed_run(), COMMAND, '{"error":"RunForwardGPU() FAILED, rc = 0x7"}', *timed_run(1.01)]
    result = pytester.runpytest(log(*lines), "-v")
    assert result.parseoutcomes() == {"passed": 4, "failed": 1}
    assert f"driver.log::{NAME}@line5 FAILED" in result.stdout.str()
    assert "the driver reports: RunForwardGPU() FAILED, rc = 0x7" in result.stdout.str()


def test_a_lie_fails(pytester, log):
    lie = VERIFIED.replace("2.19793e-08", "0.5")
    result = pytester.runpytest(log(*timed_run(verified=lie)))
    assert result.parseoutcomes() == {"passed": 1, "failed": 1}
    assert "driver.log:4: error: direction F: OK is stated with error 0.5" in result.stdout.str()


def test_figures_that_contradict_their_times_fail_their_record_alone(pytester, log):
    wrong = solution("ConvB", config("ConvB", "1,1,1,1", "7 0 1 1"), phase="solver_tuning")
    result = pytester.runpytest(log(*timed_run(), wrong))
    assert result.parseoutcomes() == {"passed": 2, "failed": 1}
    assert (
        "driver.log:5: error: ConvB, config ConvB: time_ms is 7, but its times give 1 [figures-disagree]"
        in result.stdout.str()
    )


def test_a_corrupt_line_is_a_failed_item_of_its_line(pytester, log):
    torn = S5[:90]
    result = pytester.runpytest(log(*timed_run(), torn, *timed_run(1.01)), "-v")
    assert result.parseoutcomes() == {"passed": 4, "failed": 1}
    assert "driver.log::no-end@line5 FAILED" in result.stdout.str()
    assert "driver.log:5: error: not read: the record is cut off: its end is missing [no-end]" in result.stdout.str()


@pytest.mark.parametrize("draft", DRAFTS)
def test_a_draft_of_the_format_fails(pytester, log, draft):
    result = pytester.runpytest(log(draft))
    assert result.parseoutcomes() == {"failed": 1}
    assert "log again with a released MIOpen" in result.stdout.str()


def test_warnings_are_shown_with_their_line_and_fail_nothing(pytester, log):
    result = pytester.runpytest(log(S16, S9), "-Wdefault")
    assert set(result.parseoutcomes()) == {"passed", "warnings"}
    text = result.stdout.str()
    assert "PerfWarning: driver.log:1: warning: " in text
    assert "[foreign-kernels]" in text
    assert "[non-finite]" in text


def test_a_failed_text_run_fails(pytester, log):
    wrong = TEXT.replace(
        "Forward Convolution Verifies OK on GPU reference (2.19793e-08 < 1.5e-06)",
        "Forward Convolution FAILED: 1.79769e+308 > 0.082",
    )
    result = pytester.runpytest(log(wrong))
    assert result.parseoutcomes() == {"failed": 1}
    assert "run itself failed" in result.stdout.str()


# --- As tests of pytest -----------------------------------------------------------------------------------------------


def test_exit_first_and_last_failed(pytester, log):
    file = log(*timed_run(verified=FAILED), *timed_run())
    assert pytester.runpytest(file, "-x").parseoutcomes() == {"passed": 1, "failed": 1}
    assert pytester.runpytest(file, "--lf").parseoutcomes() == {"failed": 1, "deselected": 3}


def test_junit_files_have_solver_and_time(pytester, log):
    pytester.runpytest(log(*timed_run()), "--junit-xml=junit.xml")
    cases = {case.get("name"): case for case in ET.parse(pytester.path / "junit.xml").iter("testcase")}
    properties = {p.get("name"): p.get("value") for p in cases[f"{NAME}@line3"].iter("property")}
    assert properties["miopen_perf_solver"] == "ConvA"
    assert float(properties["miopen_perf_median_ms"]) == pytest.approx(2)


def test_workers_share_the_items_of_a_log(pytester, log, results):
    pytest.importorskip("xdist")
    file = log(*timed_run(), *timed_run(1.01), *timed_run(verified=FAILED))
    result = pytester.runpytest(file, "-n2", "--miopen-perf-json=results.json")
    assert result.parseoutcomes() == {"passed": 5, "failed": 1}
    assert sorted(case["outcome"] for case in results()["cases"]) == ["failed", "passed", "passed"]


def test_selection_by_name(pytester, log):
    assert pytester.runpytest(log(*timed_run(), S5), "-k", "bf16").parseoutcomes() == {"passed": 1, "deselected": 2}


def test_a_real_sized_log_is_read_once_and_not_kept(pytester, log, monkeypatch):
    from pytest_miopen_perf.logged import entries as log_entries

    read = []
    sound = log_entries.read_log
    monkeypatch.setattr(log_entries, "read_log", lambda *how: read.append(how) or sound(*how))
    lines = [line for _ in range(500) for line in timed_run()]
    assert len(names(pytester.runpytest(log(*lines), "--collect-only", "-q"))) == 1000
    assert len(read) == 1


# --- The gate ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def baseline(pytester, log):
    """A baseline out of a log of five runs of one command."""
    pytest.importorskip("scipy")
    runs = [line for i in range(5) for line in timed_run(1 + i / 1000)]
    assert pytester.runpytest(log(*runs, name="old.log"), "--miopen-perf-save=main").ret == 0
    return "--miopen-perf-compare=main"


def test_a_slower_log_fails_against_a_baseline_once_a_case(pytester, log, baseline):
    runs = [line for i in range(5) for line in timed_run(1.3 + i / 1000)]
    result = pytester.runpytest(log(*runs, name="new.log"), baseline)
    assert result.parseoutcomes() == {"passed": 9, "failed": 1}
    assert f"REGRESSION {NAME}: +29.9%" in result.stdout.str()
    assert "ConvA: the same kernel" in result.stdout.str()


def test_a_log_of_the_same_times_passes(pytester, log, baseline):
    runs = [line for i in range(5) for line in timed_run(1 + i / 1000)]
    assert pytester.runpytest(log(*runs, name="new.log"), baseline).parseoutcomes() == {"passed": 10}


def own_run(scale=1.0):
    """A run as this project logs it."""
    lines = timed_run(scale, solver=OWN)
    return [line.replace('"137/', '"10001/').replace('"solver_id":137', '"solver_id":10001') for line in lines]


def test_runs_that_a_log_of_our_own_cannot_tell_apart_are_pooled_and_that_is_said(pytester, log):
    pytest.importorskip("scipy")
    once, twice = log(*own_run(), name="once.log"), log(*own_run(), *own_run(2), name="twice.log")
    saved = pytester.runpytest(once, twice, "--miopen-perf-save=main")
    words = "pooled   twice.log: a case of it was run 2 times in one process, and the times are pooled; *"
    saved.stdout.fnmatch_lines([f"{words}keep the log of each session in a file of its own"])
    assert saved.stdout.str().count("pooled   ") == 1
    (entry,) = load_baseline(pytester.path / ".miopen-perf/main.json").entries
    assert [len(times) for times in entry.seconds] == [8, 16]
    pytester.runpytest(twice, "--miopen-perf-compare=main").stdout.fnmatch_lines([words])
    assert "pooled   " not in pytester.runpytest(once, "--miopen-perf-compare=main").stdout.str()


def test_logs_of_one_name_in_two_folders_are_two_processes(pytester, log):
    pytest.importorskip("scipy")
    folders = [pytester.mkdir(name).name for name in "ab"]
    files = [log(*timed_run(), name=f"{folder}/run.log") for folder in folders]
    assert pytester.runpytest(*files, "--miopen-perf-save=main").ret == 0
    (entry,) = load_baseline(pytester.path / ".miopen-perf/main.json").entries
    assert [len(times) for times in entry.seconds] == [8, 8]


# --- Logs of the stand-in ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("words", ["", "shared", "text", "oldest"])
@pytest.mark.parametrize("level", [1, 4])
def test_what_a_driver_prints_is_a_green_log_at_every_level(pytester, words, level):
    program = install_stand_in(pytester.mkdir("bin"))
    folders = {name: str(pytester.mkdir(name)) for name in ("MIOPEN_USER_DB_PATH", "MIOPEN_CUSTOM_CACHE_DIR")}
    environment = {**os.environ, **folders, "STAND_IN": words, "MIOPEN_PERFORMANCE_LOGS": str(level)}
    line = "conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 0 -t 1 -s 1"
    with (pytester.path / "run.log").open("wb") as file:
        subprocess.run([program, *line.split()], env=environment, stdout=file, stderr=subprocess.STDOUT, check=True)
    result = pytester.runpytest("run.log")
    assert set(result.parseoutcomes()) == {"passed"}
    assert "cases    3 passed" in result.stdout.str()
