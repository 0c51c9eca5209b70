"""The process that launches ahead, here on the CPU, whose plain launches no process survives that crashes or hangs."""

import errno
import os
import signal
import subprocess
import sys
import time

import pytest

from pytest_miopen_perf.devices import DeviceOptions, cpu, understudy
from pytest_miopen_perf.devices.understudy import Memory, Rehearsal, Understudy
from pytest_miopen_perf.errors import LaunchError, PerfWarning
from pytest_miopen_perf.launch import KernelSource, Scalar

FAULTY = """
extern "C" __global__ void faulty(float* y, int how) {
    if(how == 1) { int* nowhere = (int*)16; *nowhere = 1; }
    if(how == 2) { volatile int spin = 1; while(spin) {} }
    y[0] += 1.0f;
}
"""


@pytest.fixture
def options(tmp_path):
    options = DeviceOptions(cache_dir=tmp_path)
    if reason := cpu.probe(options):
        pytest.skip(reason)
    return options


@pytest.fixture
def rehearsal(tmp_path):
    (tmp_path / "faulty.hip").write_text(FAULTY)

    def make(how=0, nbytes=8, entry="faulty"):
        source = KernelSource(file=str(tmp_path / "faulty.hip"), entry=entry)
        args = (Memory(nbytes, 4), Scalar("how", "i32", how))
        return Rehearsal(source=source, grid=(1, 1, 1), block=(1, 1, 1), args=args)

    return make


@pytest.fixture
def ahead(options):
    one = Understudy("cpu", options)
    yield one
    one.close()


def pid_of(one):
    return one._process.pid


def test_what_ends_is_nothing_to_speak_of_and_the_process_stays(ahead, rehearsal):
    ahead.rehearse(rehearsal(), 60)
    first = pid_of(ahead)
    ahead.rehearse(rehearsal(), 60)
    assert pid_of(ahead) == first


@pytest.mark.parametrize(
    ("how", "limit_seconds", "words"),
    [
        (1, 60, r"faulty of .*faulty\.hip ended its process with -\d+, which was launched apart"),
        (2, 0.3, r"faulty of .*faulty\.hip did not end within 0\.3 s and was stopped"),
    ],
)
def test_a_crash_or_a_hang_costs_a_launch_and_the_next_one_has_a_new_process(
    ahead, rehearsal, how, limit_seconds, words
):
    ahead.rehearse(rehearsal(), 60)
    first = pid_of(ahead)
    with pytest.raises(LaunchError, match=words):
        ahead.rehearse(rehearsal(how), limit_seconds)
    ahead.rehearse(rehearsal(), 60)
    assert pid_of(ahead) != first


def test_what_the_device_refuses_is_told_in_its_words(ahead, rehearsal):
    with pytest.raises(LaunchError, match="missing"):
        ahead.rehearse(rehearsal(entry="missing"), 60)


def test_without_memory_nothing_is_rehearsed(ahead, rehearsal):
    ahead.rehearse(rehearsal(1, nbytes=2**60), 60)


def test_where_no_second_process_gets_the_device_one_warning_says_so(rehearsal, tmp_path):
    alone = Understudy("scripted", DeviceOptions(device=str(tmp_path / "none.json")))
    with pytest.warns(PerfWarning, match=r"a kernel that hangs or crashes will end this session: .*none\.json"):
        alone.rehearse(rehearsal(), 60)
    alone.rehearse(rehearsal(), 60)  # another warning would be an error


def test_where_no_process_starts_the_warning_says_why(options, rehearsal, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/no/python")
    with pytest.warns(PerfWarning, match=r"\(.*No such file.*'/no/python'\)"):
        Understudy("cpu", options).rehearse(rehearsal(), 60)


def test_a_process_that_is_never_ready_is_given_up(options, rehearsal, monkeypatch):
    monkeypatch.setattr(understudy, "_START_SECONDS", 0.0)
    with pytest.warns(PerfWarning, match="it was not ready after 0 s"):
        Understudy("cpu", options).rehearse(rehearsal(), 60)


def test_closing_ends_the_process_and_may_be_done_twice(ahead, rehearsal):
    ahead.rehearse(rehearsal(), 60)
    process = ahead._process
    ahead.close()
    ahead.close()
    assert process.returncode == -signal.SIGKILL


def test_a_leader_without_standard_streams_has_one_too(tmp_path, rehearsal, options):
    """Its pipes get the numbers of the streams, which are others in the process that is started."""
    program = f"""
import os, pathlib, warnings
for stream in range(3):
    os.close(stream)
from pytest_miopen_perf.devices import DeviceOptions
from pytest_miopen_perf.devices.understudy import Memory, Rehearsal, Understudy
from pytest_miopen_perf.errors import LaunchError
from pytest_miopen_perf.launch import KernelSource, Scalar
warnings.simplefilter("error")
one = Understudy("cpu", DeviceOptions(cache_dir=pathlib.Path({str(tmp_path)!r})))
try:
    one.rehearse({rehearsal(1)!r}, 60)
except LaunchError as error:
    pathlib.Path({str(tmp_path / "told")!r}).write_text(str(error))
"""
    subprocess.run([sys.executable, "-c", program], check=False, timeout=120)
    assert "ended its process with -" in (tmp_path / "told").read_text()


def test_without_file_descriptors_there_is_a_warning(options, rehearsal, monkeypatch):
    def exhausted():
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(understudy, "Pipe", exhausted)
    with pytest.warns(PerfWarning, match="Too many open files"):
        Understudy("cpu", options).rehearse(rehearsal(), 60)


def test_it_outlives_no_leader(tmp_path, options, rehearsal):
    """Not even in the middle of a kernel that hangs, when the leader is killed."""
    program = f"""
import os, pathlib, threading
from pytest_miopen_perf.devices import DeviceOptions
from pytest_miopen_perf.devices.understudy import Memory, Rehearsal, Understudy
from pytest_miopen_perf.launch import KernelSource, Scalar
one = Understudy("cpu", DeviceOptions(cache_dir=pathlib.Path({str(tmp_path)!r})))
ready = {rehearsal()!r}
one.rehearse(ready, 60)
pathlib.Path({str(tmp_path / "pid.part")!r}).write_text(str(one._process.pid))
os.rename({str(tmp_path / "pid.part")!r}, {str(tmp_path / "pid")!r})
one.rehearse({rehearsal(2)!r}, 600)
"""
    leader = subprocess.Popen([sys.executable, "-c", program])
    try:
        within(60, (tmp_path / "pid").exists)
        pid = int((tmp_path / "pid").read_text())
        time.sleep(0.2)
    finally:
        leader.kill()
        leader.wait()
    within(30, lambda: not is_alive(pid))


def within(seconds, condition):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


def is_alive(pid):
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True
