"""NVIDIA GPUs through NVML, by way of nvidia-ml-py."""

from __future__ import annotations

import uuid
import warnings
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.telemetry import NoSensor, Reading

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.telemetry import Sensor
    from pytest_miopen_perf.telemetry.household import Household

_ADVICE = "pip install nvidia-ml-py"


def open_sensor(info: DeviceInfo, household: Household) -> Sensor:
    """The sensor of an NVIDIA GPU, or why there is none."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an older package of the same name warns of itself
            import pynvml
    except ImportError as error:
        return NoSensor(f"NVML is not installed ({error}); {_ADVICE}")
    try:
        pynvml.nvmlInit()
        handle = pynvml.nvmlDeviceGetHandleByUUID(f"GPU-{uuid.UUID(info.uid)}")
        return NvmlSensor(pynvml, handle, household)
    except pynvml.NVMLError as error:
        return NoSensor(f"NVML does not tell of {info.name}: {error}")


class NvmlSensor:
    """One GPU.

    Args:
        nvml: The module `pynvml`, initialised.
        handle: Of the GPU.
        household: Whose processes are not strangers.
    """

    def __init__(self, nvml: Any, handle: Any, household: Household) -> None:
        self._nvml = nvml
        self._handle = handle
        self._household = household
        self.name = f"NVML of driver {nvml.nvmlSystemGetDriverVersion()}"

    def read(self) -> Reading:
        """A look at the GPU; what NVML refuses to tell is None."""
        nvml = self._nvml
        milliwatts = self._asked(nvml.nvmlDeviceGetPowerUsage)
        holders = self._asked(nvml.nvmlDeviceGetComputeRunningProcesses)
        return Reading(
            clock_mhz=self._asked(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_SM),
            memory_clock_mhz=self._asked(nvml.nvmlDeviceGetClockInfo, nvml.NVML_CLOCK_MEM),
            power_watts=None if milliwatts is None else milliwatts / 1e3,
            temperature_celsius=self._asked(nvml.nvmlDeviceGetTemperature, nvml.NVML_TEMPERATURE_GPU),
            other_processes=None if holders is None else self._household.strangers([one.pid for one in holders]),
        )

    def _asked(self, function: Callable[..., Any], *args: Any) -> Any | None:
        """None where the GPU does not support it, the user may not ask it, or the driver has lost the GPU."""
        try:
            return function(self._handle, *args)
        except self._nvml.NVMLError:
            return None
