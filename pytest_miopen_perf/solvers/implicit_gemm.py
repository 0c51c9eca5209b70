"""Implicit GEMM: a convolution as a matrix product whose factors are gathered from the tensors, tile by tile.

In every direction it is one kernel, compiled for the problem and tuned by the way it is cut. Backward weights sums over
all output positions, far more than it has results, so its sums can be split too: into parts that a second kernel adds
up, or that are added atomically, in an order that differs from run to run.
"""

from __future__ import annotations

import itertools
from dataclasses import astuple, dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

from pytest_miopen_perf.launch import KernelSource, Launch, Pointer, Slot
from pytest_miopen_perf.problem import Direction, DType
from pytest_miopen_perf.solvers.gathered_gemm import GatheredGemm, flattened, gemm_shape, size_refusal
from pytest_miopen_perf.solvers.implicit_gemm_config import (
    ImplicitGemmConfig,
    ImplicitGemmWrwConfig,
    estimated_cost,
    invalidity,
    search_space,
)
from pytest_miopen_perf.solvers.problem_macros import problem_macros
from pytest_miopen_perf.solvers.weight_parts import (
    WORKSPACE,
    add_parts_launch,
    atomic_parts_of,
    clear_result_launch,
    parts_bytes,
    parts_of,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.solvers import Solver

_X, _W, _Y = Pointer("x", Slot.INPUT), Pointer("w", Slot.WEIGHTS), Pointer("y", Slot.OUTPUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class HipConvImplicitGemm(GatheredGemm[ImplicitGemmConfig]):
    """One launch of a kernel of `conv_implicit_gemm.hip` in one direction, without a workspace."""

    def refusal(self, problem: ConvProblem, info: DeviceInfo) -> str | None:
        """Why not: another direction, int8 backward, or sizes that no config can cover."""
        own = self.direction_refusal(problem) or self.int8_refusal(problem)
        return own or size_refusal(self.name, problem) or self._no_config(problem, info)

    def default_config(self, problem: ConvProblem, info: DeviceInfo) -> ImplicitGemmConfig:
        """The config of the device's space that is estimated to be the fastest."""
        return _cheapest(self, problem, info)

    @property
    def _config_type(self) -> type[ImplicitGemmConfig]:
        return ImplicitGemmWrwConfig if self.direction is Direction.BACKWARD_WEIGHTS else ImplicitGemmConfig

    def _space(self, problem: ConvProblem, info: DeviceInfo) -> Iterator[ImplicitGemmConfig]:  # noqa: ARG002  sums that are split look at it
        return iter(search_space(info))

    def _invalidity(self, problem: ConvProblem, info: DeviceInfo, config: ImplicitGemmConfig) -> str | None:
        return invalidity(config, gemm_shape(problem), info)

    def _launches(self, problem: ConvProblem, info: DeviceInfo, config: ImplicitGemmConfig) -> tuple[Launch, ...]:  # noqa: ARG002  one launch suits any device
        return (_gemm_launch(problem, config, self.entry, "TO_RESULT", (_X, _W, _Y)),)


@lru_cache(maxsize=256)
def _cheapest(solver: HipConvImplicitGemm, problem: ConvProblem, info: DeviceInfo) -> ImplicitGemmConfig:
    """The estimate looks at hundreds of configs, and one run of a problem asks for it several times."""
    gemm = gemm_shape(problem)
    return min(solver.configs(problem, info), key=lambda config: estimated_cost(config, gemm, info))


@dataclass(frozen=True, slots=True, kw_only=True)
class HipConvImplicitGemmWrw(HipConvImplicitGemm):
    """Backward weights, whose sums may be split: parts lie in the workspace until a second kernel adds them up."""

    def workspace_bytes(self, problem: ConvProblem) -> int:
        """Room for the parts of the config that has most of them; 0 where nothing can be split."""
        return parts_bytes(problem)

    def _space(self, problem: ConvProblem, info: DeviceInfo) -> Iterator[ImplicitGemmConfig]:
        return _split(search_space(info), parts_of(problem))

    def _invalidity(self, problem: ConvProblem, info: DeviceInfo, config: ImplicitGemmConfig) -> str | None:
        if config.parts > max(parts_of(problem)):
            return f"its {config.parts} parts do not fit the workspace"
        return invalidity(config, gemm_shape(problem), info)

    def _launches(self, problem: ConvProblem, info: DeviceInfo, config: ImplicitGemmConfig) -> tuple[Launch, ...]:
        if config.parts == 1:
            return HipConvImplicitGemm._launches(self, problem, info, config)  # noqa: SLF001  super() has no class here
        return (
            _gemm_launch(problem, config, f"{self.entry}_parts", "TO_WORKSPACE", (_X, _Y, WORKSPACE)),
            add_parts_launch(problem, info, config.parts),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HipConvImplicitGemmWrwAtomic(HipConvImplicitGemm):
    """Backward weights in fp32, whose sums are split into parts that are added to the result atomically."""

    @property
    def is_deterministic(self) -> bool:
        """No: parts come in an order that differs from run to run, and so do roundings."""
        return False

    def refusal(self, problem: ConvProblem, info: DeviceInfo) -> str | None:
        """Why not: as its family, and types whose sums are not rounded once at the end."""
        if problem.dtype is not DType.FP32:
            return f"{self.name} adds to its result in FP32 only, not in {problem.dtype.value}"
        return HipConvImplicitGemm.refusal(self, problem, info)

    def _space(self, problem: ConvProblem, info: DeviceInfo) -> Iterator[ImplicitGemmConfig]:
        return _split(search_space(info), atomic_parts_of(problem))

    def _launches(self, problem: ConvProblem, info: DeviceInfo, config: ImplicitGemmConfig) -> tuple[Launch, ...]:
        return (
            clear_result_launch(problem, info),
            _gemm_launch(problem, config, self.entry, "ATOMICALLY", (_X, _W, _Y)),
        )


def _split(configs: Iterable[ImplicitGemmConfig], parts: Iterable[int]) -> Iterator[ImplicitGemmWrwConfig]:
    return (ImplicitGemmWrwConfig(*(*astuple(config), n)) for n, config in itertools.product(parts, configs))


def _gemm_launch(
    problem: ConvProblem, config: ImplicitGemmConfig, entry: str, hand_on: str, args: tuple[Pointer, ...]
) -> Launch:
    kernel = KernelSource(
        file="conv_implicit_gemm.hip",
        entry=entry,
        defines=(*problem_macros(flattened(problem)), *_config_macros(config), ("HAND_ON", hand_on)),
    )
    grid = (config.blocks(gemm_shape(problem)), 1, 1)
    return Launch(kernel=kernel, grid=grid, block=(config.block_size, 1, 1), args=args)


def _config_macros(config: ImplicitGemmConfig) -> Iterator[tuple[str, str]]:
    repeat_m, repeat_n = config.repeats()
    values = {
        "BLOCK_SIZE": config.block_size,
        "GEMM_M_PER_BLOCK": config.gemm_m_per_block,
        "GEMM_N_PER_BLOCK": config.gemm_n_per_block,
        "GEMM_K_PER_BLOCK": config.gemm_k_per_block,
        "GEMM_M_PER_THREAD": config.gemm_m_per_thread,
        "GEMM_N_PER_THREAD": config.gemm_n_per_thread,
        "REPEAT_M": repeat_m,
        "REPEAT_N": repeat_n,
        "VECTOR_WIDTH": config.vector_width,
        "LANES": config.lanes,
    }
    return ((name, str(value)) for name, value in values.items())


SOLVERS: tuple[Solver, ...] = (
    HipConvImplicitGemm(
        name="HipConvImplicitGemmFwd", solver_id=10011, direction=Direction.FORWARD, entry="implicit_gemm_conv_fwd"
    ),
    HipConvImplicitGemm(
        name="HipConvImplicitGemmBwd",
        solver_id=10012,
        direction=Direction.BACKWARD_DATA,
        entry="implicit_gemm_conv_bwd",
    ),
    HipConvImplicitGemmWrw(
        name="HipConvImplicitGemmWrw",
        solver_id=10013,
        direction=Direction.BACKWARD_WEIGHTS,
        entry="implicit_gemm_conv_wrw",
    ),
    HipConvImplicitGemmWrwAtomic(
        name="HipConvImplicitGemmWrwAtomic",
        solver_id=10014,
        direction=Direction.BACKWARD_WEIGHTS,
        entry="implicit_gemm_conv_wrw",
    ),
)
