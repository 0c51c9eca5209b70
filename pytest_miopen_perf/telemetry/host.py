"""The CPU: its clock and its load, as Linux tells them.

A load says nothing of who causes it, and is never low on a shared machine: it is kept, and taints nothing.
"""

from __future__ import annotations

import os
from pathlib import Path

from pytest_miopen_perf.telemetry import Reading

_FREQUENCY = "cpufreq/scaling_cur_freq"
_PROCESSORS = Path("/sys/devices/system/cpu")


class HostSensor:
    """The processors that this process may use.

    Args:
        processors: The folder that holds `cpu0`, `cpu1` and so on.
    """

    name = "Linux"

    def __init__(self, processors: Path = _PROCESSORS) -> None:
        self._clocks = [processors / f"cpu{number}" / _FREQUENCY for number in sorted(os.sched_getaffinity(0))]

    def read(self) -> Reading:
        """The highest clock of them, where Linux tells it, and the load of the last minute."""
        clocks = [mhz for path in self._clocks if (mhz := _megahertz(path)) is not None]
        return Reading(clock_mhz=max(clocks, default=None), load=os.getloadavg()[0])


def _megahertz(path: Path) -> float | None:
    try:
        return int(path.read_text()) / 1e3
    except (OSError, ValueError):
        return None
