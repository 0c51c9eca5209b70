"""Fields of the gate's files: taken for what they should be, or refused by name.

A text that became a number, or a number that became a text, would else make another case of the one that it belongs to,
and what is new is green.
"""

from __future__ import annotations

import reprlib
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.gate.keys import CaseKey, Fingerprint

if TYPE_CHECKING:
    from collections.abc import Mapping


def text_of(data: Mapping[str, Any], name: str) -> str:
    """A field that is a text.

    Raises:
        KeyError: it is not there.
        TypeError: it is something else.
    """
    value = data[name]
    if not isinstance(value, str):
        raise TypeError(f"{name} is {reprlib.repr(value)}, which is no text")
    return value


def number(value: object, name: str) -> float:
    """A number; not finite where the file says so.

    Raises:
        TypeError: it is none.
        OverflowError: it is larger than any float.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{name} is {reprlib.repr(value)}, which is no number")
    return float(value)


def numbers(value: object, name: str) -> tuple[float, ...]:
    """A list of numbers.

    Raises:
        TypeError: it is none.
        OverflowError: one is larger than any float.
    """
    if not isinstance(value, list):
        raise TypeError(f"{name} is {reprlib.repr(value)}, which is no list of numbers")
    return tuple(number(each, name) for each in value)


def items_of(data: Mapping[str, Any], name: str) -> list[Any]:
    """A field that is a list; an empty text or object would be one of no cases.

    Raises:
        KeyError: it is not there.
        TypeError: it is something else.
    """
    value = data[name]
    if not isinstance(value, list):
        raise TypeError(f"{name} is {reprlib.repr(value)}, which is no list")
    return value


def pairs_of(data: Mapping[str, Any], name: str) -> tuple[tuple[str, Any], ...]:
    """The names and values of a field that is an object.

    Raises:
        KeyError: it is not there.
        TypeError: it is something else.
    """
    value = data[name]
    if not isinstance(value, dict):
        raise TypeError(f"{name} is {reprlib.repr(value)}, which is no object")
    return tuple(value.items())


def key_of(data: Mapping[str, Any]) -> CaseKey:
    """What was measured.

    Raises:
        KeyError: a field of it is not there.
        TypeError: one is no text.
    """
    return CaseKey(**{field.name: text_of(data, field.name) for field in fields(CaseKey)})


def fingerprint_of(data: Mapping[str, Any]) -> Fingerprint:
    """A kind of device.

    Raises:
        KeyError: a field of it is not there.
        TypeError: one is of another type than it should be, or of no device.
    """
    unknown = sorted(data.keys() - {field.name for field in fields(Fingerprint)})
    if unknown:
        raise TypeError(f"a device has no field {reprlib.repr(unknown[0])}")
    compute_units = data["compute_units"]
    if type(compute_units) is not int:
        raise TypeError(f"compute_units is {reprlib.repr(compute_units)}, which is no count")
    texts = {field.name: text_of(data, field.name) for field in fields(Fingerprint) if field.name != "compute_units"}
    return Fingerprint(compute_units=compute_units, **texts)
