"""The times that a script gives to launches: a pure function of seed, session, rule and launch number."""

from __future__ import annotations

import math
import random
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

from pytest_miopen_perf.devices.script import Variation

if TYPE_CHECKING:
    from pytest_miopen_perf.devices.script import KernelScript, Script
    from pytest_miopen_perf.launch import KernelSource

_BLOCK = 256
"""Launches whose numbers are drawn together, because seeding costs more than drawing."""

_normal = NormalDist().inv_cdf


class VariationFactor:
    """What a `Variation` multiplies the time of a launch with.

    Args:
        variation: How times vary.
        stream: Names the numbers that are drawn: equal streams give equal factors.
    """

    def __init__(self, variation: Variation, stream: str) -> None:
        self._variation = variation
        self._stream = stream
        self._is_steady = variation == Variation(session_offset=variation.session_offset)
        self._session = math.exp(variation.session_offset * _first_drawn(f"{stream} session")[0])

    def at(self, launch: int) -> float:
        """The factor of a launch, counted from 0."""
        if self._is_steady:
            return self._session
        variation = self._variation
        normal, uniform = _drawn(self._stream, launch)
        factor = self._session * math.exp(variation.noise * normal)
        if variation.drift:
            factor *= (1.0 + variation.drift) ** (launch / 1000)
        if variation.spikes and uniform < variation.spikes.probability:
            factor *= variation.spikes.factor
        if variation.throttle and launch >= variation.throttle.after_launches:
            factor *= variation.throttle.factor
        if variation.clock_states:
            stretch = launch // variation.clock_states.dwell_launches
            if _drawn(f"{self._stream} clock", stretch)[1] < variation.clock_states.probability:
                factor *= variation.clock_states.factor
        return factor


class DeviceVariation:
    """The variation of the whole device, and of each rule of its script."""

    def __init__(self, script: Script) -> None:
        stream = f"seed {script.seed} session {script.session}"
        self._seed = script.seed
        self._device = VariationFactor(script.variation, f"{stream} device")
        self._rules = {
            number: VariationFactor(script.rule(number).variation, f"{stream} rule {number}")
            for number in range(-1, len(script.rules))
        }

    def factor(self, rule_number: int, rule_launch: int, device_launch: int) -> float:
        """What a time is multiplied with, by the launch's number within its rule and on the device."""
        return self._rules[rule_number].at(rule_launch) * self._device.at(device_launch)

    def config_factor(self, rule: KernelScript, source: KernelSource) -> float:
        """What the times of this set of macros are multiplied with, in every session."""
        if not rule.config_spread:
            return 1.0
        return math.exp(rule.config_spread * _first_drawn(f"seed {self._seed} {source.entry} {source.defines}")[0])


def stepped(seconds: float, step: float) -> float:
    """A time as a timer of that step shows it; 0 has no step."""
    return round(seconds / step) * step if step else seconds


def _drawn(stream: str, number: int) -> tuple[float, float]:
    """A standard normal and a uniform number that belong to this number of the stream, in whatever order one asks."""
    block, place = divmod(number, _BLOCK)
    return _block(stream, block)[place]


def _first_drawn(stream: str) -> tuple[float, float]:
    """`_drawn` of number 0, where no other is asked for."""
    return _pair(_source(stream, 0))


@lru_cache(maxsize=256)
def _block(stream: str, block: int) -> tuple[tuple[float, float], ...]:
    source = _source(stream, block)
    return tuple(_pair(source) for _ in range(_BLOCK))


def _source(stream: str, block: int) -> random.Random:
    return random.Random(f"{stream} block {block}")  # noqa: S311 - scripted noise keeps no secret


def _pair(source: random.Random) -> tuple[float, float]:
    # `Random.random` is the one method whose numbers Python promises not to change, so the normal comes from it too.
    return _normal(source.random() or 0.5), source.random()
