"""A case is measured again in a process of its own."""

import json
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_miopen_perf.devices import DeviceOptions, cpu
from pytest_miopen_perf.errors import DeviceError
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.session import fresh_process, open_device
from pytest_miopen_perf.session.fresh_process import Question, ask_fresh_process
from pytest_miopen_perf.settings import Settings
from pytest_miopen_perf.solvers.naive import SOLVERS
from pytest_miopen_perf.solvers.planned import PlannedSolver
from pytest_miopen_perf.telemetry.household import Household

LINE = "MIOpenDriver conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1"
(PROBLEM,) = ConvProblem.from_driver(LINE)


@pytest.fixture
def question():
    if reason := cpu.probe(DeviceOptions()):
        pytest.skip(reason)
    settings = Settings(level=1, backend="cpu", iterations=7)
    device = open_device(settings)
    try:
        planned = PlannedSolver.of(SOLVERS[0], PROBLEM, device.info, "")
    finally:
        device.close()
    return Question(problem=PROBLEM, solver=planned, settings=settings, household=Household.of_process())


def test_it_answers_with_checked_times_and_its_log(question):
    answer = ask_fresh_process(question)
    assert answer.result.check.passed
    assert len(answer.result.sample.counted) == 7
    assert (answer.result.solver, answer.result.problem) == ("HipConvNaiveFwd", PROBLEM)
    assert sum('"phase":"execution"' in line for line in answer.log) == 1


def test_what_it_cannot_measure_it_says(question):
    (launch,) = question.solver.planned.launches
    missing = replace(launch, kernel=replace(launch.kernel, entry="no_such_kernel"))
    planned = replace(question.solver, planned=replace(question.solver.planned, launches=(missing,)))
    with pytest.raises(DeviceError, match=r"could not be measured again: .*no_such_kernel"):
        ask_fresh_process(replace(question, solver=planned))


def test_a_process_that_dies_is_told_with_its_last_words(question, monkeypatch):
    monkeypatch.setattr(fresh_process, "_PROGRAM", "import os, sys; print('oh', flush=True); os.abort()")
    with pytest.raises(
        DeviceError, match=f"the process that measured {re.escape(str(PROBLEM))} again ended with -6:\noh"
    ):
        ask_fresh_process(question)


def test_a_process_that_does_not_start_is_told(question, monkeypatch):
    monkeypatch.setattr("sys.executable", "/no/python")
    with pytest.raises(DeviceError, match=r"no process to measure .* again can be started: .*No such file"):
        ask_fresh_process(question)


def test_a_process_that_is_killed_has_no_last_words(question, monkeypatch):
    monkeypatch.setattr(fresh_process, "_PROGRAM", "import os, signal; os.kill(os.getpid(), signal.SIGKILL)")
    with pytest.raises(DeviceError, match=r"ended with -9$"):
        ask_fresh_process(question)


def test_no_room_for_the_question_is_told(question, monkeypatch, tmp_path):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "gone"))
    with pytest.raises(DeviceError, match=r"no process to measure .* again can be started: .*No such file.*gone"):
        ask_fresh_process(question)


def test_an_interrupt_ends_it_at_once(question, monkeypatch):
    """Who interrupts waits for what this process has measured; the other one has nothing to write down."""
    patience = []

    def interrupted(*arguments, patience_seconds, **others):
        patience.append(patience_seconds)
        raise KeyboardInterrupt

    monkeypatch.setattr(fresh_process, "run_to_end", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ask_fresh_process(question)
    assert patience == [0]


@pytest.mark.parametrize("trouble", [DeviceError("it died"), KeyboardInterrupt()])
def test_what_was_measured_first_stays_when_there_are_no_fresh_times(pytester, question, monkeypatch, trouble):
    """In the results file, and in the table beside the error."""
    pytester.makefile(".miopen.txt", own=LINE)
    options = ("--miopen-perf-backend=cpu", "--miopen-perf-solver=HipConvNaiveFwd", "--miopen-perf-iter=20")
    assert pytester.runpytest(*options, "--miopen-perf-save=main").ret == 0
    (path,) = Path(pytester.path / ".miopen-perf").glob("main*.json")
    path.write_text(json.dumps(a_millionth_of_the_times(json.loads(path.read_text()))))

    def fails(question):
        raise trouble

    monkeypatch.setattr(fresh_process, "ask_fresh_process", fails)
    arguments = (*options, "--miopen-perf-compare=main", "--miopen-perf-json=results.json")
    result = pytester.runpytest(*arguments, no_reraise_ctrlc=True)
    assert result.ret in (pytest.ExitCode.TESTS_FAILED, pytest.ExitCode.INTERRUPTED)
    result.stdout.re_match_lines([r"  (it died|interrupted) +ERROR", r"  HipConvNaiveFwd +20 .* ok"])
    (case,) = json.loads((pytester.path / "results.json").read_text())["cases"]
    assert case["outcome"] == "error"
    assert case["result"]["solver"] == "HipConvNaiveFwd"


def test_the_gate_confirms_a_regression_with_another_process(pytester, question, monkeypatch):
    """Against a baseline that claims a millionth of the times; the own solver's config class stays in its conftest."""
    pids = pytester.path / "pids"
    monkeypatch.setenv("SEEN_PIDS", str(pids))
    pytester.makepyfile(
        sitecustomize="""
        import os
        import sys

        if "fresh_process" in " ".join(sys.orig_argv):
            with open(os.environ["SEEN_PIDS"], "a") as file:
                file.write(f"{os.getppid()}\\n")
        """
    )
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(pytester.path), os.environ.get("PYTHONPATH")])))
    pytester.makeconftest(
        """
        from dataclasses import dataclass, replace

        from pytest_miopen_perf.solvers.naive import SOLVERS
        from pytest_miopen_perf.solvers.own import Direction, OwnSolver, PerformanceConfig

        @dataclass(frozen=True)
        class Own(PerformanceConfig):
            size: int

        def launches(problem, info, config):
            return SOLVERS[0].solution(problem, info, PerformanceConfig()).launches

        def pytest_miopen_perf_solvers(config):
            return [OwnSolver(name="Own", solver_id=20001, direction=Direction.FORWARD, launches=launches,
                              choices=(Own(1),))]
        """
    )
    pytester.makefile(".miopen.txt", own=LINE)
    options = ("--miopen-perf-backend=cpu", "--miopen-perf-solver=Own", "--miopen-perf-iter=20")
    assert pytester.runpytest(*options, "--miopen-perf-save=main").ret == 0
    (path,) = Path(pytester.path / ".miopen-perf").glob("main*.json")
    baseline = json.loads(path.read_text())
    path.write_text(json.dumps(a_millionth_of_the_times(baseline)))
    result = pytester.runpytest(*options, "--miopen-perf-compare=main")
    assert result.parseoutcomes() == {"failed": 1}
    result.stdout.fnmatch_lines(["*REGRESSION*beyond the margin, and again in fresh samples, unpaired*"])
    assert pids.read_text().split() == [str(os.getpid())]


def a_millionth_of_the_times(value):
    if isinstance(value, dict):
        return {
            name: shrunk(one) if name == "seconds" else a_millionth_of_the_times(one) for name, one in value.items()
        }
    return [a_millionth_of_the_times(one) for one in value] if isinstance(value, list) else value


def shrunk(value):
    return [shrunk(one) for one in value] if isinstance(value, list) else value * 1e-6
