"""Problems run by the real MIOpenDriver, played by a stand-in: the fixture, workload files, and what becomes of it."""

import json
import os
import xml.etree.ElementTree as ET

import pytest
from driver.stand_in.install import install_stand_in

from pytest_miopen_perf.report.results_reader import results_fault

LINE = "MIOpenDriver conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1"
NAME = "fp32-F-1x4x6x6-k4-3x3-p1"


@pytest.fixture
def driver_test(pytester):
    """A test of the fixture, with a body of its own."""

    def make(body=f"miopen_driver({LINE!r})", marker="", arguments="miopen_driver"):
        pytester.makepyfile(
            test_driver=f"""
            import pytest

            @pytest.mark.miopen_perf({marker})
            def test_driver({arguments}):
                {body}
            """
        )

    return make


@pytest.fixture
def stand_in(pytester, monkeypatch):
    """Run an inner session with a MIOpenDriver that behaves as the words say."""
    monkeypatch.setenv("STAND_IN", "")
    program = install_stand_in(pytester.mkdir("bin"))

    def make(*arguments, words=""):
        monkeypatch.setenv("STAND_IN", words)
        return pytester.runpytest(f"--miopen-perf-driver={program}", *arguments)

    return make


@pytest.fixture
def workload(pytester):
    def make(*lines):
        (pytester.path / "net.miopen.txt").write_text("".join(f"{line}\n" for line in lines))
        return "net.miopen.txt"

    return make


# --- The fixture ------------------------------------------------------------------------------------------------------


def test_a_result_is_what_our_own_solvers_give(stand_in, driver_test, results, log_lines):
    driver_test(f"result = miopen_driver({LINE!r}); assert result.solver == 'ConvStandInFwd' and result.check.passed")
    files = ["--miopen-perf-json=results.json", "--miopen-perf-log=log.jsonl"]
    outcome = stand_in("--miopen-perf-level=2", *files, words="shared")
    assert outcome.parseoutcomes() == {"passed": 1}
    text = outcome.stdout.str()
    assert f"{NAME}\n  ConvStandInFwd" in text
    assert "    ConvStandInFwd_kernel " in text
    assert "device   Stand-in GPU (miopendriver)\n         times are what MIOpenDriver says of its own runs" in text
    assert results_fault(results()) == ""
    (case,) = results()["cases"]
    assert (case["outcome"], case["result"]["solver"]) == ("passed", "ConvStandInFwd")
    assert case["result"]["compile_key"] == "MIOpen 3.5.1, ROCm 7.1.0, amdgpu 6.14.15"
    assert [next(iter(line)) for line in log_lines()] == [
        *("command", "prng_seed", "timestamp", "find_time_conv_ms", "performance", "verification", "solution")
    ]
    assert "secret-host" not in json.dumps([results(), log_lines()])


def test_the_marker_and_the_parameter_work_as_with_our_own_harness(stand_in, driver_test, results):
    driver_test("miopen_driver(conv_problem)", f"problems=[{LINE!r}], iterations=6", "miopen_driver, conv_problem")
    assert stand_in("--miopen-perf-level=1", "--miopen-perf-json=results.json").parseoutcomes() == {"passed": 1}
    assert len(results()["cases"][0]["result"]["sample"]["seconds"]) == 6


def test_without_a_driver_the_test_is_skipped_and_says_why(pytester, driver_test, monkeypatch):
    driver_test()
    monkeypatch.setenv("PATH", "/nonexistent")
    outcome = pytester.runpytest("-rs")
    assert outcome.parseoutcomes() == {"skipped": 1}
    assert "no MIOpenDriver on PATH; give --miopen-perf-driver=PATH" in outcome.stdout.str().replace("\n", " ")


def test_the_driver_on_the_path_is_found(pytester, driver_test, monkeypatch):
    install_stand_in(pytester.path)
    monkeypatch.setenv("PATH", f"{pytester.path}{os.pathsep}{os.environ['PATH']}")
    driver_test()
    assert pytester.runpytest().parseoutcomes() == {"passed": 1}


@pytest.mark.parametrize("path", ["nowhere/MIOpenDriver", "test_driver.py", "."])
def test_a_wrong_path_is_told_at_once(pytester, driver_test, path):
    driver_test()
    outcome = pytester.runpytest(f"--miopen-perf-driver={path}")
    assert outcome.ret == pytest.ExitCode.USAGE_ERROR
    assert "is no program that can be run; give the path of a MIOpenDriver" in outcome.stderr.str()


@pytest.mark.parametrize(
    ("words", "error", "what"),
    [
        ("wrong", "WrongResultError", f"ConvStandInFwd on {NAME}: MIOpenDriver against its GPU reference: error"),
        ("not-run", "DriverRunError", f"MIOpenDriver did not run {NAME}: RunForwardGPU() FAILED"),
        ("error-line", "DriverRunError", "MIOpenDriver reports an error: Incorrect BaseArg"),
        ("signal=SIGSEGV", "DriverRunError", "MIOpenDriver was ended by SIGSEGV"),
        ("exit=2", "DriverRunError", "MIOpenDriver exited with status 2"),
    ],
)
def test_a_failure_is_red_in_one_sentence_with_the_line_to_type(stand_in, driver_test, results, words, error, what):
    driver_test()
    outcome = stand_in("--miopen-perf-level=1", "--miopen-perf-json=results.json", words=words)
    assert outcome.parseoutcomes() == {"failed": 1}
    text = outcome.stdout.str()
    assert f"{error}: {what}" in text
    assert "reproduce: MIOPEN_PERFORMANCE_LOGS=1 " in text
    assert "driver_items.py" not in text
    (case,) = results()["cases"]
    assert case["outcome"] == ("failed" if words == "wrong" else "error")
    assert results_fault(results()) == ""


def test_a_crash_is_an_error_of_its_test_alone(stand_in, pytester):
    pytester.makepyfile(
        f"""
        import os

        def test_crash(miopen_driver):
            miopen_driver({LINE!r})

        def test_other():
            pass
        """
    )
    assert stand_in(words="signal=SIGABRT").parseoutcomes() == {"failed": 1, "passed": 1}


def test_the_time_limit_is_an_option(stand_in, driver_test):
    driver_test()
    outcome = stand_in("--miopen-perf-driver-timeout=500ms", words="hang")
    assert outcome.parseoutcomes() == {"failed": 1}
    assert "MIOpenDriver was stopped: its 0.5 s were over" in outcome.stdout.str()


def test_doubts_are_warnings(stand_in, driver_test):
    driver_test()
    outcome = stand_in("--miopen-perf-level=1", "-Wdefault", words="torn")
    assert outcome.parseoutcomes() == {"passed": 1, "warnings": 2}
    assert (
        f"PerfWarning: MIOpenDriver, {NAME}: stderr:1: error: not read: the record is cut off" in outcome.stdout.str()
    )


def test_an_empty_problem_is_a_skip(stand_in, driver_test):
    driver_test(f"miopen_driver({LINE.replace('-y 3', '-y 9')!r})")
    outcome = stand_in("-rs")
    assert outcome.parseoutcomes() == {"skipped": 1}


def test_command_and_environment_are_in_junit_files(stand_in, driver_test, pytester, monkeypatch):
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", "1")
    driver_test()
    stand_in("--miopen-perf-level=1", "--junit-xml=junit.xml")
    found = ET.parse(pytester.path / "junit.xml").iter("property")
    properties = {element.get("name"): element.get("value") for element in found}
    assert " conv -n 1 -c 4 " in properties["miopen_perf_command"]
    assert properties["miopen_perf_environment"] == "HIP_VISIBLE_DEVICES=1 MIOPEN_PERFORMANCE_LOGS=1"
    assert properties["miopen_perf_solver"] == "ConvStandInFwd"
    assert float(properties["miopen_perf_median_ms"]) > 0


def test_the_visible_device_is_part_of_the_result(stand_in, driver_test, results, monkeypatch):
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", "3")
    driver_test()
    stand_in("--miopen-perf-level=1", "--miopen-perf-json=results.json")
    assert results()["cases"][0]["result"]["device"]["uid"] == "HIP_VISIBLE_DEVICES=3"
    assert results()["environment"]["HIP_VISIBLE_DEVICES"] == "3"


# --- Folders ----------------------------------------------------------------------------------------------------------


def test_data_bases_are_kept_under_the_db_option_and_not_in_the_users(stand_in, driver_test, pytester, monkeypatch):
    users = pytester.mkdir("users")
    monkeypatch.setenv("MIOPEN_USER_DB_PATH", str(users))
    driver_test()
    level = "--miopen-perf-level=3"
    assert "find ConvOtherFwd" in stand_in(level, "--miopen-perf-db=db").stdout.str()
    assert "find ConvOtherFwd" not in stand_in(level, "--miopen-perf-db=db").stdout.str()
    assert "find ConvOtherFwd" in stand_in(level).stdout.str()
    assert [path.name for path in pytester.path.glob("db/miopendriver/main/user-db/*")] == [
        "gfx942130.HIP.3_5_1.ufdb.txt"
    ]
    assert list(users.iterdir()) == []


def test_a_session_leaves_no_folder_behind(stand_in, driver_test, pytester, monkeypatch):
    folder = pytester.mkdir("tmp")
    monkeypatch.setattr("tempfile.tempdir", str(folder))
    driver_test()
    stand_in("--miopen-perf-level=1", "-p", "no:cacheprovider")
    assert [path.name for path in folder.iterdir() if path.is_dir() and path.name.startswith("miopen")] == []


# --- Workload files ---------------------------------------------------------------------------------------------------


def test_a_workload_file_is_run_by_the_driver_when_told_so(stand_in, workload, results):
    file = workload(LINE.replace("-F 1", "-F 0 -i 5"), "MIOpenDriver bnorm -n 1")
    outcome = stand_in(file, "--miopen-perf-run-by=driver", "--miopen-perf-level=1", "--miopen-perf-json=results.json")
    assert outcome.parseoutcomes() == {"passed": 3, "skipped": 1}
    found = [case["result"] for case in results()["cases"]]
    assert {result["solver"] for result in found} == {"ConvStandInFwd", "ConvStandInBwd", "ConvStandInWrW"}
    assert {len(result["sample"]["seconds"]) for result in found} == {5}


def test_the_ini_file_may_say_so(pytester, workload, monkeypatch):
    file = workload(LINE)
    program = install_stand_in(pytester.mkdir("bin"))
    monkeypatch.setenv("STAND_IN", "wrong")
    pytester.makeini(f"[pytest]\nmiopen_perf_run_by = driver\nmiopen_perf_driver = {program}\n")
    outcome = pytester.runpytest(file)
    assert outcome.parseoutcomes() == {"failed": 1}
    assert "driver_items.py" not in outcome.stdout.str()


def test_items_without_a_driver_are_skipped(pytester, workload, monkeypatch):
    file = workload(LINE)
    monkeypatch.setenv("PATH", "/nonexistent")
    assert pytester.runpytest(file, "--miopen-perf-run-by=driver").parseoutcomes() == {"skipped": 1}


def test_last_failed_and_exit_first(stand_in, workload):
    file = workload(LINE.replace("-F 1", "-F 0"))
    by_driver = "--miopen-perf-run-by=driver"
    assert stand_in(file, by_driver, "-x", words="wrong").parseoutcomes()["failed"] == 1
    assert stand_in(file, by_driver, "--lf").parseoutcomes() == {"passed": 1, "deselected": 2}


def test_workers_have_folders_of_their_own(stand_in, workload, pytester, results):
    pytest.importorskip("xdist")
    file = workload(LINE.replace("-F 1", "-F 0"), LINE.replace("-c 4", "-c 8"))
    arguments = ["--miopen-perf-run-by=driver", "--miopen-perf-db=db", "--miopen-perf-json=results.json"]
    outcome = stand_in(file, "-n2", "--miopen-perf-level=1", *arguments)
    assert outcome.parseoutcomes() == {"passed": 4}
    assert {path.name for path in pytester.path.glob("db/miopendriver/*")} <= {"gw0", "gw1"}
    assert len(results()["cases"]) == 4


# --- The gate ---------------------------------------------------------------------------------------------------------


def test_a_slower_driver_fails_its_test_against_a_baseline(stand_in, driver_test):
    pytest.importorskip("scipy")
    driver_test(marker="iterations=30")
    level = "--miopen-perf-level=1"
    assert stand_in(level, "--miopen-perf-save=main").ret == 0
    assert stand_in(level, "--miopen-perf-compare=main").ret == 0
    outcome = stand_in(level, "--miopen-perf-compare=main", words="slow=1.5")
    assert outcome.parseoutcomes() == {"failed": 1}
    text = outcome.stdout.str()
    (told,) = [line for line in text.splitlines() if line.startswith("E ") and f"REGRESSION {NAME}: +" in line]
    assert "again in fresh samples" in told
    assert "ConvStandInFwd: the same kernel" in text
