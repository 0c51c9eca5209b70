"""How a program ends, and that nothing of it is left."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from asked import PROBLEM, settings_of

from pytest_miopen_perf.driver import process
from pytest_miopen_perf.driver.process import ProgramEnd, run_program
from pytest_miopen_perf.driver.run_report import read_report


def is_running(pid):
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state not in "ZX"


def test_a_hanging_run_is_stopped_and_says_so(program):
    started = time.monotonic()
    report = program("hang").run(PROBLEM, settings_of(driver_timeout_seconds=0.5))
    assert report.message.startswith("MIOpenDriver was stopped: its 0.5 s were over\n  stderr: ")
    assert time.monotonic() - started < 60


def test_nothing_is_left_of_a_run_that_refuses_to_end_nor_of_what_it_started(program, tmp_path, monkeypatch):
    monkeypatch.setattr(process, "_GRACE_SECONDS", 0.1)
    report = program("stubborn").run(PROBLEM, settings_of(driver_timeout_seconds=3))
    assert "was stopped" in report.message
    pids = (tmp_path / "pids").read_text().split()
    assert len(pids) == 2
    for pid in pids:
        for _ in range(100):
            if not is_running(pid):
                break
            time.sleep(0.05)
        assert not is_running(pid)


def test_output_without_end_is_stopped(program, tmp_path):
    driver = program("flood")
    asked = settings_of()
    streams = tmp_path / "out", tmp_path / "err"
    end = run_program(
        driver.command(PROBLEM, asked),
        {**driver.variables, **driver.changes(asked)},
        streams,
        timeout_seconds=60,
        most_output_bytes=2**20,
    )
    assert (end.stopped, end.signal_name) == ("it wrote more than 1 MiB", "SIGTERM")
    report = read_report(end, streams, problem=PROBLEM, device=driver.device, settings=asked)
    assert report.outcome == "error"
    assert len(report.message) < 2000


def test_an_interrupt_ends_the_program(tmp_path, monkeypatch):
    started = []

    def interrupt(_):
        raise KeyboardInterrupt

    popen = subprocess.Popen
    monkeypatch.setattr(process.subprocess, "Popen", lambda *a, **k: started.append(popen(*a, **k)) or started[-1])
    monkeypatch.setattr(process.time, "sleep", interrupt)
    with pytest.raises(KeyboardInterrupt):
        run_program(["sleep", "600"], os.environ, (tmp_path / "out", tmp_path / "err"), timeout_seconds=600)
    assert started[0].returncode == -signal.SIGKILL


@pytest.mark.parametrize("status", [-signal.SIGSEGV, -64, 0, 3])
def test_the_name_of_a_signal(status):
    names = {-signal.SIGSEGV: "SIGSEGV", -64: "SIGRTMAX"}
    assert ProgramEnd(status=status).signal_name == names.get(status, "")
