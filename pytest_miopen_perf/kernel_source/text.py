"""The texts that a kernel's binary depends on: its file and every header that it includes, and a digest of them.

A compile cache is keyed by what stands in the files, never by their paths or dates.
"""

from __future__ import annotations

import hashlib
import re
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_miopen_perf.errors import CompileError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>|(\S[^\n]*))', re.MULTILINE)


def kernel_texts(path: Path, folders: tuple[Path, ...]) -> Iterator[str]:
    """The text of the file and of every header that it includes directly or through others, each once.

    Args:
        path: The kernel's file.
        folders: Where headers are looked for; a header that lies in none of them is the compiler's own.

    Raises:
        CompileError: a file cannot be read, or includes a header through a macro.
    """
    seen: set[Path] = set()
    queue = [path]
    while queue:
        current = queue.pop(0)
        if current in seen:
            continue
        seen.add(current)
        text = _read(current)
        yield text
        queue += _included(current, _named(text), folders)


def digest_of(parts: Iterable[str]) -> str:
    """SHA-256 of several texts; no two different sequences run together into the same bytes."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise CompileError(f"cannot read the kernel text {path}: {error}") from error


@lru_cache(maxsize=256)
def _named(text: str) -> tuple[tuple[str, str, str], ...]:
    """What a text includes: in quotes, in angle brackets, or by a macro; a text is looked at for each set of macros."""
    return tuple(_INCLUDE.findall(COMMENT.sub(" ", text)))


def _included(includer: Path, named: Iterable[tuple[str, str, str]], folders: tuple[Path, ...]) -> Iterator[Path]:
    for quoted, angled, computed in named:
        if computed:
            raise CompileError(
                f"{includer} includes {computed.strip()!r} through a macro, which the compile cache cannot follow; "
                "write the header's name"
            )
        places = (includer.parent, *folders) if quoted else folders
        found = next(filter(Path.is_file, (place / (quoted or angled) for place in places)), None)
        if found:
            yield found
