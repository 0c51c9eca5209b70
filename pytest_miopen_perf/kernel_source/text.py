"""The texts that a kernel's binary depends on: its file and every header that it includes, and a digest of them.

A compile cache is keyed by what stands in the files, never by their paths or dates.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING

from pytest_miopen_perf.errors import CompileError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

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
        queue += _included(current, COMMENT.sub(" ", text), folders)


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


def _included(includer: Path, code: str, folders: tuple[Path, ...]) -> Iterator[Path]:
    for quoted, angled, computed in _INCLUDE.findall(code):
        if computed:
            raise CompileError(
                f"{includer} includes {computed.strip()!r} through a macro, which the compile cache cannot follow; "
                "write the header's name"
            )
        places = (includer.parent, *folders) if quoted else folders
        found = next((place / (quoted or angled) for place in places if (place / (quoted or angled)).is_file()), None)
        if found:
            yield found
