"""The caches of this machine, as Linux tells of them."""

from __future__ import annotations

import os
from pathlib import Path

_PROCESSORS = Path("/sys/devices/system/cpu")
_UNITS = {"K": 2**10, "M": 2**20, "G": 2**30}


def host_cache_bytes(processors: Path = _PROCESSORS) -> int:
    """Bytes of the last-level caches of the processors that this process may use; 0 where the system does not tell.

    A cache that several processors share counts once.

    Args:
        processors: The folder that holds `cpu0`, `cpu1` and so on.
    """
    caches = {
        cache
        for number in os.sched_getaffinity(0)
        for cache in (processors / f"cpu{number}" / "cache").glob("index*")
        if _read(cache / "type") != "Instruction"
    }
    levels = {cache: int(_read(cache / "level") or 0) for cache in caches}
    last = max(levels.values(), default=0)
    sizes = {(_read(c / "shared_cpu_list") or str(c)): _bytes(_read(c / "size")) for c in caches if levels[c] == last}
    return sum(sizes.values())


def _read(path: Path) -> str:
    try:
        return path.read_text().strip()
    except OSError:
        return ""


def _bytes(text: str) -> int:
    """A size as Linux writes it, such as "32768K"; 0 of what is none."""
    number = text.rstrip("KMG")
    return int(number) * _UNITS.get(text[len(number) :], 1) if number.isdecimal() else 0
