"""One timed section a device at a time, over processes."""

import multiprocessing
import re
import tempfile
import threading
import time
from dataclasses import replace

import pytest

from pytest_miopen_perf.devices.script import DEFAULT_SCRIPT
from pytest_miopen_perf.devices.scripted import ScriptedDevice
from pytest_miopen_perf.errors import DeviceError
from pytest_miopen_perf.measuring import lease
from pytest_miopen_perf.measuring.lease import timed_section

SCRIPTED = ScriptedDevice(DEFAULT_SCRIPT).info
INFO = replace(SCRIPTED, backend="cpu", uid="tests of the lease")


def hold(folder, name):
    with timed_section(INFO):
        (folder / f"{name}.in").write_text(str(time.monotonic()))
        time.sleep(0.1)
        (folder / f"{name}.out").write_text(str(time.monotonic()))


def test_two_processes_take_turns(tmp_path):
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=hold, args=(tmp_path, name)) for name in "ab"]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    spans = sorted([float((tmp_path / f"{name}.{end}").read_text()) for end in ("in", "out")] for name in "ab")
    assert spans[0][1] <= spans[1][0]


def test_a_long_wait_is_told_and_ends_with_the_other_one(tmp_path, monkeypatch):
    monkeypatch.setattr(lease, "PATIENCE_SECONDS", 0.1)
    told, order = [], []
    is_held, has_been_told = threading.Event(), threading.Event()

    def hold_for_long():
        with timed_section(INFO):
            is_held.set()
            assert has_been_told.wait(30)
            order.append("the other one ended")

    def tell(sentence):
        told.append(sentence)
        has_been_told.set()

    other = threading.Thread(target=hold_for_long)
    other.start()
    assert is_held.wait(30)
    with timed_section(INFO, tell):
        order.append("its turn")
    other.join()
    assert order == ["the other one ended", "its turn"]
    (sentence,) = told
    assert re.match(f"waiting for {INFO.name}: another session takes times on it, .*`fuser /.*lock`", sentence)


def test_a_short_wait_is_not_told():
    told = []
    with timed_section(INFO, told.append):
        assert not told


def test_where_no_lock_can_be_held_it_is_said_before_anything_is_timed(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    with timed_section(INFO):
        (lock,) = tmp_path.iterdir()
    lock.unlink(missing_ok=True)
    lock.mkdir()
    words = rf"no times are taken on {INFO.name}, .*directory.*; remove {lock}, or"
    with pytest.raises(DeviceError, match=words), timed_section(INFO):
        pytest.fail("it has not been held")


def test_a_user_without_a_name_has_a_lock_too(tmp_path, monkeypatch):
    """As in a container that runs with a bare number."""
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr("os.getuid", lambda: 2**31 - 3)
    for name in ("LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)
    with timed_section(INFO):
        assert [path.name for path in tmp_path.iterdir()] == [
            "pytest-miopen-perf-2147483645-cpu-tests-of-the-lease.lock"
        ]


def test_it_is_given_back_after_an_error():
    for _ in range(2):
        try:
            with timed_section(INFO):
                raise KeyError  # noqa: TRY301 - the error is what is tested
        except KeyError:
            pass


def test_nobody_waits_for_a_scripted_device(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "gettempdir", lambda: str(tmp_path))
    with timed_section(SCRIPTED), timed_section(INFO):
        assert len(list(tmp_path.iterdir())) == 1
