"""How the product of an implicit GEMM is cut for matrix cores: configs, what makes one invalid, what is searched."""

from __future__ import annotations

import itertools
from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.problem import Direction
from pytest_miopen_perf.solvers import PerformanceConfig
from pytest_miopen_perf.solvers.config_space import launch_invalidity
from pytest_miopen_perf.solvers.matrix_cores import UNIT, UNIT_K, MatrixCore, matrix_core_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.solvers.gathered_gemm import GemmShape

_ELEMENT_BYTES = 2
CHUNK = 8
"""Elements that a work-item copies side by side; a line of a tile may have one more, against bank conflicts."""

ROW = 64
"""Neighbours that lie together where warpgroups multiply, and rows of n that one of their instructions takes."""

_WARPGROUP = 4
_FEWEST_WARPGROUP_STAGES = 3


@dataclass(frozen=True, slots=True)
class MatrixConfig(PerformanceConfig):
    """How the matrix product is cut: `128,128,32,2,2,2`.

    Attributes:
        gemm_m_per_block: Rows of a block's tile.
        gemm_n_per_block: Columns of a block's tile.
        gemm_k_per_block: Products of each that are added up from one stage of shared memory.
        waves_m: Waves that share the rows of a tile.
        waves_n: Waves that share its columns.
        stages: Steps of k that lie in shared memory at a time.
    """

    gemm_m_per_block: int
    gemm_n_per_block: int
    gemm_k_per_block: int
    waves_m: int
    waves_n: int
    stages: int

    @property
    def parts(self) -> int:
        """Into how many parts every sum is split."""
        return 1

    def block_size(self, info: DeviceInfo) -> int:
        """Work-items of a block."""
        return self.waves_m * self.waves_n * info.wavefront

    def core(self, info: DeviceInfo) -> MatrixCore | None:
        """What multiplies on a device: on Hopper warpgroups, four waves along n at once, where the tile suits them."""
        core = matrix_core_of(info)
        return MatrixCore.MMA_SYNC if core is MatrixCore.WGMMA and not self._suits_warpgroups else core

    @property
    def warpgroups(self) -> int:
        """How many a block has where waves multiply in fours."""
        return self.waves_m * self.waves_n // _WARPGROUP

    @property
    def _suits_warpgroups(self) -> bool:
        return (
            self.gemm_m_per_block in (64 * self.waves_m, 128 * self.waves_m, 256 * self.waves_m)
            and self.waves_n % _WARPGROUP == 0
            and self.gemm_k_per_block % ROW == 0
            and self.stages >= _FEWEST_WARPGROUP_STAGES
        )

    def lds_bytes(self, direction: Direction, info: DeviceInfo) -> int:
        """Shared memory of a block: tiles of both factors in every stage, or, in the end, the tile of the result."""
        m, n, k = self.gemm_m_per_block, self.gemm_n_per_block, self.gemm_k_per_block
        spare = 0 if self.core(info) is MatrixCore.WGMMA else CHUNK
        a = k * (m + spare) if direction is not Direction.FORWARD else m * (k + spare)
        b = k * (n + spare) if direction is Direction.BACKWARD_WEIGHTS else n * (k + spare)
        return max(self.stages * (a + b), m * (n + CHUNK), n * (m + CHUNK)) * _ELEMENT_BYTES

    def blocks(self, gemm: GemmShape) -> int:
        """How many work-groups compute a product."""
        return gemm.tiles(self.gemm_m_per_block, self.gemm_n_per_block) * self.parts


@dataclass(frozen=True, slots=True)
class MatrixWrwConfig(MatrixConfig):
    """A config whose sums, over all output positions, are split: `64,64,32,2,2,2,16`.

    Attributes:
        split_k: Into how many parts, which blocks of their own add up.
    """

    split_k: int

    @property
    def parts(self) -> int:
        """`split_k`."""
        return self.split_k


@dataclass(frozen=True, slots=True, kw_only=True)
class MatrixSpace:
    """What a search tries on one kind of device.

    Attributes:
        tiles: Rows and columns of a block's tile, and the waves that share them; the last one suits any product.
        gemm_k_per_block: Values of the config's field, and so on for the field below.
        stages: See above.
    """

    tiles: tuple[tuple[int, int, int, int], ...]
    gemm_k_per_block: tuple[int, ...]
    stages: tuple[int, ...]

    def __iter__(self) -> Iterator[MatrixConfig]:
        for (m, n, waves_m, waves_n), k, stages in itertools.product(self.tiles, self.gemm_k_per_block, self.stages):
            yield MatrixConfig(m, n, k, waves_m, waves_n, stages)


_SPACES = {
    MatrixCore.LOOPS: MatrixSpace(
        tiles=((32, 32, 1, 1), (32, 64, 1, 1), (16, 64, 1, 1), (64, 16, 1, 1), (16, 16, 1, 1)),
        gemm_k_per_block=(64, 32),
        stages=(2,),
    ),
    MatrixCore.MFMA: MatrixSpace(
        tiles=(
            (128, 128, 2, 2),
            (64, 128, 2, 2),
            (128, 64, 2, 2),
            (64, 64, 2, 2),
            (32, 128, 1, 4),
            (128, 32, 4, 1),
            (32, 64, 1, 4),
            (16, 128, 1, 4),
            (16, 64, 1, 4),
        ),
        gemm_k_per_block=(32, 64),
        stages=(2,),
    ),
    MatrixCore.WMMA: MatrixSpace(
        tiles=(
            (128, 128, 2, 4),
            (64, 128, 2, 4),
            (128, 64, 4, 2),
            (64, 64, 2, 2),
            (32, 128, 1, 4),
            (128, 32, 4, 1),
            (16, 128, 1, 4),
            (16, 64, 1, 4),
        ),
        gemm_k_per_block=(32, 64),
        stages=(2,),
    ),
    MatrixCore.MMA_SYNC: MatrixSpace(
        tiles=(
            (128, 128, 2, 2),
            (128, 256, 2, 4),
            (256, 128, 4, 2),
            (64, 256, 1, 4),
            (64, 128, 2, 2),
            (128, 64, 2, 2),
            (64, 64, 2, 2),
            (32, 128, 1, 4),
            (16, 256, 1, 8),
            (16, 64, 1, 4),
        ),
        gemm_k_per_block=(64, 32),
        stages=(3, 2, 4),
    ),
    MatrixCore.WGMMA: MatrixSpace(
        tiles=(
            (128, 256, 1, 8),
            (256, 128, 1, 8),
            (128, 192, 1, 12),
            (128, 128, 1, 8),
            (64, 256, 1, 8),
            (256, 64, 1, 4),
            (128, 128, 1, 4),
            (64, 128, 1, 4),
            (128, 64, 1, 4),
            (64, 64, 1, 4),
        ),
        gemm_k_per_block=(64,),
        stages=(4, 3),
    ),
}
"""Tiles whose sums and fragments stay in registers, on every architecture of the family."""


_BESIDE_WARPGROUPS = MatrixSpace(
    tiles=(
        (64, 256, 1, 4),
        (128, 128, 2, 2),
        (64, 128, 2, 2),
        (128, 64, 2, 2),
        (64, 64, 2, 2),
        (32, 128, 1, 4),
        (16, 256, 1, 8),
        (16, 64, 1, 4),
    ),
    gemm_k_per_block=(64, 32),
    stages=(3, 2, 4),
)
"""What is tried on Hopper too: narrow groups, and channels that are copied one by one, suit waves that are alone."""


def search_space(info: DeviceInfo) -> Iterator[MatrixConfig]:
    """What is tried on a device, valid or not; nothing where no matrix cores are known."""
    core = matrix_core_of(info)
    if core is MatrixCore.WGMMA:
        alone = (config for config in _BESIDE_WARPGROUPS if config.core(info) is not core)
        return itertools.chain(_SPACES[core], alone)
    return iter(_SPACES[core]) if core else iter(())


def with_parts(
    configs: Iterable[MatrixConfig], parts: tuple[int, ...], gemm: GemmShape, info: DeviceInfo
) -> Iterator[MatrixWrwConfig]:
    """The configs with those numbers of parts that neither leave units idle nor crowd them, if there are such."""
    for config in configs:
        filled = [n for n in parts if n == min(parts) or (n - 1) * config.gemm_k_per_block < gemm.k]
        tiles = config.blocks(gemm)
        for n in filled:
            is_enough = 2 * tiles * n > info.compute_units or n == max(filled)
            is_needed = tiles * n <= _MOST_BLOCKS_A_UNIT * info.compute_units or n == min(filled)
            if is_enough and is_needed:
                yield MatrixWrwConfig(*(*astuple(config), n))


_MOST_BLOCKS_A_UNIT = 8


def invalidity(config: MatrixConfig, gemm: GemmShape, direction: Direction, info: DeviceInfo) -> str | None:
    """Why a config cannot, or should not, be used for a product on a device; None when it can. Compiles nothing."""
    c = config
    if min(*astuple(c)[:5], c.parts) < 1 or c.stages < 2:
        return "every number of a config must be at least 1, and stages at least 2"
    if (
        c.gemm_m_per_block % (c.waves_m * UNIT)
        or c.gemm_n_per_block % (c.waves_n * UNIT)
        or c.gemm_k_per_block % UNIT_K
    ):
        return (
            f"{c.waves_m} x {c.waves_n} waves cannot share {c.gemm_m_per_block} x {c.gemm_n_per_block} x "
            f"{c.gemm_k_per_block} in units of {UNIT} x {UNIT} x {UNIT_K}"
        )
    return (
        launch_invalidity(c.block_size(info), c.blocks(gemm), info)
        or _copying_invalidity(c, info)
        or _memory_invalidity(c, direction, info)
        or _size_invalidity(c, gemm, info)
    )


def _copying_invalidity(c: MatrixConfig, info: DeviceInfo) -> str | None:
    """A work-item copies whole chunks at the same place of several lines."""
    for line in (c.gemm_m_per_block, c.gemm_n_per_block, c.gemm_k_per_block):
        wide, narrow = sorted((line // CHUNK, c.block_size(info)), reverse=True)
        if wide % narrow:
            return f"{c.block_size(info)} work-items cannot share lines of {line} elements in chunks of {CHUNK}"
    return None


def _memory_invalidity(c: MatrixConfig, direction: Direction, info: DeviceInfo) -> str | None:
    if (needed := c.lds_bytes(direction, info)) > info.lds_bytes:
        return f"its tiles take {needed} bytes of shared memory; the device has {info.lds_bytes}"
    return None


def _size_invalidity(c: MatrixConfig, gemm: GemmShape, info: DeviceInfo) -> str | None:
    *_, smallest = search_space(info)
    if c.gemm_m_per_block > max(smallest.gemm_m_per_block, 2 * gemm.m):
        return f"a tile of {c.gemm_m_per_block} rows is mostly empty: the product of a group has {gemm.m}"
    if c.gemm_n_per_block > max(smallest.gemm_n_per_block, 2 * gemm.n):
        return f"a tile of {c.gemm_n_per_block} columns is mostly empty: the product of a group has {gemm.n}"
    if c.parts > 1 and (c.parts - 1) * c.gemm_k_per_block >= gemm.k:
        return f"{c.parts} parts of at least {c.gemm_k_per_block} products are more than {gemm.k}"
    return None
