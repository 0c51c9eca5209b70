"""Guarded launches: every stray access, overrun and endless loop ends as an error that names kernel and argument."""

import os
import threading
from pathlib import Path

import numpy as np
import pytest
from cpu_launch import i32, i64, opened, run, source

from pytest_miopen_perf.devices import DeviceOptions, DevicePointer, cpu, host_guard
from pytest_miopen_perf.devices.host_compiler import compiler_version, find_host_compiler
from pytest_miopen_perf.errors import LaunchError
from pytest_miopen_perf.launch import Scalar

PAGE = 4096 // 4
GUARD = host_guard.GUARD_BYTES // 4


@pytest.fixture(scope="module")
def guarded(tmp_path_factory):
    with opened(tmp_path_factory, guard=True) as device:
        yield device


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    with opened(tmp_path_factory) as device:
        yield device


def _copy_one(device, size, start, end):
    x, y = np.arange(size, dtype=np.float32), np.zeros(size, np.float32)
    run(device, source("free.hip", "copy_one"), (1, 1, 1), x, y, i64(start), i64(end))
    return y


@pytest.mark.parametrize("size", [1, 3, 16, 1000, PAGE, PAGE + 1])
def test_accesses_to_both_ends_of_a_buffer_are_fine(guarded, size):
    assert _copy_one(guarded, size, 0, size - 1)[-1] == 0
    assert _copy_one(guarded, size, size - 1, 0)[0] == size - 1


@pytest.mark.parametrize("size", [1, 3, 1000, PAGE])
@pytest.mark.parametrize("beyond", [0, 1, 100, PAGE, GUARD - 1])
def test_an_access_past_the_end_is_named(guarded, size, beyond):
    with pytest.raises(
        LaunchError,
        match=rf"kernel copy_one of .*free\.hip: work-item \(0, 0, 0\) of block \(0, 0, 0\) read {4 * beyond} bytes "
        rf"past the end of argument 1, a buffer of {4 * size} bytes",
    ):
        _copy_one(guarded, size, size + beyond, 0)
    with pytest.raises(LaunchError, match=rf"wrote {4 * beyond} bytes past the end of argument 2"):
        _copy_one(guarded, size, 0, size + beyond)


@pytest.mark.parametrize("before", [PAGE, 2 * PAGE, GUARD])
def test_an_access_before_the_start_is_named(guarded, before):
    with pytest.raises(LaunchError, match=rf"read {4 * before} bytes before the start of argument 1"):
        _copy_one(guarded, 10, -before, 0)
    with pytest.raises(LaunchError, match=rf"wrote {4 * before} bytes before the start of argument 2"):
        _copy_one(guarded, 10, 0, -before)


def test_a_buffer_of_whole_pages_begins_at_the_guard(guarded):
    with pytest.raises(LaunchError, match="read 4 bytes before the start of argument 1"):
        _copy_one(guarded, PAGE, -1, 0)


def test_a_write_between_guard_and_start_is_seen_afterwards(guarded):
    with pytest.raises(LaunchError, match=r"copy_one.*wrote before the start of argument 2, a buffer of 40 bytes"):
        _copy_one(guarded, 10, 0, -1)


def test_a_read_between_guard_and_start_is_not_a_number(guarded):
    assert np.isnan(_copy_one(guarded, 10, -1, 5)[5])


def test_the_work_item_is_named(guarded):
    y = np.ones(90, np.float32)
    kernel = source("free.hip", "scale")
    with pytest.raises(LaunchError, match=r"work-item \(26, 0, 0\) of block \(2, 0, 0\) (read|wrote) 0 bytes past"):
        run(guarded, kernel, (32, 1, 1), y, Scalar("f", "f32", 2.0), i32(91), grid=(3, 1, 1))


def test_work_items_with_stacks_of_their_own_are_guarded_too(guarded):
    x, y = np.arange(10, dtype=np.float32), np.zeros(10, np.float32)
    with pytest.raises(LaunchError, match="read 0 bytes past the end of argument 1, a buffer of 40 bytes"):
        run(guarded, source("shared.hip", "reverse"), (1, 1, 1), x, y, i32(11), shared_bytes=44)


def test_offsets_count_from_the_start_of_the_buffer(guarded):
    kernel = guarded.compile(source("free.hip", "copy_one"))
    x, y = guarded.alloc(80), guarded.alloc(80)
    with pytest.raises(LaunchError, match="read 0 bytes past the end of argument 1, a buffer of 80 bytes"):
        guarded.launch(kernel, (1, 1, 1), (1, 1, 1), [DevicePointer(x, 40), DevicePointer(y), i64(10), i64(0)])


def test_an_address_near_no_buffer(guarded):
    with pytest.raises(LaunchError, match=r"wild of .* read address 0x10, which is near no argument's buffer"):
        run(guarded, source("free.hip", "wild"), (1, 1, 1), np.zeros(1, np.float32), i64(16))


def test_an_integer_division_by_zero(guarded):
    with pytest.raises(LaunchError, match=r"divide of .* divided an integer by zero"):
        run(guarded, source("free.hip", "divide"), (1, 1, 1), np.ones(2, np.int32), i32(0))


def test_a_misaligned_vector_is_told_from_a_stray_access(guarded):
    kernel = guarded.compile(source("free.hip", "copy_vector"))
    aligned, odd = DevicePointer(guarded.alloc(32)), DevicePointer(guarded.alloc(36))
    guarded.launch(kernel, (1, 1, 1), (1, 1, 1), [aligned, aligned])
    with pytest.raises(LaunchError, match="alignment"):
        guarded.launch(kernel, (1, 1, 1), (1, 1, 1), [odd, aligned])


def test_an_endless_loop_is_stopped(tmp_path_factory):
    compiler = find_host_compiler()
    options = DeviceOptions(cache_dir=tmp_path_factory.getbasetemp() / "cpu-cache", guard=True)
    device = cpu.CpuDevice(options, compiler, compiler_version(compiler), guard_limit_s=0.2)
    with pytest.raises(LaunchError, match=r"never_ends of .* did not end within 0\.2 s and was stopped"):
        run(device, source("free.hip", "never_ends"), (1, 1, 1), np.zeros(1, np.float32))
    assert _copy_one(device, 10, 3, 4)[4] == 3
    device.close()


def test_an_interrupted_wait_ends_the_child(guarded, monkeypatch):
    kernel = guarded.compile(source("free.hip", "never_ends"))
    waitpid, pids = os.waitpid, []

    def interrupted(pid, options):
        pids.append(pid)
        if len(pids) == 1:
            raise KeyboardInterrupt
        return waitpid(pid, options)

    monkeypatch.setattr(os, "waitpid", interrupted)
    with pytest.raises(KeyboardInterrupt):
        run(guarded, kernel, (1, 1, 1), np.zeros(1, np.float32))
    with pytest.raises(ProcessLookupError):
        os.kill(pids[0], 0)


def test_a_barrier_that_some_do_not_reach(guarded):
    with pytest.raises(LaunchError, match=r"some_leave.*block \(0, 1, 0\) ended while others waited"):
        run(
            guarded,
            source("synchronised.hip", "some_leave"),
            (32, 1, 1),
            np.zeros(32, np.float32),
            i32(3),
            i32(1),
            grid=(1, 2, 1),
        )


def test_dynamic_shared_memory_that_was_not_asked_for(guarded):
    x, y = np.arange(10, dtype=np.float32), np.zeros(10, np.float32)
    with pytest.raises(LaunchError, match=r"reverse of .*block \(0, 0, 0\) wrote dynamic shared memory beyond"):
        run(guarded, source("shared.hip", "reverse"), (10, 1, 1), x, y, i32(10), shared_bytes=36)
    run(guarded, source("shared.hip", "reverse"), (10, 1, 1), x, y, i32(10), shared_bytes=40)
    np.testing.assert_array_equal(y, x[::-1])


def test_shared_memory_that_nobody_wrote_is_not_a_number(guarded):
    y = np.zeros(32, np.float32)
    run(guarded, source("shared.hip", "read_before_write"), (32, 1, 1), y, shared_bytes=128)
    assert np.isnan(y).all()


def test_guarded_and_plain_launches_agree(guarded, plain):
    x = np.random.default_rng(6).standard_normal((4, 1000)).astype(np.float32)
    sums = [np.zeros(4, np.float32) for _ in range(2)]
    for device, y in zip((guarded, plain), sums, strict=True):
        assert run(device, source("language.hip", "sum_floats"), (64, 1, 1), x, y, i32(1000), grid=(4, 1, 1)) > 0
    np.testing.assert_array_equal(*sums)


def test_a_fork_beside_other_threads_warns_nobody(guarded):
    stop = threading.Event()
    thread = threading.Thread(target=stop.wait)
    thread.start()
    try:
        assert _copy_one(guarded, 10, 3, 4)[4] == 3
    finally:
        stop.set()
        thread.join()


def test_a_failed_launch_leaves_device_and_buffers_usable(guarded):
    kernel = guarded.compile(source("free.hip", "copy_one"))
    x, y = guarded.alloc(40), guarded.alloc(40)
    guarded.upload(x, np.arange(10, dtype=np.float32))
    with pytest.raises(LaunchError):
        guarded.launch(kernel, (1, 1, 1), (1, 1, 1), [DevicePointer(x), DevicePointer(y), i64(0), i64(10)])
    guarded.launch(kernel, (1, 1, 1), (1, 1, 1), [DevicePointer(x), DevicePointer(y), i64(7), i64(0)])
    received = np.zeros(1, np.float32)
    guarded.download(y, received)
    assert received[0] == 7


def test_free_gives_the_addresses_back(guarded):
    def mapped_kilobytes():
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("VmSize"))

    before = mapped_kilobytes()
    buffer = guarded.alloc(1 << 20)
    assert mapped_kilobytes() >= before + 2 * host_guard.GUARD_BYTES // 1024
    buffer.free()
    assert mapped_kilobytes() < before + 2 * host_guard.GUARD_BYTES // 1024
