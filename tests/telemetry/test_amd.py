"""amdsmi as it answers version by version, refuses and is not there."""

import enum
import os
import sys
from types import SimpleNamespace

import pytest

from pytest_miopen_perf.launch import DeviceInfo
from pytest_miopen_perf.telemetry import Reading
from pytest_miopen_perf.telemetry.amd import open_sensor
from pytest_miopen_perf.telemetry.household import Household

INFO = DeviceInfo(
    backend="hip",
    uid="5ca1ab1e0ddba11s",
    name="MI300X",
    arch="gfx942",
    compute_units=304,
    wavefront=64,
    lds_bytes=65536,
    memory_bytes=2**37,
    bus="0000:83:00",
)
HOUSEHOLD = Household(root=os.getpid())


class AmdSmiException(Exception):  # noqa: N818 - amdsmi's own name
    pass


class Clock(enum.IntEnum):
    GFX = 1
    MEM = 4


def refuse(*_):
    raise AmdSmiException("AMDSMI_STATUS_NO_PERM")


@pytest.fixture
def smi(monkeypatch):
    """A library with one busy GPU."""
    asked = []
    module = SimpleNamespace(
        AmdSmiException=AmdSmiException,
        AmdSmiClkType=Clock,
        AmdSmiTemperatureType=SimpleNamespace(HOTSPOT=1),
        AmdSmiTemperatureMetric=SimpleNamespace(CURRENT=0),
        asked=asked,
        amdsmi_init=lambda: None,
        amdsmi_get_processor_handle_from_bdf=lambda bdf: asked.append(bdf) or "handle",
        amdsmi_get_clock_info=lambda handle, kind: {"clk": {Clock.GFX: 2100, Clock.MEM: 1300}[kind], "min_clk": 500},
        amdsmi_get_power_info=lambda handle: {"current_socket_power": "N/A", "average_socket_power": 612},
        amdsmi_get_temp_metric=lambda handle, where, metric: 55,
        amdsmi_get_gpu_process_list=lambda handle: [{"name": "python", "pid": os.getpid()}, {"name": "x", "pid": 1}],
    )
    monkeypatch.setitem(sys.modules, "amdsmi", module)
    return module


def test_a_reading_holds_what_amdsmi_tells(smi):
    sensor = open_sensor(INFO, HOUSEHOLD)
    assert sensor.name == "amdsmi"
    assert sensor.read() == Reading(
        clock_mhz=2100, memory_clock_mhz=1300, power_watts=612, temperature_celsius=55, other_processes=1
    )
    assert smi.asked == ["0000:83:00.0"]


def test_older_and_newer_versions_name_things_differently(smi):
    smi.amdsmi_get_clock_info = lambda handle, kind: {"cur_clk": 900}
    smi.amdsmi_get_power_info = lambda handle: {"socket_power": 0, "current_socket_power": 101.5}
    reading = open_sensor(INFO, HOUSEHOLD).read()
    assert (reading.clock_mhz, reading.power_watts) == (900, 101.5)


@pytest.mark.parametrize("answer", ["N/A", 0, None, float("nan"), True])
def test_what_is_no_number_is_none(smi, answer):
    smi.amdsmi_get_clock_info = lambda handle, kind: {"clk": answer}
    smi.amdsmi_get_temp_metric = lambda *_: answer
    reading = open_sensor(INFO, HOUSEHOLD).read()
    assert (reading.clock_mhz, reading.temperature_celsius) == (None, None)


def test_a_list_of_handles_instead_of_processes_tells_nothing(smi):
    smi.amdsmi_get_gpu_process_list = lambda handle: ["a handle"]
    assert open_sensor(INFO, HOUSEHOLD).read().other_processes is None


def test_a_process_whose_name_amdsmi_cannot_read_leaves_the_rest(smi):
    smi.amdsmi_get_gpu_process_list = lambda handle: b"caf\xc3".decode("utf-8")
    reading = open_sensor(INFO, HOUSEHOLD).read()
    assert (reading.other_processes, reading.clock_mhz) == (None, 2100)


def test_a_gpu_that_refuses_all_reads_as_nothing(smi):
    sensor = open_sensor(INFO, HOUSEHOLD)
    for name in vars(smi):
        if name.startswith("amdsmi_get"):
            setattr(smi, name, refuse)
    assert sensor.read() == Reading()


@pytest.mark.parametrize("function", ["amdsmi_init", "amdsmi_get_processor_handle_from_bdf"])
def test_a_library_that_fails_is_a_reason(smi, function):
    setattr(smi, function, refuse)
    sensor = open_sensor(INFO, HOUSEHOLD)
    assert (sensor.name, sensor.read()) == ("amdsmi does not tell of MI300X: AMDSMI_STATUS_NO_PERM", None)


def test_a_module_whose_library_is_missing_fails_at_its_first_call(smi):
    del smi.amdsmi_init
    assert open_sensor(INFO, HOUSEHOLD).name.startswith("amdsmi does not tell of MI300X: ")


def test_a_module_that_prints_and_fails_where_its_library_is_missing(monkeypatch, tmp_path, capsys):
    (tmp_path / "amdsmi.py").write_text("print('no library')\nraise OSError('libamd_smi.so is not there')\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    sensor = open_sensor(INFO, HOUSEHOLD)
    assert sensor.read() is None
    assert "amdsmi is not installed (libamd_smi.so is not there)" in sensor.name
    assert capsys.readouterr().out == ""


def test_a_module_that_is_missing_is_a_reason(monkeypatch):
    monkeypatch.setitem(sys.modules, "amdsmi", None)
    assert "amdsmi is not installed" in open_sensor(INFO, HOUSEHOLD).name
