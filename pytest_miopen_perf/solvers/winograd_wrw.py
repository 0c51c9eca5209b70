"""Winograd backward weights F(3x3, 2x2) and F(3x3, 4x4): the gradient of the forward formula, in several passes.

Tiles of y and the patches of x that they are computed from are transformed and multiplied element by element, and the
sums over all tiles are transformed to filters. These sums are long: the tiles may be dealt out to parts, which the last
transform adds up in their order.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.errors import ConfigError
from pytest_miopen_perf.launch import Pointer, Slot
from pytest_miopen_perf.problem import Direction
from pytest_miopen_perf.solvers import Algorithm, PerformanceConfig, Solution, Solver
from pytest_miopen_perf.solvers.gemm import (
    GemmConfig,
    Matrix,
    Operand,
    Product,
    checked_config,
    default_config,
    estimated_cost,
    gemm_launch,
    invalidity,
    search_space,
    size_refusal,
)
from pytest_miopen_perf.solvers.limits import LONGEST_STRICT_SUM, position_refusal
from pytest_miopen_perf.solvers.one_direction import OneDirection
from pytest_miopen_perf.solvers.winograd_transforms import (
    FLOAT_BYTES,
    Cutting,
    Transform,
    kind_refusal,
    tile_count,
    transform_launches,
    transform_refusal,
    workspace_pointers,
)
from pytest_miopen_perf.solvers.workspace import aligned_offsets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.problem import ConvProblem

_PARTS = (1, 2, 4, 8, 16, 32, 64)
_MOST_PRODUCT_BYTES = 256 * 2**20
_ALIGNMENT_TILES = 4
_ADD_COST = 24


@dataclass(frozen=True, slots=True)
class WinogradWrwConfig(GemmConfig):
    """A config of the products whose sums, over all tiles, are split: `64,64,16,4,4,8`.

    Attributes:
        split_k: Into how many parts.
    """

    split_k: int


def _split(config: GemmConfig, parts: int) -> WinogradWrwConfig:
    return WinogradWrwConfig(*(*astuple(config), parts))


@dataclass(frozen=True, slots=True, kw_only=True)
class WrwTiling:
    """How a problem is cut, and what lies where in the workspace.

    Attributes:
        elements: Of a patch: (tile + 2) squared matrix products.
        parts: That the tiles are dealt out to.
        part_tiles: Of each part, a multiple of a vector's length; the last one is filled up.
        c: Channels of x.
        k: Channels of y.
        groups: Of both.
    """

    elements: int
    parts: int
    part_tiles: int
    c: int
    k: int
    groups: int

    @property
    def work_items(self) -> tuple[int, int, int]:
        """Of the transforms: a patch of x, a tile of y, a filter each."""
        tiles = self.parts * self.part_tiles
        return self.c * tiles, self.k * tiles, self.k * self.c // self.groups

    @property
    def product_bytes(self) -> int:
        """Of the products of all parts."""
        return self.parts * self.elements * self.work_items[2] * FLOAT_BYTES

    def offsets(self) -> tuple[int, ...]:
        """Where patches, spread tiles and products begin in the workspace, and where it ends, in bytes."""
        patches, tiles, _ = (count * self.elements * FLOAT_BYTES for count in self.work_items)
        return aligned_offsets((patches, tiles, self.product_bytes))

    def product(self) -> Product:
        """Spread tiles times patches, both along the tiles; the batch is every element of every part and group."""
        k, c, tiles = self.k // self.groups, self.c // self.groups, self.part_tiles

        return Product(
            m=k,
            n=c,
            k=tiles,
            batch=self.parts * self.elements * self.groups,
            a=Matrix.packed(k, tiles),
            b=Matrix.packed(c, tiles).turned(),
            c=Matrix.packed(k, c),
        )


def wrw_tiling_of(problem: ConvProblem, tile: int, parts: int) -> WrwTiling:
    """Tiles of `tile` x `tile` positions of y, dealt out to `parts`."""
    return WrwTiling(
        elements=(tile + 2) ** 2,
        parts=parts,
        part_tiles=-(-tile_count(problem.n, problem.output, tile) // (parts * _ALIGNMENT_TILES)) * _ALIGNMENT_TILES,
        c=problem.c,
        k=problem.k,
        groups=problem.groups,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HipConvWinogradWrw(OneDirection):
    """Winograd backward weights: 3x3, stride 1, dilation 1, any pad and groups, channels first or last.

    Sixteen-bit tensors are transformed and multiplied in floats.

    Attributes:
        tile: Positions of y in a tile along an axis: 2 or 4.
    """

    tile: int

    @property
    def algorithm(self) -> Algorithm:
        """Winograd."""
        return Algorithm.WINOGRAD

    def refusal(self, problem: ConvProblem, info: DeviceInfo) -> str | None:
        """Why not: direction, filter, stride, dilation, type, layout, or a size that no config can cover."""
        return self.direction_refusal(problem) or kind_refusal(self.name, problem) or self._size_refusal(problem, info)

    def _size_refusal(self, problem: ConvProblem, info: DeviceInfo) -> str | None:
        if not (parts := self._parts(problem)):
            tiles = tile_count(problem.n, problem.output, self.tile)
            return f"{self.name} adds up to {_PARTS[-1] * LONGEST_STRICT_SUM} tiles exactly enough; here are {tiles}"
        if (needed := self.workspace_bytes(problem)) > info.memory_bytes:
            return f"{self.name} needs {needed} bytes of workspace; the device has {info.memory_bytes}"
        tiling = wrw_tiling_of(problem, self.tile, parts[-1])
        return (
            position_refusal(problem)
            or size_refusal(tiling.product())
            or transform_refusal(tiling.work_items, info)
            or search_space(info).refusal(lambda config: invalidity(config, tiling.product(), info))
        )

    def workspace_bytes(self, problem: ConvProblem) -> int:
        """Transformed patches of x, transformed tiles of y, and products of the config that has most, all in floats."""
        return max(wrw_tiling_of(problem, self.tile, parts).offsets()[-1] for parts in self._parts(problem) or _PARTS)

    def default_config(self, problem: ConvProblem, info: DeviceInfo) -> WinogradWrwConfig:
        """The products' own default for the parts that are estimated to be the fastest."""

        def cost(config: WinogradWrwConfig) -> float:
            tiling = wrw_tiling_of(problem, self.tile, config.split_k)
            added = tiling.product_bytes / FLOAT_BYTES / info.compute_units
            return estimated_cost(config, tiling.product(), info) + _ADD_COST * added

        defaults = (
            _split(default_config(wrw_tiling_of(problem, self.tile, parts).product(), info), parts)
            for parts in self._parts(problem)
        )
        return min(defaults, key=cost)

    def configs(self, problem: ConvProblem, info: DeviceInfo) -> Iterator[WinogradWrwConfig]:
        """The configs of the device's space that are valid for the products, with every number of parts."""
        for parts in self._parts(problem):
            product = wrw_tiling_of(problem, self.tile, parts).product()
            for config in search_space(info):
                if invalidity(config, product, info) is None:
                    yield _split(config, parts)

    def parse_config(self, text: str) -> WinogradWrwConfig:
        """A config from MIOpen's text, for example `64,64,16,4,4,8`."""
        return WinogradWrwConfig.parse(text)

    def solution(self, problem: ConvProblem, info: DeviceInfo, config: PerformanceConfig) -> Solution:
        """Four launches: patches of x, tiles of y, products, filters.

        Raises:
            ConfigError: the config is of another solver, or not valid for the problem on the device.
        """
        if not isinstance(config, WinogradWrwConfig):
            raise ConfigError(f"{self.name} takes WinogradWrwConfig, not the config {config.serialize()!r}")
        if config.split_k not in (parts := self._parts(problem)):
            raise ConfigError(f"{self.name} cannot use {config.serialize()}: parts may be {', '.join(map(str, parts))}")
        tiling = wrw_tiling_of(problem, self.tile, config.split_k)
        cut = checked_config(self.name, tiling.product(), info, config)
        patches, spread, products = workspace_pointers(("patches", "spread", "products"), tiling.offsets())
        cutting = Cutting(tile=self.tile, parts=tiling.parts, part_tiles=tiling.part_tiles, source="x", result="y")
        data, results, weights = transform_launches(
            problem,
            info,
            cutting,
            (
                Transform("winograd_transform_data", Pointer("x", Slot.INPUT), patches, tiling.work_items[0]),
                Transform("winograd_transform_results", Pointer("y", Slot.OUTPUT), spread, tiling.work_items[1]),
                Transform("winograd_transform_weights", products, Pointer("w", Slot.WEIGHTS), tiling.work_items[2]),
            ),
        )
        operands = Operand(spread), Operand(patches), Operand(products)
        return Solution(
            solver=self.name,
            solver_id=self.solver_id,
            config=config,
            workspace_bytes=self.workspace_bytes(problem),
            launches=(data, results, gemm_launch(problem, tiling.product(), cut, operands), weights),
        )

    def _parts(self, problem: ConvProblem) -> tuple[int, ...]:
        """The numbers of parts that make sums short enough, the smallest at any price, others if products stay small.

        None of them where even the most parts leave sums too long.
        """
        tiles = tile_count(problem.n, problem.output, self.tile)
        exact = [parts for parts in _PARTS if tiles <= parts * LONGEST_STRICT_SUM]
        return tuple(
            parts
            for parts in exact
            if parts == exact[0]
            or (parts <= tiles and wrw_tiling_of(problem, self.tile, parts).product_bytes <= _MOST_PRODUCT_BYTES)
        )


SOLVERS: tuple[Solver, ...] = (
    HipConvWinogradWrw(name="HipConvWinogradF32Wrw", solver_id=10055, direction=Direction.BACKWARD_WEIGHTS, tile=2),
    HipConvWinogradWrw(name="HipConvWinogradF34Wrw", solver_id=10056, direction=Direction.BACKWARD_WEIGHTS, tile=4),
)
