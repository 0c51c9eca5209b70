"""Solvers whose tensors all have one layout: channels first, or channels last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_miopen_perf.problem import Layout

if TYPE_CHECKING:
    from pytest_miopen_perf.problem import ConvProblem

CHANNELS_FIRST = (Layout.NCHW, Layout.NCDHW)
"""Layouts whose rows lie together."""

CHANNELS_LAST = (Layout.NHWC, Layout.NDHWC)
"""Layouts whose channels lie together."""


def layout_refusal(problem: ConvProblem, layouts: tuple[Layout, ...]) -> str | None:
    """Why a problem does not have one of the layouts for all of its tensors, in words; None when it has."""
    used = {problem.in_layout, problem.fil_layout, problem.out_layout}
    if len(used) == 1 and problem.in_layout in layouts:
        return None
    wanted = " or ".join(layout.value for layout in layouts if layout.rank == problem.rank)
    found = ", ".join(sorted(layout.value for layout in used))
    return f"x, w and y must all be {wanted}; here they are {found}"


def has_channels_last(problem: ConvProblem) -> bool:
    """Whether the channels of x lie together."""
    return problem.in_layout in CHANNELS_LAST
