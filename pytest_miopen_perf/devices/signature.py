"""The parameters of a kernel, read from its HIP text with no compiler.

As much of C++ is understood as a kernel's head needs: comments, object-like macros of the file and of the command line,
`typedef` and quoted includes. A parameter whose type stays unknown is said to be unknown, never guessed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from pytest_miopen_perf.kernel_source.directives import without_comments
from pytest_miopen_perf.kernel_source.files import include_dirs
from pytest_miopen_perf.launch import Scalar

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pytest_miopen_perf.devices import DevicePointer
    from pytest_miopen_perf.launch import KernelSource

ParameterType: TypeAlias = Literal["pointer", "i32", "i64", "f32", "f64", "unknown"]

_DIRECTIVE = re.compile(r"^[ \t]*#.*$", re.MULTILINE)
_MACRO = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)(?!\w|\()[ \t]*(.*)$", re.MULTILINE)
_DECLARATIONS = re.compile(r"\b__global__\b[^;{}]*[;{}]|\btypedef\b[^;]*;")
_WORD = re.compile(r"\w+")
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]+"([^"]+)"', re.MULTILINE)
_TYPEDEF = re.compile(r"\btypedef\s+([\w\s]+?)\s+(\w+)\s*;")
_QUALIFIER = re.compile(r"\b(?:const|volatile|__restrict__|restrict|signed|std)\b|::")
_C_TYPES: dict[str, ParameterType] = {
    "int": "i32",
    "unsigned": "i32",
    "unsigned int": "i32",
    "int32_t": "i32",
    "uint32_t": "i32",
    "long": "i64",
    "long long": "i64",
    "unsigned long": "i64",
    "unsigned long long": "i64",
    "int64_t": "i64",
    "uint64_t": "i64",
    "size_t": "i64",
    "float": "f32",
    "double": "f64",
}
_PASSES = 8
"""How deep macros and typedefs may lie in one another."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kernel: its name, and what is passed for it."""

    name: str
    type: ParameterType


def read_signature(path: Path, source: KernelSource) -> tuple[Parameter, ...] | None:
    """The parameters of the kernel's entry point in order; None when the text defines no such function.

    Args:
        path: The kernel's file; headers are looked for beside it and in the folder of headers.
        source: Names the entry and the macros.

    Raises:
        OSError: the file cannot be read.
        UnicodeDecodeError: the file is no text.
    """
    plain = "\n".join(_with_includes(path, set()))
    macros = dict(_macros(plain)) | dict(source.defines)
    # Expanding the bodies as well takes most of the time, and is needed only where a macro makes the declaration.
    for text in _codes(plain):
        code = _expanded(text, tuple(_macros_in(text, macros).items()))
        head = re.search(rf"\b__global__\b[^;{{}}]*?\b{re.escape(source.entry)}\s*\(", code)
        if head:
            break
    else:
        return None
    types = {name: original for original, name in _TYPEDEF.findall(code)}
    inner = _until_closed(code[head.end() :]).strip()
    return tuple(_parameter(text, types) for text in inner.split(",")) if inner not in ("", "void") else ()


def mismatch(parameters: tuple[Parameter, ...], args: tuple[Scalar | DevicePointer, ...]) -> str:
    """What is wrong with the arguments of a launch, in words; "" when they fit."""
    if len(args) != len(parameters):
        return f"{len(args)} arguments were given where {len(parameters)} belong"
    for number, (parameter, arg) in enumerate(zip(parameters, args, strict=True)):
        given = arg.type if isinstance(arg, Scalar) else "pointer"
        if parameter.type not in (given, "unknown"):
            return f"argument {number} ({parameter.name}) is {given} where {parameter.type} belongs"
    return ""


# A file is compiled with hundreds of sets of macros. What does not depend on these is found out once a text, never once
# a path: files may change between two compilations.


@lru_cache(maxsize=64)
def _macros(plain: str) -> tuple[tuple[str, str], ...]:
    """Names and values of the macros, in the order of their definitions."""
    return tuple(_MACRO.findall(plain))


@lru_cache(maxsize=64)
def _codes(plain: str) -> tuple[str, str]:
    """Where a kernel's head may stand: in the declarations, else anywhere."""
    whole = _DIRECTIVE.sub("", plain)
    return "\n".join(_DECLARATIONS.findall(whole)), whole


def _with_includes(path: Path, seen: set[Path]) -> Iterator[str]:
    """The text of the headers, then of the file, without comments and with continued lines joined."""
    seen.add(path)
    text = without_comments(path.read_text(encoding="utf-8"))
    for name in _INCLUDE.findall(text):
        header = next(filter(Path.is_file, (folder / name for folder in include_dirs(path))), None)
        if header and header not in seen:
            yield from _with_includes(header, seen)
    yield text


@lru_cache(maxsize=256)
def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text))


def _macros_in(text: str, macros: Mapping[str, str]) -> dict[str, str]:
    """Those macros that the text names, or that one of these names in turn."""
    found: dict[str, str] = {}
    words = _words(text)
    while named := {name: value for name, value in macros.items() if name in words and name not in found}:
        found |= named
        words = frozenset[str]().union(*map(_words, named.values()))
    return found


@lru_cache(maxsize=256)
def _expanded(code: str, macros: tuple[tuple[str, str], ...]) -> str:
    if not macros:
        return code
    values = dict(macros)
    names = re.compile(r"\b(?:" + "|".join(map(re.escape, values)) + r")\b")
    for _ in range(_PASSES):
        code, count = names.subn(lambda match: values[match[0]], code)
        if not count:
            break
    return code


def _until_closed(code: str) -> str:
    """The text up to the parenthesis that closes what was open before it."""
    depth = 1
    for place, letter in enumerate(code):
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if not depth:
            return code[:place]
    return code


def _parameter(text: str, types: Mapping[str, str]) -> Parameter:
    words = " ".join(_QUALIFIER.sub(" ", text.replace("*", " * ")).split())
    type_text, _, name = words.rpartition(" ")
    if "*" in type_text:
        return Parameter(name, "pointer")
    for _ in range(_PASSES):
        type_text = types.get(type_text, type_text)
    return Parameter(name, _C_TYPES.get(type_text, "unknown"))
