"""The level of the performance log, as MIOpen reads it from `MIOPEN_PERFORMANCE_LOGS`."""

from __future__ import annotations

import re

_GREATEST_LEVEL = 2**64 - 1
_LONGEST_DIGITS = len(f"{_GREATEST_LEVEL:o}")
_NUMBER = re.compile(
    r"[ \t\n\v\f\r]*(?P<sign>[+-]?)(?:0[xX](?P<hex>[0-9a-fA-F]+)|(?P<octal>0[0-7]*)|(?P<decimal>[1-9][0-9]*))"
)
_BASES = {"hex": 16, "octal": 8, "decimal": 10}


def parse_level(text: str | None) -> int:
    """The level that MIOpen reads from its variable's text: C's `strtoull` with base 0, nothing checked.

    `0x2` and `010` are hexadecimal and octal, what follows the number is ignored, a text without a number is 0, a
    negative number wraps around, and one too large is 2^64-1. None, the variable is not set, is 0.
    """
    found = _NUMBER.match(text or "")
    if found is None:
        return 0
    digits, base = next((found[name], base) for name, base in _BASES.items() if found[name])
    # Beyond the longest number that fits, Python may refuse to read the digits at all.
    value = int(digits, base) if len(digits.lstrip("0")) <= _LONGEST_DIGITS else _GREATEST_LEVEL + 1
    if value > _GREATEST_LEVEL:
        return _GREATEST_LEVEL
    return -value % 2**64 if found["sign"] == "-" else value
