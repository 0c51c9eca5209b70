"""Which devices have the matrix cores that `kernels/include/matrix_core.h` knows."""

from __future__ import annotations

import enum
import re
from typing import TYPE_CHECKING

from pytest_miopen_perf.solvers.limits import LONGEST_SUM

if TYPE_CHECKING:
    from pytest_miopen_perf.launch import DeviceInfo

UNIT = 16
"""Rows of either factor that one matrix instruction takes."""

UNIT_K = 32
"""The longest run of k that one matrix instruction of a known device takes; the others take it in steps."""


class MatrixCore(enum.Enum):
    """A family of matrix cores."""

    LOOPS = "plain loops"
    MFMA = "MFMA"
    WMMA = "WMMA"
    MMA_SYNC = "mma.sync"


_WAVES = {MatrixCore.LOOPS: 1, MatrixCore.MFMA: 64, MatrixCore.WMMA: 32, MatrixCore.MMA_SYNC: 32}
_AMD = {
    MatrixCore.MFMA: ("gfx908", "gfx90a", "gfx940", "gfx941", "gfx942", "gfx950"),
    MatrixCore.WMMA: (
        "gfx1100",
        "gfx1101",
        "gfx1102",
        "gfx1103",
        "gfx1150",
        "gfx1151",
        "gfx1152",
        "gfx1153",
        "gfx1200",
        "gfx1201",
    ),
}
_FAMILIES = {arch: family for family, archs in _AMD.items() for arch in archs}
_OLDEST_NVIDIA = 80
_NVIDIA = re.compile(r"sm_(\d+)")


def matrix_core_of(info: DeviceInfo) -> MatrixCore | None:
    """The matrix cores of a device; a device whose work-items run alone does without. None when none are known."""
    if info.wavefront == 1:
        return MatrixCore.LOOPS
    family = _FAMILIES.get(info.arch.partition(":")[0])
    if (nvidia := _NVIDIA.match(info.arch)) and int(nvidia[1]) >= _OLDEST_NVIDIA:
        family = MatrixCore.MMA_SYNC
    return family if family and _WAVES[family] == info.wavefront else None


_LONGEST_TRUNCATED_SUM = 2048
"""Products that NVIDIA's matrix cores may add up: they cut off what does not fit, so sums of one sign drift down.

Fitted to what an H200 gave in fp16: with 1568 products a part every result of four layers was in bounds, without parts
3136 of 3x3 layers were not.
"""


def longest_sum(info: DeviceInfo) -> int:
    """Products of one sign that the matrix cores of a device may add up one after another."""
    return _LONGEST_TRUNCATED_SUM if matrix_core_of(info) is MatrixCore.MMA_SYNC else LONGEST_SUM


def matrix_core_refusal(name: str, info: DeviceInfo) -> str | None:
    """Why a solver finds no matrix cores on a device, in words; None when it does."""
    if matrix_core_of(info):
        return None
    return f"{name} knows no matrix cores of {info.arch} in waves of {info.wavefront}"
