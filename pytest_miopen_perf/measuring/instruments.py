"""What a session finds out about a device's own clock and sensors before it believes them."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

from pytest_miopen_perf.devices import Call
from pytest_miopen_perf.devices.probe_kernels import EMPTY
from pytest_miopen_perf.errors import DeviceError
from pytest_miopen_perf.statistics import is_time, median
from pytest_miopen_perf.telemetry import NoSensor

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pytest_miopen_perf.devices import Device
    from pytest_miopen_perf.telemetry import Sensor

_ONE = (1, 1, 1)
_EMPTY_LAUNCHES = 32
_LONGEST_BATCH = 16
_ROUNDS = 8
_ROUNDING = 1e-6
"""Relative difference of two times that is none: drivers tell times in float32."""

_LEAST_STEP_SECONDS = 5e-10
"""Below it a difference is rounding too: the host's clock counts nanoseconds, as a float since the machine started."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Instruments:
    """A device's clock and sensors.

    Attributes:
        timer_step_seconds: The smallest difference of two times that was seen, and so no less than the timer's step;
            None where all times were alike, or none was valid.
        empty_launch_seconds: The median time of a launch that does nothing; None where none was valid.
        sensor: Clocks, power, temperature and other processes.
    """

    timer_step_seconds: float | None = None
    empty_launch_seconds: float | None = None
    sensor: Sensor = field(default_factory=NoSensor)


def instruments_of(device: Device, sensor: Sensor) -> Instruments:
    """Measure empty launches, alone and in batches of several lengths: some hundred microseconds of device time.

    A device on which the empty kernel fails is left to say so where a real one is run.
    """
    try:
        kernel = device.compile(EMPTY)
        empty = Call(kernel, _ONE, _ONE, ())
        device.launch(kernel, _ONE, _ONE, ()).seconds()
        alone = [device.launch(kernel, _ONE, _ONE, ()).seconds() for _ in range(_EMPTY_LAUNCHES)]
        lengths = [length for _ in range(_ROUNDS) for length in range(1, _LONGEST_BATCH + 1)]
        batches = [device.launch_batch([empty] * length).seconds() for length in lengths]
    except DeviceError:
        return Instruments(sensor=sensor)
    return Instruments(
        timer_step_seconds=smallest_step(valid_times([*alone, *batches])),
        empty_launch_seconds=median(valid_times(alone)),
        sensor=sensor,
    )


def valid_times(seconds: Iterable[float]) -> list[float]:
    """Those that are times."""
    return [time for time in seconds if is_time(time)]


def smallest_step(seconds: Sequence[float]) -> float | None:
    """The smallest difference between times that differ by more than rounding; None where none do."""
    ordered = sorted(seconds)
    steps = [
        later - earlier
        for earlier, later in pairwise(ordered)
        if later - earlier > max(_LEAST_STEP_SECONDS, _ROUNDING * later)
    ]
    return min(steps, default=None)
