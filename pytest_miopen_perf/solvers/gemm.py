"""The matrix product that solvers of several launches have in their middle: its plan, its configs, its launch."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_miopen_perf.errors import ConfigError
from pytest_miopen_perf.launch import KernelSource, Launch, Pointer, Scalar
from pytest_miopen_perf.problem import DType
from pytest_miopen_perf.solvers import PerformanceConfig
from pytest_miopen_perf.solvers.config_space import ConfigSpace, launch_invalidity
from pytest_miopen_perf.solvers.limits import INT_LIMIT
from pytest_miopen_perf.solvers.problem_macros import problem_macros

if TYPE_CHECKING:
    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.problem import ConvProblem

_FLOAT_BYTES = 4
_STAGES = 2
_A_ROW_PADDING = 4
_MOST_LANES = 16
_LOAD_BYTES = 16
_GPU_LANES = 4
_MOST_GPU_COLUMNS = 8
_LARGEST_SIZE = INT_LIMIT // 2


@dataclass(frozen=True, slots=True)
class GemmConfig(PerformanceConfig):
    """How a matrix product is cut: `64,64,16,4,4`.

    Attributes:
        m_per_block: Rows of a block's tile.
        n_per_block: Columns of a block's tile.
        k_per_block: Products of each that are added up between two barriers.
        m_per_thread: Rows of a work-item's sub-tile.
        n_per_thread: Columns of a work-item's sub-tile.
    """

    m_per_block: int
    n_per_block: int
    k_per_block: int
    m_per_thread: int
    n_per_thread: int

    @property
    def block_size(self) -> int:
        """Work-items of a block: one a sub-tile."""
        return self.m_per_block // self.m_per_thread * (self.n_per_block // self.n_per_thread)

    @property
    def lanes(self) -> int:
        """Columns of a sub-tile that are held together, a power of two: a register of a CPU, or one load of a GPU."""
        most = _GPU_LANES if self.n_per_thread <= _MOST_GPU_COLUMNS else _MOST_LANES
        return min(most, self.n_per_thread & -self.n_per_thread)

    @property
    def lds_bytes(self) -> int:
        """Shared memory of a block: two stages of a tile of either factor, and the padding of their rows."""
        row = self.m_per_block + _A_ROW_PADDING + self.n_per_block + self.lanes
        return _STAGES * self.k_per_block * row * _FLOAT_BYTES


GPU_SPACE = ConfigSpace(
    kind=GemmConfig,
    axes=((32, 64, 128), (32, 64, 128), (8, 16), (2, 4, 8), (4, 8)),
    defaults=(
        GemmConfig(128, 128, 8, 8, 8),
        GemmConfig(64, 128, 8, 8, 8),
        GemmConfig(64, 128, 8, 4, 8),
        GemmConfig(64, 64, 16, 4, 4),
        GemmConfig(32, 32, 8, 4, 4),
    ),
)
CPU_SPACE = ConfigSpace(
    kind=GemmConfig,
    axes=((16, 32, 64), (64, 128, 256), (8, 16), (4, 8), (16, 32, 64)),
    defaults=(GemmConfig(64, 64, 16, 8, 32), GemmConfig(16, 64, 8, 4, 16)),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Matrix:
    """A batch of matrices in memory.

    Attributes:
        dtype: What its elements are.
        batch_step: Elements from one matrix to the next.
        row_step: Elements from one row to the next.
        column_step: Elements from one column to the next.
    """

    dtype: DType
    batch_step: int
    row_step: int
    column_step: int

    @staticmethod
    def packed(rows: int, columns: int) -> Matrix:
        """Matrices of floats that lie row by row, one behind the other."""
        return Matrix(dtype=DType.FP32, batch_step=rows * columns, row_step=columns, column_step=1)

    def turned(self) -> Matrix:
        """Its transpose: the same memory, rows for columns."""
        return replace(self, row_step=self.column_step, column_step=self.row_step)


@dataclass(frozen=True, slots=True, kw_only=True)
class Product:
    """A batch of matrix products, c (m x n) = a (m x k) * b (k x n)."""

    m: int
    n: int
    k: int
    batch: int
    a: Matrix
    b: Matrix
    c: Matrix

    def blocks(self, config: GemmConfig) -> int:
        """Work-groups of the launch."""
        return -(-self.m // config.m_per_block) * -(-self.n // config.n_per_block) * self.batch


def size_refusal(product: Product) -> str | None:
    """Why the kernel cannot count a product's rows and columns; None when it can."""
    largest = max(product.m, product.n, product.k)
    return None if largest < _LARGEST_SIZE else f"matrices are counted in 32 bits; one has {largest} rows or columns"


def search_space(info: DeviceInfo) -> ConfigSpace[GemmConfig]:
    """What a search tries: on a CPU, whose work-items take turns, longer rows."""
    return CPU_SPACE if info.wavefront == 1 else GPU_SPACE


def invalidity(config: GemmConfig, product: Product, info: DeviceInfo) -> str | None:
    """Why a config cannot, or should not, be used for a product on a device; None when it can. Compiles nothing."""
    c = config
    if min(c.m_per_block, c.n_per_block, c.k_per_block, c.m_per_thread, c.n_per_thread) < 1:
        return "every number of a config must be at least 1"
    if c.m_per_block % c.m_per_thread or c.n_per_block % c.n_per_thread:
        return f"{c.m_per_thread} x {c.n_per_thread} does not divide {c.m_per_block} x {c.n_per_block}"
    if any(c.k_per_block * size % c.block_size for size in (c.m_per_block, c.n_per_block)):
        return f"{c.block_size} work-items cannot copy {c.k_per_block} of {c.m_per_block} x {c.n_per_block} evenly"
    return _size_invalidity(c, product, info) or launch_invalidity(c.block_size, product.blocks(c), info)


def _size_invalidity(c: GemmConfig, product: Product, info: DeviceInfo) -> str | None:
    if c.m_per_thread * c.n_per_thread > (256 if info.wavefront == 1 else 64):
        return f"{c.m_per_thread} x {c.n_per_thread} results are too many for the registers of a work-item"
    copies = c.k_per_block * (c.m_per_block + c.n_per_block) // c.block_size
    if copies > (1024 if info.wavefront == 1 else 64):
        return f"a work-item would hold {copies} elements on their way to shared memory, too many for its registers"
    if c.lds_bytes > info.lds_bytes:
        return f"two stages take {c.lds_bytes} bytes of shared memory; the device has {info.lds_bytes}"
    least_m, least_n, *_ = (min(values) for values in search_space(info).axes)
    if c.m_per_block > max(least_m, 2 * product.m) or c.n_per_block > max(least_n, 2 * product.n):
        return f"a tile of {c.m_per_block} x {c.n_per_block} is mostly beyond {product.m} x {product.n} results"
    return None


def default_config(product: Product, info: DeviceInfo) -> GemmConfig:
    """Of the default tiles that are valid, the one that is estimated to be the fastest."""
    space = search_space(info)
    valid = [config for config in space.defaults if invalidity(config, product, info) is None]
    if not valid:
        return space.default(lambda config: invalidity(config, product, info))
    return min(valid, key=lambda config: estimated_cost(config, product, info))


def estimated_cost(config: GemmConfig, product: Product, info: DeviceInfo) -> float:
    """What a product takes, in multiply-adds of one compute unit: enough to tell a sensible config from a bad one.

    Work-groups run in rounds, one on each compute unit, and compute their whole tile, also where it has no results.
    """
    c = config
    results, copied = c.m_per_block * c.n_per_block, c.m_per_block + c.n_per_block
    read = results / c.m_per_thread + results / c.n_per_thread
    work = product.k * (results + _READ_COST * read + _COPY_COST * copied) + _STORE_COST * results
    return -(-product.blocks(c) // info.compute_units) * (work + _BLOCK_COST)


_READ_COST = 2
_COPY_COST = 12
_STORE_COST = 24
_BLOCK_COST = 5000


def checked_config(solver: str, product: Product, info: DeviceInfo, config: PerformanceConfig) -> GemmConfig:
    """The config, if it is one that can be used.

    Raises:
        ConfigError: the config is of another solver, or not valid for the product on the device.
    """
    if not isinstance(config, GemmConfig):
        raise ConfigError(f"{solver} takes {GemmConfig.__name__}, not the config {config.serialize()!r}")
    if reason := invalidity(config, product, info):
        raise ConfigError(f"{solver} cannot use {config.serialize()}: {reason}")
    return config


@dataclass(frozen=True, slots=True)
class Operand:
    """A factor or the product of one launch.

    Attributes:
        pointer: The tensor that it lies in, under its name in the convolution.
        first: Its first element there.
    """

    pointer: Pointer
    first: int = 0


def gemm_launch(
    problem: ConvProblem,
    product: Product,
    config: GemmConfig,
    operands: tuple[Operand, Operand, Operand],
    partial: Pointer | None = None,
) -> Launch:
    """One launch of `gemm.hip` over the whole batch.

    Args:
        problem: The convolution that it is a part of.
        product: What to compute.
        config: How it is cut.
        operands: a, b and c.
        partial: Floats to add to the product, which lie as c does and may be c.
    """
    a, b, c = operands
    names = {"A_NAME": a.pointer.name, "B_NAME": b.pointer.name, "C_NAME": c.pointer.name}
    cut = _cut(config, product)
    aligned = {
        "A_ALIGNED": int(_is_aligned(a, product.a, cut["A_RUN"])),
        "B_ALIGNED": int(_is_aligned(b, product.b, cut["B_RUN"])),
    }
    macros = {**names, **_sizes(product), **cut, **aligned}
    kernel = KernelSource(
        file="gemm.hip",
        entry="gemm_conv_add" if partial else "gemm_conv",
        defines=(*problem_macros(problem), *((name, str(value)) for name, value in macros.items())),
    )
    summands = (replace(partial, name="partial"),) if partial else ()
    pointers = (a.pointer, b.pointer, *summands, c.pointer)
    firsts = zip(("first_a", "first_b", "first_c"), operands, strict=True)
    return Launch(
        kernel=kernel,
        grid=(product.blocks(config), 1, 1),
        block=(config.block_size, 1, 1),
        args=(*pointers, *(Scalar(name, "i64", operand.first) for name, operand in firsts)),
    )


def _sizes(product: Product) -> dict[str, int | str]:
    sizes: dict[str, int | str] = {
        "GEMM_M": product.m,
        "GEMM_N": product.n,
        "GEMM_K": product.k,
        "GEMM_BATCH": product.batch,
    }
    for name, axes, matrix in (("A", "MK", product.a), ("B", "KN", product.b), ("C", "MN", product.c)):
        sizes |= {
            f"{name}_TYPE": matrix.dtype.value,
            f"{name}_STEP_BATCH": f"{matrix.batch_step}ll",
            f"{name}_STEP_{axes[0]}": f"{matrix.row_step}ll",
            f"{name}_STEP_{axes[1]}": f"{matrix.column_step}ll",
        }
    return sizes


def _cut(config: GemmConfig, product: Product) -> dict[str, int]:
    return {
        "BLOCK_SIZE": config.block_size,
        "M_PER_BLOCK": config.m_per_block,
        "N_PER_BLOCK": config.n_per_block,
        "K_PER_BLOCK": config.k_per_block,
        "M_PER_THREAD": config.m_per_thread,
        "N_PER_THREAD": config.n_per_thread,
        "LANES": config.lanes,
        "A_RUN": _run(config, config.m_per_block, along_k=product.a.column_step == 1),
        "B_RUN": _run(config, config.n_per_block, along_k=product.b.row_step == 1),
    }


def _run(config: GemmConfig, rows: int, *, along_k: bool) -> int:
    """Neighbours that a work-item copies together: as many as a vector has lanes, if all have the same share."""
    share = rows * config.k_per_block // config.block_size
    return math.gcd(share, config.k_per_block if along_k else rows, config.lanes)


def _is_aligned(operand: Operand, matrix: Matrix, run: int) -> bool:
    """Whether every run of a factor begins at a multiple of its length, and is no longer than one load.

    Tensors begin, and guarded ones end, at a multiple of whatever all their steps are multiples of.
    """
    steps = (operand.first, matrix.batch_step, max(matrix.row_step, matrix.column_step))
    begins = operand.pointer.offset_bytes % (run * matrix.dtype.bytes) == 0 and not any(step % run for step in steps)
    return begins and run > 1 and run * matrix.dtype.bytes <= _LOAD_BYTES
