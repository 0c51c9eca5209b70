"""What a config of an implicit GEMM on matrix cores costs: enough to tell a sensible one from a bad one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_miopen_perf.solvers.implicit_gemm_matrix_config import CHUNK, ROW
from pytest_miopen_perf.solvers.matrix_cores import MatrixCore

if TYPE_CHECKING:
    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.problem import Direction
    from pytest_miopen_perf.solvers.gathered_gemm import GemmShape
    from pytest_miopen_perf.solvers.implicit_gemm_matrix_config import MatrixConfig


def estimated_cycles(
    config: MatrixConfig, gemm: GemmShape, direction: Direction, info: DeviceInfo, *, together: int
) -> float:
    """Cycles that a product takes on a device, very roughly; on one other than an H200 only their order means much.

    Args:
        config: What is estimated.
        gemm: The product.
        direction: Of the convolution.
        info: Where it runs.
        together: Gathered elements that lie together and are copied at once, 1 to 8.
    """
    at_once = info.lds_bytes // config.lds_bytes(direction, info)
    cycles = _warpgroup_cycles if config.core(info) is MatrixCore.WGMMA else _wave_cycles
    return cycles(config, gemm, at_once, info, together)


def _wave_cycles(c: MatrixConfig, gemm: GemmShape, at_once: int, info: DeviceInfo, together: int) -> float:
    """Where each wave multiplies on its own.

    The weights, in multiply-adds, were fitted to 39 searches on an H200 without warpgroups, whose cheapest-looking
    config is 2.5 % slower than the fastest.
    """
    m, n, k = c.gemm_m_per_block, c.gemm_n_per_block, c.gemm_k_per_block
    steps = -(-gemm.k // (k * c.parts))
    copied = m + n * CHUNK // together
    block = steps * (k * (m * n + _COPY_COST * copied) + _STEP_COST) + _STAGE_COST * c.stages + _STORE_COST * m * n
    is_slow = c.waves_m * c.waves_n * at_once < _ENOUGH_WAVES
    slowness = (_FEW_WAVES if is_slow else 1) * (_TWO_STAGES if c.stages == 2 else 1)
    rounds = -(-c.blocks(gemm) // info.compute_units)
    adding = _PART_COST * c.parts * gemm.m * gemm.n * gemm.groups / info.compute_units if c.parts > 1 else 0
    return (rounds * block * slowness + adding) / _WAVES_RATE


_WAVES_RATE = 900
"""Multiply-adds that the waves of a compute unit together do in a cycle."""

_COPY_COST = 32
_STEP_COST = 100_000
_STAGE_COST = 100_000
_STORE_COST = 128
_PART_COST = 1000
_ENOUGH_WAVES = 8
_FEW_WAVES = 1.25
_TWO_STAGES = 1.04


def _warpgroup_cycles(c: MatrixConfig, gemm: GemmShape, at_once: int, info: DeviceInfo, together: int) -> float:
    """Where warpgroups multiply: what keeps the cores, or shared memory, busy, and what a block waits for by itself.

    The weights were fitted to ten layers of 14 configs each on an H200, where what looks cheapest is at most 4 %
    slower than the fastest.
    """
    m, n, k = c.gemm_m_per_block, c.gemm_n_per_block, c.gemm_k_per_block
    own_n = n * c.waves_m // c.warpgroups
    read = n * m // ROW + c.warpgroups * own_n
    step = max(m * n * k / _WARPGROUPS_RATE, k * (read + m + n) / _SHARED_RATE)
    step += _SINGLE_CYCLES * k * n * (CHUNK // together - 1)
    steps = -(-gemm.k // (k * c.parts))
    alone = steps * max(step, _STEP_LATENCY) + _BLOCK_LATENCY + _STORE_CYCLES * m * n
    among_others = steps * step + _BLOCK_CYCLES + _STORE_CYCLES * m * n
    at_once = max(1, min(at_once, _REGISTERS // (m * n + _OWN_REGISTERS * c.block_size(info))))
    rounds, rest = divmod(-(-c.blocks(gemm) // info.compute_units), at_once)
    last_round = max(alone, rest * among_others) if rest else 0
    adding = _PART_CYCLES * c.parts * gemm.m * gemm.n * gemm.groups / info.compute_units if c.parts > 1 else 0
    return rounds * max(alone, at_once * among_others) + last_round + adding


_WARPGROUPS_RATE = 2048
_SHARED_RATE = 64
"""Elements of shared memory that a compute unit reads or writes in a cycle."""

_REGISTERS = 65536
_OWN_REGISTERS = 60
"""Of a work-item, beside its sums."""

_SINGLE_CYCLES = 0.07
"""More for each element that is not copied with others: such copies go through registers, between the products."""

_STEP_LATENCY = 760
_BLOCK_LATENCY = 2500
_BLOCK_CYCLES = 670
_STORE_CYCLES = 0.18
_PART_CYCLES = 0.5
