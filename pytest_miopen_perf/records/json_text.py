"""JSON as the performance log prints it: one line, no spaces, numbers as a default C++ stream prints them."""

from __future__ import annotations

import json
from array import array
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

Value: TypeAlias = "str | int | float | Mapping[str, Value]"


_encode = json.JSONEncoder().encode


def json_string(text: str) -> str:
    r"""A string in quotes: `\" \\ \b \f \n \r \t`, and `\uXXXX` of every code unit outside 32..126.

    MIOpen's own routine, without its fault of escaping bytes one by one, and signed.
    """
    return _encode(text)


def json_times(times_ms: Iterable[float]) -> str:
    """An array of float32 numbers with six significant digits."""
    numbers = tuple(array("f", times_ms))
    # One format of the whole list takes half the time of one format a number.
    return f"[{('%.6g,' * len(numbers) % numbers)[:-1]}]"


def json_object(data: Mapping[str, Value]) -> str:
    """An object, keys in the order given, floating-point numbers with six significant digits."""
    return f"{{{','.join([f'{json_string(key)}:{_value(value)}' for key, value in data.items()])}}}"


def _value(value: Value) -> str:
    if isinstance(value, str):
        return json_string(value)
    if isinstance(value, float):
        return f"{value:.6g}"
    return str(value) if isinstance(value, int) else json_object(value)
