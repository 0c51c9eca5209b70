"""Kernel texts whose inline PTX has become calls, so that a CPU can do what `ptx_emulation.h` makes of it."""

from __future__ import annotations

import re

_STRING = r'"(?:\\.|[^"\\])*"'
_PARENTHESES = r"\((?:[^()]|\([^()]*\))*\)"
_STATEMENT = re.compile(rf'\basm(?:\s+volatile)?\s*\(((?:[^()"]|{_STRING}|{_PARENTHESES})*)\)')
_COLON = re.compile(rf"({_STRING})|:")
_CONSTRAINT = re.compile(r'"[=+]?([flnr])"\(')
_SECTIONS = ("template", "outputs", "inputs")


def with_ptx_called(text: str) -> str:
    """Each `asm(template : outputs : inputs : clobbers)` as `ptx(template, operands...)`, operands in their order.

    An operand `"+f"(place)` becomes `ptx_f(place)`, wherever it stands: lists of them are macros.
    """
    return _CONSTRAINT.sub(r"ptx_\1(", _STATEMENT.sub(_call_of, text))


def _call_of(statement: re.Match[str]) -> str:
    sections = _COLON.sub(lambda found: found[1] or "\0", statement[1]).split("\0")
    operands = [section for section in sections[: len(_SECTIONS)] if section.strip(" \\\n")]
    return f"ptx({','.join(operands)})"
