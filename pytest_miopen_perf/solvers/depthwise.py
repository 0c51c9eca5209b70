"""Depthwise forward and backward data: as many groups as input channels, a whole number of output channels each."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.errors import ConfigError
from pytest_miopen_perf.launch import KernelSource, Launch, Pointer, Slot
from pytest_miopen_perf.problem import Direction, DType
from pytest_miopen_perf.solvers import Algorithm, PerformanceConfig, Solution, Solver
from pytest_miopen_perf.solvers.config_space import ConfigSpace, launch_invalidity
from pytest_miopen_perf.solvers.limits import position_refusal
from pytest_miopen_perf.solvers.one_direction import OneDirection
from pytest_miopen_perf.solvers.one_layout import CHANNELS_FIRST, CHANNELS_LAST, layout_refusal
from pytest_miopen_perf.solvers.problem_macros import problem_macros

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.problem import ConvProblem

_MOST_TAPS = 8  # of a row of the filter at a time: the kernel's MOST_TAPS
_MOST_SEGMENT = 48


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


def data_space(info: DeviceInfo) -> ConfigSpace[DepthwiseConfig]:
    """What a search of forward and backward data tries: long rows on a CPU, whose work-items take turns."""
    return _CPU_DATA_SPACE if info.wavefront == 1 else _GPU_DATA_SPACE


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


def _segment(problem: ConvProblem, pixels: int) -> int:
    """Source elements of a row that a work-item holds: the kernel's SEGMENT."""
    step = problem.stride[-1] if problem.direction is Direction.FORWARD else 1
    return (pixels - 1) * step + (min(problem.filter[-1], _MOST_TAPS) - 1) * problem.dilation[-1] + 1


def _data_blocks(config: DepthwiseConfig, problem: ConvProblem) -> int:
    is_forward = problem.direction is Direction.FORWARD
    channels, (*depth, height, width) = (problem.k, problem.output) if is_forward else (problem.c, problem.spatial)
    tiles = -(-height // config.rows_per_thread) * -(-width // config.pixels_per_thread)
    return -(-problem.n * channels * math.prod(depth) * tiles // config.block_size)


def problem_refusal(solver: OneDirection, problem: ConvProblem) -> str | None:
    """Why a depthwise solver of any direction cannot compute a problem, whatever the device; None when it can."""
    if reason := solver.direction_refusal(problem):
        return reason
    if problem.groups != problem.c:
        return f"{solver.name} takes groups of one input channel; here {problem.groups} groups share {problem.c}"
    if problem.dtype is DType.INT8:
        return f"{solver.name} computes FP32, FP16 and BF16, not INT8"
    if reason := layout_refusal(problem, CHANNELS_FIRST + CHANNELS_LAST):
        return f"{solver.name}: {reason}"
    return position_refusal(problem)


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
        return problem_refusal(self, problem) or data_space(info).refusal(lambda c: data_invalidity(c, problem, info))

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
        launch = Launch(
            kernel=kernel,
            grid=(_data_blocks(config, problem), 1, 1),
            block=(config.block_size, 1, 1),
            args=(Pointer("x", Slot.INPUT), Pointer("w", Slot.WEIGHTS), Pointer("y", Slot.OUTPUT)),
        )
        return Solution(
            solver=self.name, solver_id=self.solver_id, config=config, workspace_bytes=0, launches=(launch,)
        )


SOLVERS: tuple[Solver, ...] = (
    HipConvDepthwise(
        name="HipConvDepthwiseFwd", solver_id=10031, direction=Direction.FORWARD, entry="depthwise_conv_fwd"
    ),
    HipConvDepthwise(
        name="HipConvDepthwiseBwd", solver_id=10032, direction=Direction.BACKWARD_DATA, entry="depthwise_conv_bwd"
    ),
)
