"""Implicit GEMM on matrix cores, in fp16 and bf16 with sums in float.

The product is that of `implicit_gemm`, cut for waves that multiply whole tiles at once. Any layout is computed; those
are fast whose channels lie together, in multiples of eight. Backward weights may split its sums into parts, which a
second kernel adds up in their order.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.launch import KernelSource, Launch, Pointer, Slot
from pytest_miopen_perf.problem import Direction, DType
from pytest_miopen_perf.solvers.gathered_gemm import GatheredGemm, flattened, gemm_shape, size_refusal
from pytest_miopen_perf.solvers.implicit_gemm_matrix_config import (
    MatrixConfig,
    MatrixWrwConfig,
    invalidity,
    search_space,
    with_parts,
)
from pytest_miopen_perf.solvers.implicit_gemm_matrix_cost import estimated_cycles
from pytest_miopen_perf.solvers.matrix_cores import MatrixCore, longest_sum, matrix_core_refusal
from pytest_miopen_perf.solvers.one_layout import CHANNELS_LAST
from pytest_miopen_perf.solvers.problem_macros import problem_macros
from pytest_miopen_perf.solvers.weight_parts import WORKSPACE, add_parts_launch, parts_bytes, parts_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.solvers import Solver

_TYPES = (DType.FP16, DType.BF16)
_X, _W, _Y = Pointer("x", Slot.INPUT), Pointer("w", Slot.WEIGHTS), Pointer("y", Slot.OUTPUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class HipConvImplicitGemmMatrix(GatheredGemm[MatrixConfig]):
    """One launch of a kernel of `conv_implicit_gemm_matrix.hip` in one direction, without a workspace."""

    def refusal(self, problem: ConvProblem, info: DeviceInfo) -> str | None:
        """Why not: another direction or type, no matrix cores, a depthwise problem, or sizes that no config covers."""
        if reason := self.direction_refusal(problem):
            return reason
        if problem.dtype not in _TYPES:
            return f"{self.name} multiplies FP16 and BF16, not {problem.dtype.value}"
        if problem.groups > 1 and problem.c == problem.groups:
            return f"{self.name} leaves groups of one input channel to others: they are too narrow for matrix cores"
        return (
            matrix_core_refusal(self.name, info) or size_refusal(self.name, problem) or self._no_config(problem, info)
        )

    def default_config(self, problem: ConvProblem, info: DeviceInfo) -> MatrixConfig:
        """The config of the device's space that is estimated to be the fastest."""
        gemm, together = gemm_shape(problem), _together(problem)
        return min(
            self.configs(problem, info),
            key=lambda config: estimated_cycles(config, gemm, self.direction, info, together=together),
        )

    @property
    def _config_type(self) -> type[MatrixConfig]:
        return MatrixWrwConfig if self.direction is Direction.BACKWARD_WEIGHTS else MatrixConfig

    def _space(self, problem: ConvProblem, info: DeviceInfo) -> Iterator[MatrixConfig]:  # noqa: ARG002  sums that are split look at it
        return search_space(info)

    def _invalidity(self, problem: ConvProblem, info: DeviceInfo, config: MatrixConfig) -> str | None:
        return invalidity(config, gemm_shape(problem), self.direction, info)

    def _launches(self, problem: ConvProblem, info: DeviceInfo, config: MatrixConfig) -> tuple[Launch, ...]:
        return (_gemm_launch(problem, info, config, self.entry, "TO_RESULT", (_X, _W, _Y)),)


@dataclass(frozen=True, slots=True, kw_only=True)
class HipConvImplicitGemmMatrixWrw(HipConvImplicitGemmMatrix):
    """Backward weights, whose sums may be split: parts lie in the workspace until a second kernel adds them up."""

    def refusal(self, problem: ConvProblem, info: DeviceInfo) -> str | None:
        """Why not: as in the other directions, or sums so long that the parts they need do not fit a workspace."""
        if reason := HipConvImplicitGemmMatrix.refusal(self, problem, info):
            return reason
        products, parts = gemm_shape(problem).k, max(_exact_parts(problem, info))
        if products <= parts * longest_sum(info, products):
            return None
        return (
            f"{self.name} would add up {products} products in {parts} parts, which float does not bear on {info.arch}"
        )

    def workspace_bytes(self, problem: ConvProblem) -> int:
        """Room for the parts of the config that has most of them; 0 where nothing can be split."""
        return parts_bytes(problem)

    def _space(self, problem: ConvProblem, info: DeviceInfo) -> Iterator[MatrixConfig]:
        return with_parts(search_space(info), _exact_parts(problem, info), gemm_shape(problem), info)

    def _invalidity(self, problem: ConvProblem, info: DeviceInfo, config: MatrixConfig) -> str | None:
        if config.parts > max(parts_of(problem)):
            return f"its {config.parts} parts do not fit the workspace"
        return invalidity(config, gemm_shape(problem), self.direction, info)

    def _launches(self, problem: ConvProblem, info: DeviceInfo, config: MatrixConfig) -> tuple[Launch, ...]:
        if config.parts == 1:
            return (_gemm_launch(problem, info, config, self.entry, "TO_RESULT", (_X, _W, _Y)),)
        return (
            _gemm_launch(problem, info, config, f"{self.entry}_parts", "TO_WORKSPACE", (_X, _Y, WORKSPACE)),
            add_parts_launch(problem, info, config.parts),
        )


def _exact_parts(problem: ConvProblem, info: DeviceInfo) -> tuple[int, ...]:
    return parts_of(problem, longest_sum(info, gemm_shape(problem).k))


def _together(problem: ConvProblem) -> int:
    """How many elements of the gathered tensor are copied at once, as the kernel's GATHERED_TOGETHER has it."""
    is_output = problem.direction is Direction.BACKWARD_DATA
    layout, channels = (problem.out_layout, problem.k) if is_output else (problem.in_layout, problem.c)
    return math.gcd(channels // problem.groups, 8) if layout in CHANNELS_LAST else 1


def _gemm_launch(
    problem: ConvProblem,
    info: DeviceInfo,
    config: MatrixConfig,
    entry: str,
    hand_on: str,
    args: tuple[Pointer, ...],
) -> Launch:
    block_size = config.block_size(info)
    kernel = KernelSource(
        file="conv_implicit_gemm_matrix.hip",
        entry=entry,
        defines=(
            *problem_macros(flattened(problem)),
            ("GEMM_M_PER_BLOCK", str(config.gemm_m_per_block)),
            ("GEMM_N_PER_BLOCK", str(config.gemm_n_per_block)),
            ("GEMM_K_PER_BLOCK", str(config.gemm_k_per_block)),
            ("WAVES_M", str(config.waves_m)),
            ("WAVES_N", str(config.waves_n)),
            ("STAGES", str(config.stages)),
            ("BLOCK_SIZE", str(block_size)),
            ("HAND_ON", hand_on),
            *((("MATRIX_CORE", "MATRIX_WGMMA"),) if config.core(info) is MatrixCore.WGMMA else ()),
        ),
    )
    return Launch(
        kernel=kernel,
        grid=(config.blocks(gemm_shape(problem)), 1, 1),
        block=(block_size, 1, 1),
        args=args,
        shared_bytes=config.lds_bytes(problem.direction, info),
    )


SOLVERS: tuple[Solver, ...] = (
    HipConvImplicitGemmMatrix(
        name="HipConvImplicitGemmMatrixFwd",
        solver_id=10061,
        direction=Direction.FORWARD,
        entry="implicit_gemm_matrix_fwd",
    ),
    HipConvImplicitGemmMatrix(
        name="HipConvImplicitGemmMatrixBwd",
        solver_id=10062,
        direction=Direction.BACKWARD_DATA,
        entry="implicit_gemm_matrix_bwd",
    ),
    HipConvImplicitGemmMatrixWrw(
        name="HipConvImplicitGemmMatrixWrw",
        solver_id=10063,
        direction=Direction.BACKWARD_WEIGHTS,
        entry="implicit_gemm_matrix_wrw",
    ),
)
