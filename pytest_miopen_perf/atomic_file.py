"""Writing a file all or nothing."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path


def write_atomically(path: Path, text: str) -> None:
    """Write the whole text or leave what was there: a reader never sees half a file.

    The file keeps its mode; through a symbolic link the file behind it is written. A device or a pipe takes the text.

    Raises:
        OSError: the file cannot be written.
    """
    target = path.resolve()
    if target.exists() and not target.is_file():
        # A device or a pipe is written into, never replaced.
        target.write_text(text, encoding="utf-8")
        return
    mode = target.stat().st_mode & 0o777 if target.exists() else 0o644
    handle, name = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.", suffix=".tmp")
    temporary = Path(name)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.chmod(mode)
        temporary.replace(target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
