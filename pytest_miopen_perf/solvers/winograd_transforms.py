"""What the Winograd solvers of all directions share: what they can compute, and the transforms around the products."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from pytest_miopen_perf.launch import KernelSource, Launch, Pointer, Slot
from pytest_miopen_perf.problem import DType
from pytest_miopen_perf.solvers.config_space import launch_invalidity
from pytest_miopen_perf.solvers.one_layout import CHANNELS_FIRST, CHANNELS_LAST, layout_refusal
from pytest_miopen_perf.solvers.problem_macros import problem_macros

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.problem import ConvProblem, Shape

FLOAT_BYTES = 4
"""Of an element of what is transformed, whatever the type of the tensors."""

_BLOCK = 256
_FILTER = (3, 3)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cutting:
    """How `conv_winograd.hip` is to cut a problem, by the names of its macros.

    Attributes:
        tile: Positions of a tile along an axis.
        parts: That the tiles are dealt out to.
        part_tiles: Tiles of a part.
        source: Name of the tensor whose patches are transformed.
        result: Name of the tensor that is cut into tiles.
    """

    tile: int
    parts: int
    part_tiles: int
    source: str
    result: str


class Transform(NamedTuple):
    """A pass of `conv_winograd.hip`, what it reads, what it writes, and over how many work-items."""

    entry: str
    source: Pointer
    target: Pointer
    work_items: int


def tile_count(n: int, size: Shape, tile: int) -> int:
    """How many tiles cover the images."""
    height, width = size
    return n * -(-height // tile) * -(-width // tile)


def workspace_pointers(names: Sequence[str], offsets: Sequence[int]) -> tuple[Pointer, ...]:
    """The arguments that lie in the workspace; the last offset is its end."""
    return tuple(Pointer(name, Slot.WORKSPACE, at) for name, at in zip(names, offsets[:-1], strict=True))


def kind_refusal(name: str, problem: ConvProblem) -> str | None:
    """Why Winograd solvers cannot compute problems of a kind, whatever the size; None when they can."""
    if problem.filter != _FILTER:
        return f"{name} takes filters of 3x3"
    if set(problem.stride) != {1} or set(problem.dilation) != {1}:
        return f"{name} takes neither strides nor dilations"
    if problem.dtype is DType.INT8:
        return f"{name} computes FP32, FP16 and BF16, not INT8"
    if reason := layout_refusal(problem, CHANNELS_FIRST + CHANNELS_LAST):
        return f"{name}: {reason}"
    return None


def transform_refusal(work_items: tuple[int, ...], info: DeviceInfo) -> str | None:
    """Why transforms of so many work-items cannot be launched on a device; None when they can."""
    block = min(_BLOCK, info.max_block)
    return launch_invalidity(block, max(work_items) // block + 1, info)


def transform_launches(
    problem: ConvProblem, info: DeviceInfo, cutting: Cutting, transforms: Sequence[Transform]
) -> tuple[Launch, ...]:
    """The launches of the transforms, each specialised by the problem, the cutting, and which one it is."""
    block = min(_BLOCK, info.max_block)
    macros = {
        "BLOCK_SIZE": block,
        "TILE": cutting.tile,
        "PARTS": cutting.parts,
        "PART_TILES": cutting.part_tiles,
        "SOURCE_NAME": cutting.source,
        "RESULT_NAME": cutting.result,
    }
    own = tuple((name, str(value)) for name, value in macros.items())
    return tuple(
        Launch(
            kernel=KernelSource(
                file="conv_winograd.hip",
                entry=transform.entry,
                defines=(*problem_macros(problem), *own, ("WINOGRAD_STEP", str(step))),
            ),
            grid=(-(-transform.work_items // block), 1, 1),
            block=(block, 1, 1),
            args=(transform.source, transform.target),
            is_transformation=True,
        )
        for step, transform in enumerate(transforms)
    )
