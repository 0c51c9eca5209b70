"""One measured figure and what it may be at most."""

from __future__ import annotations

from typing import NamedTuple


class Row(NamedTuple):
    """A figure, its limit, and their unit; "x" is a ratio."""

    name: str
    measured: float
    limit: float
    unit: str

    @property
    def is_within(self) -> bool:
        """Whether the figure keeps its limit."""
        return self.measured <= self.limit
