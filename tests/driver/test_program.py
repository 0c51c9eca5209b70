"""The real MIOpenDriver as a program, played by a stand-in: what it says, how it fails, and how it is asked."""

import json
import subprocess
from pathlib import Path

import pytest
from asked import PROBLEM, one, settings_of
from driver.stand_in.install import install_stand_in

from pytest_miopen_perf.checking.check import Reason
from pytest_miopen_perf.driver.program import FOLDERS, DriverProgram, find_driver
from pytest_miopen_perf.errors import DeviceUnavailableError, DriverRunError
from pytest_miopen_perf.records import Performance, SystemInfo, from_json
from pytest_miopen_perf.settings import TunePolicy
from pytest_miopen_perf.statistics import driver_average_ms

HOST = "secret-host"


def printed(program, asked, problem=PROBLEM):
    """What the program prints on stdout for the same question, asked without us."""
    for name in FOLDERS:
        Path(program.changes(asked)[name]).mkdir(parents=True, exist_ok=True)
    environment = {**program.variables, **program.changes(asked)}
    found = subprocess.run(program.command(problem, asked), env=environment, capture_output=True, check=False)
    return found.stdout.decode(), found.returncode


# --- What it says -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", [1, 2, 3, 4])
@pytest.mark.parametrize("state", ["", "shared"])
def test_the_records_of_every_level_become_one_result(program, level, state):
    driver, asked = program(state), settings_of(level)
    report = driver.run(PROBLEM, asked)
    stdout, _ = printed(driver, asked)
    (line,) = [json.loads(text) for text in stdout.splitlines() if text.startswith('{"performance"')]
    result = report.result
    assert (report.outcome, report.message, report.doubts) == ("passed", "", ())
    assert line["performance"]["solution"] == f"{result.solver_id}/{result.solver}"
    average = driver_average_ms(second * 1e3 for second in result.sample.seconds)
    assert average == pytest.approx(line["performance"]["results"]["average_time_ms"], rel=1e-4)
    assert (len(result.sample.seconds), result.sample.warmups) == (10, 2)
    assert result.check.reason is Reason.RIGHT
    assert result.check.rms_error < result.check.rms_tolerance == 1.5e-6
    assert bool(result.kernels) == (state == "shared" and level in (2, 4))
    assert {trial.solver for trial in result.find} == ({"ConvStandInFwd", "ConvOtherFwd"} if level > 2 else set())
    assert (result.device.backend, result.device.name) == ("miopendriver", "Stand-in GPU")
    assert result.compile_key == "MIOpen 3.5.1, ROCm 7.1.0, amdgpu 6.14.15"


@pytest.mark.parametrize("dialect", ["text", "oldest"])
def test_a_driver_from_before_the_records_is_read_by_its_text(program, dialect):
    report = program(dialect).run(PROBLEM, settings_of(4))
    assert (report.outcome, report.message, report.doubts, report.log) == ("passed", "", (), ())
    assert len(report.result.sample.seconds) == 1
    assert report.result.solver == ("ConvStandInFwd" if dialect == "text" else "UNKNOWN")
    assert report.result.device.name == "Stand-in GPU"
    assert report.result.check.reason is Reason.RIGHT


def test_at_level_0_numbers_are_checked_and_times_are_not_kept(program, tmp_path):
    assert program().run(PROBLEM, settings_of(0)).result.sample is None
    assert program().run(PROBLEM, settings_of(0, json_path=tmp_path / "r.json")).result.sample is not None
    assert program("wrong").run(PROBLEM, settings_of(0)).outcome == "failed"


@pytest.mark.parametrize(
    "line",
    [
        "convfp16 -n 2 -c 8 -H 9 -W 7 -k 6 -y 3 -x 5 -p 1 -q 2 -u 2 -v 1 -l 2 -j 1 -g 2",
        "convbfp16 -n 1 -c 4 -H 6 -W 6 -k 4 -y 1 -x 1 --in_layout NHWC --fil_layout NHWC --out_layout NHWC",
        "conv -n 1 -c 2 --in_d 5 -H 6 -W 7 -k 3 --fil_d 2 -y 3 -x 1 --pad_d 1 -p 1 -q 0 --spatial_dim 3",
        "conv -n 1 -c 4 -H 8 -W 8 -k 4 -y 3 -x 3 -z same",
        "conv -n 2 -c 6 -H 5 -W 7 -k 4 -y 3 -x 4 -p 1 -q 0 -u 2 -v 3 -Y 1 -X 2 -m trans",
        "convfp16 -n 1 -c 8 -H 5 -W 5 -k 6 -y 3 -x 3 -l 2 -j 1 -g 2 -m trans",
        "convbfp16 -n 1 -c 3 -H 6 -W 6 -k 5 -y 2 -x 2 -m trans -I NHWC -f NHWC -O NHWC",
        "conv -n 1 -c 2 --in_d 3 -H 4 -W 5 -k 3 --fil_d 2 -y 3 -x 1 --conv_stride_d 2 -u 2 --spatial_dim 3 -m trans",
    ],
)
@pytest.mark.parametrize("bits", [1, 2, 4])
@pytest.mark.parametrize("dialect", ["", "text"])
def test_every_direction_type_rank_and_layout_is_asked_for_and_recognised(program, line, bits, dialect):
    problem = one(f"MIOpenDriver {line} -F {bits}")
    report = program(dialect).run(problem, settings_of())
    assert (report.outcome, report.message, report.doubts) == ("passed", "", ())
    assert report.result.problem == problem


def test_a_layout_that_miopen_guesses_otherwise_is_the_same_problem(program):
    layouts = "--in_layout NHWC --fil_layout NHWC --out_layout NHWC"
    problem = one(f"MIOpenDriver conv -n 1 -c 1 -H 6 -W 6 -k 1 -y 3 -x 3 -p 1 -q 1 {layouts} -F 1")
    report = program("guessed-layout").run(problem, settings_of())
    assert (report.outcome, report.result.problem) == ("passed", problem)


def test_its_records_are_lines_of_the_log_and_name_no_host(program):
    driver, asked = program(), settings_of(2)
    report = driver.run(PROBLEM, asked)
    records = [from_json(json.loads(line)) for line in report.log]
    stdout, _ = printed(driver, asked)
    assert HOST in stdout
    assert HOST not in repr(report)
    assert [record.hostname for record in records if isinstance(record, SystemInfo)] == ["removed"]
    assert [r.to_line() for r in records if isinstance(r, Performance)] == [
        line for line in stdout.splitlines() if line.startswith('{"performance"')
    ]
    assert all(line.endswith("\n") for line in report.log)


def test_times_follow_from_the_seed_and_the_command(program):
    def seconds(seed, iterations=10):
        report = program().run(PROBLEM, settings_of(seed=seed, iterations=iterations))
        assert report.result.seed == seed
        assert (report.result.data, report.result.cache_mode, report.result.tune) == ("miopen", "warm", "off")
        return report.result.sample.seconds

    assert seconds(7) == seconds(7) != seconds(8)
    assert len(seconds(7, 4)) == 4


# --- How it fails -----------------------------------------------------------------------------------------------------

FAILURES = [
    ("wrong", "failed", "error "),
    ("text,wrong", "failed", "error "),
    ("oldest,wrong", "failed", "error "),
    ("liar", "failed", "contradicts itself: direction F: OK is stated with error"),
    ("text,liar", "failed", "contradicts itself"),
    ("not-run", "error", f"did not run {PROBLEM}: RunForwardGPU() FAILED, rc = 0x7"),
    ("text,not-run", "error", f"did not run {PROBLEM}: "),
    ("error-line", "error", "reports an error: Incorrect BaseArg"),
    ("text,error-line", "error", "Invalid Base Input Argument"),
    ("exception", "error", 'reports an error: /src/"quoted" path: no kernel'),
    ("text,exception", "error", "exit status 1"),
    ("signal=SIGSEGV", "error", "was ended by SIGSEGV"),
    ("late-signal=SIGABRT", "error", "was ended by SIGABRT"),
    ("late-signal=SIGKILL", "error", "was ended by SIGKILL"),
    ("exit=3", "error", "exited with status 3, though it reported nothing wrong"),
    ("silent", "error", f"gave no figures of {PROBLEM}: there is no performance line"),
    ("rubbish", "error", f"gave no figures of {PROBLEM}"),
    ("unverified", "error", "says nothing of its numbers"),
    ("text,unverified", "error", "says nothing of its numbers"),
    ("other-problem", "error", "reports on fp32-F-2x4x6x6-k4-3x3-p1"),
]


@pytest.mark.parametrize(("words", "outcome", "what"), FAILURES)
@pytest.mark.parametrize("level", [1, 4])
def test_a_failure_says_what_it_is_whatever_the_exit_status(program, words, outcome, what, level):
    report = program(words).run(PROBLEM, settings_of(level))
    assert report.outcome == outcome
    assert what in report.message
    assert (report.result is None) == (outcome == "error")


@pytest.mark.parametrize("words", ["wrong", "text,wrong", "oldest,wrong", "error-line", "not-run", "unverified"])
def test_the_stand_in_exits_with_0_in_these_cases_as_the_real_one_does(program, words):
    _, status = printed(program(words), settings_of())
    assert status == 0


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("torn", "no-end"),
        ("nan", "no-measurement"),
        ("nan", "a number in them is none"),
        ("no-last-record", "no-solution-records"),
        ("unknown", "unknown-solver"),
    ],
)
def test_what_can_be_had_from_damaged_output_is_had_and_doubted(program, words, code):
    report = program(words).run(PROBLEM, settings_of())
    assert report.outcome == "passed"
    assert any(code in doubt for doubt in report.doubts)
    assert report.result.sample.median_seconds > 0


def test_a_time_of_nan_is_no_time(program):
    sample = program("nan").run(PROBLEM, settings_of()).result.sample
    assert (len(sample.seconds), sample.invalid) == (9, 1)


@pytest.mark.parametrize("words", ["glued", "latin1", "latin1,glued,shared"])
def test_noise_around_the_records_does_not_matter(program, words):
    report = program(words).run(PROBLEM, settings_of(4))
    assert (report.outcome, report.doubts) == ("passed", ())
    assert len(report.result.sample.seconds) == 10


def test_the_last_words_of_a_crash_are_told_without_hosts_and_records(program):
    message = program("signal=SIGSEGV").run(PROBLEM, settings_of(4)).message
    first, *last = message.splitlines()
    assert first == "MIOpenDriver was ended by SIGSEGV"
    assert last[-1] == "  stderr: Memory access fault by GPU node-1 (Host Name: removed; )"
    assert "solution" not in message


# --- How it is asked --------------------------------------------------------------------------------------------------


def test_the_command_says_all_that_the_settings_say(program):
    driver = program()
    plain = [str(driver.path), *PROBLEM.to_driver().split()[1:], "-V", "1"]
    assert plain[-4:] == ["-t", "1", "-V", "1"]
    assert driver.command(PROBLEM, settings_of()) == plain
    assert driver.command(PROBLEM, settings_of(iterations=7)) == [*plain, "-i", "7"]
    for tune in (TunePolicy.MISSING, TunePolicy.FORCE):
        assert driver.command(PROBLEM, settings_of(tune=tune)) == [*plain, "-s", "1"]


def test_the_environment_is_the_users_but_for_level_seed_folders_and_a_forced_search(program, tmp_path):
    driver = program()
    folders = {
        "MIOPEN_USER_DB_PATH": str(tmp_path / "data" / "user-db"),
        "MIOPEN_CUSTOM_CACHE_DIR": str(tmp_path / "data" / "cache"),
    }
    assert driver.changes(settings_of(3)) == {"MIOPEN_PERFORMANCE_LOGS": "3", **folders}
    assert driver.changes(settings_of(seed=5))["MIOPEN_DEBUG_DRIVER_PRNG_SEED"] == "5"
    forced = settings_of(tune=TunePolicy.FORCE)
    assert driver.changes(forced)["MIOPEN_FIND_ENFORCE"] == "4"
    assert "MIOPEN_FIND_ENFORCE" not in program(MIOPEN_FIND_ENFORCE="3").changes(forced)
    assert "MIOPEN_FIND_ENFORCE" not in driver.changes(settings_of(tune=TunePolicy.MISSING))


def test_the_visible_device_tells_devices_apart_and_is_in_the_line_to_type(program):
    first, second = program(HIP_VISIBLE_DEVICES="0"), program(HIP_VISIBLE_DEVICES="1")
    assert first.device.uid == program(HIP_VISIBLE_DEVICES="0,1").device.uid == "HIP_VISIBLE_DEVICES=0"
    assert first.device.uid != second.device.uid
    line = second.shell_line(PROBLEM, settings_of(2))
    assert line.startswith(f"MIOPEN_PERFORMANCE_LOGS=2 HIP_VISIBLE_DEVICES=1 {second.path} conv ")
    assert first.run(PROBLEM, settings_of()).result.device.uid == "HIP_VISIBLE_DEVICES=0"


def test_what_was_found_and_compiled_stays_in_the_folder(program, tmp_path):
    asked = settings_of(3)
    assert program(folder="a").run(PROBLEM, asked).result.find
    assert not program(folder="a").run(PROBLEM, asked).result.find
    assert program(folder="b").run(PROBLEM, asked).result.find
    assert {path.name for path in (tmp_path / "a").rglob("*.*")} == {"gfx942130.HIP.3_5_1.ufdb.txt", "gfx942.ukdb"}


def test_a_search_is_in_the_log(program):
    report = program().run(PROBLEM, settings_of(3, tune=TunePolicy.FORCE))
    assert report.doubts == ()
    assert sum('"config_descriptor"' in line for line in report.log) == 1


def test_the_first_one_on_the_path_is_taken_unless_one_is_given(tmp_path):
    assert find_driver(None, str(install_stand_in(tmp_path).parent)) == tmp_path / "MIOpenDriver"
    assert find_driver(tmp_path / "mine", None) == tmp_path / "mine"
    for nowhere in ("", None, "/nonexistent"):
        with pytest.raises(DeviceUnavailableError, match="no MIOpenDriver on PATH; give --miopen-perf-driver=PATH"):
            find_driver(None, nowhere)


def test_a_program_that_does_not_start_is_named(tmp_path):
    path = tmp_path / "MIOpenDriver"
    path.write_bytes(b"\x7fELF rubbish")
    path.chmod(0o755)
    driver = DriverProgram(path=path, folder=tmp_path, variables={})
    with pytest.raises(DriverRunError, match=r"MIOpenDriver does not start: .*; give another --miopen-perf-driver"):
        driver.run(PROBLEM, settings_of())


def test_a_folder_that_cannot_be_made_is_named(program, tmp_path):
    (tmp_path / "taken").write_text("a file")
    with pytest.raises(
        DriverRunError, match=r"taken/user-db of MIOPEN_USER_DB_PATH cannot be made: .*--miopen-perf-db"
    ):
        program(folder="taken").run(PROBLEM, settings_of())
