"""Where a compiler looks for headers, by its options: folders, and files that it reads before the kernel's own."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_miopen_perf.errors import CompileError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_FOLDER_OPTIONS = ("-idirafter", "-iquote", "-isystem", "-I")
_FILE_OPTIONS = ("-imacros", "-include")
_OPAQUE = re.compile(
    r"-i(?:prefix|with|sysroot|vfsoverlay|framework)|-[\w+]+-isystem|-X|-Wp,|-B|-F|-fmodule|-fplugin|-fpass-plugin|"
    r"-fprofile\S*use|--(?:pre-)?include|--embed-dir|--sysroot|--config|@"
)
"""Beginnings of options by which a compiler reads files that no text names, or passes such options on."""


@dataclass(frozen=True, slots=True)
class HeaderSearch:
    """What options add to a kernel's text and to the folders of its headers.

    Attributes:
        folders: Where else headers are looked for.
        files: What is read before the kernel's file.
    """

    folders: tuple[Path, ...] = ()
    files: tuple[Path, ...] = ()


def header_search(options: Iterable[str]) -> HeaderSearch:
    """What the options say about headers.

    Raises:
        CompileError: an option names a file or folder by a path that is not absolute, which means another place to
            each compiler, or in a way that cannot be followed.
    """
    named = list(_named(iter(options)))
    return HeaderSearch(
        folders=tuple(path for name, path in named if name in _FOLDER_OPTIONS),
        files=tuple(path for name, path in named if name in _FILE_OPTIONS),
    )


def _named(options: Iterator[str]) -> Iterator[tuple[str, Path]]:
    """Options that name a place, with the place; it stands in the same word or in the next."""
    for option in options:
        if option == "-mllvm":
            next(options, "")  # an option of the code generator, which may be spelled as one that names a header
            continue
        name = next((name for name in (*_FOLDER_OPTIONS, *_FILE_OPTIONS) if option.startswith(name)), None)
        if name is not None:
            yield name, _absolute(option, option.removeprefix(name) or next(options, ""))
        elif _OPAQUE.match(option):
            raise CompileError(
                f"the compiler option {option!r} may read files that the compile cache cannot follow; "
                f"name them by {', '.join(reversed(_FOLDER_OPTIONS))} or -include"
            )


def _absolute(option: str, text: str) -> Path:
    path = Path(text)
    if not path.is_absolute():
        raise CompileError(
            f"the compiler option {option!r} names {text!r}, which is no absolute path; compilers work in folders of "
            "their own, so give it from the root"
        )
    return path
