"""Where lines of the performance log go. A sink is any callable that takes one complete line; these are the usual ones.

A sink that cannot write raises OSError, which the logger turns into a `LogWriteError`.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Literal

from pytest_miopen_perf.records import from_json

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Self

    from pytest_miopen_perf.records import LogRecord


class ListSink:
    """Keeps the lines, for tests.

    Attributes:
        lines: The lines so far, each with its end.
    """

    def __init__(self) -> None:
        self.lines: list[str] = []

    def __call__(self, line: str) -> None:
        """Keep the line."""
        self.lines.append(line)

    def __str__(self) -> str:
        return "a list"

    def records(self) -> list[LogRecord]:
        """The lines as records.

        Raises:
            InvalidRecordError: a line does not fit the schema.
        """
        return [from_json(json.loads(line)) for line in self.lines]


class FileSink:
    """Writes to a file, each line with one call of the operating system and nothing held back.

    Lines of several processes that append to one local file do not mix. A line that was cut off by a full disk is ended
    before the next one is written.

    Args:
        path: The file; its folder must exist.
        mode: "a" appends, "w" begins anew.

    Raises:
        OSError: the file cannot be opened.
    """

    def __init__(self, path: Path, mode: Literal["a", "w"] = "a") -> None:
        self._path = path
        # A buffer would keep the rest of a failed line and write it again at an unforeseeable time.
        self._file = path.open(f"{mode}b", buffering=0)
        self._is_torn = False

    def __call__(self, line: str) -> None:
        """Write the line."""
        data = (b"\n" if self._is_torn else b"") + line.encode("ascii")
        rest = memoryview(data)
        while rest:
            written = self._file.write(rest)
            self._is_torn = written < len(rest)
            rest = rest[written:]

    def __str__(self) -> str:
        return os.fspath(self._path)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; a second call does nothing."""
        self._file.close()
