"""Two versions against each other: real processes of pytest on the scripted device, a session each."""

import json
import re
import shutil
import subprocess

import jsonschema
import pytest
from inner_processes import run_inside

from pytest_miopen_perf.ab import processes
from pytest_miopen_perf.kernel_source.files import kernels_dir
from pytest_miopen_perf.schema import load_schema

pytestmark = pytest.mark.usefixtures("_quick_processes")

LINES = [f"MIOpenDriver conv -n 1 -c {c} -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1" for c in (4, 8)]
QUICK = ("--processes", "6", "--seed", "7")


@pytest.fixture
def _quick_processes(monkeypatch):
    monkeypatch.setattr(processes, "run_to_end", run_inside(monkeypatch))


@pytest.fixture
def suite(tmp_path, monkeypatch):
    """A test over two problems in a folder of its own, where the command runs."""
    (tmp_path / "test_conv.py").write_text(
        f"""
import pytest

@pytest.mark.miopen_perf(problems={LINES!r}, solvers=["HipConvNaiveFwd"])
def test_conv(miopen_perf, conv_problem):
    miopen_perf(conv_problem)
"""
    )
    (tmp_path / "pytest.ini").write_text("[pytest]\naddopts = --miopen-perf-backend=scripted --miopen-perf-level=1\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def device(tmp_path):
    """Write the script of a device whose kernels take `factor` of their time; the option that names it."""

    def make(name, factor=1.0, *rules, noise=0.003):
        rest = {"seconds": 1e-4 * factor, "variation": {"noise": noise, "session_offset": 0.002}}
        (tmp_path / f"{name}.json").write_text(json.dumps({"rules": [*rules, rest]}))
        return f"--miopen-perf-device={tmp_path / name}.json#{{process}}"

    return make


def both(a, b):
    return f"--a={a}", f"--b={b}"


def verdicts(outcome):
    document = json.loads(outcome.out)
    jsonschema.Draft202012Validator(load_schema("verdicts")).validate(document)
    return {row["name"]: row["decision"]["verdict"] for row in document["rows"]}, document


def test_a_slower_arm_is_confirmed_by_fresh_processes_and_red(run, suite, device):
    arms = both(device("a"), device("b", 1.10))
    outcome = run("ab", *arms, *QUICK, "--processes", "10", "--keep", "kept", "--json", "--", "test_conv.py", "-q")
    assert outcome.status == 1, outcome.err
    words, document = verdicts(outcome)
    assert set(words.values()) == {"REGRESSION"}
    assert all("fresh ones" in row["decision"]["sentence"] for row in document["rows"])
    assert document["comparison"] == "paired"
    assert "round 3: 2 of 2 cases undecided" in outcome.err
    plans = [json.loads(path.read_text()) for path in sorted(suite.glob("kept/process-*/part.json"))]
    assert {plan["seed"] for plan in plans} == {7}
    assert {plan["process"]["first_arm"] for plan in plans} == {"A", "B"}
    stages = {case["stage"] for plan in plans for case in plan["process"]["cases"]}
    assert stages == {"screening", "confirmation"}


def test_equal_arms_pass_and_the_text_says_what_ran(run, suite, device):
    outcome = run("ab", *both(device("a"), device("b")), *QUICK, "--margin", "3%", "--", "test_conv.py")
    assert outcome.status == 0, outcome.err
    assert re.search(r"verdicts 2 PASS", outcome.out)
    assert re.search(r"rounds   \d, ended by decided, seed 7", outcome.out)


def test_kernels_of_two_folders_run_in_one_process(run, suite, device):
    for arm in "ab":
        shutil.copytree(kernels_dir(), suite / arm)
    script = device("both", 1.0, {"file": "*/b/*", "seconds": 1.1e-4, "variation": {"noise": 0.003}})
    outcome = run(
        *("ab", *both(f"kernels=a {script}", f"kernels=b {script}"), "--processes", "8", "--seed", "7"),
        *("--keep", "kept", "--json", "--", "test_conv.py"),
    )
    assert outcome.status == 1, outcome.err
    assert set(verdicts(outcome)[0].values()) == {"REGRESSION"}
    results = json.loads((suite / "kept/process-1/results.json").read_text())
    blocks = results["cases"][0]["paired"]["blocks"]
    assert sorted(block["order"] for block in blocks) == ["ABBA"] * 3 + ["BAAB"] * 3
    assert len(list(suite.glob("kept/process-*"))) <= 8


def test_a_git_revision_is_an_arm_and_a_dirty_tree_is_told(run, suite, device):
    shutil.copytree(kernels_dir(), suite / "kernels")
    git = ("git", "-c", "user.name=n", "-c", "user.email=e@x", "-C", str(suite))
    for words in (("init", "-q"), ("add", "kernels"), ("commit", "-qm", "kernels")):
        subprocess.run([*git, *words], check=True)
    header = suite / "kernels/include/element.h"
    header.write_text(header.read_text() + "\n// changed\n")
    script = device("both")
    from pytest_miopen_perf.gate.arms import kernel_folder

    old = kernel_folder("HEAD", shipped=suite / "kernels", scratch=suite / "scratch")
    assert "// changed" not in (old.folder / "include/element.h").read_text()
    assert re.fullmatch(r"HEAD \([0-9a-f]{12}\)", old.sentence)
    arms = both(f"kernels={old.folder} {script}", f"kernels=. {script}")
    outcome = run("ab", *arms, "--processes", "3", "--seed", "7", "--", "test_conv.py")
    assert "with changes that are not committed" in " ".join(outcome.out.split())
    assert "compiled differently" in " ".join(outcome.out.split()) or "PASS" in outcome.out


def test_a_case_that_fails_in_one_arm_is_red_and_told(run, suite, device, tmp_path):
    device("b")
    broken = json.loads((tmp_path / "b.json").read_text())
    broken["rules"].insert(0, {"kernel": "*", "wrong": "nan"})
    (tmp_path / "b.json").write_text(json.dumps(broken))
    arms = both(device("a"), f"--miopen-perf-device={tmp_path}/b.json")
    outcome = run("ab", *arms, *QUICK, "--", "test_conv.py")
    assert outcome.status == 1
    assert "arm B: HipConvNaiveFwd on" in " ".join(outcome.out.split())


def test_an_interrupt_keeps_what_was_measured(run, suite, device, monkeypatch):
    from pytest_miopen_perf.ab.processes import PytestRounds

    measure = PytestRounds.measure

    def interrupted(self, request):
        if request.process.index == 2:
            raise KeyboardInterrupt
        return measure(self, request)

    monkeypatch.setattr(PytestRounds, "measure", interrupted)
    outcome = run("ab", *both(device("a"), device("b", 1.5)), *QUICK, "--json", "--", "test_conv.py")
    assert outcome.status == 130
    words, document = verdicts(outcome)
    assert set(words.values()) == {"INCONCLUSIVE"}
    assert document["rows"][0]["base_seconds"] == pytest.approx(1e-4, rel=0.02)


def test_arms_on_two_devices_are_refused(run, suite, device, tmp_path):
    first, second = device("a"), device("b")
    script = json.loads((tmp_path / "b.json").read_text())
    (tmp_path / "b.json").write_text(json.dumps(script | {"arch": "gfx942", "driver": "7"}))
    outcome = run("ab", *both(first, second), *QUICK, "--", "test_conv.py")
    assert outcome.status == 1
    words = " ".join(outcome.out.split())
    assert "the arms ran on two devices, whose times say nothing of the versions: arch scripted -> gfx942" in words
    assert "2 without a result" in words


def test_two_versions_of_the_software_are_compared(run, suite, device, tmp_path):
    first, second = device("a"), device("b")
    script = json.loads((tmp_path / "b.json").read_text())
    (tmp_path / "b.json").write_text(json.dumps(script | {"runtime": "7.2", "driver": "7"}))
    outcome = run("ab", *both(first, second), *QUICK, "--margin", "3%", "--json", "--", "test_conv.py")
    assert outcome.status == 0
    assert set(verdicts(outcome)[0].values()) == {"PASS"}


def test_separate_processes_heed_the_margins_of_marker_and_file(run, suite, device):
    arms = both(device("a"), device("b", 1.10))
    test = suite / "test_conv.py"
    test.write_text(test.read_text().replace("solvers=", "margin='30%', solvers="))
    outcome = run("ab", *arms, *QUICK, "--json", "--", "test_conv.py")
    assert outcome.status == 0, outcome.err
    assert {row["margin"] for row in verdicts(outcome)[1]["rows"]} == {0.3}
    test.write_text(test.read_text().replace("margin='30%', ", ""))
    ini = suite / "pytest.ini"
    ini.write_text(ini.read_text() + "miopen_perf_margins = test_*.py = 40%\n")
    outcome = run("ab", *arms, *QUICK, "--json", "--", "test_conv.py")
    assert {row["margin"] for row in verdicts(outcome)[1]["rows"]} == {0.4}


def test_a_process_that_dies_in_the_middle_costs_its_round(run, suite, device, monkeypatch):
    finished = processes.run_to_end
    started = []

    def dies(command, variables, log, folder=None):
        started.append(command)
        if len(started) == 4:
            log.write_text("Segmentation fault\n")
            return -11
        return finished(command, variables, log, folder)

    monkeypatch.setattr(processes, "run_to_end", dies)
    outcome = run("ab", *both(device("a"), device("b")), *QUICK, "--margin", "3%", "--json", "--", "test_conv.py")
    assert outcome.status == 0, outcome.err
    words = verdicts(outcome)[0]
    assert set(words.values()) == {"PASS"}
    assert "lost round 2: the process" in " ".join(outcome.err.split())
    assert "ended with -11 and left no results" in " ".join(outcome.err.split())


def test_a_budget_ends_it_and_strict_minds(run, suite, device):
    arms = both(device("a"), device("b"))
    words = ("ab", *arms, "--seed", "7", "--budget", "10ms")
    lenient = run(*words, "--", "test_conv.py")
    assert lenient.status == 0
    assert "ended by budget" in lenient.out
    assert "2 INCONCLUSIVE" in lenient.out
    assert run(*words, "--strict", "--", "test_conv.py").status == 1


def test_a_process_that_does_not_start_is_a_sentence(run, suite, monkeypatch):
    def refused(command, variables, log, folder=None):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(processes, "run_to_end", refused)
    outcome = run("ab", "--a", "X=1", "--b", "X=2", "--", "test_conv.py")
    assert outcome.status == 2
    assert "cannot be started: [Errno 13] Permission denied" in " ".join(outcome.err.split())


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--a", "kernels=nowhere", "--b", "X=1"), "'nowhere' is neither a folder of kernels nor a git revision"),
        (("--a", "kernels=.", "--b", "X=1"), "the folder . holds no .hip file"),
        (("--a", "python=/no/python", "--b", "X=1"), "names the interpreter /no/python, which does not exist"),
        (("--a", "word", "--b", "X=1"), "is no NAME=VALUE"),
        (("--a", "X='1", "--b", "X=1"), "cannot be split into words"),
        (("--a", "X=1", "--b", "X=2", "--margin", "5"), "did you mean 5%?"),
        (("--a", "X=1", "--b", "X=2", "--budget", "soon"), "--budget is 'soon': give a time above zero"),
        (("--a", "X=1", "--b", "X=2", "--blocks", "0"), "--blocks is 0"),
        (("--a", "X=1", "--b", "X=2", "--keep", "."), "is there and not an empty folder"),
        (("--a", "X=1", "--b=--miopen-perf-level=9"), "left no results"),
    ],
)
def test_bad_input_is_a_sentence(run, suite, words, sentence):
    outcome = run("ab", *words, "--", "test_conv.py")
    assert outcome.status == 2
    assert sentence in " ".join(outcome.err.split())
    assert "Traceback" not in outcome.err
