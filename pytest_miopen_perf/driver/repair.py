r"""Repairs of the text of one JSON object, each for a known fault of MIOpen's writer, before it is parsed.

MIOpen escapes the bytes of a string one by one and as signed numbers, so that `é` leaves as `\uffffffc3\uffffffa9`;
it prints floats with a C++ stream, which has words for what is no number; and it does not escape commands, error texts
and the values of environment variables at all.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from pytest_miopen_perf.driver.log_item import Note

if TYPE_CHECKING:
    from typing import Literal

SIGNED_ESCAPES = Note("signed-escapes", r"\uffffffHH escapes of signed bytes were read as UTF-8")
BROKEN_ESCAPES = Note("broken-escapes", r"\uffffffHH escapes are not UTF-8; what is not was replaced")
LATIN1_ESCAPES = Note("latin1-escapes", r"\u00HH escapes of single bytes were read as UTF-8")
SURROGATE_ESCAPES = Note("lone-surrogates", "escapes of half surrogate pairs, which no file can hold, were replaced")
NON_FINITE = Note("bare-nan", "bare nan or inf, which JSON has no word for, were read as no number")
UNESCAPED_TEXT = Note("unescaped-text", "the text is not escaped, and was taken up to the last quote")
UNESCAPED_VALUES = Note("unescaped-values", "the values of environment variables are not escaped")

_STRING = r'"(?:[^"\\]|\\(?:.|\Z))*(?:"|\Z)'
_ESCAPES = re.compile(
    r"\\\\"  # an escaped backslash, behind which nothing is an escape
    r"|(?P<signed>(?:\\uffffff[89a-f][0-9a-f])+)"
    r"|(?P<latin1>(?:\\u00[89a-f][0-9a-f])+)"
    r"|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
    r"|(?P<lone>\\u[dD][89a-fA-F][0-9a-fA-F]{2})"
)
_BARE_WORDS = re.compile(
    rf"{_STRING}|(?<=[\[:,])-?(?P<word>nan|inf|infinity)(?:\(\w*\))?(?=[,\]}}])", re.DOTALL | re.IGNORECASE
)
_BRACES = re.compile(rf"{_STRING}|[{{}}\[\]]", re.DOTALL)
_RAW_HEAD = re.compile(r'\{\s*"(?P<key>command|error)"\s*:\s*"')
_RAW_END = re.compile(r'"\s*\}')
_ESCAPE = re.compile(r"\\(.?)", re.DOTALL)
_RAW_VALUES = re.compile(
    r'"(MIOPEN_DEBUG_FIND_ONLY_SOLVER|MIOPEN_DEVICE_ARCH|MIOPEN_DEVICE_CU)":"(.*?)"(?=,"MIOPEN_)', re.DOTALL
)


class Mended(NamedTuple):
    """A text after its repair."""

    text: str
    repairs: tuple[Note, ...]


class RawText(NamedTuple):
    """A command or an error text as MIOpen prints it.

    Attributes:
        key: The line kind.
        text: The text, nothing unescaped.
        end: Where the object ends.
    """

    key: Literal["command", "error"]
    text: str
    end: int


def mend(text: str) -> Mended:
    """The text of an object with sound escapes and numbers; `NaN` stands for all that is not finite."""
    repairs: dict[Note, None] = {}

    def escape(match: re.Match[str]) -> str:
        return _mended_escape(match, repairs)

    def word(match: re.Match[str]) -> str:
        if match["word"] is None:
            return match[0]
        repairs[NON_FINITE] = None
        return "NaN"

    if "\\u" in text:
        text = _ESCAPES.sub(escape, text)
    text = _BARE_WORDS.sub(word, text)
    return Mended(text, tuple(repairs))


def _mended_escape(match: re.Match[str], repairs: dict[Note, None]) -> str:
    if match["signed"]:
        data = bytes.fromhex(match["signed"].replace("\\uffffff", ""))
        text = data.decode("utf-8", "replace")
        repairs[BROKEN_ESCAPES if "\ufffd" in text else SIGNED_ESCAPES] = None
        return json.dumps(text)[1:-1]
    if match["latin1"]:
        data = bytes.fromhex(match["latin1"].replace("\\u00", ""))
        try:
            text = data.decode("utf-8")
        except UnicodeDecodeError:
            return match[0]
        repairs[LATIN1_ESCAPES] = None
        return json.dumps(text)[1:-1]
    if match["lone"]:
        repairs[SURROGATE_ESCAPES] = None
        return "\\ufffd"
    return match[0]


def mend_values(text: str) -> Mended:
    """The text of a find line with its three textual environment variables escaped."""
    mended = _RAW_VALUES.sub(lambda match: f'"{match[1]}":{json.dumps(match[2])}', text)
    return Mended(mended, (UNESCAPED_VALUES,) if mended != text else ())


def unescaped_values_end(text: str) -> int | None:
    """Where a find line ends whose values have to be escaped, or None when the text is no such line."""
    end = text.rfind("}}")
    return end + 2 if end >= 0 and mend_values(text).repairs else None


def balanced_end(text: str) -> int | None:
    """Where the object that the text begins with ends, or None when it does not."""
    depth = 0
    for match in _BRACES.finditer(text):
        if match[0] in ("{", "["):
            depth += 1
        elif match[0] in ("}", "]"):
            depth -= 1
            if depth == 0:
                return match.end()
    return None


def begins_raw_text(text: str) -> bool:
    """Whether the text begins a command or an error line."""
    return _RAW_HEAD.match(text) is not None


def raw_text(text: str) -> RawText | None:
    """The command or error line that the text begins with, up to its last quote and brace; None when there is none."""
    head = _RAW_HEAD.match(text)
    if head is None:
        return None
    ends = list(_RAW_END.finditer(text, head.end()))
    if not ends:
        return None
    key: Literal["command", "error"] = "command" if head["key"] == "command" else "error"
    return RawText(key, text[head.end() : ends[-1].start()], ends[-1].end())


def is_escaped(text: str) -> bool:
    r"""Whether the escapes in a raw command read as a JSON writer's.

    Only `\" \\ \uXXXX` count: `\n` and its like are the folders of a Windows path before they are characters of a
    command, which has one line.
    """
    return all(match[1] in ('"', "\\", "u") for match in _ESCAPE.finditer(text))
