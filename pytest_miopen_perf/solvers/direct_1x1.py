"""Direct convolutions with filters of one tap and without pads: a matrix product with nothing to rearrange."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.errors import ConfigError
from pytest_miopen_perf.launch import KernelSource, Launch, Pointer, Slot
from pytest_miopen_perf.problem import Direction
from pytest_miopen_perf.solvers import Algorithm, PerformanceConfig, Solution, Solver
from pytest_miopen_perf.solvers.config_space import ConfigSpace, launch_invalidity
from pytest_miopen_perf.solvers.limits import INT_LIMIT, position_refusal
from pytest_miopen_perf.solvers.one_direction import OneDirection
from pytest_miopen_perf.solvers.one_layout import CHANNELS_FIRST, CHANNELS_LAST, has_channels_last, layout_refusal
from pytest_miopen_perf.solvers.problem_macros import problem_macros

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.problem import ConvProblem

_MOST_VECTOR_BYTES = 16
_REGISTERS = {"cpu": 256, "gpu": 64}


@dataclass(frozen=True, slots=True)
class Direct1x1Config(PerformanceConfig):
    """How the results are dealt out: `256,4,4,4`.

    Attributes:
        block_size: Work-items of a block.
        channels_per_thread: Result channels of a work-item.
        pixels_per_thread: Results of each of these channels.
        vector_width: Source elements that are read at once: pixels, or channels where these come last.
    """

    block_size: int
    channels_per_thread: int
    pixels_per_thread: int
    vector_width: int


GPU_SPACE = ConfigSpace(
    kind=Direct1x1Config,
    axes=((64, 128, 256), (1, 2, 4, 8), (1, 2, 4, 8), (1, 2, 4)),
    defaults=(Direct1x1Config(256, 4, 4, 4), Direct1x1Config(256, 4, 4, 1), Direct1x1Config(64, 1, 1, 1)),
)
CPU_SPACE = ConfigSpace(
    kind=Direct1x1Config,
    axes=((16, 64), (1, 4, 8), (1, 8, 16, 32), (1, 4)),
    defaults=(Direct1x1Config(16, 4, 16, 4), Direct1x1Config(16, 4, 8, 1), Direct1x1Config(16, 1, 1, 1)),
)


def search_space(info: DeviceInfo) -> ConfigSpace[Direct1x1Config]:
    """What a search tries: on a CPU, whose work-items take turns, more of a row at once."""
    return CPU_SPACE if info.wavefront == 1 else GPU_SPACE


def invalidity(config: Direct1x1Config, problem: ConvProblem, info: DeviceInfo) -> str | None:
    """Why a config cannot, or should not, be used for a problem on a device; None when it can. Compiles nothing."""
    channels, pixels = config.channels_per_thread, config.pixels_per_thread
    if min(config.block_size, channels, pixels, config.vector_width) < 1:
        return "every number of a config must be at least 1"
    if reason := _vector_invalidity(config, problem):
        return reason
    registers = pixels * (channels + (config.vector_width if has_channels_last(problem) else 1))
    if registers > _REGISTERS["cpu" if info.wavefront == 1 else "gpu"]:
        return f"{channels} x {pixels} results and their sources take {registers} registers"
    result_channels, result_pixels = _result_size(problem)
    if (channels > 1 and channels >= 2 * result_channels) or (pixels > 1 and pixels >= 2 * result_pixels):
        return f"{channels} x {pixels} results are mostly beyond the {result_channels} x {result_pixels} of a group"
    return launch_invalidity(config.block_size, _blocks(config, problem), info)


def _vector_invalidity(config: Direct1x1Config, problem: ConvProblem) -> str | None:
    """A vector must never lie across the end of what is contiguous, which also keeps it aligned."""
    width = config.vector_width
    if width == 1:
        return None
    if width.bit_count() != 1 or width * problem.dtype.bytes > _MOST_VECTOR_BYTES:
        return f"{width} elements of {problem.dtype.value} are no vector of at most {_MOST_VECTOR_BYTES} bytes"
    if has_channels_last(problem):
        channels = (problem.c if problem.direction is Direction.FORWARD else problem.k) // problem.groups
        return f"{channels} channels a group are not read {width} at a time" if channels % width else None
    if set(problem.stride) != {1}:
        return "with a stride, neighbouring results do not have neighbouring sources"
    if config.pixels_per_thread % width or math.prod(problem.output) % width:
        return f"{config.pixels_per_thread} of {math.prod(problem.output)} pixels are not read {width} at a time"
    return None


def _result_size(problem: ConvProblem) -> tuple[int, int]:
    """Result channels of a group, and pixels of each."""
    is_forward = problem.direction is Direction.FORWARD
    channels, pixels = (problem.k, problem.output) if is_forward else (problem.c, problem.spatial)
    return channels // problem.groups, math.prod(pixels)


def _blocks(config: Direct1x1Config, problem: ConvProblem) -> int:
    channels, pixels = _result_size(problem)
    tiles = -(-channels // config.channels_per_thread) * -(-pixels // config.pixels_per_thread)
    return -(-problem.n * problem.groups * tiles // config.block_size)


@dataclass(frozen=True, slots=True, kw_only=True)
class HipConvDirect1x1(OneDirection):
    """1x1 forward or backward data without pads: any stride and groups, 2-D and 3-D, channels first or last.

    Attributes:
        entry: The kernel in `conv_direct_1x1.hip`.
    """

    entry: str

    @property
    def algorithm(self) -> Algorithm:
        """Direct."""
        return Algorithm.DIRECT

    def refusal(self, problem: ConvProblem, info: DeviceInfo) -> str | None:
        """Why not: direction, filter, pads, type, layout, or a size that no config can cover."""
        space = search_space(info)
        return self._problem_refusal(problem) or space.refusal(lambda c: invalidity(c, problem, info))

    def _problem_refusal(self, problem: ConvProblem) -> str | None:
        if reason := self.direction_refusal(problem) or self.int8_refusal(problem):
            return reason
        if set(problem.filter) != {1} or any(problem.pad):
            return f"{self.name} takes filters of one tap and no pads"
        if reason := layout_refusal(problem, CHANNELS_FIRST + CHANNELS_LAST):
            return f"{self.name}: {reason}"
        if (pixels := math.prod(problem.spatial)) >= INT_LIMIT:
            return f"{self.name} counts pixels in 32 bits; here they are {pixels}"
        return position_refusal(problem)

    def default_config(self, problem: ConvProblem, info: DeviceInfo) -> Direct1x1Config:
        """The first default of the device's space that is valid."""
        return search_space(info).default(lambda c: invalidity(c, problem, info))

    def configs(self, problem: ConvProblem, info: DeviceInfo) -> Iterator[Direct1x1Config]:
        """The configs of the device's space that are valid for the problem."""
        return search_space(info).valid(lambda c: invalidity(c, problem, info))

    def parse_config(self, text: str) -> Direct1x1Config:
        """A config from MIOpen's text, for example `256,4,4,4`."""
        return Direct1x1Config.parse(text)

    def solution(self, problem: ConvProblem, info: DeviceInfo, config: PerformanceConfig) -> Solution:
        """One launch of a kernel that is compiled for the problem and the config.

        Raises:
            ConfigError: the config is of another solver, or not valid for the problem on the device.
        """
        if not isinstance(config, Direct1x1Config):
            raise ConfigError(f"{self.name} takes {Direct1x1Config.__name__}, not the config {config.serialize()!r}")
        if reason := invalidity(config, problem, info):
            raise ConfigError(f"{self.name} cannot use {config.serialize()}: {reason}")
        macros = (
            ("BLOCK_SIZE", str(config.block_size)),
            ("CHANNELS_PER_THREAD", str(config.channels_per_thread)),
            ("PIXELS_PER_THREAD", str(config.pixels_per_thread)),
            ("VECTOR_WIDTH", str(config.vector_width)),
        )
        launch = Launch(
            kernel=KernelSource(
                file="conv_direct_1x1.hip", entry=self.entry, defines=(*problem_macros(problem), *macros)
            ),
            grid=(_blocks(config, problem), 1, 1),
            block=(config.block_size, 1, 1),
            args=(Pointer("x", Slot.INPUT), Pointer("w", Slot.WEIGHTS), Pointer("y", Slot.OUTPUT)),
        )
        return Solution(
            solver=self.name, solver_id=self.solver_id, config=config, workspace_bytes=0, launches=(launch,)
        )


SOLVERS: tuple[Solver, ...] = (
    HipConvDirect1x1(
        name="HipConvDirect1x1Fwd", solver_id=10021, direction=Direction.FORWARD, entry="direct_conv_1x1_fwd"
    ),
    HipConvDirect1x1(
        name="HipConvDirect1x1Bwd", solver_id=10022, direction=Direction.BACKWARD_DATA, entry="direct_conv_1x1_bwd"
    ),
)
