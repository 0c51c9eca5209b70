"""What the doctor knows of a variable: how it is read, what it does, and when that spoils a measurement."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.doctor.readings import Reading, read_switch, read_text, read_unsigned
from pytest_miopen_perf.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_miopen_perf.doctor.readings import Read


class Group(enum.Enum):
    """What part of the world a variable belongs to; the value is the heading of a table."""

    FIND = "find and search"
    SOLVERS = "choice of solvers"
    DATABASES = "data bases and caches"
    LOGGING = "logging"
    CHECKS = "checks and debugging"
    DRIVER = "MIOpenDriver"
    DEVICE = "devices"
    RUNTIME = "runtime"
    LIBRARIES = "libraries below"
    OWN = "this project"


@dataclass(frozen=True, slots=True, kw_only=True)
class Concern:
    """When a value spoils a measurement, and what to do.

    Attributes:
        applies: Whether the value that is gone on with is such a one; of a rejected text, never.
        severity: WARNING: the times are not those of normal use. ERROR: they are worth nothing.
        sentence: Why.
        advice: What to do instead.
    """

    applies: Callable[[Reading], bool]
    severity: Severity
    sentence: str
    advice: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Variable:
    """One variable.

    Attributes:
        name: Its name.
        group: What it belongs to.
        read: How its text is read.
        meaning: What it does, as the end of a sentence that begins with its name.
        concern: When it spoils a measurement; None when it does not.
    """

    name: str
    group: Group
    read: Read = read_text
    meaning: str
    concern: Concern | None = None


def switch(name: str, group: Group, meaning: str, concern: Concern | None = None) -> Variable:
    """A variable that is on or off."""
    return Variable(name=name, group=group, read=read_switch, meaning=meaning, concern=concern)


def number(name: str, group: Group, meaning: str, concern: Concern | None = None) -> Variable:
    """A variable that is an unsigned number."""
    return Variable(name=name, group=group, read=read_unsigned, meaning=meaning, concern=concern)


def text(name: str, group: Group, meaning: str, concern: Concern | None = None) -> Variable:
    """A variable that is a text."""
    return Variable(name=name, group=group, meaning=meaning, concern=concern)


def worthless_when(applies: Callable[[Reading], bool], sentence: str, advice: str) -> Concern:
    """Times measured under it are worth nothing."""
    return Concern(applies=applies, severity=Severity.ERROR, sentence=sentence, advice=advice)


def unlike_normal_use_when(applies: Callable[[Reading], bool], sentence: str, advice: str) -> Concern:
    """Times measured under it are not those of normal use."""
    return Concern(applies=applies, severity=Severity.WARNING, sentence=sentence, advice=advice)


def is_on(reading: Reading) -> bool:
    """The switch is on, or the number is not 0."""
    return bool(reading.value)


def is_off(reading: Reading) -> bool:
    """The switch is off."""
    return reading.value is False


def is_set(reading: Reading) -> bool:
    """Whatever the value, unless it is empty."""
    return reading.value not in ("", None)
