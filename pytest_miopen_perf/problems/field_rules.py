"""Which fields of a convolution problem go together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_miopen_perf.errors import ProblemError
from pytest_miopen_perf.problems.pad_mode import driver_pad
from pytest_miopen_perf.wording import crossed

if TYPE_CHECKING:
    from pytest_miopen_perf.problem import ConvProblem, Shape

_LEAST = {"spatial": 1, "filter": 1, "pad": 0, "stride": 1, "dilation": 1, "output_pad": 0}


def check_fields(problem: ConvProblem) -> None:
    """Hold the fields of a problem against each other.

    Raises:
        ProblemError: a field contradicts another; its `field` is the name of the wrong one.
    """
    rank = problem.rank
    if rank not in (2, 3):
        raise ProblemError("spatial", f"{rank} spatial dimensions; a convolution has 2 or 3")
    for name in ("n", "c", "k", "groups"):
        _check_numbers(name, (getattr(problem, name),), least=1)
    for name, least in _LEAST.items():
        sizes = getattr(problem, name)
        if type(sizes) is not tuple or len(sizes) != rank:
            raise ProblemError(name, f"{name} is {sizes!r}; {rank} spatial dimensions need a tuple of {rank} numbers")
        _check_numbers(name, sizes, least)
    for name in ("c", "k"):
        value = getattr(problem, name)
        if value % problem.groups:
            raise ProblemError("groups", f"groups is {problem.groups}, which does not divide {name} = {value}")
    for name in ("in_layout", "fil_layout", "out_layout"):
        layout = getattr(problem, name)
        if layout.rank != rank:
            raise ProblemError(name, f"{name} {layout.value} does not describe {rank} spatial dimensions")
    _check_padding(problem)


def _check_numbers(name: str, numbers: Shape, least: int) -> None:
    for number in numbers:
        if type(number) is not int or number < least:
            raise ProblemError(name, f"{name} is {crossed(numbers)}; it takes whole numbers of at least {least}")


def _check_padding(problem: ConvProblem) -> None:
    output_pad = crossed(problem.output_pad)
    if problem.transposed and any(o >= s for o, s in zip(problem.output_pad, problem.stride, strict=True)):
        stride = crossed(problem.stride)
        raise ProblemError("output_pad", f"output_pad {output_pad} is not below the stride {stride} on every axis")
    if any(problem.output_pad) and not problem.transposed:
        raise ProblemError("output_pad", f"output_pad is {output_pad}; only transposed convolutions have one")
    pad = driver_pad(problem, problem.pad_mode)
    if problem.pad != pad:
        mode = problem.pad_mode.value
        raise ProblemError("pad", f"pad is {crossed(problem.pad)}; pad mode {mode} makes it {crossed(pad)}")
