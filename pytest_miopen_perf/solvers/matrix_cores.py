"""Which devices have the matrix cores that `kernels/include/matrix_core.h` knows."""

from __future__ import annotations

import enum
import math
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
    WGMMA = "wgmma"


_WAVES = {
    MatrixCore.LOOPS: 1,
    MatrixCore.MFMA: 64,
    MatrixCore.WMMA: 32,
    MatrixCore.MMA_SYNC: 32,
    MatrixCore.WGMMA: 32,
}
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
_HOPPER = "sm_90a"


def matrix_core_of(info: DeviceInfo) -> MatrixCore | None:
    """The matrix cores of a device; a device whose work-items run alone does without. None when none are known."""
    if info.wavefront == 1:
        return MatrixCore.LOOPS
    family = _FAMILIES.get(info.arch.partition(":")[0])
    if (nvidia := _NVIDIA.match(info.arch)) and int(nvidia[1]) >= _OLDEST_NVIDIA:
        family = MatrixCore.WGMMA if info.arch == _HOPPER else MatrixCore.MMA_SYNC
    return family if family and _WAVES[family] == info.wavefront else None


_TRUNCATED = 0.11
"""What a sum of products of one sign loses to each of them, in units of 2^-24 of itself, where matrix cores truncate.

Those of an H200 add 16 products to a sum at once, each of the 17 numbers cut off two bits below the last place of the
largest: so computed, 12,000 sums of backward weights in fp16 and bf16 were the same bits. Sums of up to 40,400 lost 0.1
there, none more than this.
"""


def longest_sum(info: DeviceInfo, products: int) -> int:
    """How many of the products of a sum, all of one sign, matrix cores may add up before others go on.

    Where they truncate, so many that what is lost stays below what the check grants a sum of that many roundings,
    (2 * sqrt(products) + 4) * 2^-24 of it.
    """
    if matrix_core_of(info) not in (MatrixCore.MMA_SYNC, MatrixCore.WGMMA):
        return LONGEST_SUM
    return int((2 * math.sqrt(products) + 4) / _TRUNCATED)


def matrix_core_refusal(name: str, info: DeviceInfo) -> str | None:
    """Why a solver finds no matrix cores on a device, in words; None when it does."""
    if matrix_core_of(info):
        return None
    return f"{name} knows no matrix cores of {info.arch} in waves of {info.wavefront}"
