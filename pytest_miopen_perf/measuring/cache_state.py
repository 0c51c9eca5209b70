"""What the caches of a device hold when a timed execution begins, and the memory that it takes to bring that about.

Warm: what the execution before has left there, as in MIOpenDriver. Rotating: executions take turns on copies of the
buffers that the last-level cache cannot hold together. Cold: memory twice as large as that cache is filled before each
execution, outside of its time; on a CPU by one core, so that the private caches of the others, and further last-level
caches, stay as they are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.errors import NotApplicableError
from pytest_miopen_perf.measuring.memory import byte_size

if TYPE_CHECKING:
    from pytest_miopen_perf.settings import CacheState

_TIMES_THE_CACHE = 2
"""How many last-level caches are used up before a byte is met again."""

_FEWEST_SETS = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class CachePlan:
    """How the caches are brought into their state.

    Attributes:
        state: Which one.
        sets: Copies of the buffers, the first one included.
        flush_bytes: What is filled before each execution; 0 is nothing.
        note: What the reader has to know of it, as a sentence without its full stop; "" of warm caches.
    """

    state: CacheState = "warm"
    sets: int = 1
    flush_bytes: int = 0
    note: str = ""


WARM = CachePlan()


def plan_caches(
    state: CacheState, *, cache_bytes: int, set_bytes: int, free_bytes: int, has_memory_side_cache: bool = False
) -> CachePlan:
    """The plan for one problem on one device.

    Args:
        state: Which state is asked for.
        cache_bytes: The last-level cache, as the device tells; 0 where it does not.
        set_bytes: What one copy of the problem's buffers takes.
        free_bytes: What further copies, or the memory to fill, may take.
        has_memory_side_cache: Whether there may be a cache behind that, of which the device does not tell.

    Raises:
        NotApplicableError: the size of the cache is not known, or memory is short.
    """
    if state == "warm":
        return WARM
    if not cache_bytes:
        raise NotApplicableError(f"caches cannot be made {state}: the device does not tell how large they are")
    beyond = "; the Infinity Cache, where there is one, is not counted" if has_memory_side_cache else ""
    if state == "cold":
        return _cold(cache_bytes, free_bytes, beyond)
    return _rotating(cache_bytes, set_bytes, free_bytes, beyond)


def _cold(cache_bytes: int, free_bytes: int, beyond: str) -> CachePlan:
    flush_bytes = _TIMES_THE_CACHE * cache_bytes
    if flush_bytes > free_bytes:
        raise NotApplicableError(
            f"caches cannot be made cold: that takes {byte_size(flush_bytes)} and {byte_size(free_bytes)} may be used"
        )
    note = f"{byte_size(flush_bytes)} are filled before each execution, the cache is told to hold "
    return CachePlan(state="cold", flush_bytes=flush_bytes, note=f"{note}{byte_size(cache_bytes)}{beyond}")


def _rotating(cache_bytes: int, set_bytes: int, free_bytes: int, beyond: str) -> CachePlan:
    wanted = max(_FEWEST_SETS, math.ceil(_TIMES_THE_CACHE * cache_bytes / set_bytes))
    sets = min(wanted, 1 + free_bytes // set_bytes)
    if sets < _FEWEST_SETS:
        raise NotApplicableError(
            f"buffers cannot rotate: a second set takes {byte_size(set_bytes)} and {byte_size(free_bytes)} may be used"
        )
    short = "" if sets == wanted else f", for memory holds no more where {wanted} are wanted"
    note = (
        f"{sets} sets of buffers take turns, {byte_size(sets * set_bytes)} in all{short}, "
        f"the cache is told to hold {byte_size(cache_bytes)}"
    )
    return CachePlan(state="rotating", sets=sets, note=note + beyond)
