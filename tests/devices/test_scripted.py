"""The scripted device: what the script says is what happens, every time, and nothing waits."""

from __future__ import annotations

import json
import math
import pickle
import subprocess
import sys
import threading
from dataclasses import replace

import numpy as np
import pytest

from pytest_miopen_perf.devices import DeviceOptions, DevicePointer
from pytest_miopen_perf.devices.script import (
    DEFAULT_SCRIPT,
    ClockStates,
    KernelScript,
    Script,
    Spikes,
    Throttle,
    Variation,
)
from pytest_miopen_perf.devices.scripted import ScriptedDevice, open_device, probe
from pytest_miopen_perf.errors import (
    CompileError,
    DeviceError,
    DeviceUnavailableError,
    LaunchError,
    OutOfMemoryError,
    SettingsError,
)
from pytest_miopen_perf.launch import KernelSource, Scalar
from pytest_miopen_perf.problem import Direction

KERNEL_TEXT = """
extern "C" __global__ void fast(float* y, int n) {}
extern "C" __global__ void slow(float* y, int n) {}
"""
EVERYTHING = Variation(
    noise=0.01,
    spikes=Spikes(probability=0.05, factor=1.2),
    drift=0.02,
    throttle=Throttle(after_launches=100, factor=1.1),
    clock_states=ClockStates(factor=0.95, dwell_launches=20),
    session_offset=0.02,
)


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "plain.hip"
    path.write_text(KERNEL_TEXT)
    return path


@pytest.fixture
def opened(closing):
    """Open the device of some rules."""

    def open_with(*rules, **fields):
        return closing(ScriptedDevice(Script(rules=rules, **fields)))

    return open_with


@pytest.fixture
def starter(file):
    """Launches of one kernel on one device, as a callable that gives a ticket."""

    def start(device, entry="fast", defines=()):
        kernel = device.compile(KernelSource(file=str(file), entry=entry, defines=defines))
        args = (DevicePointer(device.alloc(4)), Scalar("n", "i32", 1))
        return lambda: device.launch(kernel, (1, 1, 1), (64, 1, 1), args)

    return start


def times(start, count):
    return [start().seconds() for _ in range(count)]


class TestOpening:
    def test_the_default_script_needs_no_file(self, closing):
        for device in ("", "0"):
            assert probe(DeviceOptions(device=device)) == ""
            assert closing(open_device(DeviceOptions(device=device))).info.name == DEFAULT_SCRIPT.name

    def test_there_is_one_device(self):
        assert "scripted device 1" in probe(DeviceOptions(device="1"))
        with pytest.raises(DeviceUnavailableError, match="scripted device 1"):
            open_device(DeviceOptions(device="1"))

    def test_a_script_file_is_opened(self, closing, tmp_path):
        path = tmp_path / "script.json"
        path.write_text(json.dumps({"name": "Mine", "arch": "gfx942", "lds_bytes": 1000, "max_block": 99, "seed": 4}))
        info = closing(open_device(DeviceOptions(device=str(path)))).info
        assert (info.name, info.arch, info.lds_bytes, info.max_block) == ("Mine", "gfx942", 1000, 99)
        assert info.backend == "scripted"

    def test_a_session_of_a_script_is_chosen_by_number(self, closing, tmp_path, starter):
        path = tmp_path / "script.json"
        path.write_text(json.dumps({"rules": [{"variation": {"session_offset": 0.1}}]}))
        devices = [open_device(DeviceOptions(device=f"{path}{number}")) for number in ("", "#0", "#1", "#2")]
        plain, *sessions = [times(starter(closing(device)), 1)[0] for device in devices]
        assert plain == sessions[0]
        assert len(set(sessions)) == 3
        assert len({device.info for device in devices}) == 1

    def test_a_damaged_script_is_no_reason_to_skip(self, tmp_path):
        path = tmp_path / "script.json"
        path.write_text("{")
        options = DeviceOptions(device=str(path))
        assert probe(options) == ""
        with pytest.raises(SettingsError, match=r"script\.json"):
            open_device(options)

    def test_a_missing_script_is_named(self, tmp_path):
        with pytest.raises(SettingsError, match=r"missing\.json"):
            open_device(DeviceOptions(device=str(tmp_path / "missing.json")))

    def test_a_script_travels_to_another_process(self):
        assert pickle.loads(pickle.dumps(DEFAULT_SCRIPT)) == DEFAULT_SCRIPT


class TestTimes:
    def test_a_kernel_takes_what_its_rule_says(self, opened, starter):
        device = opened(KernelScript(kernel="slow", seconds=2.0), KernelScript(seconds=1.0))
        assert times(starter(device, "slow"), 3) == [2.0] * 3
        assert times(starter(device, "fast"), 3) == [1.0] * 3

    def test_rules_may_tell_configs_apart(self, opened, starter):
        device = opened(KernelScript(defines=(("TILE", "6?"),), seconds=2.0), KernelScript(seconds=1.0))
        assert times(starter(device, defines=(("TILE", "64"),)), 1) == [2.0]
        assert times(starter(device, defines=(("TILE", "128"),)), 1) == [1.0]

    def test_no_rule_is_the_default_rule(self, opened, starter):
        assert times(starter(opened()), 2) == [KernelScript().seconds] * 2

    def test_listed_times_are_cycled_and_exact(self, opened, starter):
        listed = (1.0, 0.0, -1.0, math.inf, 3.0)
        variation = Variation(noise=1.0)
        start = starter(opened(KernelScript(times_seconds=listed, variation=variation), timer_step_seconds=0.7))
        assert times(start, 7) == [*listed, 1.0, 0.0]

    def test_not_a_number_may_be_listed(self, opened, starter):
        assert math.isnan(times(starter(opened(KernelScript(times_seconds=(math.nan,)))), 1)[0])

    def test_time_grows_with_the_work(self, opened, prepare, small_problem):
        device = opened(KernelScript(seconds=1.0, seconds_per_gflop=1e9))
        for direction in Direction:
            problem = small_problem(direction.value)
            assert prepare(device, problem).launch().seconds() == pytest.approx(1.0 + problem.flops)

    def test_two_devices_of_one_script_agree_to_the_last_bit(self, opened, starter):
        rules = (KernelScript(variation=EVERYTHING, config_spread=0.1),)
        first, second = (times(starter(opened(*rules, seed=3, variation=EVERYTHING)), 400) for _ in range(2))
        assert first == second
        assert times(starter(opened(*rules, seed=4, variation=EVERYTHING)), 400) != first

    def test_another_process_gives_the_same_times(self, opened, starter, file):
        program = (
            "from pytest_miopen_perf.devices import DevicePointer\n"
            "from pytest_miopen_perf.devices.script import *\n"
            "from pytest_miopen_perf.devices.scripted import ScriptedDevice\n"
            "from pytest_miopen_perf.launch import KernelSource, Scalar\n"
            "rule = KernelScript(variation=Variation(noise=0.01, session_offset=0.1), config_spread=0.1)\n"
            "device = ScriptedDevice(Script(rules=(rule,)))\n"
            f"kernel = device.compile(KernelSource(file={str(file)!r}, entry='fast'))\n"
            "args = (DevicePointer(device.alloc(4)), Scalar('n', 'i32', 1))\n"
            "print([device.launch(kernel, (1, 1, 1), (1, 1, 1), args).seconds() for _ in range(3)])\n"
        )
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        rule = KernelScript(variation=Variation(noise=0.01, session_offset=0.1), config_spread=0.1)
        assert json.loads(run.stdout) == times(starter(opened(rule)), 3)

    def test_the_device_throttles_whatever_the_kernel(self, opened, starter):
        device = opened(KernelScript(seconds=1.0), variation=Variation(throttle=Throttle(after_launches=3, factor=2.0)))
        fast, slow = starter(device, "fast"), starter(device, "slow")
        assert [start().seconds() for start in (fast, slow, fast, slow, fast)] == [1.0, 1.0, 1.0, 2.0, 2.0]

    def test_a_rule_throttles_its_own_kernels(self, opened, starter):
        throttle = Variation(throttle=Throttle(after_launches=1, factor=2.0))
        device = opened(KernelScript(kernel="slow", seconds=1.0, variation=throttle), KernelScript(seconds=1.0))
        fast, slow = starter(device, "fast"), starter(device, "slow")
        assert [start().seconds() for start in (fast, slow, fast, slow, fast)] == [1.0, 1.0, 1.0, 2.0, 1.0]

    def test_the_timer_has_steps(self, opened, starter):
        rule = KernelScript(seconds=1e-6, variation=Variation(noise=0.5))
        shown = np.array(times(starter(opened(rule, timer_step_seconds=1e-7)), 200)) / 1e-7
        assert shown == pytest.approx(np.round(shown))
        assert len(set(np.round(shown))) > 5


class TestFaults:
    def test_the_compiler_fails(self, opened, starter):
        device = opened(KernelScript(kernel="slow", compile_error="error: no such thing", compile_seconds=2.0))
        with pytest.raises(CompileError, match="kernel slow") as error:
            starter(device, "slow")
        assert error.value.log == "error: no such thing"
        assert times(starter(device, "fast"), 1)

    def test_the_compiler_takes_its_time_once(self, opened, file):
        device = opened(KernelScript(compile_seconds=2.0))
        source = KernelSource(file=str(file), entry="fast")
        assert [device.compile(source).compile_seconds for _ in range(3)] == [2.0, 0.0, 0.0]
        assert device.compile(replace(source, defines=(("A", "1"),))).compile_seconds == 2.0

    def test_a_compiler_that_does_not_end_is_stopped(self, closing, file):
        device = closing(ScriptedDevice(Script(rules=(KernelScript(compile_seconds=1e6),)), compile_timeout_s=10.0))
        with pytest.raises(CompileError, match=r"kernel fast did not end within 10 s"):
            device.compile(KernelSource(file=str(file), entry="fast"))

    def test_the_timeout_comes_from_the_options(self, closing, tmp_path, file):
        script = tmp_path / "slow.json"
        script.write_text('{"rules": [{"compile_seconds": 7}]}')
        device = closing(open_device(DeviceOptions(device=str(script), compile_timeout_s=5.0)))
        with pytest.raises(CompileError, match="within 5 s"):
            device.compile(KernelSource(file=str(file), entry="fast"))

    def test_the_launch_fails(self, opened, starter):
        start = starter(opened(KernelScript(launch_error="out of resources")))
        with pytest.raises(LaunchError, match="kernel fast did not start: out of resources"):
            start()

    def test_a_kernel_that_hangs_takes_no_time(self, opened, starter):
        device = opened(KernelScript(hang=True, compile_seconds=0.0), hang_limit_seconds=1e9)
        ticket = starter(device)()
        for _ in range(2):
            with pytest.raises(LaunchError, match=r"kernel fast did not end within 1e\+09 s"):
                ticket.seconds()

    def test_a_kernel_that_hangs_writes_nothing(self, opened, prepare, small_problem):
        prepared = prepare(opened(KernelScript(hang=True)), small_problem())
        prepared.launch()
        assert np.isnan(prepared.result()).all()

    @pytest.mark.parametrize("fault", [{"launch_error": "no"}, {"hang": True}])
    def test_faults_may_begin_late(self, opened, starter, fault):
        start = starter(opened(KernelScript(seconds=1.0, faults_after_launches=3, **fault)))
        assert times(start, 3) == [1.0] * 3
        with pytest.raises(LaunchError):
            start().seconds()

    def test_the_device_is_lost(self, opened, starter, file):
        device = opened(lost_after_launches=2)
        start, buffer = starter(device), device.alloc(4)
        assert len(times(start, 2)) == 2
        for _ in range(2):
            with pytest.raises(LaunchError, match=r"kernel fast did not start: .*was lost after 2 launches"):
                start()
        with pytest.raises(DeviceError, match="was lost"):
            device.alloc(4)
        with pytest.raises(DeviceError, match="was lost"):
            device.download(buffer, np.zeros(1, np.float32))
        with pytest.raises(DeviceError, match="was lost"):
            device.compile(KernelSource(file=str(file), entry="slow"))
        buffer.free()
        device.close()


class TestMemory:
    def test_memory_ends_where_the_script_says(self, opened):
        device = opened(memory_bytes=100)
        first = device.alloc(60)
        assert device.free_memory_bytes() == 40
        with pytest.raises(OutOfMemoryError, match=r"41 bytes were asked for and 40 of the device's 100"):
            device.alloc(41)
        first.free()
        first.free()
        assert device.free_memory_bytes() == 100
        assert device.alloc(100).nbytes == 100

    def test_nothing_may_be_allocated(self, opened):
        assert opened().alloc(0).nbytes == 0
        with pytest.raises(DeviceError, match="-1"):
            opened().alloc(-1)

    def test_fresh_memory_is_no_plausible_data(self, opened):
        device = opened()
        buffer = device.alloc(64)
        halves, floats = np.zeros(32, np.float16), np.zeros(16, np.float32)
        device.download(buffer, halves)
        device.download(buffer, floats)
        assert np.isnan(halves).all()
        assert (floats > 1e38).all()

    def test_a_buffer_of_another_device_is_not_copied(self, opened):
        with pytest.raises(DeviceError, match="another device"):
            opened().download(opened().alloc(4), np.zeros(1, np.float32))

    def test_buffers_and_kernels_belong_to_their_device(self, opened, starter, file):
        mine, other = opened(), opened()
        kernel = mine.compile(KernelSource(file=str(file), entry="fast"))
        scalar = Scalar("n", "i32", 1)
        with pytest.raises(LaunchError, match="kernel fast was given a buffer of another device"):
            mine.launch(kernel, (1, 1, 1), (1, 1, 1), [DevicePointer(other.alloc(4)), scalar])
        with pytest.raises(LaunchError, match="kernel fast was compiled for another device"):
            other.launch(kernel, (1, 1, 1), (1, 1, 1), [DevicePointer(other.alloc(4)), scalar])

    @pytest.mark.parametrize("offset", [-4, 5])
    def test_a_pointer_lies_in_its_buffer(self, opened, file, offset):
        device = opened()
        kernel = device.compile(KernelSource(file=str(file), entry="fast"))
        args = [DevicePointer(device.alloc(4), offset), Scalar("n", "i32", 1)]
        with pytest.raises(LaunchError, match=rf"kernel fast was given offset {offset} into a buffer of 4"):
            device.launch(kernel, (1, 1, 1), (1, 1, 1), args)


class TestArguments:
    @pytest.mark.parametrize(
        ("args", "complaint"),
        [
            (lambda pointer: [pointer], "1 arguments were given where 2 belong"),
            (lambda pointer: [pointer, pointer], r"argument 1 \(n\) is pointer where i32 belongs"),
            (lambda pointer: [Scalar("n", "i32", 1), pointer], r"argument 0 \(y\) is i32 where pointer belongs"),
            (lambda pointer: [pointer, Scalar("n", "i64", 1)], r"argument 1 \(n\) is i64 where i32 belongs"),
        ],
    )
    def test_arguments_of_the_wrong_kind_are_named(self, opened, file, args, complaint):
        device = opened()
        kernel = device.compile(KernelSource(file=str(file), entry="fast"))
        with pytest.raises(LaunchError, match=f"kernel fast cannot start: {complaint}"):
            device.launch(kernel, (1, 1, 1), (1, 1, 1), args(DevicePointer(device.alloc(4))))


def test_threads_compile_each_kernel_once(opened, file):
    device = opened(KernelScript(compile_seconds=1.0))
    source = KernelSource(file=str(file), entry="fast")
    barrier, seconds = threading.Barrier(8), []

    def compile_together():
        barrier.wait()
        seconds.append(device.compile(source).compile_seconds)

    threads = [threading.Thread(target=compile_together) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(seconds) == [0.0] * 7 + [1.0]


def test_thousands_of_buffers_and_launches_leave_nothing_behind(opened, file):
    """Checked launches are remembered, but not for ever."""
    device = opened()
    kernel = device.compile(KernelSource(file=str(file), entry="fast"))
    for _ in range(5000):
        buffer = device.alloc(4)
        device.launch(kernel, (1, 1, 1), (1, 1, 1), (DevicePointer(buffer), Scalar("n", "i32", 1)))
        buffer.free()
    assert len(kernel.plans) < 5000
    assert device.free_memory_bytes() == device.info.memory_bytes
