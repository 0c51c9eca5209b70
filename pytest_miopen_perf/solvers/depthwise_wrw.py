"""Depthwise backward weights: long sums of few products each, dealt out to work-items, blocks and parts."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_miopen_perf.errors import ConfigError
from pytest_miopen_perf.launch import KernelSource, Launch, Pointer, Slot
from pytest_miopen_perf.problem import Direction
from pytest_miopen_perf.solvers import Algorithm, PerformanceConfig, Solution, Solver
from pytest_miopen_perf.solvers.config_space import ConfigSpace, launch_invalidity
from pytest_miopen_perf.solvers.depthwise import problem_refusal
from pytest_miopen_perf.solvers.limits import longest_sum_of
from pytest_miopen_perf.solvers.one_direction import OneDirection
from pytest_miopen_perf.solvers.one_layout import has_channels_last
from pytest_miopen_perf.solvers.problem_macros import problem_macros
from pytest_miopen_perf.solvers.weight_parts import WORKSPACE, add_parts_launch, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.problem import ConvProblem

_FLOAT_BYTES = 4
_MOST_TAPS = 8  # of a tile along an axis
_MOST_SUMS = 64
_MOST_REGISTERS = 128
_MOST_DEMAND = 240  # with the loads of x that compilers for AMD have under way at once
_MOST_SEGMENT = 48
_MOST_ROWS = 32
_MOST_PARTS = 128
_FULL_UNIT = 512
"""Work-items of a compute unit of a GPU beyond which more parts no longer pay, measured on an H200."""

_LINE_CHANNELS = 16
"""Channels of a block of a GPU below which most of what comes from memory is of other blocks."""

_X, _W, _Y = Pointer("x", Slot.INPUT), Pointer("w", Slot.WEIGHTS), Pointer("y", Slot.OUTPUT)


@dataclass(frozen=True, slots=True)
class DepthwiseWrwConfig(PerformanceConfig):
    """How the sums are dealt out: `256,32,2,2,4,64`.

    Attributes:
        block_size: Work-items of a block, a power of two.
        channels_per_block: Output channels of a block, a power of two; work-items of one channel share its positions.
        channels_per_thread: Of these, those of a work-item, side by side in memory: a power of two.
        rows_per_thread: Rows of the tiles of positions that a work-item goes over.
        pixels_per_thread: Positions of each of these rows.
        parts: Into how many parts every sum is split, each of which has blocks of its own.
    """

    block_size: int
    channels_per_block: int
    channels_per_thread: int
    rows_per_thread: int
    pixels_per_thread: int
    parts: int

    @property
    def lanes(self) -> int:
        """Work-items of a block that share the positions of a channel."""
        return self.block_size * self.channels_per_thread // self.channels_per_block


_GPU_SPACE = ConfigSpace(
    kind=DepthwiseWrwConfig,
    axes=((64, 128, 256), (1,), (1,), (1, 2, 4), (1, 2, 4, 8), (1, 4, 16, 64)),
    defaults=(DepthwiseWrwConfig(256, 1, 1, 4, 2, 1), DepthwiseWrwConfig(64, 1, 1, 1, 1, 1)),
)
_GPU_SPACE_CHANNELS_LAST = ConfigSpace(
    kind=DepthwiseWrwConfig,
    axes=((64, 128, 256), (1, 16, 32, 64), (1, 2, 4), (1, 2, 4), (1, 2, 4, 8), (1, 16, 64, 128)),
    defaults=(
        DepthwiseWrwConfig(256, 32, 2, 2, 4, 1),
        DepthwiseWrwConfig(256, 32, 1, 2, 4, 1),
        DepthwiseWrwConfig(64, 16, 1, 1, 1, 1),
        DepthwiseWrwConfig(64, 1, 1, 1, 1, 1),
    ),
)
_CPU_SPACE = ConfigSpace(
    kind=DepthwiseWrwConfig,
    axes=((1, 16), (1,), (1,), (1, 2, 4), (1, 4, 8, 16, 32), (1, 4, 16, 64)),
    defaults=(DepthwiseWrwConfig(1, 1, 1, 1, 8, 1), DepthwiseWrwConfig(1, 1, 1, 1, 1, 1)),
)
_CPU_SPACE_CHANNELS_LAST = ConfigSpace(
    kind=DepthwiseWrwConfig,
    axes=((1, 16), (1, 8, 16), (1, 8, 16), (1, 2, 4), (1, 4, 8), (1, 4, 16, 64)),
    defaults=(
        DepthwiseWrwConfig(1, 16, 16, 1, 4, 1),
        DepthwiseWrwConfig(1, 8, 8, 1, 4, 1),
        DepthwiseWrwConfig(1, 1, 1, 1, 8, 1),
        DepthwiseWrwConfig(1, 1, 1, 1, 1, 1),
    ),
)


def wrw_space(problem: ConvProblem, info: DeviceInfo) -> ConfigSpace[DepthwiseWrwConfig]:
    """What a search tries; neighbouring work-items have neighbouring memory, and so have the vectors of a CPU."""
    if info.wavefront == 1:
        return _CPU_SPACE_CHANNELS_LAST if has_channels_last(problem) else _CPU_SPACE
    return _GPU_SPACE_CHANNELS_LAST if has_channels_last(problem) else _GPU_SPACE


def wrw_invalidity(config: DepthwiseWrwConfig, problem: ConvProblem, info: DeviceInfo) -> str | None:
    """Why a config cannot, or should not, be used for a problem on a device; None when it can. Compiles nothing."""
    c = config
    numbers = (c.block_size, c.channels_per_block, c.channels_per_thread)
    if min(*numbers, c.rows_per_thread, c.pixels_per_thread, c.parts) < 1:
        return "every number of a config must be at least 1"
    if any(number.bit_count() != 1 for number in numbers) or not 1 <= c.lanes <= c.block_size:
        return f"{c.block_size} work-items cannot halve the sums of {c.channels_per_block} channels until one is left"
    return (
        _channels_invalidity(config, problem, info)
        or _tile_invalidity(config, problem)
        or _register_invalidity(config, problem, info)
        or _sum_invalidity(config, problem)
        or launch_invalidity(c.block_size, _blocks(config, problem), info)
    )


def _channels_invalidity(config: DepthwiseWrwConfig, problem: ConvProblem, info: DeviceInfo) -> str | None:
    channels, together = config.channels_per_block, config.channels_per_thread
    if channels > 1 and channels >= 2 * problem.k:
        return f"a block of {channels} channels is mostly empty: there are {problem.k}"
    is_strided = info.wavefront > 1 and has_channels_last(problem)
    if is_strided and channels < _LINE_CHANNELS < 2 * problem.k:
        return f"a block of {channels} channels reads little of each line of memory: there are {problem.k}"
    if together > 1 and (problem.k != problem.c or problem.k % together or not has_channels_last(problem)):
        return f"{together} channels lie nowhere together that are as many in x as in y"
    return None


def _tile_invalidity(config: DepthwiseWrwConfig, problem: ConvProblem) -> str | None:
    """Why tiles would be mostly empty, or read mostly what no tap needs."""
    rows, pixels = config.rows_per_thread, config.pixels_per_thread
    *_, height, width = problem.output
    if (rows > 1 and rows >= 2 * height) or (pixels > 1 and pixels >= 2 * width):
        return f"tiles of {rows} x {pixels} positions are mostly beyond an image of {height} x {width}"
    if rows > 1 and (source := _extents(config, problem)[0]) > _MOST_ROWS:
        return f"{rows} rows of positions read from {source} rows"
    if config.parts > 1 and (config.parts - 1) * config.lanes >= _tiles(config, problem):
        return f"{config.parts} parts are more than {config.lanes} work-items a channel have tiles for"
    return None


def _register_invalidity(config: DepthwiseWrwConfig, problem: ConvProblem, info: DeviceInfo) -> str | None:
    pixels = config.pixels_per_thread
    _, segment = _extents(config, problem)
    if pixels > 1 and segment > max(_MOST_SEGMENT, 2 * pixels):
        return f"{pixels} positions of a row take {segment} registers for a row of x"
    sums, factors, loads = demand(config, problem)
    has_registers = sums <= _MOST_SUMS and sums + factors <= _MOST_REGISTERS and sums + factors + loads <= _MOST_DEMAND
    if info.wavefront > 1 and not has_registers:
        return f"{sums} sums, {factors} factors and {loads} loads are too many for the registers of a work-item"
    _, columns = tap_tile(problem)
    if (lds := config.block_size * columns * config.channels_per_thread * _FLOAT_BYTES) > info.lds_bytes:
        return f"the sums take {lds} bytes of shared memory; the device has {info.lds_bytes}"
    return None


def _sum_invalidity(config: DepthwiseWrwConfig, problem: ConvProblem) -> str | None:
    """Why the numbers would not be exact enough: measured on an H200, 100,352 products of one work-item are not."""
    tiles = -(-_tiles(config, problem) // (config.lanes * config.parts))
    summed = tiles * config.rows_per_thread * config.pixels_per_thread
    longest = longest_sum_of(problem.dtype)
    if summed <= longest:
        return None
    return f"a work-item adds up {summed} products one after another; {problem.dtype.value} allows {longest}"


def tap_tile(problem: ConvProblem) -> tuple[int, int]:
    """Rows and columns of the taps that a block adds up: the filter's, evenly cut where it is large."""
    *_, height, width = problem.filter
    return _evenly_cut(height), _evenly_cut(width)


def _evenly_cut(size: int) -> int:
    return -(-size // -(-size // _MOST_TAPS))


def _extents(config: DepthwiseWrwConfig, problem: ConvProblem) -> tuple[int, int]:
    """Rows of x that a tile needs, and how much of each: the kernel's SOURCE_ROWS and SEGMENT."""
    counts = (config.rows_per_thread, config.pixels_per_thread)
    axes = zip(counts, tap_tile(problem), problem.stride[-2:], problem.dilation[-2:], strict=True)
    rows, columns = (
        taps if count == 1 else (count - 1) * step + (taps - 1) * dilation + 1 for count, taps, step, dilation in axes
    )
    return rows, columns


def demand(config: DepthwiseWrwConfig, problem: ConvProblem) -> tuple[int, int, int]:
    """What fills the registers of a work-item: its sums, the factors that it holds, what it loads of x."""
    (tap_rows, tap_columns), (rows, segment) = tap_tile(problem), _extents(config, problem)
    positions = config.rows_per_thread * config.pixels_per_thread
    sums, factors, loads = (
        config.channels_per_thread * each for each in (tap_rows * tap_columns, positions + segment, rows * segment)
    )
    return sums, factors, loads


def _tiles(config: DepthwiseWrwConfig, problem: ConvProblem) -> int:
    *depth, height, width = problem.output
    rows, columns = -(-height // config.rows_per_thread), -(-width // config.pixels_per_thread)
    return problem.n * math.prod(depth) * rows * columns


def _blocks(config: DepthwiseWrwConfig, problem: ConvProblem) -> int:
    *depth, height, width = problem.filter
    rows, columns = tap_tile(problem)
    tap_tiles = math.prod(depth) * -(-height // rows) * -(-width // columns)
    return -(-problem.k // config.channels_per_block) * tap_tiles * config.parts


@dataclass(frozen=True, slots=True, kw_only=True)
class HipConvDepthwiseWrw(OneDirection):
    """Depthwise backward weights, 2-D and 3-D, channels first or last: sums are halved inside of a block.

    They may be split into parts too, which lie in the workspace until a second kernel adds them up.
    """

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
        return problem_refusal(self, problem) or space.refusal(lambda c: self._invalidity(c, problem, info))

    def workspace_bytes(self, problem: ConvProblem) -> int:
        """Room for the parts of the config that has most of them; 0 where nothing can be split."""
        parts = _most_parts(problem)
        return parts * math.prod(problem.w_shape) * _FLOAT_BYTES if parts > 1 else 0

    def default_config(self, problem: ConvProblem, info: DeviceInfo) -> DepthwiseWrwConfig:
        """The first default tile of the space that suits, in as few parts as keep the device busy."""
        space = wrw_space(problem, info)
        for tile in space.defaults:
            split = (replace(tile, parts=parts) for parts in space.axes[-1])
            if fitting := [config for config in split if self._invalidity(config, problem, info) is None]:
                busy = (config for config in fitting if _is_busy(config, problem, info))
                return next(busy, fitting[-1])
        return space.default(lambda c: self._invalidity(c, problem, info))

    def configs(self, problem: ConvProblem, info: DeviceInfo) -> Iterator[DepthwiseWrwConfig]:
        """The configs of the space that are valid for the problem."""
        return wrw_space(problem, info).valid(lambda c: self._invalidity(c, problem, info))

    def parse_config(self, text: str) -> DepthwiseWrwConfig:
        """A config from MIOpen's text, for example `256,32,2,2,4,64`."""
        return DepthwiseWrwConfig.parse(text)

    def solution(self, problem: ConvProblem, info: DeviceInfo, config: PerformanceConfig) -> Solution:
        """A launch of a kernel that is compiled for the problem and the config, and one that adds up its parts.

        Raises:
            ConfigError: the config is of another solver, or not valid for the problem on the device.
        """
        if not isinstance(config, DepthwiseWrwConfig):
            raise ConfigError(f"{self.name} takes {DepthwiseWrwConfig.__name__}, not the config {config.serialize()!r}")
        if reason := self._invalidity(config, problem, info):
            raise ConfigError(f"{self.name} cannot use {config.serialize()}: {reason}")
        if config.parts == 1:
            launches: tuple[Launch, ...] = (_launch(problem, config, "depthwise_conv_wrw", (_X, _W, _Y)),)
        else:
            launches = (
                _launch(problem, config, "depthwise_conv_wrw_parts", (_X, _Y, WORKSPACE)),
                add_parts_launch(problem, info, config.parts),
            )
        return Solution(
            solver=self.name,
            solver_id=self.solver_id,
            config=config,
            workspace_bytes=self.workspace_bytes(problem),
            launches=launches,
        )

    def _invalidity(self, config: DepthwiseWrwConfig, problem: ConvProblem, info: DeviceInfo) -> str | None:
        if config.parts > (most := _most_parts(problem)):
            return f"{config.parts} parts do not fit the workspace, which has room for {most}"
        return wrw_invalidity(config, problem, info)


def _most_parts(problem: ConvProblem) -> int:
    return min(_MOST_PARTS, max(parts_of(problem)))


def _is_busy(config: DepthwiseWrwConfig, problem: ConvProblem, info: DeviceInfo) -> bool:
    """Whether a device has enough work-items: one a unit on a CPU."""
    enough = 1 if info.wavefront == 1 else _FULL_UNIT
    return _blocks(config, problem) * config.block_size >= enough * info.compute_units


def _launch(problem: ConvProblem, config: DepthwiseWrwConfig, entry: str, args: tuple[Pointer, ...]) -> Launch:
    rows, columns = tap_tile(problem)
    values = {
        "BLOCK_SIZE": config.block_size,
        "CHANNELS_PER_BLOCK": config.channels_per_block,
        "CHANNELS_PER_THREAD": config.channels_per_thread,
        "ROWS_PER_THREAD": config.rows_per_thread,
        "PIXELS_PER_THREAD": config.pixels_per_thread,
        "TAP_ROWS": rows,
        "TAP_COLUMNS": columns,
        "PARTS": config.parts,
    }
    macros = ((name, str(value)) for name, value in values.items())
    kernel = KernelSource(file="conv_depthwise_wrw.hip", entry=entry, defines=(*problem_macros(problem), *macros))
    return Launch(kernel=kernel, grid=(_blocks(config, problem), 1, 1), block=(config.block_size, 1, 1), args=args)


SOLVERS: tuple[Solver, ...] = (HipConvDepthwiseWrw(),)
