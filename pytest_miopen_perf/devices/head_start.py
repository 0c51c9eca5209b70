"""How long a GPU is kept busy while the host queues a batch behind it, so that the batch never waits for the host.

A launch from Python takes the host longer than a short kernel takes the device: without a head start the events around
a batch would tell the host's time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_miopen_perf.errors import LaunchError

if TYPE_CHECKING:
    from collections.abc import Callable

FIRST_GUESS_SECONDS = 2e-5
"""What a launch takes the host, before anything is known."""

_SHORT, _LONG = 1_000, 21_000
_RUNS = 3
_RESERVE = 2.0
_FORGETTING = 0.9
_FEWEST_TURNS = 1


class HeadStart:
    """What is known of the host's pace and of the length of a delay.

    Args:
        delay_seconds: Runs a delay of so many turns; the device's time of it.
    """

    def __init__(self, delay_seconds: Callable[[int], float]) -> None:
        self._delay_seconds = delay_seconds
        self._turn_seconds = 0.0
        self._launch_seconds = FIRST_GUESS_SECONDS

    def seconds_for(self, launches: int) -> float:
        """How long the device has to be busy while so many launches are queued."""
        return launches * self._launch_seconds

    def turns_for(self, seconds: float) -> int:
        """The turns of a delay that lasts at least so long.

        Raises:
            LaunchError: the delay failed, or a longer one does not take longer.
        """
        if not self._turn_seconds:
            self._turn_seconds = self._calibrated()
        return max(_FEWEST_TURNS, int(seconds / self._turn_seconds) + 1)

    def learn(self, launches: int, took_seconds: float) -> None:
        """Note how long the host took to queue so many launches: slow news count at once, quick news fade in."""
        seen = _RESERVE * took_seconds / launches
        self._launch_seconds = max(seen, _FORGETTING * self._launch_seconds)

    def _calibrated(self) -> float:
        self._delay_seconds(_SHORT)
        short, long = (min(self._delay_seconds(turns) for _ in range(_RUNS)) for turns in (_SHORT, _LONG))
        if not long > short:
            raise LaunchError("a longer delay does not take longer; check the device's clock")
        return (long - short) / (_LONG - _SHORT)
