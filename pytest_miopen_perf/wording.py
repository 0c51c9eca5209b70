"""Counts and sizes in sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def counted(count: int, noun: str) -> str:
    """A count and its noun, which forms its plural with an s: `1 record`, `2 records`, `0 records`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def crossed(sizes: Iterable[int]) -> str:
    """Sizes of axes in one word: `3x3`."""
    return "x".join(map(str, sizes))
