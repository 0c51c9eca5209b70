"""What a C++ preprocessor sees of a text: the code without its comments, and the headers that directives name.

The first phases of translation (C++17, [lex.phases]) in their order: lines that end with a backslash are joined, then
literals and comments are told apart from left to right, so that a `/*` in a string opens nothing.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

_SPLICE = re.compile(r"\\[ \t\f\v]*\n")
"""Like clang and GCC, which let blanks stand between the backslash and the end of the line."""

_LEXEMES = re.compile(
    r"""
      (?P<kept> (?:\#|%:) [ \t\f\v]* (?:include|include_next|import) [ \t\f\v]* (?:<[^>\n]*> | "[^"\n]*")
              | (?<![\w]) \.?\d (?: [eEpP][+-] | '?\w | \. )*            # 1'000: no character begins there
              | " (?:\\. | [^"\\\n])* "?  |  ' (?:\\. | [^'\\\n])* '? )
    | (?P<comment> //[^\n]* | /\*.*?(?:\*/|\Z) )
    | (?P<raw> (?<!\w) (?:u8|[uUL])? R" (?P<mark>[^()\\\s"]{0,16}) \( .*? \) (?P=mark) " )
    """,
    re.DOTALL | re.VERBOSE,
)
_DIRECTIVE = re.compile(
    r"""
      ^[ \t\f\v]* (?:\#|%:) [ \t\f\v]* (?P<word>include|include_next|import|embed)\b [ \t\f\v]*
        (?: "(?P<quoted>[^"\n]+)" | <(?P<angled>[^>\n]+)> | (?P<computed>[^\n]*) )
    | \b__has_include(?:_next)? [ \t\f\v]* \( [ \t\f\v]* (?: "(?P<asked>[^"\n]+)" | <(?P<asked_angled>[^>\n]+)> )
    """,
    re.MULTILINE | re.VERBOSE,
)


class Inclusion(NamedTuple):
    """A header that a text names.

    Attributes:
        name: As it stands between quotes or angle brackets; "" where no name can be read.
        is_quoted: It stands in quotes, so that the folder of the including file counts.
        unreadable: The directive that names it in a way that only a compiler can follow; "" when there is a name.
    """

    name: str
    is_quoted: bool
    unreadable: str = ""


@lru_cache(maxsize=256)
def without_comments(text: str) -> str:
    """The text with continued lines joined, a blank for each comment, and raw strings emptied: code lies in none."""
    return _LEXEMES.sub(_code_of, _SPLICE.sub("", text))


@lru_cache(maxsize=256)
def inclusions(text: str) -> tuple[Inclusion, ...]:
    """What a text includes, or asks whether it is there; branches that a compiler would skip count too."""
    return tuple(map(_inclusion_of, _DIRECTIVE.finditer(without_comments(text))))


def _code_of(lexeme: re.Match[str]) -> str:
    if lexeme["comment"] is not None:
        return " "
    return lexeme[0] if lexeme["kept"] is not None else '""'


def _inclusion_of(found: re.Match[str]) -> Inclusion:
    quoted, angled = found["quoted"] or found["asked"], found["angled"] or found["asked_angled"]
    if found["word"] == "embed" or not (quoted or angled):
        return Inclusion("", is_quoted=False, unreadable=found[0].strip())
    return Inclusion(quoted or angled, is_quoted=quoted is not None)
