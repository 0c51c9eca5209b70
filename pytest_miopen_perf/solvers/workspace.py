"""Where buffers lie in a workspace, one behind the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_ALIGNMENT_BYTES = 256


def aligned(nbytes: int) -> int:
    """The first place from there on where a buffer may begin."""
    return -(-nbytes // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES


def aligned_offsets(sizes: Iterable[int]) -> tuple[int, ...]:
    """Where buffers of those bytes begin, and where a further one could."""
    offsets = [0]
    for size in sizes:
        offsets.append(aligned(offsets[-1] + size))
    return tuple(offsets)
