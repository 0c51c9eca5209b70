"""AMD GPUs through the System Management Interface, by way of AMD's own amdsmi."""

from __future__ import annotations

import contextlib
import io
import math
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.telemetry import NoSensor, Reading

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.telemetry import Sensor
    from pytest_miopen_perf.telemetry.household import Household

_ADVICE = "ROCm brings it: pip install /opt/rocm/share/amd_smi"
_ABSENT = (ImportError, OSError, AttributeError, KeyError, NameError)
"""What amdsmi raises, version by version, where its library is missing; importing it then also prints."""


def open_sensor(info: DeviceInfo, household: Household) -> Sensor:
    """The sensor of an AMD GPU, or why there is none."""
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            import amdsmi
    except _ABSENT as error:
        return NoSensor(f"amdsmi is not installed ({error}); {_ADVICE}")
    try:
        amdsmi.amdsmi_init()
        handle = amdsmi.amdsmi_get_processor_handle_from_bdf(f"{info.bus}.0")
    except (amdsmi.AmdSmiException, *_ABSENT) as error:
        return NoSensor(f"amdsmi does not tell of {info.name}: {error}")
    return AmdSensor(amdsmi, handle, household)


class AmdSensor:
    """One GPU.

    Args:
        smi: The module `amdsmi`, initialised.
        handle: Of the GPU.
        household: Whose processes are not strangers.
    """

    name = "amdsmi"

    def __init__(self, smi: Any, handle: Any, household: Household) -> None:
        self._smi = smi
        self._handle = handle
        self._household = household

    def read(self) -> Reading:
        """A look at the GPU; what it refuses to tell is None."""
        smi = self._smi
        hotspot = (smi.AmdSmiTemperatureType.HOTSPOT, smi.AmdSmiTemperatureMetric.CURRENT)
        return Reading(
            clock_mhz=self._clock_mhz(smi.AmdSmiClkType.GFX),
            memory_clock_mhz=self._clock_mhz(smi.AmdSmiClkType.MEM),
            power_watts=self._power_watts(),
            temperature_celsius=_number(self._asked(smi.amdsmi_get_temp_metric, *hotspot)),
            other_processes=self._other_processes(),
        )

    def _clock_mhz(self, kind: Any) -> float | None:
        found = self._asked(self._smi.amdsmi_get_clock_info, kind) or {}
        return _first_number(found, "clk", "cur_clk")

    def _power_watts(self) -> float | None:
        found = self._asked(self._smi.amdsmi_get_power_info) or {}
        return _first_number(found, "current_socket_power", "average_socket_power", "socket_power")

    def _other_processes(self) -> int | None:
        holders = self._asked(self._smi.amdsmi_get_gpu_process_list)
        if holders is None or not all(isinstance(one, dict) and "pid" in one for one in holders):
            return None
        return self._household.strangers([int(one["pid"]) for one in holders])

    def _asked(self, function: Callable[..., Any], *args: Any) -> Any | None:
        """None where the GPU does not support it, the user may not ask it, or the driver has lost the GPU.

        A process whose name is no UTF-8, as one that the driver has cut, is more than amdsmi can read.
        """
        try:
            return function(self._handle, *args)
        except (self._smi.AmdSmiException, UnicodeDecodeError):
            return None


def _first_number(found: dict[str, Any], *names: str) -> float | None:
    """The first that is one: which of the names has it depends on the GPU and on the version."""
    return next((number for name in names if (number := _number(found.get(name))) is not None), None)


def _number(value: Any) -> float | None:
    """A number above zero; "N/A" and zero are how amdsmi says that it does not know."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if is_number and math.isfinite(value) and value > 0 else None
