"""Implicit GEMM forward in fp32: one launch, compiled for the problem, tuned by the way it is cut into tiles."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.errors import ConfigError
from pytest_miopen_perf.launch import KernelSource, Launch, Pointer, Slot
from pytest_miopen_perf.problem import Direction, DType, Layout
from pytest_miopen_perf.solvers import Algorithm, PerformanceConfig, Solution, Solver
from pytest_miopen_perf.solvers.limits import INT_LIMIT, most_blocks, position_refusal
from pytest_miopen_perf.solvers.problem_macros import problem_macros

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.problem import ConvProblem

_FLOAT_BYTES = 4
_STAGES = 2
_A_ROW_PADDING = 4


@dataclass(frozen=True, slots=True)
class ImplicitGemmConfig(PerformanceConfig):
    """How the matrix product is cut, in the order of MIOpen's V4R4 solvers: `256,128,128,8,4,4`.

    Attributes:
        block_size: Work-items of a block.
        gemm_m_per_block: Output channels of a block's tile.
        gemm_n_per_block: Output positions of a block's tile.
        gemm_k_per_block: Products of each that are added up between two barriers.
        gemm_m_per_thread: Output channels of a work-item's sub-tile.
        gemm_n_per_thread: Output positions of a work-item's sub-tile.
    """

    block_size: int
    gemm_m_per_block: int
    gemm_n_per_block: int
    gemm_k_per_block: int
    gemm_m_per_thread: int
    gemm_n_per_thread: int

    @property
    def lds_bytes(self) -> int:
        """Shared memory of a block: two stages of a tile of either factor."""
        row = self.gemm_m_per_block + _A_ROW_PADDING + self.gemm_n_per_block
        return _STAGES * self.gemm_k_per_block * row * _FLOAT_BYTES

    def repeats(self) -> tuple[int, int]:
        """How often a work-item's sub-tile repeats over the block's tile in m and n, as evenly as powers of two allow.

        (0, 0) when the tile cannot be dealt out to the work-items that way.
        """
        tile = self.gemm_m_per_block * self.gemm_n_per_block
        together, rest = divmod(tile, self.block_size * self.gemm_m_per_thread * self.gemm_n_per_thread)
        if rest or together.bit_count() != 1:
            return 0, 0
        doublings = together.bit_length() - 1
        m, n = 1 << doublings // 2, 1 << (doublings + 1) // 2
        if self.gemm_m_per_block % (m * self.gemm_m_per_thread) or self.gemm_n_per_block % (n * self.gemm_n_per_thread):
            return 0, 0
        return m, n


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchSpace:
    """What a search tries on one kind of device, and where it starts.

    Attributes:
        block_size: Values of the config's fields, and so on for the fields below.
        results_per_thread: The fewest and the most results of a work-item that are worth trying.
        defaults: Configs of the space, the largest tile first; the last one fits every device and problem.
    """

    block_size: tuple[int, ...]
    gemm_m_per_block: tuple[int, ...]
    gemm_n_per_block: tuple[int, ...]
    gemm_k_per_block: tuple[int, ...]
    gemm_m_per_thread: tuple[int, ...]
    gemm_n_per_thread: tuple[int, ...]
    results_per_thread: tuple[int, int]
    defaults: tuple[ImplicitGemmConfig, ...]

    def __iter__(self) -> Iterator[ImplicitGemmConfig]:
        axes = (
            self.block_size,
            self.gemm_m_per_block,
            self.gemm_n_per_block,
            self.gemm_k_per_block,
            self.gemm_m_per_thread,
            self.gemm_n_per_thread,
        )
        fewest, most = self.results_per_thread
        for config in itertools.starmap(ImplicitGemmConfig, itertools.product(*axes)):
            if fewest <= config.gemm_m_per_block * config.gemm_n_per_block // config.block_size <= most:
                yield config


GPU_SPACE = SearchSpace(
    block_size=(64, 128, 256),
    gemm_m_per_block=(32, 64, 128),
    gemm_n_per_block=(32, 64, 128),
    gemm_k_per_block=(8, 16),
    gemm_m_per_thread=(2, 4),
    gemm_n_per_thread=(4,),
    results_per_thread=(16, 64),
    defaults=(
        ImplicitGemmConfig(256, 128, 128, 8, 4, 4),
        ImplicitGemmConfig(256, 64, 128, 8, 4, 4),
        ImplicitGemmConfig(256, 64, 64, 16, 4, 4),
        ImplicitGemmConfig(64, 32, 32, 8, 4, 4),
    ),
)
"""Wide enough for the register files of AMD and NVIDIA GPUs, within 32 KiB of shared memory."""

CPU_SPACE = SearchSpace(
    block_size=(16, 32, 64),
    gemm_m_per_block=(16, 32, 64),
    gemm_n_per_block=(64, 128, 256),
    gemm_k_per_block=(8, 16),
    gemm_m_per_thread=(4,),
    gemm_n_per_thread=(16, 32, 64),
    results_per_thread=(64, 256),
    defaults=(
        ImplicitGemmConfig(64, 64, 256, 16, 4, 32),
        ImplicitGemmConfig(16, 64, 64, 16, 4, 16),
        ImplicitGemmConfig(16, 16, 64, 8, 4, 16),
    ),
)
"""A work-item is a loop over vector registers here, and a switch between work-items costs as much as a small tile."""


def search_space(info: DeviceInfo) -> SearchSpace:
    """The space of a device: a CPU runs its work-items one after the other."""
    return CPU_SPACE if info.wavefront == 1 else GPU_SPACE


def invalidity(config: ImplicitGemmConfig, problem: ConvProblem, info: DeviceInfo) -> str | None:
    """Why a config cannot, or should not, be used for a problem on a device; None when it can. Compiles nothing."""
    c = config
    if min(c.block_size, c.gemm_m_per_block, c.gemm_n_per_block, c.gemm_k_per_block) < 1:
        return "every number of a config must be at least 1"
    if min(c.gemm_m_per_thread, c.gemm_n_per_thread) < 1:
        return "every number of a config must be at least 1"
    if c.block_size > info.max_block or c.block_size % info.wavefront:
        return f"a block of {c.block_size} does not suit waves of {info.wavefront}, at most {info.max_block} together"
    if c.repeats() == (0, 0):
        return f"{c.block_size} work-items cannot share {c.gemm_m_per_block} x {c.gemm_n_per_block} results evenly"
    return _copying_invalidity(c) or _size_invalidity(c, problem, info)


def _copying_invalidity(c: ImplicitGemmConfig) -> str | None:
    """Every work-item must copy the same number of elements of either factor, in whole rows or columns."""
    if c.block_size % c.gemm_k_per_block or c.gemm_m_per_block % (c.block_size // c.gemm_k_per_block):
        return f"{c.block_size} work-items cannot copy {c.gemm_m_per_block} x {c.gemm_k_per_block} weights evenly"
    wide, narrow = max(c.block_size, c.gemm_n_per_block), min(c.block_size, c.gemm_n_per_block)
    if wide % narrow or (c.block_size > c.gemm_n_per_block and c.gemm_k_per_block % (wide // narrow)):
        return f"{c.block_size} work-items cannot copy {c.gemm_k_per_block} x {c.gemm_n_per_block} inputs evenly"
    return None


def _size_invalidity(c: ImplicitGemmConfig, problem: ConvProblem, info: DeviceInfo) -> str | None:
    if c.lds_bytes > info.lds_bytes:
        return f"two stages take {c.lds_bytes} bytes of shared memory; the device has {info.lds_bytes}"
    space = search_space(info)
    channels = max(min(space.gemm_m_per_block), 2 * (problem.k // problem.groups))
    if c.gemm_m_per_block > channels:
        return f"a tile of {c.gemm_m_per_block} output channels is mostly empty: a group has {channels // 2}"
    positions = max(min(space.gemm_n_per_block), 2 * problem.n * math.prod(problem.output))
    if c.gemm_n_per_block > positions:
        return f"a tile of {c.gemm_n_per_block} output positions is mostly empty: there are {positions // 2}"
    if (blocks := _blocks(c, problem)) > most_blocks(info, c.block_size):
        return f"{blocks} blocks are more than a grid may have"
    return None


def _blocks(config: ImplicitGemmConfig, problem: ConvProblem) -> int:
    tiles_m = -(-(problem.k // problem.groups) // config.gemm_m_per_block)
    tiles_n = -(-problem.n * math.prod(problem.output) // config.gemm_n_per_block)
    return tiles_m * tiles_n * problem.groups


@dataclass(frozen=True, slots=True, kw_only=True)
class HipConvImplicitGemmFwd:
    """Forward, fp32, NCHW or NCDHW; any filter, stride, pad, dilation and groups, without a workspace."""

    name: str = "HipConvImplicitGemmFwd"
    solver_id: int = 10011

    @property
    def algorithm(self) -> Algorithm:
        """Implicit GEMM."""
        return Algorithm.IMPLICIT_GEMM

    @property
    def directions(self) -> frozenset[Direction]:
        """Forward."""
        return frozenset({Direction.FORWARD})

    @property
    def is_deterministic(self) -> bool:
        """Each element is added up by one work-item, always in the same order."""
        return True

    def refusal(self, problem: ConvProblem, info: DeviceInfo) -> str | None:
        """Why not: direction, type, layout, or a size that no config can cover."""
        if problem.direction is not Direction.FORWARD:
            return f"{self.name} computes forward convolutions only"
        if problem.dtype is not DType.FP32:
            return f"{self.name} computes FP32 only, not {problem.dtype.value}"
        layout = Layout.default(problem.rank)
        if {problem.in_layout, problem.fil_layout, problem.out_layout} != {layout}:
            return f"{self.name} reads and writes {layout.value} only"
        products = problem.c // problem.groups * math.prod(problem.filter)
        if products >= INT_LIMIT // 2:
            return f"{self.name} counts the products of a result in 32 bits; here they are {products}"
        reasons = [invalidity(config, problem, info) for config in search_space(info).defaults]
        return position_refusal(problem) or (None if None in reasons else reasons[-1])

    def workspace_bytes(self, problem: ConvProblem) -> int:  # noqa: ARG002  it never needs any
        """None is needed."""
        return 0

    def default_config(self, problem: ConvProblem, info: DeviceInfo) -> ImplicitGemmConfig:
        """The largest of the default tiles that leaves no compute unit without a block; otherwise the smallest."""
        valid = [c for c in search_space(info).defaults if invalidity(c, problem, info) is None]
        return next((c for c in valid if _blocks(c, problem) >= info.compute_units), valid[-1])

    def configs(self, problem: ConvProblem, info: DeviceInfo) -> Iterator[ImplicitGemmConfig]:
        """The configs of the device's space that are valid for the problem."""
        return (config for config in search_space(info) if invalidity(config, problem, info) is None)

    def parse_config(self, text: str) -> ImplicitGemmConfig:
        """A config from MIOpen's text, for example `256,128,128,8,4,4`."""
        return ImplicitGemmConfig.parse(text)

    def solution(self, problem: ConvProblem, info: DeviceInfo, config: PerformanceConfig) -> Solution:
        """One launch of a kernel that is compiled for the problem and the config.

        Raises:
            ConfigError: the config is of another solver, or not valid for the problem on the device.
        """
        if not isinstance(config, ImplicitGemmConfig):
            raise ConfigError(f"{self.name} takes six integers, not the config {config.serialize()!r}")
        if reason := invalidity(config, problem, info):
            raise ConfigError(f"{self.name} cannot use {config.serialize()}: {reason}")
        kernel = KernelSource(
            file="conv_implicit_gemm_fwd.hip",
            entry="implicit_gemm_conv_fwd",
            defines=(*problem_macros(problem), *_config_defines(config)),
        )
        launch = Launch(
            kernel=kernel,
            grid=(_blocks(config, problem), 1, 1),
            block=(config.block_size, 1, 1),
            args=(Pointer("x", Slot.INPUT), Pointer("w", Slot.WEIGHTS), Pointer("y", Slot.OUTPUT)),
        )
        return Solution(
            solver=self.name, solver_id=self.solver_id, config=config, workspace_bytes=0, launches=(launch,)
        )


def _config_defines(config: ImplicitGemmConfig) -> Iterator[tuple[str, str]]:
    values = {
        "BLOCK_SIZE": config.block_size,
        "GEMM_M_PER_BLOCK": config.gemm_m_per_block,
        "GEMM_N_PER_BLOCK": config.gemm_n_per_block,
        "GEMM_K_PER_BLOCK": config.gemm_k_per_block,
        "GEMM_M_PER_THREAD": config.gemm_m_per_thread,
        "GEMM_N_PER_THREAD": config.gemm_n_per_thread,
        **dict(zip(("REPEAT_M", "REPEAT_N"), config.repeats(), strict=True)),
    }
    return ((name, str(value)) for name, value in values.items())


SOLVERS: tuple[Solver, ...] = (HipConvImplicitGemmFwd(),)
