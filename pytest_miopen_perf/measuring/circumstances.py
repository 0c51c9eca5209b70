"""What a timed run was taken under, beside the problem and the kernels: kept with its times, never subtracted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.telemetry import BlockReadings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_miopen_perf.measuring.batching import TakenMode

_PLAIN_FIELDS = ("launch_mode", "cache_note", "timer_step_seconds", "empty_launch_seconds", "sensor")


@dataclass(frozen=True, slots=True, kw_only=True)
class Circumstances:
    """The circumstances of one timed run.

    Attributes:
        launch_mode: Whether executions had times of their own; None where a log does not tell.
        cache_note: How the caches were brought into their state, in words; "" where they were left as they are.
        timer_step_seconds: The finest step of the device's timer that this session has seen; None where none was.
        empty_launch_seconds: What the device tells of a launch that does nothing: every isolated time holds as much of
            each of its kernels. None where it was not measured.
        sensor: What the readings come from, or why there are none.
        blocks: The readings around each measured block.
    """

    launch_mode: TakenMode | None = "isolated"
    cache_note: str = ""
    timer_step_seconds: float | None = None
    empty_launch_seconds: float | None = None
    sensor: str = ""
    blocks: tuple[BlockReadings, ...] = ()

    @property
    def taint(self) -> str:
        """Why the times are not the kernel's alone, as a sentence without its full stop; "" where nothing says so."""
        most = max((block.other_processes for block in self.blocks), default=0)
        if not most:
            return ""
        others = "another process" if most == 1 else f"{most} other processes"
        return f"{others} held the device while it was measured"

    def to_json(self) -> dict[str, Any]:
        """As builtins."""
        return {
            **{name: getattr(self, name) for name in _PLAIN_FIELDS},
            "blocks": [block.to_json() for block in self.blocks],
        }

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> Circumstances:
        """The inverse of `to_json`."""
        blocks = tuple(map(BlockReadings.from_json, data["blocks"]))
        return Circumstances(**{name: data[name] for name in _PLAIN_FIELDS}, blocks=blocks)
