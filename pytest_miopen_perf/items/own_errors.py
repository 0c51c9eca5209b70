"""Test items whose failures are told by our own sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_miopen_perf.errors import PerfError

if TYPE_CHECKING:
    import os


class OwnItem(pytest.Item):
    """An item that this plugin makes."""

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException]) -> object:  # type: ignore[override]
        """Our own errors say all there is to say; anything else shows its traceback."""
        if isinstance(excinfo.value, PerfError):
            return str(excinfo.value)
        return super().repr_failure(excinfo)


class LineItem(OwnItem):
    """An item that stands in a line of a file."""

    def __init__(self, *, name: str, parent: pytest.File, line_number: int) -> None:
        super().__init__(name, parent)
        self.line_number = line_number

    def reportinfo(self) -> tuple[os.PathLike[str], int, str]:
        """Where the line stands."""
        return self.path, self.line_number - 1, self.name
