"""Readings around blocks, the CPU's own, and which sensor a device gets."""

import json
import os
import sys
from types import SimpleNamespace

import pytest

from pytest_miopen_perf.devices.script import Script
from pytest_miopen_perf.devices.scripted import ScriptedDevice
from pytest_miopen_perf.launch import DeviceInfo
from pytest_miopen_perf.measuring.circumstances import Circumstances
from pytest_miopen_perf.telemetry import BlockReadings, BlockWatch, NoSensor, Reading
from pytest_miopen_perf.telemetry.host import HostSensor
from pytest_miopen_perf.telemetry.household import Household
from pytest_miopen_perf.telemetry.opening import sensor_of

HOUSEHOLD = Household(root=os.getpid())


class Counting:
    """A sensor whose readings are numbered."""

    name = "counting"

    def __init__(self):
        self.reads = 0

    def read(self):
        self.reads += 1
        return Reading(clock_mhz=self.reads)


def block(*others):
    before, after = (Reading(other_processes=other) for other in others)
    return BlockReadings(before=before, after=after)


def test_a_look_between_two_blocks_belongs_to_both():
    sensor = Counting()
    watch = BlockWatch(sensor)
    assert watch.blocks == ()
    for _ in range(3):
        watch.end_block()
    assert [(one.before.clock_mhz, one.after.clock_mhz) for one in watch.blocks] == [(1, 2), (2, 3), (3, 4)]
    assert sensor.reads == 4


def test_a_device_without_a_sensor_has_no_blocks():
    watch = BlockWatch(NoSensor("none here"))
    watch.end_block()
    assert watch.blocks == ()


@pytest.mark.parametrize(
    ("blocks", "taint"),
    [
        ((), ""),
        ((block(0, 0), block(None, None)), ""),
        ((block(0, 1),), "another process held the device while it was measured"),
        ((block(0, 0), block(3, None)), "3 other processes held the device while it was measured"),
    ],
)
def test_others_on_the_device_taint(blocks, taint):
    assert Circumstances(blocks=blocks).taint == taint


def test_circumstances_survive_json():
    circumstances = Circumstances(
        launch_mode="batched",
        cache_note="a note",
        timer_step_seconds=1e-6,
        empty_launch_seconds=2e-6,
        sensor="NVML",
        blocks=(block(0, 1), BlockReadings(before=Reading(), after=Reading(load=0.5, power_watts=100.0))),
    )
    assert Circumstances.from_json(json.loads(json.dumps(circumstances.to_json()))) == circumstances


def test_the_cpu_tells_its_highest_clock_and_its_load(tmp_path):
    for number in os.sched_getaffinity(0):
        folder = tmp_path / f"cpu{number}" / "cpufreq"
        folder.mkdir(parents=True)
        (folder / "scaling_cur_freq").write_text(f"{2_000_000 + number}\n")
    reading = HostSensor(tmp_path).read()
    assert reading.clock_mhz == 2000 + max(os.sched_getaffinity(0)) / 1e3
    assert reading.load >= 0
    assert reading.other_processes is None


def test_a_cpu_whose_clock_is_not_told_has_a_load(tmp_path):
    assert HostSensor(tmp_path).read().clock_mhz is None


def test_each_device_gets_its_sensor(monkeypatch):
    for name in ("pynvml", "amdsmi"):
        monkeypatch.setitem(sys.modules, name, None)
    scripted = ScriptedDevice(Script(other_processes=2))
    names = {
        backend: sensor_of(SimpleNamespace(info=info(backend)), HOUSEHOLD).name for backend in ("cuda", "hip", "cpu")
    }
    assert sensor_of(scripted, HOUSEHOLD).read() == Reading(other_processes=2)
    assert "NVML is not installed" in names["cuda"]
    assert "amdsmi is not installed" in names["hip"]
    assert names["cpu"] == "Linux"
    assert "abacus" in sensor_of(SimpleNamespace(info=info("abacus")), HOUSEHOLD).name


def info(backend):
    return DeviceInfo(backend=backend, name="D", arch="a", compute_units=1, wavefront=1, lds_bytes=1, memory_bytes=1)
