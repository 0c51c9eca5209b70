"""The sensor of a device."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_miopen_perf.telemetry import NoSensor

if TYPE_CHECKING:
    from pytest_miopen_perf.devices import Device
    from pytest_miopen_perf.telemetry import Sensor
    from pytest_miopen_perf.telemetry.household import Household


def sensor_of(device: Device, household: Household) -> Sensor:
    """The sensor of a device, or one that reads nothing and says why.

    Args:
        device: An opened device: it has to be held by this process, for other holders are told from it.
        household: Whose processes are not strangers.
    """
    info = device.info
    if info.backend == "scripted":
        from pytest_miopen_perf.telemetry.script import sensor_of_script

        return sensor_of_script(device)
    if info.backend == "cuda":
        from pytest_miopen_perf.telemetry import nvml

        return nvml.open_sensor(info, household)
    if info.backend == "hip":
        from pytest_miopen_perf.telemetry import amd

        return amd.open_sensor(info, household)
    if info.backend == "cpu":
        from pytest_miopen_perf.telemetry.host import HostSensor

        return HostSensor()
    return NoSensor(f"no library tells of the back-end {info.backend}")
