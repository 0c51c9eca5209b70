"""Counts in sentences."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """A count and its noun, which forms its plural with an s: `1 record`, `2 records`, `0 records`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
