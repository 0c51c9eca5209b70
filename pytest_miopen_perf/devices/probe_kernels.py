"""The kernels of the harness itself: a launch of a known length, and one that does nothing."""

from __future__ import annotations

from pathlib import Path

from pytest_miopen_perf.launch import KernelSource

_HERE = Path(__file__).resolve().parent

DELAY = KernelSource(file=str(_HERE / "delay.hip"), entry="canary_delay")
"""Takes as long as its argument `iterations` (i64) says."""

EMPTY = KernelSource(file=str(_HERE / "empty.hip"), entry="empty_launch")
"""Takes no argument and does nothing."""
