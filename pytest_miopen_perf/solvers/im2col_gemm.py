"""Im2col and a matrix product, an image at a time, as MIOpen's GEMM solvers do it.

Forward and backward weights copy each image to the matrix that its output is computed from; backward data computes that
matrix and adds it up to an image by gathering, without atomics. Where the filter has one tap, the stride is 1 and there
are no pads, the image is that matrix already: nothing is copied and no workspace is needed.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pytest_miopen_perf.launch import KernelSource, Launch, Pointer, Scalar, Slot
from pytest_miopen_perf.problem import Direction, DType
from pytest_miopen_perf.solvers import Algorithm, PerformanceConfig, Solution, Solver
from pytest_miopen_perf.solvers.config_space import launch_invalidity
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
from pytest_miopen_perf.solvers.layout_transpose import AnyLayout
from pytest_miopen_perf.solvers.limits import longest_sum_of, position_refusal
from pytest_miopen_perf.solvers.one_direction import OneDirection
from pytest_miopen_perf.solvers.one_layout import CHANNELS_FIRST, layout_refusal
from pytest_miopen_perf.solvers.problem_macros import problem_macros
from pytest_miopen_perf.solvers.workspace import aligned

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.problem import ConvProblem

_BLOCK = 256
_FLOAT_BYTES = 4
_COLUMNS = Pointer("columns", Slot.WORKSPACE)
_WEIGHTS = Pointer("w", Slot.WEIGHTS)


def image_is_matrix(problem: ConvProblem) -> bool:
    """Whether an image already is the matrix that its output is computed from."""
    return set(problem.filter) == {1} and set(problem.stride) == {1} and not any(problem.pad)


def columns_type(problem: ConvProblem) -> DType:
    """What the matrix is made of: elements that are copied keep their type, sums that go on being added are floats."""
    is_sum = problem.direction is Direction.BACKWARD_DATA and not image_is_matrix(problem)
    return DType.FP32 if is_sum else problem.dtype


def columns_bytes(problem: ConvProblem) -> int:
    """Workspace of the matrix of one image: MIOpen's c * taps * output pixels * element size, groups together."""
    if image_is_matrix(problem):
        return 0
    return problem.c * math.prod(problem.filter) * math.prod(problem.output) * columns_type(problem).bytes


def has_partial_sums(problem: ConvProblem) -> bool:
    """Whether the sum over the images so far needs a place of its own, because w would round it every time."""
    is_backward_weights = problem.direction is Direction.BACKWARD_WEIGHTS
    return is_backward_weights and problem.n > 1 and problem.dtype is not DType.FP32


def partial_sums_offset(problem: ConvProblem) -> int:
    """Where in the workspace they begin, in bytes."""
    return aligned(columns_bytes(problem))


def product_of(problem: ConvProblem) -> Product:
    """The matrix product of one image; its batch is the groups."""
    k = problem.k // problem.groups
    rows = problem.c // problem.groups * math.prod(problem.filter)
    pixels = math.prod(problem.output)
    weights = Matrix(dtype=problem.dtype, batch_step=k * rows, row_step=rows, column_step=1)
    columns = Matrix(dtype=columns_type(problem), batch_step=rows * pixels, row_step=pixels, column_step=1)
    outputs = Matrix(dtype=problem.dtype, batch_step=k * pixels, row_step=pixels, column_step=1)
    batch = problem.groups
    if problem.direction is Direction.FORWARD:
        return Product(m=k, n=pixels, k=rows, batch=batch, a=weights, b=columns, c=outputs)
    if problem.direction is Direction.BACKWARD_DATA:
        return Product(m=rows, n=pixels, k=k, batch=batch, a=weights.turned(), b=outputs, c=columns)
    return Product(m=k, n=rows, k=pixels, batch=batch, a=outputs, b=columns.turned(), c=weights)


def _image(slot: Slot, problem: ConvProblem, image: int) -> Operand:
    """One image of x or y."""
    shape = problem.x_shape if slot is Slot.INPUT else problem.y_shape
    return Operand(Pointer(slot.value, slot), image * math.prod(shape[1:]))


def _columns(problem: ConvProblem, image: int) -> Operand:
    return _image(Slot.INPUT, problem, image) if image_is_matrix(problem) else Operand(_COLUMNS)


def _rearrangement(problem: ConvProblem, info: DeviceInfo, image: int) -> tuple[Launch, ...]:
    """The im2col or col2im of an image; nothing where it is a matrix already."""
    if image_is_matrix(problem):
        return ()
    is_back = problem.direction is Direction.BACKWARD_DATA
    entry = f"Col2Im{problem.rank}dU" if is_back else f"Im{problem.rank}d2Col"
    block = min(_BLOCK, info.max_block)
    kernel = KernelSource(
        file="im2col.hip", entry=entry, defines=(*problem_macros(problem), ("BLOCK_SIZE", str(block)))
    )
    x = Pointer("x", Slot.INPUT)
    launch = Launch(
        kernel=kernel,
        grid=(_rearrangement_blocks(problem, block), 1, 1),
        block=(block, 1, 1),
        args=(*((_COLUMNS, x) if is_back else (x, _COLUMNS)), Scalar("image", "i32", image)),
        is_transformation=True,
    )
    return (launch,)


def _rearrangement_blocks(problem: ConvProblem, block: int) -> int:
    if image_is_matrix(problem):
        return 0
    inputs = math.prod(problem.spatial)
    places = math.prod(problem.filter) * math.prod(problem.output)
    return -(-problem.c * (inputs if problem.direction is Direction.BACKWARD_DATA else places) // block)


@dataclass(frozen=True, slots=True, kw_only=True)
class HipConvIm2colGemm(OneDirection):
    """Im2col and GEMM in one direction: any filter, stride, pad, dilation and groups.

    NCHW and NCDHW; `AnyLayout` brings the others there.
    """

    @property
    def algorithm(self) -> Algorithm:
        """GEMM."""
        return Algorithm.GEMM

    def refusal(self, problem: ConvProblem, info: DeviceInfo) -> str | None:
        """Why not: direction, type, layout, or a size that no config can cover."""
        if reason := self.direction_refusal(problem):
            return reason
        if problem.dtype is DType.INT8:
            return f"{self.name} computes FP32, FP16 and BF16, not INT8"
        if reason := layout_refusal(problem, CHANNELS_FIRST):
            return f"{self.name}: {reason}"
        product = product_of(problem)
        block = min(_BLOCK, info.max_block)
        return (
            position_refusal(problem)
            or self._sum_refusal(problem, product)
            or size_refusal(product)
            or launch_invalidity(block, _rearrangement_blocks(problem, block), info)
            or search_space(info).refusal(lambda config: invalidity(config, product, info))
        )

    def _sum_refusal(self, problem: ConvProblem, product: Product) -> str | None:
        if problem.direction is not Direction.BACKWARD_WEIGHTS or product.k <= longest_sum_of(problem.dtype):
            return None
        return f"{self.name} would add up {product.k} products of an image one after another, which float does not bear"

    def workspace_bytes(self, problem: ConvProblem) -> int:
        """The matrix of one image, and the floats that backward weights of 16 bits keeps between images."""
        if not has_partial_sums(problem):
            return columns_bytes(problem)
        return partial_sums_offset(problem) + math.prod(problem.w_shape) * _FLOAT_BYTES

    def default_config(self, problem: ConvProblem, info: DeviceInfo) -> GemmConfig:
        """The largest of the default tiles that leaves no compute unit without a block; otherwise the smallest."""
        return default_config(product_of(problem), info)

    def configs(self, problem: ConvProblem, info: DeviceInfo) -> Iterator[GemmConfig]:
        """The configs of the device's space that are valid for the product of an image."""
        product = product_of(problem)
        return search_space(info).valid(lambda config: invalidity(config, product, info))

    def parse_config(self, text: str) -> GemmConfig:
        """A config from MIOpen's text, for example `64,64,16,4,4`."""
        return GemmConfig.parse(text)

    def solution(self, problem: ConvProblem, info: DeviceInfo, config: PerformanceConfig) -> Solution:
        """The launches of each image, one image after the other.

        Raises:
            ConfigError: the config is of another solver, or not valid for the problem on the device.
        """
        cut = checked_config(self.name, product_of(problem), info, config)
        launches = (launch for image in range(problem.n) for launch in _image_launches(problem, info, cut, image))
        return Solution(
            solver=self.name,
            solver_id=self.solver_id,
            config=config,
            workspace_bytes=self.workspace_bytes(problem),
            launches=tuple(launches),
        )


def _image_launches(problem: ConvProblem, info: DeviceInfo, config: GemmConfig, image: int) -> tuple[Launch, ...]:
    product = product_of(problem)
    rearrangement = _rearrangement(problem, info, image)
    weights, columns, outputs = Operand(_WEIGHTS), _columns(problem, image), _image(Slot.OUTPUT, problem, image)
    if problem.direction is Direction.FORWARD:
        return *rearrangement, gemm_launch(problem, product, config, (weights, columns, outputs))
    if problem.direction is Direction.BACKWARD_DATA:
        return gemm_launch(problem, product, config, (weights, outputs, columns)), *rearrangement
    return *rearrangement, _weights_launch(problem, product, config, image)


def _weights_launch(problem: ConvProblem, product: Product, config: GemmConfig, image: int) -> Launch:
    """Add an image's products to those of the images before it; the last one leaves the sum in w."""
    is_last = image == problem.n - 1
    sums = Pointer("sums", Slot.WORKSPACE, partial_sums_offset(problem)) if has_partial_sums(problem) else _WEIGHTS
    if not is_last:
        product = replace(product, c=replace(product.c, dtype=DType.FP32))
    operands = _image(Slot.OUTPUT, problem, image), _columns(problem, image), Operand(_WEIGHTS if is_last else sums)
    return gemm_launch(problem, product, config, operands, partial=sums if image else None)


SOLVERS: tuple[Solver, ...] = (
    AnyLayout(HipConvIm2colGemm(name="HipConvIm2colGemmFwd", solver_id=10041, direction=Direction.FORWARD)),
    AnyLayout(HipConvIm2colGemm(name="HipConvIm2colGemmBwd", solver_id=10042, direction=Direction.BACKWARD_DATA)),
    AnyLayout(HipConvIm2colGemm(name="HipConvIm2colGemmWrw", solver_id=10043, direction=Direction.BACKWARD_WEIGHTS)),
)
