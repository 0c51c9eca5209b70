"""How the product of an implicit GEMM is cut into tiles: configs, what makes one invalid, what is searched."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from pytest_miopen_perf.solvers import PerformanceConfig
from pytest_miopen_perf.solvers.limits import blocks_in_turn, most_blocks

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.solvers.gathered_gemm import GemmShape

_ACCUMULATOR_BYTES = 4
_OFFSET_BYTES = 8
_PLACE_BYTES = 24
_STAGES = 2
_FEW_ROWS = 32
"""Tiles of fewer rows are, on a GPU, for groups that have no more."""

_ROW_PADDING = 4
_MOST_PRIVATE_BYTES = 20 * 1024
"""What a lone work-item may keep on its stack, which has 32 KiB on the CPU device."""


@dataclass(frozen=True, slots=True)
class ImplicitGemmConfig(PerformanceConfig):
    """How the matrix product is cut, in the order of MIOpen's V4R4 solvers: `256,128,128,8,4,4,1`.

    Attributes:
        block_size: Work-items of a block; 1 for devices on which barriers are dear.
        gemm_m_per_block: Rows of a block's tile.
        gemm_n_per_block: Columns of a block's tile.
        gemm_k_per_block: Products of each that are added up from one copy to shared memory.
        gemm_m_per_thread: Rows of a work-item's sub-tile.
        gemm_n_per_thread: Columns of a work-item's sub-tile.
        vector_width: Columns of the gathered factor that a work-item copies at a time.
    """

    block_size: int
    gemm_m_per_block: int
    gemm_n_per_block: int
    gemm_k_per_block: int
    gemm_m_per_thread: int
    gemm_n_per_thread: int
    vector_width: int

    @property
    def parts(self) -> int:
        """Into how many parts every sum is split."""
        return 1

    @property
    def lds_bytes(self) -> int:
        """Shared memory of a block: a tile of either factor, in two stages unless one work-item is alone."""
        m, n, k = self.gemm_m_per_block, self.gemm_n_per_block, self.gemm_k_per_block
        padding = _ROW_PADDING + max(_ROW_PADDING, self.lanes)
        elements = k * (m + n) if self.block_size == 1 else _STAGES * k * (m + n + padding)
        return elements * _ACCUMULATOR_BYTES

    @property
    def lanes(self) -> int:
        """Results that lie side by side in one vector: the largest power of two up to 16 that suits the sub-tile."""
        return math.gcd(self.gemm_n_per_thread, 16)

    def repeats(self) -> tuple[int, int]:
        """How often a work-item's sub-tile repeats over the block's tile in m and n, as evenly as powers of two allow.

        (0, 0) when the tile cannot be dealt out to the work-items that way.
        """
        m, rest_m = divmod(self.gemm_m_per_block, self.gemm_m_per_thread)
        n, rest_n = divmod(self.gemm_n_per_block, self.gemm_n_per_thread)
        together, rest = divmod(m * n, self.block_size)
        if rest or rest_m or rest_n:
            return 0, 0
        if self.block_size == 1:
            return m, n
        doublings = together.bit_length() - 1
        repeat_m, repeat_n = 1 << doublings // 2, 1 << (doublings + 1) // 2
        if together != 1 << doublings or m % repeat_m or n % repeat_n:
            return 0, 0
        return repeat_m, repeat_n

    def blocks(self, gemm: GemmShape) -> int:
        """How many work-groups compute a product."""
        return gemm.tiles(self.gemm_m_per_block, self.gemm_n_per_block) * self.parts


@dataclass(frozen=True, slots=True)
class ImplicitGemmWrwConfig(ImplicitGemmConfig):
    """A config whose sums, over all output positions, are split: `256,64,64,16,4,4,1,8`.

    Attributes:
        split_k: Into how many parts, which blocks of their own add up.
    """

    split_k: int

    @property
    def parts(self) -> int:
        """`split_k`."""
        return self.split_k


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSpace:
    """What a search tries on one kind of device.

    Attributes:
        block_size: Values of the config's fields, and so on for the fields below.
        gemm_per_thread: Pairs of rows and columns of a sub-tile.
        results_per_thread: The fewest and the most results of a work-item that are worth trying.
    """

    block_size: tuple[int, ...]
    gemm_m_per_block: tuple[int, ...]
    gemm_n_per_block: tuple[int, ...]
    gemm_k_per_block: tuple[int, ...]
    gemm_per_thread: tuple[tuple[int, int], ...]
    vector_width: tuple[int, ...]
    results_per_thread: tuple[int, int]

    def __iter__(self) -> Iterator[ImplicitGemmConfig]:
        return iter(_members(self))


@lru_cache(maxsize=16)
def _members(space: SearchSpace) -> tuple[ImplicitGemmConfig, ...]:
    """The configs of a space; every problem asks for them anew."""
    fewest, most = space.results_per_thread
    tiles = itertools.product(space.block_size, space.gemm_m_per_block, space.gemm_n_per_block, space.gemm_k_per_block)
    configs = (
        ImplicitGemmConfig(*tile, m, n, width)
        for tile, (m, n), width in itertools.product(tiles, space.gemm_per_thread, space.vector_width)
        if fewest * tile[0] <= tile[1] * tile[2] <= most * tile[0]
    )
    return tuple(config for config in configs if config.repeats() != (0, 0))


GPU_SPACE = SearchSpace(
    block_size=(64, 128, 256),
    gemm_m_per_block=(8, 16, 32, 64, 128),
    gemm_n_per_block=(32, 64, 128),
    gemm_k_per_block=(8, 16),
    gemm_per_thread=((4, 4), (2, 4)),
    vector_width=(1, 4),
    results_per_thread=(16, 64),
)
"""Within the registers of every AMD target, as `tests/codeobject/test_config_spaces.py` holds, and 36 KiB of LDS."""

CPU_SPACE = SearchSpace(
    block_size=(1,),
    gemm_m_per_block=(4, 16, 64, 6, 24, 48, 96),
    gemm_n_per_block=(24, 48, 96, 16, 32, 64),
    gemm_k_per_block=(128, 32),
    gemm_per_thread=((4, 24), (6, 16)),
    vector_width=(8,),
    results_per_thread=(96, 4608),
)
"""A work-item is a loop over vector registers here, and fills them all."""


def search_space(info: DeviceInfo) -> SearchSpace:
    """The space of a device: a CPU runs its work-items one after the other."""
    return CPU_SPACE if info.wavefront == 1 else GPU_SPACE


def invalidity(config: ImplicitGemmConfig, gemm: GemmShape, info: DeviceInfo) -> str | None:
    """Why a config cannot, or should not, be used for a product on a device; None when it can. Compiles nothing."""
    c = config
    numbers = (c.block_size, c.gemm_m_per_block, c.gemm_n_per_block, c.gemm_k_per_block)
    if min(*numbers, c.gemm_m_per_thread, c.gemm_n_per_thread, c.vector_width, c.parts) < 1:
        return "every number of a config must be at least 1"
    if c.block_size > info.max_block or c.block_size % info.wavefront:
        return f"a block of {c.block_size} does not suit waves of {info.wavefront}, at most {info.max_block} together"
    if c.repeats() == (0, 0):
        return f"{c.block_size} work-items cannot share {c.gemm_m_per_block} x {c.gemm_n_per_block} results evenly"
    return _copying_invalidity(c) or _memory_invalidity(c, info) or _size_invalidity(c, gemm, info)


def _copying_invalidity(c: ImplicitGemmConfig) -> str | None:
    """Every work-item must copy the same number of elements of either factor, in whole rows or columns.

    Runs of B lie along its columns, or along its rows where these lie together in memory.
    """
    k, n, width = c.gemm_k_per_block, c.gemm_n_per_block, c.vector_width
    if n % width:
        return f"{n} columns cannot be copied {width} at a time"
    if c.block_size == 1:
        return None
    if c.block_size % k or c.gemm_m_per_block % (c.block_size // k):
        return f"{c.block_size} work-items cannot copy {c.gemm_m_per_block} x {k} elements of A evenly"
    if k % width or not (_shares_lines(c.block_size, n // width, k) and _shares_lines(c.block_size, k // width, n)):
        return f"{c.block_size} work-items cannot copy {k} x {n} elements of B evenly, {width} at a time"
    return None


def _shares_lines(work_items: int, runs: int, lines: int) -> bool:
    """Whether work-items can copy some lines of runs evenly, each its runs of every line or of every some-th."""
    wide, narrow = max(work_items, runs), min(work_items, runs)
    return wide % narrow == 0 and (work_items <= runs or lines % (wide // narrow) == 0)


def _memory_invalidity(c: ImplicitGemmConfig, info: DeviceInfo) -> str | None:
    if c.lds_bytes > info.lds_bytes:
        return f"its tiles take {c.lds_bytes} bytes of shared memory; the device has {info.lds_bytes}"
    sums = c.gemm_m_per_block * c.gemm_n_per_block * _ACCUMULATOR_BYTES
    private = sums + c.gemm_n_per_block * _PLACE_BYTES + c.gemm_k_per_block * _OFFSET_BYTES
    if c.block_size == 1 and private > _MOST_PRIVATE_BYTES:
        return f"its sums and places take {private} bytes of private memory; a lone work-item has {_MOST_PRIVATE_BYTES}"
    return None


def _size_invalidity(c: ImplicitGemmConfig, gemm: GemmShape, info: DeviceInfo) -> str | None:
    space = search_space(info)
    few_rows = min(space.gemm_m_per_block) if info.wavefront == 1 else _FEW_ROWS
    if c.gemm_m_per_block > max(few_rows, c.gemm_m_per_thread, 2 * gemm.m):
        return f"a tile of {c.gemm_m_per_block} rows is mostly empty: the product of a group has {gemm.m}"
    if c.gemm_m_per_block < min(few_rows, gemm.m):
        return f"a tile of {c.gemm_m_per_block} rows reads too much: the product of a group has {gemm.m}"
    if c.gemm_n_per_block > max(min(space.gemm_n_per_block), c.gemm_n_per_thread, 2 * gemm.n):
        return f"a tile of {c.gemm_n_per_block} columns is mostly empty: the product of a group has {gemm.n}"
    if c.parts > 1 and (c.parts - 1) * c.gemm_k_per_block >= gemm.k:
        return f"{c.parts} parts of at least {c.gemm_k_per_block} products are more than {gemm.k}"
    if (blocks := c.blocks(gemm)) > most_blocks(info, c.block_size):
        return f"{blocks} blocks are more than a grid may have"
    return None


def estimated_cost(config: ImplicitGemmConfig, gemm: GemmShape, info: DeviceInfo) -> float:
    """What a product takes, in multiply-adds of one compute unit: enough to tell a sensible config from a bad one.

    Work-groups run in rounds on the compute units. Of a tile at the edge, a lone work-item skips the empty
    sub-tiles; several in lock step cannot.
    """
    c = config
    is_lone = c.block_size == 1
    tiles_m, tiles_n = -(-gemm.m // c.gemm_m_per_block), -(-gemm.n // c.gemm_n_per_block)
    rows = _rounded(gemm.m, c.gemm_m_per_thread if is_lone else c.gemm_m_per_block)
    columns = _rounded(gemm.n, c.gemm_n_per_thread if is_lone else c.gemm_n_per_block)
    copied = rows * tiles_n + columns * tiles_m
    read = 0.0 if is_lone else _READ_COST * _reads_of_a_product(c)
    work = gemm.k * (rows * columns * (1 + read) + _COPY_COST * copied) + _STORE_COST * c.parts * rows * columns
    blocks = tiles_m * tiles_n * gemm.groups * c.parts
    return blocks_in_turn(blocks, c.block_size, info) * (gemm.groups * work / blocks + _BLOCK_COST)


_READ_COST = 2
_COPY_COST = 12
_STORE_COST = 24
_BLOCK_COST = 5000


def _reads_of_a_product(c: ImplicitGemmConfig) -> float:
    """How many elements a work-item reads from shared memory for a product."""
    repeat_m, repeat_n = c.repeats()
    return 1 / (repeat_m * c.gemm_m_per_thread) + 1 / (repeat_n * c.gemm_n_per_thread)


def _rounded(size: int, unit: int) -> int:
    return -(-size // unit) * unit
