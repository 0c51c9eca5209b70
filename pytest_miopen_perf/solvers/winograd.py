"""Winograd convolutions F(2x2, 3x3) and F(4x4, 3x3) in several passes: transforms around a batch of matrix products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

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
    gemm_launch,
    invalidity,
    search_space,
    size_refusal,
)
from pytest_miopen_perf.solvers.limits import position_refusal
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Tiling:
    """How a problem is cut, and what lies where in the workspace.

    Attributes:
        elements: Of a patch: (tile + 2) squared matrix products.
        tiles: Of all images.
        source_channels: Over all groups.
        result_channels: Over all groups.
        groups: Of both.
    """

    elements: int
    tiles: int
    source_channels: int
    result_channels: int
    groups: int

    @property
    def patch_floats(self) -> int:
        """Of all transformed patches."""
        return self.elements * self.source_channels * self.tiles

    @property
    def filter_floats(self) -> int:
        """Of all transformed filters."""
        return self.elements * self.result_channels * self.source_channels // self.groups

    @property
    def product_floats(self) -> int:
        """Of all products."""
        return self.elements * self.result_channels * self.tiles

    @property
    def work_items(self) -> tuple[int, int, int]:
        """Of the transforms: a patch, a filter, a tile of results each."""
        floats = (self.patch_floats, self.filter_floats, self.product_floats)
        patches, filters, products = (count // self.elements for count in floats)
        return patches, filters, products

    def offsets(self) -> tuple[int, ...]:
        """Where patches, filters and products begin in the workspace, and where it ends, in bytes."""
        floats = (self.patch_floats, self.filter_floats, self.product_floats)
        return aligned_offsets(count * FLOAT_BYTES for count in floats)

    def product(self) -> Product:
        """Filters times patches; the batch is every element of every group."""
        k, c = self.result_channels // self.groups, self.source_channels // self.groups

        return Product(
            m=k,
            n=self.tiles,
            k=c,
            batch=self.elements * self.groups,
            a=Matrix.packed(k, c),
            b=Matrix.packed(c, self.tiles),
            c=Matrix.packed(k, self.tiles),
        )


def tiling_of(problem: ConvProblem, tile: int) -> Tiling:
    """Tiles of `tile` x `tile` results."""
    is_forward = problem.direction is Direction.FORWARD
    size = problem.output if is_forward else problem.spatial
    source, result = (problem.c, problem.k) if is_forward else (problem.k, problem.c)
    return Tiling(
        elements=(tile + 2) ** 2,
        tiles=tile_count(problem.n, size, tile),
        source_channels=source,
        result_channels=result,
        groups=problem.groups,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HipConvWinograd(OneDirection):
    """Winograd forward or backward data: 3x3, stride 1, dilation 1, any pad and groups, channels first or last.

    Sixteen-bit tensors are transformed and multiplied in floats.

    Attributes:
        tile: Results of a tile along an axis: 2 or 4.
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
        tiling = tiling_of(problem, self.tile)
        product = tiling.product()
        return (
            position_refusal(problem)
            or size_refusal(product)
            or transform_refusal(tiling.work_items, info)
            or search_space(info).refusal(lambda config: invalidity(config, product, info))
        )

    def workspace_bytes(self, problem: ConvProblem) -> int:
        """Transformed patches, transformed filters and products, all in floats."""
        return tiling_of(problem, self.tile).offsets()[-1]

    def default_config(self, problem: ConvProblem, info: DeviceInfo) -> GemmConfig:
        """The largest of the default tiles that leaves no compute unit without a block; otherwise the smallest."""
        return default_config(tiling_of(problem, self.tile).product(), info)

    def configs(self, problem: ConvProblem, info: DeviceInfo) -> Iterator[GemmConfig]:
        """The configs of the device's space that are valid for the products."""
        product = tiling_of(problem, self.tile).product()
        return search_space(info).valid(lambda config: invalidity(config, product, info))

    def parse_config(self, text: str) -> GemmConfig:
        """A config from MIOpen's text, for example `64,64,16,4,4`."""
        return GemmConfig.parse(text)

    def solution(self, problem: ConvProblem, info: DeviceInfo, config: PerformanceConfig) -> Solution:
        """Four launches: patches, filters, products, results.

        Raises:
            ConfigError: the config is of another solver, or not valid for the problem on the device.
        """
        tiling = tiling_of(problem, self.tile)
        product = tiling.product()
        cut = checked_config(self.name, product, info, config)
        source, result = (Slot.INPUT, Slot.OUTPUT) if self.direction is Direction.FORWARD else (Slot.OUTPUT, Slot.INPUT)
        patches, filters, products = workspace_pointers(("patches", "filters", "products"), tiling.offsets())
        cutting = Cutting(tile=self.tile, parts=1, part_tiles=tiling.tiles, source=source.value, result=result.value)
        data, filter_, output = transform_launches(
            problem,
            info,
            cutting,
            (
                Transform("winograd_transform_data", Pointer(source.value, source), patches, tiling.work_items[0]),
                Transform("winograd_transform_filter", Pointer("w", Slot.WEIGHTS), filters, tiling.work_items[1]),
                Transform("winograd_transform_output", products, Pointer(result.value, result), tiling.work_items[2]),
            ),
        )
        operands = Operand(filters), Operand(patches), Operand(products)
        return Solution(
            solver=self.name,
            solver_id=self.solver_id,
            config=config,
            workspace_bytes=self.workspace_bytes(problem),
            launches=(data, filter_, gemm_launch(problem, product, cut, operands), output),
        )


SOLVERS: tuple[Solver, ...] = (
    HipConvWinograd(name="HipConvWinogradF23Fwd", solver_id=10051, direction=Direction.FORWARD, tile=2),
    HipConvWinograd(name="HipConvWinogradF23Bwd", solver_id=10052, direction=Direction.BACKWARD_DATA, tile=2),
    HipConvWinograd(name="HipConvWinogradF43Fwd", solver_id=10053, direction=Direction.FORWARD, tile=4),
    HipConvWinograd(name="HipConvWinogradF43Bwd", solver_id=10054, direction=Direction.BACKWARD_DATA, tile=4),
)
