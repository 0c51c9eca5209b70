"""The texts that a kernel's binary depends on: its file and every header that it includes, and a digest of them.

A compile cache is keyed by what stands in the files, never by their paths or dates.
"""

from __future__ import annotations

import hashlib
import os
from collections import deque
from functools import cache
from typing import TYPE_CHECKING

from pytest_miopen_perf.errors import CompileError
from pytest_miopen_perf.kernel_source.directives import inclusions
from pytest_miopen_perf.kernel_source.search import header_search

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path


def kernel_texts(path: Path, folders: tuple[Path, ...], options: Iterable[str] = ()) -> Iterator[str]:
    """The text of the file and of every header that it includes directly or through others, each once.

    Compilers differ in the order of their folders: where several hold a header of one name, each of these counts.

    Args:
        path: The kernel's file.
        folders: Where headers are looked for; a header that lies in none of them is the compiler's own.
        options: Of the compiler; they may name further folders, and files that are read first.

    Raises:
        CompileError: a file cannot be read, or names a header in a way that cannot be followed, or an option does.
    """
    search = header_search(options)
    places = (*folders, *search.folders)
    seen: set[tuple[str, str]] = set()
    queue = deque([*search.files, path])
    real_folder = cache(os.path.realpath)
    while queue:
        current = queue.popleft()
        # One name for `a/h.h` and `a/../a/h.h`. A link to a file in another folder is another file: what it includes
        # in quotes lies elsewhere.
        identity = (real_folder(current.parent), current.name)
        if identity in seen:
            continue
        seen.add(identity)
        text = _read(current)
        yield text
        queue += _included(current, text, places)


def digest_of(parts: Iterable[str]) -> str:
    """SHA-256 of several texts; no two different sequences run together into the same bytes."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8").removeprefix("\ufeff")
    except (OSError, UnicodeDecodeError) as error:
        raise CompileError(f"cannot read the kernel text {path}: {error}") from error


def _included(includer: Path, text: str, places: tuple[Path, ...]) -> Iterator[Path]:
    for name, is_quoted, unreadable in inclusions(text):
        if unreadable:
            raise CompileError(
                f"{includer} has {unreadable!r}, which the compile cache cannot follow; "
                "include a header by its name, in quotes or angle brackets"
            )
        wanted = dict.fromkeys((includer.parent, *places) if is_quoted else places)
        yield from filter(_is_file, (place / name for place in wanted))


def _is_file(path: Path) -> bool:
    """Whether there is such a file; a name that no file can have, or none that may be seen, is not."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False
