"""Two texts of the kernels in a session of pytest: processes first, then tests that are told their verdicts."""

import json
import shutil
import subprocess

import pytest
from inner_processes import run_inside

from pytest_miopen_perf.ab import processes
from pytest_miopen_perf.ab.leading import arguments_of_parts
from pytest_miopen_perf.gate.noise_floor import load_noise
from pytest_miopen_perf.gate.report import VerdictReport
from pytest_miopen_perf.kernel_source.files import kernels_dir

FIRST = "MIOpenDriver conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1"
SECOND = FIRST.replace("-c 4", "-c 8")
NAIVE = "solvers=['HipConvNaiveFwd']"


@pytest.fixture
def arms(pytester, monkeypatch, convolution_test, script, run):
    """Two copies of the kernels, "a" and "b", of which b takes `factor` of the time; runs a session over two cases."""
    monkeypatch.setattr(processes, "run_to_end", run_inside(monkeypatch))
    convolution_test(FIRST, SECOND, arguments=NAIVE)
    for arm in "ab":
        shutil.copytree(kernels_dir(), pytester.path / arm)

    def make(*arguments, factor=1.0):
        varies = {"noise": 0.002, "session_offset": 0.002}
        slow = {"file": "*/b/*", "seconds": 1e-4 * factor, "variation": varies}
        device = script(rules=[slow, {"seconds": 1e-4, "variation": varies}])
        return run(f"{device}#{{process}}", "--miopen-perf-verdicts=verdicts.json", *arguments)

    return make


@pytest.fixture
def report(pytester):
    """The verdict file."""
    return lambda: VerdictReport.from_json(json.loads((pytester.path / "verdicts.json").read_text()))


def test_what_b_made_slower_fails_its_own_items(arms, report):
    result = arms("--miopen-perf-ab=a,b", "--miopen-perf-processes=8", factor=1.05)
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(
        [
            "miopen-perf: round 1: 2 of 2 cases undecided*",
            "E *VerdictError: REGRESSION fp32-F-1x4x6x6-k4-3x3-p1: +*again in * fresh ones",
            "*reproduce: pytest 'test_conv.py::test_conv*--miopen-perf-ab=a,b*",
            "against  A a; B is b, paired",
            "rounds   *, ended by decided, seed 12345678",
        ]
    )
    assert [row.comparison for row in report().rows] == ["paired", "paired"]
    assert {round(row.change, 2) for row in report().rows} == {0.05}


def test_equal_arms_pass_in_workers_too(arms, report):
    result = arms("--miopen-perf-ab=a,b", "--miopen-perf-margin=2%", "-n", "2")
    assert result.ret == 0
    result.assert_outcomes(passed=2)
    assert {row.verdict.value for row in report().rows} == {"PASS"}


def test_a_marker_says_what_the_margin_of_its_cases_is(arms, report, convolution_test):
    convolution_test(FIRST, SECOND, arguments=f"{NAIVE}, margin='10%'")
    assert arms("--miopen-perf-ab=a,b", "--miopen-perf-processes=5", factor=1.05).ret == 0
    assert {(row.margin, row.verdict.value) for row in report().rows} == {(0.1, "PASS")}


def test_too_few_processes_are_inconclusive_and_strict_minds(arms):
    words = ("--miopen-perf-ab=a,b", "--miopen-perf-processes=1")
    assert arms(*words).ret == 0
    strict = arms(*words, "--miopen-perf-strict")
    strict.assert_outcomes(failed=2)
    strict.stdout.fnmatch_lines(["E *INCONCLUSIVE*1 of the 3 processes that a verdict needs at least"])


def test_a_noise_floor_is_measured_stored_and_used(pytester, arms, report):
    result = arms("--miopen-perf-aa", "--miopen-perf-processes=4")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["noise    floors of 2 cases in *.miopen-perf/noise.json"])
    floors = load_noise(pytester.path / ".miopen-perf/noise.json")
    assert [floor.processes for floor in floors] == [4, 4]
    assert all(0 < floor.paired < 0.02 and 0 < floor.session < 0.05 for floor in floors)
    arms("--miopen-perf-save=main")
    arms("--miopen-perf-compare=main", "--miopen-perf-margin=0.01%")
    session = {floor.key: floor.session for floor in floors}
    assert {row.key: row.margin for row in report().rows} == session


def test_what_the_ini_file_asks_is_not_asked_of_the_processes(pytester, arms):
    pytester.makeini("[pytest]\nmiopen_perf_aa = on\nmiopen_perf_save = main\n")
    result = arms("--miopen-perf-processes=2")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["noise    floors of 2 cases in *.miopen-perf/noise.json", "saved    2 cases to *"])


def test_an_ini_file_alone_has_the_processes_run(pytester, monkeypatch, convolution_test):
    monkeypatch.setattr(processes, "run_to_end", run_inside(monkeypatch))
    convolution_test(FIRST, arguments=NAIVE)
    ini = {"aa": "on", "backend": "scripted", "processes": "2"}
    pytester.makeini("[pytest]\n" + "".join(f"miopen_perf_{name} = {value}\n" for name, value in ini.items()))
    result = pytester.runpytest_inprocess()
    assert result.ret == pytest.ExitCode.OK
    result.stdout.fnmatch_lines(["rounds   2, ended by *"])


@pytest.mark.parametrize(
    ("argument", "sentence"),
    [
        ("--miopen-perf-ab=a", "give two arms with a comma between them"),
        ("--miopen-perf-ab=a,nowhere", "'nowhere' is "),
        ("--miopen-perf-ab=a,empty", "the folder empty holds no .hip file"),
        ("--miopen-perf-budget=never", "give a time above zero"),
        ("--miopen-perf-kernels=empty", "it holds no .hip file"),
        ("--miopen-perf-part=absent.json", "the part absent.json of a comparison cannot be read"),
    ],
)
def test_bad_input_is_a_sentence(pytester, arms, argument, sentence):
    (pytester.path / "empty").mkdir()
    result = arms(argument)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{sentence}*"])


def test_outside_a_clone_a_revision_is_refused_before_anything_is_measured(arms):
    result = arms("--miopen-perf-ab=main,b", "--miopen-perf-kernels=a")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    words = "ERROR: 'main' is no folder, and git knows no revisions of */a: fatal: *; give a folder of kernels*"
    assert [line for line in result.errlines if line] == [result.errlines[0]]
    result.stderr.fnmatch_lines([words])
    assert "round 1" not in result.stdout.str()


def test_a_revision_is_one_of_the_kernels_that_the_session_runs(pytester, arms):
    """Not of this project's, where the kernels are the user's own and lie in a repository of their own."""
    git = ["git", "-C", str(pytester.path), "-c", "user.name=n", "-c", "user.email=e"]
    for words in (["init", "-q"], ["add", "a"], ["commit", "-qm", "own"]):
        subprocess.run([*git, *words], check=True)
    head = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout[:12]
    result = arms("--miopen-perf-ab=HEAD,b", "--miopen-perf-kernels=a", "--miopen-perf-processes=3")
    result.stdout.fnmatch_lines([f"against  A HEAD ({head}); B is b*"])


def test_cases_without_a_time_in_an_arm_fail_the_session(pytester, arms):
    (pytester.path / "a" / "conv_naive.hip").unlink()
    (pytester.path / "a" / "another.hip").touch()
    result = arms("--miopen-perf-ab=a,b", "--miopen-perf-processes=3")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    words = " ".join(result.stdout.str().split())
    assert "2 cases came to no time in an arm: fp32-F-1x" in words


def test_a_kernel_that_no_arm_can_change_is_told(pytester, arms):
    pytester.makeconftest(
        """
        from dataclasses import replace

        from pytest_miopen_perf.kernel_source.files import kernels_dir
        from pytest_miopen_perf.solvers.naive import SOLVERS
        from pytest_miopen_perf.solvers.own import Direction, OwnSolver, PerformanceConfig

        def launches(problem, info, config):
            plan = SOLVERS[0].solution(problem, info, PerformanceConfig())
            return plan.with_kernels(kernels_dir()).launches

        def pytest_miopen_perf_solvers(config):
            return [OwnSolver(name="HipConvNaiveOwn", solver_id=20001, direction=Direction.FORWARD, launches=launches)]
        """
    )
    pytester.makepyfile(
        test_conv=f"""
        import pytest

        @pytest.mark.miopen_perf(problems={[FIRST]!r}, solvers=["HipConvNaiveOwn"])
        def test_conv(miopen_perf, conv_problem):
            miopen_perf(conv_problem)
        """
    )
    result = arms("--miopen-perf-ab=a,b", "--miopen-perf-processes=3", "-W", "default")
    words = (
        "*PerfWarning: both arms run the same /*conv_naive.hip of HipConvNaiveOwn, which is named by its absolute path*"
    )
    result.stdout.fnmatch_lines([words])


def test_collecting_measures_nothing(arms):
    result = arms("--miopen-perf-ab=a,b", "--collect-only")
    assert "round 1" not in result.stdout.str()


def test_processes_get_the_arguments_that_are_not_the_leaders_own():
    words = ["tests", "--miopen-perf-ab", "a,b", "--miopen-perf-strict", "-k", "x", "--miopen-perf-json=r.json"]
    assert arguments_of_parts([*words, "--miopen-perf-level=2"], has_xdist=False) == [
        *("tests", "-k", "x", "--miopen-perf-level=2", "--maxfail=0")
    ]
    assert arguments_of_parts(["-n", "4"], has_xdist=True)[-1] == "-n0"


@pytest.fixture
def canary(pytester, monkeypatch, convolution_test, script, run):
    """A session whose device knows how long the canary's kernel takes."""
    monkeypatch.setattr(processes, "run_to_end", run_inside(monkeypatch))
    convolution_test(*(FIRST.replace("-c 4", f"-c {c}") for c in range(1, 7)), arguments=NAIVE)

    def make(*arguments, per_iteration=1e-9, noise=0.002):
        spin = {"kernel": "canary_delay", "seconds": 1e-7, "seconds_per_iteration": per_iteration}
        device = script(rules=[spin, {"seconds": 1e-4, "variation": {"noise": noise}}])
        return run(f"{device}#{{process}}", "--miopen-perf-verdicts=verdicts.json", *arguments)

    return make


def test_the_canary_is_found_and_nothing_else_is(canary, report):
    result = canary("--miopen-perf-canary=5%")
    assert result.ret == 0
    result.stdout.fnmatch_lines(["canary   +5.00%: * found (100%), 0 of * false alarms (0%)"])
    words = {row.verdict.value for row in report().rows}
    assert words == {"REGRESSION", "PASS"}
    assert all(abs(row.change - 0.05) < 0.005 for row in report().rows if row.verdict.value == "REGRESSION")


def test_a_gate_that_misses_the_canary_is_red(canary):
    result = canary("--miopen-perf-canary=2%", "--miopen-perf-processes=3", "--miopen-perf-margin=10%")
    assert result.ret == pytest.ExitCode.TESTS_FAILED
    result.stdout.fnmatch_lines(["miopen-perf: the gate missed * slowed cases*"])
