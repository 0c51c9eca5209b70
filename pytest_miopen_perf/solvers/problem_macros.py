"""The `-D` macros that specialise a kernel for one problem: what every compiled-for-the-problem kernel is given.

`kernels/include/convolution.h` turns them into strides and counts, and `devices.recognition` reads them back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_miopen_perf.problem import Direction, DType

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_miopen_perf.problem import ConvProblem, Layout, Shape

_DIRECTION_NUMBERS = {Direction.FORWARD: 0, Direction.BACKWARD_DATA: 1, Direction.BACKWARD_WEIGHTS: 2}


def problem_macros(problem: ConvProblem) -> tuple[tuple[str, str], ...]:
    """Direction, element type, sizes (a plane is a volume of depth 1) and memory orders of a canonical problem."""
    return (
        ("ELEMENT", problem.dtype.value),
        ("ACCUMULATOR", "int" if problem.dtype is DType.INT8 else "float"),
        ("CONV_DIRECTION", str(_DIRECTION_NUMBERS[problem.direction])),
        ("CONV_N", str(problem.n)),
        ("CONV_C", str(problem.c)),
        ("CONV_K", str(problem.k)),
        ("CONV_GROUPS", str(problem.groups)),
        *_by_axis("IN", problem.spatial, 1),
        *_by_axis("OUT", problem.output, 1),
        *_by_axis("FIL", problem.filter, 1),
        *_by_axis("PAD", problem.pad, 0),
        *_by_axis("STRIDE", problem.stride, 1),
        *_by_axis("DILATION", problem.dilation, 1),
        ("CONV_X_LAYOUT", _axes(problem.in_layout)),
        ("CONV_W_LAYOUT", _axes(problem.fil_layout)),
        ("CONV_Y_LAYOUT", _axes(problem.out_layout)),
    )


def _by_axis(name: str, sizes: Shape, flat: int) -> Iterator[tuple[str, str]]:
    volume = sizes if len(sizes) == 3 else (flat, *sizes)
    return ((f"CONV_{name}_{axis}", str(size)) for axis, size in zip("DHW", volume, strict=True))


def _axes(layout: Layout) -> str:
    """The order of five axes: NCHW is NCDHW with depth 1, CHWN is CDHWN."""
    return layout.value if layout.rank == 3 else layout.value.replace("H", "DH")
