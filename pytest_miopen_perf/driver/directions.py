"""The direction of a convolution in the words of logs, keys, solvers and kernels."""

from __future__ import annotations

import functools
import re

from pytest_miopen_perf.problem import Direction

F, B, W = Direction.FORWARD, Direction.BACKWARD_DATA, Direction.BACKWARD_WEIGHTS

DIRECTION_OF = {
    "forward": F,
    "backward": B,
    "backward-data": B,
    "backward_data": B,
    "backward-weights": W,
    "backward_weights": W,
}
"""The three spellings of JSON lines, one a line kind."""

ROW_DIRECTION = {"fwd": F, "bwdd": B, "bwdw": W}
"""How the name of a performance line and of a stats row begins."""

_NAME_WORDS = re.compile(
    r"(?P<W>BwdWeights?|(?:Bwd)?W[Rr]W|(?:Bwd)?Wrw)|(?P<B>Bwd(?:Data)?)(?![a-z])|(?P<F>Fwd|Forward)(?![a-z])"
)
_KERNEL_WORDS = re.compile(
    r"(?<![a-z])(?:(?P<W>wrw|bwdw|bwd_?weights?|backward_weights?)|(?P<B>bwdd|bwd_?data|backward_data|bwd|backward)"
    r"|(?P<F>fwd|forward))(?![a-z])"
)
_BOTH_WAYS = "ConvOclDirectFwd"


@functools.lru_cache(maxsize=1024)
def solver_direction(solver: str) -> Direction | None:
    """The direction that a solver's name states, `ConvDirectNaiveConvFwd` forward; None where it states none.

    The old OpenCL direct solvers are named for the forward pass, and serve both it and backward data.
    """
    return None if solver.startswith(_BOTH_WAYS) else _stated(_NAME_WORDS, solver)


@functools.lru_cache(maxsize=1024)
def kernel_direction(kernel: str) -> Direction | None:
    """The direction that a kernel's name states, `igemm_bwd_gtcx3` backward data; None where it states none."""
    return _stated(_KERNEL_WORDS, kernel) or _stated(_NAME_WORDS, kernel)


def _stated(words: re.Pattern[str], name: str) -> Direction | None:
    stated = {Direction(match.lastgroup) for match in words.finditer(name)}
    return stated.pop() if len(stated) == 1 else None
