"""What the gate can judge beside the kernel time: compiling, tuning, the first launch, the workspace, the accuracy.

A process has one value of each. What differs from run to run is judged with a margin of its own, wide, and with a least
change below which nothing counts; what does not, the workspace and the accuracy, with hardly any.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.errors import SettingsError
from pytest_miopen_perf.gate.margins import parse_margin

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_miopen_perf.results import Result


class Phase(enum.Enum):
    """What is judged; the value is the word of options and files."""

    TIME = "time"
    COMPILE = "compile"
    TUNING = "tuning"
    FIRST_LAUNCH = "first-launch"
    WORKSPACE = "workspace"
    ACCURACY = "accuracy"

    @property
    def is_exact(self) -> bool:
        """Whether equal code gives equal values, so that there is no noise to grant."""
        return self in (Phase.WORKSPACE, Phase.ACCURACY)


@dataclass(frozen=True, slots=True, kw_only=True)
class PhaseRule:
    """When a phase is worse: beyond both limits.

    Attributes:
        phase: Which.
        share: How much more does not matter: 0.5 is 50 %.
        least: Nor does less than this, in the unit of the phase: seconds, bytes, or an rms error.
    """

    phase: Phase
    share: float = 0.0
    least: float = 0.0

    def to_json(self) -> dict[str, Any]:
        """As builtins."""
        return {"phase": self.phase.value, "share": self.share, "least": self.least}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> PhaseRule:
        """The inverse of `to_json`."""
        return PhaseRule(phase=Phase(data["phase"]), share=data["share"], least=data["least"])


TIME_ALONE = (PhaseRule(phase=Phase.TIME),)
"""The usual gate."""

_USUAL = {
    rule.phase: rule
    for rule in (
        *TIME_ALONE,
        PhaseRule(phase=Phase.COMPILE, share=0.5, least=0.2),
        PhaseRule(phase=Phase.TUNING, share=0.5, least=0.2),
        # The first launch of a kernel loads it, and waits for whatever else the device does.
        PhaseRule(phase=Phase.FIRST_LAUNCH, share=0.5, least=1e-4),
        PhaseRule(phase=Phase.WORKSPACE),
        # Another order of summation may double an error that is as small as one rounding of a float.
        PhaseRule(phase=Phase.ACCURACY, share=1.0, least=2.0**-24),
    )
}

_MOST_FACTOR = 1000
"""A gate that lets the error grow by more judges nothing."""

_FACTOR = re.compile(r"([0-9]+\.?[0-9]*|\.[0-9]+)")


def parse_phases(text: str) -> tuple[PhaseRule, ...]:
    """The phases of a list such as `time,compile=80%,workspace,accuracy=3`.

    Each may have its own margin: a share for `compile`, `tuning`, `first-launch` and `workspace`, a factor for
    `accuracy`. That of the time has options of its own.

    Raises:
        SettingsError: the list is empty, or a word is none of these; the message says what to give.
    """
    words = [word.strip() for word in text.split(",")]
    rules = [_rule(word) for word in words]
    named = [rule.phase for rule in rules]
    if len(set(named)) != len(named):
        raise SettingsError("it names a phase twice; name each once")
    return tuple(rules)


def _rule(word: str) -> PhaseRule:
    name, equals, margin = (part.strip() for part in word.partition("="))
    known = {phase.value: phase for phase in Phase}
    if name not in known:
        raise SettingsError(f"{name!r} is nothing that can be judged; give some of {', '.join(known)}")
    usual = _USUAL[known[name]]
    if not equals:
        return usual
    if usual.phase is Phase.TIME:
        raise SettingsError("the margin of the time is that of --miopen-perf-margin; give time alone")
    share = _more(margin) if usual.phase is Phase.ACCURACY else parse_margin(margin)
    return PhaseRule(phase=usual.phase, share=share, least=usual.least)


def _more(text: str) -> float:
    found = _FACTOR.fullmatch(text)
    if not found or not 1 < float(found[1]) <= _MOST_FACTOR:
        raise SettingsError(
            "the accuracy takes the factor that its error may grow by; "
            f"give one above 1 such as 2, and at most {_MOST_FACTOR}"
        )
    return float(found[1]) - 1


PhaseValues = dict[Phase, float]
"""What one process has of one case; a phase that it has not measured is not there."""


def phase_values(result: Result) -> PhaseValues:
    """The phases that a result tells of.

    A compile time of zero came from a cache, a log tells of no workspace, and numbers that nobody looked at have no
    error.
    """
    tuning_seconds = sum(tuning.seconds for tuning in result.tuning)
    values = {
        Phase.COMPILE: result.compile_seconds or None,
        Phase.TUNING: tuning_seconds or None,
        Phase.FIRST_LAUNCH: result.first_launch_seconds or None,
        Phase.WORKSPACE: None if result.workspace_bytes is None else float(result.workspace_bytes),
        Phase.ACCURACY: result.check.rms_error,
    }
    return {
        phase: float(f"{value:.6g}") if not phase.is_exact else value
        for phase, value in values.items()
        if value is not None
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class CaseRule:
    """What a test, or its file, asks of the gate.

    Attributes:
        margin: Of the time; None leaves it to the session.
        phases: What is judged.
    """

    margin: float | None = None
    phases: tuple[PhaseRule, ...] = TIME_ALONE

    def to_json(self) -> dict[str, Any]:
        """As builtins."""
        return {"margin": self.margin, "phases": [rule.to_json() for rule in self.phases]}

    @staticmethod
    def from_json(data: Mapping[str, Any]) -> CaseRule:
        """The inverse of `to_json`."""
        return CaseRule(margin=data["margin"], phases=tuple(map(PhaseRule.from_json, data["phases"])))
