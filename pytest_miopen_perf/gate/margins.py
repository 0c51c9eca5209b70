"""The margin: the change that the user does not mind, and the least that the machine can tell from noise."""

from __future__ import annotations

import math
import re

from pytest_miopen_perf.errors import SettingsError

DEFAULT_MARGIN = 0.01

_FORM = re.compile(r"([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?)\s*(%?)")


def parse_margin(text: str | float) -> float:
    """A margin as a share: "2%" and "0.02" are both 0.02, "0.5%" is 0.005.

    Raises:
        SettingsError: no share above 0 and below 1; the message says what to give, and of which value it thinks.
    """
    found = _FORM.fullmatch(str(text).strip())
    if not found:
        raise SettingsError("a margin is a share of the time; give one such as 2% or 0.02")
    value = float(found[1]) / (100 if found[2] else 1)
    if not math.isfinite(value) or value <= 0:
        raise SettingsError("a margin is above zero, since two runs are never equal; give one such as 2% or 0.02")
    if value >= 1:
        guess = f"; did you mean {found[1]}%?" if not found[2] and value < 100 else "; give one such as 2% or 0.02"
        raise SettingsError(f"a margin of {value * 100:g}% would let a kernel take {1 + value:g} times its time{guess}")
    return value


def effective_margin(user_margin: float, noise_floor: float | None) -> float:
    """What a verdict is tested against: the greater of what the user asks for and what the machine can tell apart."""
    return max(user_margin, noise_floor or 0.0)
