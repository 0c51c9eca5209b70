"""What a device says of itself around a measurement: clocks, power, temperature, and who else uses it.

A sensor is read before and after each measured block, never inside one. What it cannot tell is None, and a machine that
has no library for its device has no sensor: the reason is kept in words.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """One look at a device; None is what its library does not tell.

    Attributes:
        clock_mhz: Of the compute units.
        memory_clock_mhz: Of the memory.
        power_watts: Of the device.
        temperature_celsius: Of the device.
        other_processes: Processes of others that hold the device.
        load: Of a CPU: processes that run or want to, over the last minute.
    """

    clock_mhz: float | None = None
    memory_clock_mhz: float | None = None
    power_watts: float | None = None
    temperature_celsius: float | None = None
    other_processes: int | None = None
    load: float | None = None

    def to_json(self) -> dict[str, Any]:
        """As builtins."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockReadings:
    """A measured block with the readings around it."""

    before: Reading
    after: Reading

    @property
    def other_processes(self) -> int:
        """The most of them that were seen."""
        return max(self.before.other_processes or 0, self.after.other_processes or 0)

    def to_json(self) -> dict[str, Any]:
        """As builtins."""
        return {"before": self.before.to_json(), "after": self.after.to_json()}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> BlockReadings:
        """The inverse of `to_json`."""
        return BlockReadings(before=Reading(**data["before"]), after=Reading(**data["after"]))


class Sensor(Protocol):
    """Reads one device."""

    @property
    def name(self) -> str:
        """What the readings come from; of a sensor that reads nothing, why."""

    def read(self) -> Reading | None:
        """A look at the device; None of a sensor that reads nothing. Never raises."""


class BlockWatch:
    """Looks at a device when it is made, and after each measured block.

    Args:
        sensor: Reads the device.
    """

    def __init__(self, sensor: Sensor) -> None:
        self._sensor = sensor
        self._last = sensor.read()
        self._blocks: list[BlockReadings] = []

    @property
    def blocks(self) -> tuple[BlockReadings, ...]:
        """Those that have ended; none of a device without a sensor."""
        return tuple(self._blocks)

    def end_block(self) -> None:
        """Look again: what was read before belongs to the block that ends, this to it and to the next one."""
        before, after = self._last, self._sensor.read()
        if before is not None and after is not None:
            self._blocks.append(BlockReadings(before=before, after=after))
        self._last = after


@dataclass(frozen=True, slots=True)
class NoSensor:
    """Reads nothing; its name is the reason."""

    name: str = ""

    def read(self) -> None:
        """Nothing."""
