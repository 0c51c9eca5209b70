"""Depthwise convolutions: as many groups as input channels, any whole number of output channels a group."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.errors import ConfigError
from pytest_miopen_perf.launch import KernelSource, Launch, Pointer, Slot
from pytest_miopen_perf.problem import Direction, DType
from pytest_miopen_perf.solvers import Algorithm, PerformanceConfig, Solution, Solver
from pytest_miopen_perf.solvers.config_space import ConfigSpace, launch_invalidity
from pytest_miopen_perf.solvers.limits import LONGEST_STRICT_SUM, position_refusal
from pytest_miopen_perf.solvers.one_direction import OneDirection
from pytest_miopen_perf.solvers.one_layout import CHANNELS_FIRST, CHANNELS_LAST, has_channels_last, layout_refusal
from pytest_miopen_perf.solvers.problem_macros import problem_macros

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.problem import ConvProblem

_MOST_TAPS = 8  # of a row of the filter at a time: the kernel's MOST_TAPS
_MOST_SEGMENT = 48
_SUM_BYTES = 4


@dataclass(frozen=True, slots=True)
class DepthwiseConfig(PerformanceConfig):
    """How the results of the data directions are dealt out: `256,2,4`.

    Attributes:
        block_size: Work-items of a block.
        rows_per_thread: Result rows of a work-item.
        pixels_per_thread: Results of each of these rows.
    """

    block_size: int
    rows_per_thread: int
    pixels_per_thread: int


@dataclass(frozen=True, slots=True)
class DepthwiseWrwConfig(PerformanceConfig):
    """How the sums of backward weights are dealt out: `256,1,9`.

    Attributes:
        block_size: Work-items of a block, a power of two.
        channels_per_block: Output channels of a block, a power of two; work-items of one channel share its positions.
        taps_per_block: Filter taps of a block, and sums of each work-item.
    """

    block_size: int
    channels_per_block: int
    taps_per_block: int


_GPU_DATA_SPACE = ConfigSpace(
    kind=DepthwiseConfig,
    axes=((64, 128, 256), (1, 2, 4), (1, 2, 4, 8)),
    defaults=(DepthwiseConfig(256, 2, 4), DepthwiseConfig(256, 1, 4), DepthwiseConfig(64, 1, 1)),
)
_CPU_DATA_SPACE = ConfigSpace(
    kind=DepthwiseConfig,
    axes=((16, 64), (1, 2, 4), (1, 4, 8, 16, 32)),
    defaults=(DepthwiseConfig(16, 2, 8), DepthwiseConfig(16, 1, 8), DepthwiseConfig(16, 1, 1)),
)
_GPU_WRW_SPACE = ConfigSpace(
    kind=DepthwiseWrwConfig,
    axes=((64, 128, 256, 512), (1, 16, 32, 64), (1, 3, 5, 9)),
    defaults=(DepthwiseWrwConfig(256, 1, 9), DepthwiseWrwConfig(256, 1, 3), DepthwiseWrwConfig(64, 1, 1)),
)
_GPU_WRW_SPACE_CHANNELS_LAST = ConfigSpace(
    kind=DepthwiseWrwConfig,
    axes=_GPU_WRW_SPACE.axes,
    defaults=(DepthwiseWrwConfig(256, 32, 9), DepthwiseWrwConfig(256, 16, 3), DepthwiseWrwConfig(64, 1, 1)),
)
_CPU_WRW_SPACE = ConfigSpace(
    kind=DepthwiseWrwConfig,
    axes=((1, 4, 16), (1, 4), (1, 3, 5, 9)),
    defaults=(DepthwiseWrwConfig(1, 1, 9), DepthwiseWrwConfig(1, 1, 3), DepthwiseWrwConfig(1, 1, 1)),
)


def data_space(info: DeviceInfo) -> ConfigSpace[DepthwiseConfig]:
    """What a search of forward and backward data tries: long rows on a CPU, whose work-items take turns."""
    return _CPU_DATA_SPACE if info.wavefront == 1 else _GPU_DATA_SPACE


def wrw_space(problem: ConvProblem, info: DeviceInfo) -> ConfigSpace[DepthwiseWrwConfig]:
    """What a search of backward weights tries; it starts where neighbouring work-items have neighbouring memory."""
    if info.wavefront == 1:
        return _CPU_WRW_SPACE
    return _GPU_WRW_SPACE_CHANNELS_LAST if has_channels_last(problem) else _GPU_WRW_SPACE


def data_invalidity(config: DepthwiseConfig, problem: ConvProblem, info: DeviceInfo) -> str | None:
    """Why a config of the data directions cannot, or should not, be used; None when it can. Compiles nothing."""
    rows, pixels = config.rows_per_thread, config.pixels_per_thread
    if min(config.block_size, rows, pixels) < 1:
        return "every number of a config must be at least 1"
    if rows * pixels > (64 if info.wavefront == 1 else 16):
        return f"{rows} x {pixels} results are too many for the registers of a work-item"
    *_, height, width = problem.output if problem.direction is Direction.FORWARD else problem.spatial
    if (rows > 1 and rows >= 2 * height) or (pixels > 1 and pixels >= 2 * width):
        return f"{rows} x {pixels} results are mostly beyond an image of {height} x {width}"
    if pixels > 1 and (segment := _segment(problem, pixels)) > max(_MOST_SEGMENT, 2 * pixels):
        return f"{pixels} results of a row take {segment} registers for its source"
    return launch_invalidity(config.block_size, _data_blocks(config, problem), info)


def wrw_invalidity(config: DepthwiseWrwConfig, problem: ConvProblem, info: DeviceInfo) -> str | None:
    """Why a config of backward weights cannot, or should not, be used; None when it can. Compiles nothing."""
    block, channels, taps = config.block_size, config.channels_per_block, config.taps_per_block
    if min(block, channels, taps) < 1:
        return "every number of a config must be at least 1"
    if block.bit_count() != 1 or channels.bit_count() != 1 or channels > block:
        return f"{block} work-items cannot halve the sums of {channels} channels until one is left of each"
    if taps > 1 and taps > math.prod(problem.filter):
        return f"{taps} taps are more than a filter has"
    if channels > 1 and channels >= 2 * problem.k:
        return f"a block of {channels} channels is mostly empty: there are {problem.k}"
    if (lds := block * taps * _SUM_BYTES) > info.lds_bytes:
        return f"the sums take {lds} bytes of shared memory; the device has {info.lds_bytes}"
    return _sum_invalidity(config, problem) or launch_invalidity(block, _wrw_blocks(config, problem), info)


def _sum_invalidity(config: DepthwiseWrwConfig, problem: ConvProblem) -> str | None:
    """Why the numbers would not be exact enough: measured on an H200, 100,352 products of one work-item are not."""
    summed = -(-problem.n * math.prod(problem.output) // (config.block_size // config.channels_per_block))
    if problem.dtype is not DType.FP32 or summed <= LONGEST_STRICT_SUM:
        return None
    return f"a work-item adds up {summed} products one after another; fp32 allows {LONGEST_STRICT_SUM}"


def _segment(problem: ConvProblem, pixels: int) -> int:
    """Source elements of a row that a work-item holds: the kernel's SEGMENT."""
    step = problem.stride[-1] if problem.direction is Direction.FORWARD else 1
    return (pixels - 1) * step + (min(problem.filter[-1], _MOST_TAPS) - 1) * problem.dilation[-1] + 1


def _data_blocks(config: DepthwiseConfig, problem: ConvProblem) -> int:
    is_forward = problem.direction is Direction.FORWARD
    channels, (*depth, height, width) = (problem.k, problem.output) if is_forward else (problem.c, problem.spatial)
    tiles = -(-height // config.rows_per_thread) * -(-width // config.pixels_per_thread)
    return -(-problem.n * channels * math.prod(depth) * tiles // config.block_size)


def _wrw_blocks(config: DepthwiseWrwConfig, problem: ConvProblem) -> int:
    return -(-problem.k // config.channels_per_block) * -(-math.prod(problem.filter) // config.taps_per_block)


def _problem_refusal(solver: HipConvDepthwise | HipConvDepthwiseWrw, problem: ConvProblem) -> str | None:
    if problem.direction not in solver.directions:
        return f"{solver.name} does not compute direction {problem.direction.value}"
    if problem.groups != problem.c:
        return f"{solver.name} takes groups of one input channel; here {problem.groups} groups share {problem.c}"
    if problem.dtype is DType.INT8:
        return f"{solver.name} computes FP32, FP16 and BF16, not INT8"
    if reason := layout_refusal(problem, CHANNELS_FIRST + CHANNELS_LAST):
        return f"{solver.name}: {reason}"
    return position_refusal(problem)


def _one_launch(
    solver: HipConvDepthwise | HipConvDepthwiseWrw,
    config: DepthwiseConfig | DepthwiseWrwConfig,
    kernel: KernelSource,
    blocks: int,
) -> Solution:
    launch = Launch(
        kernel=kernel,
        grid=(blocks, 1, 1),
        block=(config.block_size, 1, 1),
        args=(Pointer("x", Slot.INPUT), Pointer("w", Slot.WEIGHTS), Pointer("y", Slot.OUTPUT)),
    )
    return Solution(
        solver=solver.name, solver_id=solver.solver_id, config=config, workspace_bytes=0, launches=(launch,)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class HipConvDepthwise(OneDirection):
    """Depthwise forward or backward data, 2-D and 3-D, channels first or last, without a workspace.

    Attributes:
        entry: The kernel in `conv_depthwise.hip`.
    """

    entry: str

    @property
    def algorithm(self) -> Algorithm:
        """Direct."""
        return Algorithm.DIRECT

    def refusal(self, problem: ConvProblem, info: DeviceInfo) -> str | None:
        """Why not: direction, groups, type, layout, or a size that no config can cover."""
        return _problem_refusal(self, problem) or data_space(info).refusal(lambda c: data_invalidity(c, problem, info))

    def default_config(self, problem: ConvProblem, info: DeviceInfo) -> DepthwiseConfig:
        """The first default of the device's space that is valid."""
        return data_space(info).default(lambda c: data_invalidity(c, problem, info))

    def configs(self, problem: ConvProblem, info: DeviceInfo) -> Iterator[DepthwiseConfig]:
        """The configs of the device's space that are valid for the problem."""
        return data_space(info).valid(lambda c: data_invalidity(c, problem, info))

    def parse_config(self, text: str) -> DepthwiseConfig:
        """A config from MIOpen's text, for example `256,2,4`."""
        return DepthwiseConfig.parse(text)

    def solution(self, problem: ConvProblem, info: DeviceInfo, config: PerformanceConfig) -> Solution:
        """One launch of a kernel that is compiled for the problem and the config.

        Raises:
            ConfigError: the config is of another solver, or not valid for the problem on the device.
        """
        if not isinstance(config, DepthwiseConfig):
            raise ConfigError(f"{self.name} takes {DepthwiseConfig.__name__}, not the config {config.serialize()!r}")
        if reason := data_invalidity(config, problem, info):
            raise ConfigError(f"{self.name} cannot use {config.serialize()}: {reason}")
        macros = (
            ("BLOCK_SIZE", str(config.block_size)),
            ("ROWS_PER_THREAD", str(config.rows_per_thread)),
            ("PIXELS_PER_THREAD", str(config.pixels_per_thread)),
        )
        kernel = KernelSource(file="conv_depthwise.hip", entry=self.entry, defines=(*problem_macros(problem), *macros))
        return _one_launch(self, config, kernel, _data_blocks(config, problem))


@dataclass(frozen=True, slots=True, kw_only=True)
class HipConvDepthwiseWrw(OneDirection):
    """Depthwise backward weights, 2-D and 3-D, channels first or last: sums halved inside of a block, no workspace."""

    name: str = "HipConvDepthwiseWrw"
    solver_id: int = 10033
    direction: Direction = Direction.BACKWARD_WEIGHTS

    @property
    def algorithm(self) -> Algorithm:
        """Direct."""
        return Algorithm.DIRECT

    def refusal(self, problem: ConvProblem, info: DeviceInfo) -> str | None:
        """Why not: direction, groups, type, layout, or a size that no config can cover."""
        space = wrw_space(problem, info)
        return _problem_refusal(self, problem) or space.refusal(lambda c: wrw_invalidity(c, problem, info))

    def default_config(self, problem: ConvProblem, info: DeviceInfo) -> DepthwiseWrwConfig:
        """The first default of the space that is valid."""
        return wrw_space(problem, info).default(lambda c: wrw_invalidity(c, problem, info))

    def configs(self, problem: ConvProblem, info: DeviceInfo) -> Iterator[DepthwiseWrwConfig]:
        """The configs of the space that are valid for the problem."""
        return wrw_space(problem, info).valid(lambda c: wrw_invalidity(c, problem, info))

    def parse_config(self, text: str) -> DepthwiseWrwConfig:
        """A config from MIOpen's text, for example `256,1,9`."""
        return DepthwiseWrwConfig.parse(text)

    def solution(self, problem: ConvProblem, info: DeviceInfo, config: PerformanceConfig) -> Solution:
        """One launch of a kernel that is compiled for the problem and the config.

        Raises:
            ConfigError: the config is of another solver, or not valid for the problem on the device.
        """
        if not isinstance(config, DepthwiseWrwConfig):
            raise ConfigError(f"{self.name} takes {DepthwiseWrwConfig.__name__}, not the config {config.serialize()!r}")
        if reason := wrw_invalidity(config, problem, info):
            raise ConfigError(f"{self.name} cannot use {config.serialize()}: {reason}")
        macros = (
            ("BLOCK_SIZE", str(config.block_size)),
            ("CHANNELS_PER_BLOCK", str(config.channels_per_block)),
            ("TAPS_PER_BLOCK", str(config.taps_per_block)),
        )
        kernel = KernelSource(
            file="conv_depthwise_wrw.hip", entry="depthwise_conv_wrw", defines=(*problem_macros(problem), *macros)
        )
        return _one_launch(self, config, kernel, _wrw_blocks(config, problem))


SOLVERS: tuple[Solver, ...] = (
    HipConvDepthwise(
        name="HipConvDepthwiseFwd", solver_id=10031, direction=Direction.FORWARD, entry="depthwise_conv_fwd"
    ),
    HipConvDepthwise(
        name="HipConvDepthwiseBwd", solver_id=10032, direction=Direction.BACKWARD_DATA, entry="depthwise_conv_bwd"
    ),
    HipConvDepthwiseWrw(),
)
