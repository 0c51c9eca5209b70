"""NVML as it answers, refuses and is not there."""

import os
import sys
from types import SimpleNamespace

import pytest

from pytest_miopen_perf.launch import DeviceInfo
from pytest_miopen_perf.telemetry import Reading
from pytest_miopen_perf.telemetry.household import Household
from pytest_miopen_perf.telemetry.nvml import open_sensor

UID = "5ca1ab1e0ddba1100000000000000007"
INFO = DeviceInfo(
    backend="cuda",
    uid=UID,
    name="H200",
    arch="sm_90a",
    compute_units=132,
    wavefront=32,
    lds_bytes=232448,
    memory_bytes=2**37,
)
HOUSEHOLD = Household(root=os.getpid())


class NVMLError(Exception):
    pass


def refuse(*_):
    raise NVMLError("Insufficient Permissions")


@pytest.fixture
def nvml(monkeypatch):
    """A library with one busy GPU."""
    asked = []
    module = SimpleNamespace(
        NVMLError=NVMLError,
        NVML_CLOCK_SM=1,
        NVML_CLOCK_MEM=2,
        NVML_TEMPERATURE_GPU=0,
        asked=asked,
        nvmlInit=lambda: None,
        nvmlSystemGetDriverVersion=lambda: "570.1",
        nvmlDeviceGetHandleByUUID=lambda uuid: asked.append(uuid) or "handle",
        nvmlDeviceGetClockInfo=lambda handle, kind: {1: 1980, 2: 3201}[kind],
        nvmlDeviceGetPowerUsage=lambda handle: 345_678,
        nvmlDeviceGetTemperature=lambda handle, kind: 41,
        nvmlDeviceGetComputeRunningProcesses=lambda handle: [SimpleNamespace(pid=os.getpid()), SimpleNamespace(pid=1)],
    )
    monkeypatch.setitem(sys.modules, "pynvml", module)
    return module


def test_a_reading_holds_what_nvml_tells(nvml):
    sensor = open_sensor(INFO, HOUSEHOLD)
    assert sensor.name == "NVML of driver 570.1"
    assert sensor.read() == Reading(
        clock_mhz=1980, memory_clock_mhz=3201, power_watts=345.678, temperature_celsius=41, other_processes=1
    )
    assert nvml.asked == ["GPU-5ca1ab1e-0ddb-a110-0000-000000000007"]


@pytest.mark.parametrize(
    ("function", "field"),
    [
        ("nvmlDeviceGetPowerUsage", "power_watts"),
        ("nvmlDeviceGetTemperature", "temperature_celsius"),
        ("nvmlDeviceGetComputeRunningProcesses", "other_processes"),
    ],
)
def test_what_is_refused_is_none_and_the_rest_is_told(nvml, function, field):
    setattr(nvml, function, refuse)
    reading = open_sensor(INFO, HOUSEHOLD).read()
    assert getattr(reading, field) is None
    assert reading.clock_mhz == 1980


def test_a_gpu_that_tells_nothing_reads_as_nothing(nvml):
    sensor = open_sensor(INFO, HOUSEHOLD)
    for name in vars(nvml):
        if name.startswith("nvmlDeviceGet"):
            setattr(nvml, name, refuse)
    assert sensor.read() == Reading()


@pytest.mark.parametrize("function", ["nvmlInit", "nvmlDeviceGetHandleByUUID", "nvmlSystemGetDriverVersion"])
def test_a_library_that_fails_is_a_reason(nvml, function):
    setattr(nvml, function, refuse)
    sensor = open_sensor(INFO, HOUSEHOLD)
    assert (sensor.name, sensor.read()) == ("NVML does not tell of H200: Insufficient Permissions", None)


def test_a_library_that_is_missing_is_a_reason(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    sensor = open_sensor(INFO, HOUSEHOLD)
    assert sensor.read() is None
    assert "NVML is not installed" in sensor.name
    assert "pip install nvidia-ml-py" in sensor.name
