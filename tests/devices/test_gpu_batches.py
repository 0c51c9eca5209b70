"""Batches on a GPU: packed once, queued behind a delay, and without a time where the host was the brake."""

import math
import types
from dataclasses import dataclass, field

import pytest

from pytest_miopen_perf.devices import Call, DeviceOptions, gpu
from pytest_miopen_perf.devices.gpu import GpuDevice
from pytest_miopen_perf.devices.gpu_backend import chosen_ordinal
from pytest_miopen_perf.devices.head_start import FIRST_GUESS_SECONDS, HeadStart
from pytest_miopen_perf.devices.probe_kernels import EMPTY
from pytest_miopen_perf.errors import DeviceUnavailableError, LaunchError
from pytest_miopen_perf.launch import DeviceInfo, Scalar

INFO = DeviceInfo(
    backend="fake", name="Fake", arch="f", compute_units=1, wavefront=32, lds_bytes=1024, memory_bytes=2**20
)
TURN_SECONDS = 1e-9
ONE = (1, 1, 1)


@dataclass
class FakeDriver:
    """A GPU whose queue runs beside the host: both clocks are numbers.

    A launch takes the host `host_seconds`, and the device what its kernel does, but never begins before it is queued.
    """

    info: DeviceInfo = INFO
    target: str = "f"
    host_seconds: float = 5e-6
    kernel_seconds: float = 2e-6
    now: float = 0.0
    free_at: float = 0.0
    packed: int = 0
    refused: str = ""
    is_synchronous: bool = False
    log: list[str] = field(default_factory=list)

    def compile(self, source):
        return source.entry.encode()

    def load(self, binary, entry):
        return binary, entry

    def unload(self, module):
        pass

    def close(self):
        pass

    def make_event(self):
        return types.SimpleNamespace(at=math.nan)

    def destroy_event(self, event):
        pass

    def pack(self, function, grid, block, args, shared_bytes):
        self.packed += 1
        turns = next((arg.value for arg in args if isinstance(arg, Scalar)), None)
        return function, self.kernel_seconds if turns is None else 1e-6 + turns * TURN_SECONDS

    def launch(self, packed):
        name, seconds = packed
        self.log.append(name)
        if name == self.refused:
            raise LaunchError("the fake refuses")
        self.now += self.host_seconds
        self.free_at = max(self.free_at, self.now) + seconds
        if self.is_synchronous:
            self.now = self.free_at

    def launch_between(self, events, packed):
        events[0].at = max(self.free_at, self.now)
        for launch in packed:
            self.launch(launch)
        events[1].at = self.free_at

    def elapsed_seconds(self, start, end):
        self.now = max(self.now, self.free_at)
        return end.at - start.at


@pytest.fixture
def driver(monkeypatch):
    driver = FakeDriver()
    monkeypatch.setattr(gpu, "time", types.SimpleNamespace(perf_counter=lambda: driver.now))
    return driver


@pytest.fixture
def device(driver, tmp_path, closing):
    return closing(GpuDevice(driver, DeviceOptions(cache_dir=tmp_path)))


@pytest.fixture
def empty(device):
    return Call(device.compile(EMPTY), ONE, ONE, ())


def test_a_batch_of_short_kernels_tells_the_device_s_time_and_not_the_host_s(driver, device, empty):
    assert driver.host_seconds > driver.kernel_seconds
    assert device.launch_batch([empty] * 100).seconds() == pytest.approx(100 * driver.kernel_seconds)


def test_the_delay_stands_in_front_and_each_launch_is_packed_once(driver, device, empty):
    device.launch_batch([empty]).seconds()
    driver.log.clear()
    packed = driver.packed
    device.launch_batch([empty] * 3).seconds()
    assert driver.log == ["canary_delay", *["empty_launch"] * 3]
    assert driver.packed == packed + 2


def test_a_host_that_is_slower_than_granted_gives_no_time_and_then_is_granted_more(driver, device, empty):
    driver.host_seconds = 10 * FIRST_GUESS_SECONDS
    assert math.isnan(device.launch_batch([empty] * 50).seconds())
    assert device.launch_batch([empty] * 50).seconds() == pytest.approx(50 * driver.kernel_seconds)


def test_a_runtime_that_runs_a_launch_before_it_returns_gets_its_times_too(driver, device, empty):
    """As a debugger's and as our stand-in: the delay holds up the host, and is no part of what queueing takes."""
    driver.is_synchronous = True
    times = [device.launch_batch([empty] * 20).seconds() for _ in range(8)]
    assert [time for time in times[1:] if not math.isnan(time)] == pytest.approx([20 * 7e-6] * 7, rel=0.1)


def test_kernels_that_outlast_the_host_need_no_head_start(driver, device, empty):
    driver.host_seconds, driver.kernel_seconds = 10 * FIRST_GUESS_SECONDS, 1e-2
    assert device.launch_batch([empty] * 5).seconds() == pytest.approx(5e-2, rel=0.01)


def test_a_batch_that_does_not_start_names_its_kernel_and_leaves_the_device_usable(driver, device, empty):
    driver.refused = "empty_launch"
    with pytest.raises(LaunchError, match=r"empty_launch of .* did not start: the fake refuses"):
        device.launch_batch([empty] * 2)
    driver.refused = ""
    assert device.launch_batch([empty] * 2).seconds() > 0


def test_a_delay_that_does_not_compile_is_a_batch_that_does_not_start(device, empty, monkeypatch):
    monkeypatch.setattr(gpu, "DELAY", EMPTY.__class__(file=EMPTY.file, entry="no_such_kernel"))
    with pytest.raises(LaunchError, match="delay in front of a batch does not compile"):
        device.launch_batch([empty])


def test_the_head_start_grows_at_once_and_shrinks_slowly():
    head_start = HeadStart(lambda turns: turns * TURN_SECONDS)
    assert head_start.seconds_for(10) == pytest.approx(10 * FIRST_GUESS_SECONDS)
    head_start.learn(10, 10 * 1e-3)
    grown = head_start.seconds_for(1)
    assert grown >= 1e-3
    head_start.learn(10, 1e-9)
    assert 0.5 * grown < head_start.seconds_for(1) < grown


def test_a_delay_is_at_least_as_long_as_wanted():
    head_start = HeadStart(lambda turns: 5e-6 + turns * TURN_SECONDS)
    for wanted in (0.0, 1e-9, 1e-6, 1.0):
        assert head_start.turns_for(wanted) * TURN_SECONDS * (1 + 1e-9) >= wanted
        assert head_start.turns_for(wanted) >= 1


@pytest.mark.parametrize("seconds", [0.0, math.nan, 1e-6])
def test_a_clock_that_does_not_see_the_delay_is_not_believed(seconds):
    with pytest.raises(LaunchError, match="longer delay does not take longer"):
        HeadStart(lambda turns: seconds).turns_for(1e-3)


def test_the_ordinal_that_is_asked_for_has_to_exist():
    assert chosen_ordinal(DeviceOptions(), "ACME", 1) == 0
    assert chosen_ordinal(DeviceOptions(device="2"), "ACME", 3) == 2
    for asked, count in (("", 0), ("3", 3), ("-1", 3), ("one", 3)):
        with pytest.raises(
            DeviceUnavailableError, match=rf"there is no ACME GPU {asked or 0}: there are {count}, .*; it is"
        ):
            chosen_ordinal(DeviceOptions(device=asked), "ACME", count, ["it is hidden"])
