"""A process that measures for this one."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from pytest_miopen_perf.child_process import in_the_same_python, last_words, run_to_end


def test_variables_folder_output_and_code(tmp_path):
    log = tmp_path / "log"
    program = "import os; print(os.environ['ARM'], os.getcwd()); raise SystemExit(3)"
    assert run_to_end([sys.executable, "-c", program], {"ARM": "b"}, log, tmp_path) == 3
    assert log.read_text() == f"b {tmp_path}\n"


def test_what_does_not_start_is_an_error(tmp_path):
    with pytest.raises(FileNotFoundError):
        run_to_end(["/no/such/program"], {}, tmp_path / "log")


def test_last_words_are_the_last_lines(tmp_path):
    log = tmp_path / "log"
    log.write_bytes(b"".join(b"line %d\n" % i for i in range(20)) + b"not \xff text\n")
    assert last_words(log).splitlines() == [*(f"line {i}" for i in range(6, 20)), "not \ufffd text"]


def test_the_same_python_imports_what_this_one_does_and_nothing_of_the_folder_it_runs_in(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    (tmp_path / "here/json.py").write_text("raise RuntimeError('no JSON')")
    (tmp_path / "there {0}").mkdir()
    (tmp_path / "there {0}/random.py").write_text("raise RuntimeError('no random numbers')")
    (tmp_path / "there {0}/found_there.py").write_text("WORD = 'found'")
    monkeypatch.setattr(sys, "path", [tmp_path / "there {0}", *sys.path])
    command = in_the_same_python("import json, random, found_there; print(found_there.WORD)")
    assert run_to_end(command, {}, tmp_path / "log", tmp_path / "here") == 0, last_words(tmp_path / "log")
    assert last_words(tmp_path / "log") == "found"


def test_an_interrupt_leaves_no_process(tmp_path):
    started = tmp_path / "started"
    program = (
        "import pathlib, os, signal, time; signal.signal(signal.SIGINT, signal.SIG_IGN); "
        f"part = pathlib.Path({str(started) + '.part'!r}); part.write_text(str(os.getpid())); "
        f"part.rename({str(started)!r}); time.sleep(60)"
    )

    def interrupt():
        end = time.monotonic() + 30
        while not started.exists() and time.monotonic() < end:
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    other = threading.Thread(target=interrupt)
    other.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run_to_end([sys.executable, "-c", program], dict(os.environ), tmp_path / "log", patience_seconds=0.1)
    finally:
        other.join()
        signal.signal(signal.SIGINT, handler)
    assert subprocess.run(["ps", "-p", started.read_text()], capture_output=True, check=False).returncode != 0
