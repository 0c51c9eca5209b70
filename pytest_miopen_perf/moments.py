"""Moments as files and reports hold them: ISO 8601 in UTC, to the second."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


def now() -> str:
    """This moment."""
    return datetime.now(timezone.utc).isoformat(timespec="seconds")


def when_written(path: Path) -> str:
    """When a file was last written.

    Raises:
        OSError: it is not there.
    """
    return datetime.fromtimestamp(path.stat().st_mtime, timezone.utc).isoformat(timespec="seconds")
