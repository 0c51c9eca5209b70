"""The scripted device: what its script says of others that use it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.devices.scripted import ScriptedDevice
from pytest_miopen_perf.telemetry import Reading

if TYPE_CHECKING:
    from pytest_miopen_perf.devices import Device


def sensor_of_script(device: Device) -> ScriptSensor:
    """The sensor of a scripted device."""
    assert isinstance(device, ScriptedDevice), "no other back-end is called scripted"
    return ScriptSensor(device.other_processes)


@dataclass(frozen=True, slots=True)
class ScriptSensor:
    """Tells the same at every look."""

    other_processes: int

    @property
    def name(self) -> str:
        """A script is no library."""
        return "its script"

    def read(self) -> Reading:
        """What the script says."""
        return Reading(other_processes=self.other_processes)
