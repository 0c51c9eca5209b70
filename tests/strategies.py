"""Hypothesis strategies that several tests share."""

import math
from collections.abc import Sequence
from dataclasses import replace

from hypothesis import strategies as st

from pytest_miopen_perf.problem import ConvProblem, Direction, DType, Layout, Shape
from pytest_miopen_perf.problems.pad_mode import PadMode, driver_pad

LAYOUTS = {2: (Layout.NCHW, Layout.NHWC, Layout.CHWN), 3: (Layout.NCDHW, Layout.NDHWC)}


@st.composite
def problems(draw, *, ranks: Sequence[int] = (2, 3)) -> ConvProblem:
    """Any problem that MIOpenDriver can state: big, empty, mixed layouts, every pad mode, transposed."""
    rank = draw(st.sampled_from(ranks))
    transposed = draw(st.booleans())
    groups = draw(st.integers(1, 64))
    stride = draw(_axes(rank, 1, 9))
    layout = st.sampled_from(LAYOUTS[rank])
    problem = ConvProblem(
        direction=draw(st.sampled_from(Direction)),
        dtype=draw(st.sampled_from(DType)),
        n=draw(st.integers(1, 100_000)),
        c=groups * draw(st.integers(1, 4096)),
        k=groups * draw(st.integers(1, 4096)),
        spatial=draw(_axes(rank, 1, 5000)),
        filter=draw(st.one_of(st.just((1,) * rank), _axes(rank, 1, 31))),
        pad=draw(_axes(rank, 0, 40)),
        stride=stride,
        dilation=draw(st.one_of(st.just((1,) * rank), _axes(rank, 1, 7))),
        groups=groups,
        in_layout=draw(layout),
        fil_layout=draw(layout),
        out_layout=draw(layout),
        transposed=transposed,
        output_pad=tuple(draw(st.integers(0, s - 1)) for s in stride) if transposed else (),
    )
    pad_mode = draw(st.sampled_from(PadMode))
    return replace(problem, pad=driver_pad(problem, pad_mode), pad_mode=pad_mode)


@st.composite
def small_problems(
    draw,
    *,
    directions: Sequence[Direction] = tuple(Direction),
    dtypes: Sequence[DType] = tuple(DType),
    ranks: Sequence[int] = (2, 3),
    transposed: Sequence[bool] = (False, True),
    mixed_layouts: bool = True,
) -> ConvProblem:
    """A problem that a slow machine computes at once: never empty, a few hundred thousand operations at most.

    2-D and 3-D, groups and depthwise, every layout, unequal strides, pads and dilations, transposed, pad mode default.
    """
    rank = draw(st.sampled_from(ranks))
    is_transposed = draw(st.sampled_from(transposed))
    groups = draw(st.integers(1, 3))
    filter_size = draw(_axes(rank, 1, 3 if rank == 2 else 2))
    pad = tuple(draw(st.integers(0, size)) for size in filter_size)
    stride = draw(_axes(rank, 1, 3))
    dilation = draw(_axes(rank, 1, 2))
    output_pad = tuple(draw(st.integers(0, size - 1)) if is_transposed else 0 for size in stride)
    least = _least_spatial(filter_size, pad, stride, dilation, output_pad, transposed=is_transposed)
    layout = st.sampled_from(LAYOUTS[rank])
    in_layout = draw(layout)
    others = layout if mixed_layouts else st.just(in_layout)
    return ConvProblem(
        direction=draw(st.sampled_from(directions)),
        dtype=draw(st.sampled_from(dtypes)),
        n=draw(st.integers(1, 2)),
        c=groups * draw(st.integers(1, 3)),
        k=groups * draw(st.integers(1, 3)),
        spatial=tuple(size + draw(st.integers(0, 4 if rank == 2 else 1)) for size in least),
        filter=filter_size,
        pad=pad,
        stride=stride,
        dilation=dilation,
        groups=groups,
        in_layout=in_layout,
        fil_layout=draw(others),
        out_layout=draw(others),
        transposed=is_transposed,
        output_pad=output_pad,
    )


def _axes(rank: int, least: int, most: int) -> st.SearchStrategy[Shape]:
    return st.tuples(*[st.integers(least, most)] * rank)


def _least_spatial(
    filter_size: Shape, pad: Shape, stride: Shape, dilation: Shape, output_pad: Shape, *, transposed: bool
) -> Shape:
    """The smallest input whose output has an element on every axis."""
    axes = zip(filter_size, pad, stride, dilation, output_pad, strict=True)
    if transposed:
        return tuple(max(1, 1 + math.ceil((2 * p - o - d * (f - 1)) / s)) for f, p, s, d, o in axes)
    return tuple(max(1, 1 + d * (f - 1) - 2 * p) for f, p, _, d, _ in axes)
