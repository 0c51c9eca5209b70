"""How MIOpen reads the text of a variable, with all the texts that it takes for something else.

Its `env.hpp` knows three types: a switch (a fixed set of words, anything else throws), an unsigned number (C's
`strtoull` with base 0, nothing checked) and a text. Its find controls add names or C++'s `stoul`, which is decimal and
throws where no number stands.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from pytest_miopen_perf.perflog import parse_level

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    Read: TypeAlias = Callable[[str], "Reading"]

_ON = frozenset({"1", "on", "yes", "true", "enable", "enabled"})
_OFF = frozenset({"0", "off", "no", "false", "disable", "disabled"})
_PLAIN_NUMBER = re.compile(r"0|[1-9][0-9]*|0[xX][0-9a-fA-F]+")
_NUMBER_BEGINS = re.compile(r"[+-]?[0-9]")
_OCTAL = re.compile(r"[+-]?0[0-7]+")
_DECIMAL = re.compile(r"[ \t\n\v\f\r]*([+-]?)([0-9]+)")
_GREATEST = 2**64 - 1
_LONGEST_NUMBER = len(str(_GREATEST))

FIND_MODES: Mapping[int, str] = {
    1: "NORMAL",
    2: "FAST",
    3: "HYBRID",
    4: "reserved",
    5: "DYNAMIC_HYBRID",
    6: "TRUST_VERIFY",
    7: "TRUST_VERIFY_FULL",
}
ENFORCE_ACTIONS: Mapping[int, str] = {1: "NONE", 2: "DB_UPDATE", 3: "SEARCH", 4: "SEARCH_DB_UPDATE", 5: "DB_CLEAN"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """What MIOpen makes of a text.

    Attributes:
        value: The value that it goes on with; None when it throws.
        effective: That value in words.
        doubt: Why the text is not read as it looks, "" when it is; of a rejected text, what MIOpen does.
    """

    value: bool | int | str | None
    effective: str
    doubt: str = ""

    @property
    def is_rejected(self) -> bool:
        """Whether MIOpen throws."""
        return self.value is None


def read_switch(text: str) -> Reading:
    """A switch: 1, on, yes, true, enable or enabled, their opposites, in any case."""
    word = text.lower()
    if word in _ON:
        return Reading(value=True, effective="on")
    if word in _OFF:
        return Reading(value=False, effective="off")
    return Reading(
        value=None,
        effective="error",
        doubt="MIOpen takes only 0 or 1, on or off, yes or no, true or false, enable(d) or disable(d), and throws",
    )


def read_unsigned(text: str) -> Reading:
    """An unsigned 64-bit number: hexadecimal after 0x, octal after 0, decimal else; what follows it is ignored."""
    value = parse_level(text)
    return Reading(value=value, effective=str(value), doubt=_unsigned_doubt(text, value))


def _unsigned_doubt(text: str, value: int) -> str:
    """Why a number is not what the text looks like; "" when it is."""
    word = text.strip()
    is_short = len(word) <= _LONGEST_NUMBER
    if is_short and _PLAIN_NUMBER.fullmatch(word.removeprefix("+")) and int(word, 0) == value:
        return ""
    doubts = (
        (not word, "an empty text is read as 0"),
        (not _NUMBER_BEGINS.match(word), "a text that begins with no number is read as 0"),
        (word.startswith("-"), f"a negative number wraps around to {value}"),
        (value == _GREATEST, f"a number beyond 64 bits is read as {value}"),
        (_OCTAL.match(word), f"a number that begins with 0 is octal, and read as {value}"),
    )
    ignored = f"what follows the number is ignored, and {value} is read"
    return next((sentence for applies, sentence in doubts if applies), ignored)


def read_text(text: str) -> Reading:
    """A text as it stands."""
    return Reading(value=text, effective=text or "(empty)")


def read_one_of(words: Mapping[int, str], other: str) -> Read:
    """An unsigned number that stands for something.

    Args:
        words: What each number means.
        other: What every other number does.
    """

    def read(text: str) -> Reading:
        plain = read_unsigned(text)
        assert isinstance(plain.value, int), "an unsigned number is never rejected"
        meaning = words.get(plain.value, other)
        return Reading(value=plain.value, effective=f"{plain.value}: {meaning}", doubt=plain.doubt)

    return read


def read_mask(bits: Mapping[int, str]) -> Read:
    """An unsigned number whose bits stand for something."""

    def read(text: str) -> Reading:
        plain = read_unsigned(text)
        assert isinstance(plain.value, int), "an unsigned number is never rejected"
        meanings = [meaning for bit, meaning in bits.items() if plain.value & bit]
        return Reading(
            value=plain.value, effective=f"{plain.value:#x}: {', '.join(meanings) or 'nothing'}", doubt=plain.doubt
        )

    return read


def read_find_mode(text: str) -> Reading:
    """MIOPEN_FIND_MODE: a name in any case, or a decimal number from 1 to 7; the default is DYNAMIC_HYBRID."""
    return _read_named(text, FIND_MODES, default=5)


def read_fusion_find_mode(text: str) -> Reading:
    """MIOPEN_FIND_MODE_FUSION, whose default is FAST."""
    return _read_named(text, FIND_MODES, default=2)


def read_enforce(text: str) -> Reading:
    """MIOPEN_FIND_ENFORCE: a name in any case, or a decimal number from 1 to 5; the default is NONE."""
    return _read_named(text, ENFORCE_ACTIONS, default=1)


def _read_named(text: str, names: Mapping[int, str], *, default: int) -> Reading:
    value, doubt = _named_value(text, names, default)
    if value is None:
        return Reading(value=None, effective="error", doubt=doubt)
    return Reading(value=value, effective=f"{value}: {names[value]}", doubt=doubt)


def _named_value(text: str, names: Mapping[int, str], default: int) -> tuple[int | None, str]:
    """The number, and why it is not what the text looks like."""
    if not text:
        return default, ""
    number = next((number for number, name in names.items() if name == text.upper()), None)
    if number is not None:
        return number, ""
    number = read_stoul(text)
    if number is None:
        known = ", ".join(name for name in names.values() if name.isupper())
        return None, f"it is none of {known} and no number, so that MIOpen throws `stoul`"
    if number not in names:
        return default, f"{number} is no value, so that MIOpen says `Wrong` and takes the default, {default}"
    if text != str(number):
        return number, f"only the decimal number at its beginning is read: {number}"
    return number, ""


def read_stoul(text: str) -> int | None:
    """What C++'s `stoul` makes of a text: the decimal number at its beginning; None where it throws."""
    found = _DECIMAL.match(text)
    if found is None:
        return None
    number = int(found[2].lstrip("0")[: _LONGEST_NUMBER + 1] or "0")
    if number > _GREATEST:
        return None
    return -number % 2**64 if found[1] == "-" else number
