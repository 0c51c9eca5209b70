"""What kind of problem a problem is: the words by which lists are divided, so that no kind is forgotten."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_miopen_perf.problem import ConvProblem


class Stratum(NamedTuple):
    """Problems that are alike in the eyes of a solver, sizes aside."""

    direction: str
    dtype: str
    layout: str
    kind: str


def stratum_of(problem: ConvProblem) -> Stratum:
    """Where a problem belongs."""
    return Stratum(problem.direction.value, problem.dtype.value, layout_of(problem), kind_of(problem))


def layout_of(problem: ConvProblem) -> str:
    """The layout that all tensors share, or `mixed`."""
    layouts = {problem.in_layout, problem.fil_layout, problem.out_layout}
    return layouts.pop().value if len(layouts) == 1 else "mixed"


def kind_of(problem: ConvProblem) -> str:
    """For example `grouped 3x3 strided` or `transposed 3-D other filter`."""
    return " ".join(_words(problem))


def _words(problem: ConvProblem) -> Iterator[str]:
    if problem.transposed:
        yield "transposed"
    if problem.rank == 3:
        yield "3-D"
    elif problem.spatial[0] == problem.filter[0] == 1 and problem.spatial[1] > 1:
        yield "1-D"
    if problem.groups > 1:
        yield "depthwise" if problem.groups == problem.c else "grouped"
    yield _filter_word(problem)
    if set(problem.stride) != {1}:
        yield "strided"
    if set(problem.dilation) != {1}:
        yield "dilated"


def _filter_word(problem: ConvProblem) -> str:
    if set(problem.filter) == {1}:
        return "padded 1x1" if any(problem.pad) else "1x1"
    return "3x3" if set(problem.filter) == {3} else "other filter"
