"""The naive solvers: the definition of a convolution, one work-item per element of the result.

They compute everything (2-D and 3-D, groups, every type and layout, layouts mixed at will), they are never fast, and
yet they win now and then, as MIOpen's do. Sums are taken in double, as MIOpen's are.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from pytest_miopen_perf.launch import KernelSource, Launch, Pointer, Scalar, Slot
from pytest_miopen_perf.problem import Direction, DType
from pytest_miopen_perf.solvers import Algorithm, PerformanceConfig, Solution, Solver
from pytest_miopen_perf.solvers.limits import most_blocks, position_refusal
from pytest_miopen_perf.solvers.one_direction import OneDirection

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.problem import ConvProblem, Shape

_BLOCK = 256


@dataclass(frozen=True, slots=True, kw_only=True)
class HipConvNaive(OneDirection):
    """A direct convolution in one direction.

    Attributes:
        entry: The kernel in `conv_naive.hip`.
        accumulator: What products of floating-point types are added up in; int8 always in int.
    """

    entry: str
    accumulator: Literal["double", "float"] = "double"

    @property
    def algorithm(self) -> Algorithm:
        """Direct."""
        return Algorithm.DIRECT

    def refusal(self, problem: ConvProblem, info: DeviceInfo) -> str | None:  # noqa: ARG002  the device does not matter
        """Why not: another direction, int8 backward, or sizes beyond an int."""
        return self.direction_refusal(problem) or self.int8_refusal(problem) or position_refusal(problem)

    def default_config(self, problem: ConvProblem, info: DeviceInfo) -> PerformanceConfig:  # noqa: ARG002  only one
        """The config with nothing to tune."""
        return PerformanceConfig()

    def configs(self, problem: ConvProblem, info: DeviceInfo) -> Iterator[PerformanceConfig]:
        """The one config."""
        yield self.default_config(problem, info)

    def parse_config(self, text: str) -> PerformanceConfig:
        """The config with nothing to tune, from its empty text."""
        return PerformanceConfig.parse(text)

    def solution(self, problem: ConvProblem, info: DeviceInfo, config: PerformanceConfig) -> Solution:
        """One launch, with the geometry as arguments."""
        block = min(_BLOCK, info.max_block)
        accumulator = "int" if problem.dtype is DType.INT8 else self.accumulator
        kernel = KernelSource(
            file="conv_naive.hip",
            entry=self.entry,
            defines=(("ELEMENT", problem.dtype.value), ("ACCUMULATOR", accumulator), ("BLOCK", str(block))),
        )
        launch = Launch(
            kernel=kernel,
            grid=(_blocks(problem, info, block), 1, 1),
            block=(block, 1, 1),
            args=(*_pointers(), *_sizes(problem), *_strides(problem)),
        )
        return Solution(
            solver=self.name, solver_id=self.solver_id, config=config, workspace_bytes=0, launches=(launch,)
        )


def _blocks(problem: ConvProblem, info: DeviceInfo, block: int) -> int:
    """Enough blocks for one work-item an element, within the limits of a grid; beyond, work-items take turns."""
    shape = {"F": problem.y_shape, "B": problem.x_shape, "W": problem.w_shape}[problem.direction.value]
    return min(-(-math.prod(shape) // block), most_blocks(info, block))


def _pointers() -> tuple[Pointer, Pointer, Pointer]:
    return Pointer("x", Slot.INPUT), Pointer("w", Slot.WEIGHTS), Pointer("y", Slot.OUTPUT)


def _sizes(problem: ConvProblem) -> Iterator[Scalar]:
    counts = {
        "n": problem.n,
        "groups": problem.groups,
        "c": problem.c // problem.groups,
        "k": problem.k // problem.groups,
    }
    yield from (Scalar(name, "i32", value) for name, value in counts.items())
    yield from _by_axis("in", problem.spatial, 1)
    yield from _by_axis("out", problem.output, 1)
    yield from _by_axis("fil", problem.filter, 1)
    yield from _by_axis("pad", problem.pad, 0)
    yield from _by_axis("stride", problem.stride, 1)
    yield from _by_axis("dilation", problem.dilation, 1)


def _by_axis(name: str, sizes: Shape, flat: int) -> Iterator[Scalar]:
    """Three arguments, a plane being a volume of depth 1."""
    volume = sizes if len(sizes) == 3 else (flat, *sizes)
    return (Scalar(f"{name}_{axis}", "i32", size) for axis, size in zip("dhw", volume, strict=True))


def _strides(problem: ConvProblem) -> Iterator[Scalar]:
    tensors = (
        ("x", "nc", problem.in_layout.strides(problem.x_shape)),
        ("w", "kc", problem.fil_layout.strides(problem.w_shape)),
        ("y", "nk", problem.out_layout.strides(problem.y_shape)),
    )
    for tensor, channels, strides in tensors:
        volume = strides if len(strides) == 5 else (*strides[:2], 0, *strides[2:])
        yield from (
            Scalar(f"{tensor}_{axis}", "i64", step) for axis, step in zip(channels + "dhw", volume, strict=True)
        )


SOLVERS: tuple[Solver, ...] = (
    HipConvNaive(name="HipConvNaiveFwd", solver_id=10001, direction=Direction.FORWARD, entry="naive_conv_fwd"),
    HipConvNaive(name="HipConvNaiveBwd", solver_id=10002, direction=Direction.BACKWARD_DATA, entry="naive_conv_bwd"),
    HipConvNaive(name="HipConvNaiveWrw", solver_id=10003, direction=Direction.BACKWARD_WEIGHTS, entry="naive_conv_wrw"),
)
