"""Which element types and layouts a solver serves: not what it says of itself, but what it accepts when it is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.problem import ConvProblem, DType, Layout

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_miopen_perf.launch import DeviceInfo
    from pytest_miopen_perf.problem import Direction
    from pytest_miopen_perf.solvers import Solver

LAYOUTS: dict[str, tuple[Layout, Layout, Layout]] = {
    **{layout.value: (layout, layout, layout) for layout in Layout},
    "mixed": (Layout.NHWC, Layout.NCHW, Layout.NHWC),
}
"""The layouts of x, w and y that are asked for: each alone, and several in one problem."""

_CHANNELS = 16
_KINDS = ((3, 1), (3, _CHANNELS), (1, 1))
"""Size of the filter, and groups: one of them suits every solver."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Served:
    """Types that have the same layouts.

    Attributes:
        types: Element types.
        layouts: Words of `LAYOUTS`.
    """

    types: tuple[DType, ...]
    layouts: tuple[str, ...]

    def __str__(self) -> str:
        """`FP32 FP16: NCHW NHWC`; `all` when every layout is served."""
        layouts = "all" if len(self.layouts) == len(LAYOUTS) else " ".join(self.layouts)
        return f"{' '.join(dtype.value for dtype in self.types)}: {layouts}"


def served(solver: Solver, info: DeviceInfo) -> tuple[Served, ...]:
    """What a solver accepts on a device, of some direction that it has: types in their order, equal ones together."""
    types_of: dict[tuple[str, ...], list[DType]] = {}
    for dtype in DType:
        layouts = tuple(word for word in LAYOUTS if any(_accepts(solver, dtype, word, info)))
        if layouts:
            types_of.setdefault(layouts, []).append(dtype)
    return tuple(Served(types=tuple(types), layouts=layouts) for layouts, types in types_of.items())


def _accepts(solver: Solver, dtype: DType, layouts: str, info: DeviceInfo) -> Iterator[bool]:
    for direction in solver.directions:
        for size, groups in _KINDS:
            yield solver.refusal(_problem(direction, dtype, layouts, size, groups), info) is None


def _problem(direction: Direction, dtype: DType, layouts: str, size: int, groups: int) -> ConvProblem:
    """Sixteen channels to sixteen, with an image that is not too small for anyone."""
    x, w, y = LAYOUTS[layouts]
    return ConvProblem(
        direction=direction,
        dtype=dtype,
        n=2,
        c=_CHANNELS,
        k=_CHANNELS,
        spatial=(16,) * x.rank,
        filter=(size,) * x.rank,
        pad=(size // 2,) * x.rank,
        stride=(1,) * x.rank,
        dilation=(1,) * x.rank,
        groups=groups,
        in_layout=x,
        fil_layout=w,
        out_layout=y,
    )
