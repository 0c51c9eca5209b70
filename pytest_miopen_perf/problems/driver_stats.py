"""What MIOpenDriver's text output counts for a convolution: the numbers of its `stats:` lines."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from pytest_miopen_perf.problem import ConvProblem, Direction

if TYPE_CHECKING:
    from collections.abc import Mapping

_ROWS: Mapping[Direction, str] = {
    Direction.FORWARD: "fwd-conv",
    Direction.BACKWARD_DATA: "bwdd-conv",
    Direction.BACKWARD_WEIGHTS: "bwdw-conv",
}


class DriverStats(NamedTuple):
    """The counted columns of a `stats:` line.

    The bytes are the driver's, faults included; `ConvProblem.bytes_read` and `bytes_written` are what is moved.
    """

    name: str
    flops: int
    bytes_read: int
    bytes_written: int

    def gflops(self, time_ms: float) -> float:
        """GFLOP/s of a run that took `time_ms`, which must be above 0."""
        return self.flops / time_ms / 1e6

    def gb_per_s(self, time_ms: float) -> float:
        """GB/s (10^9 bytes) of a run that took `time_ms`, which must be above 0."""
        return (self.bytes_read + self.bytes_written) / time_ms / 1e6


def row_name(problem: ConvProblem) -> str:
    """The name of the row, also in the JSON `performance` line: `fwd-conv3x3u1`, with the first stride."""
    return f"{_ROWS[problem.direction]}{'x'.join(map(str, problem.filter))}u{problem.stride[0]}"


def driver_stats(problem: ConvProblem) -> DriverStats:
    """What MIOpenDriver prints for this problem.

    Two of its faults are kept, so that numbers compare with its text: backward data counts n*c*k elements in place of
    y as read, and y as written in place of x; backward weights counts no byte at all. Two are not: the extra factor of
    the depth in old 3-D forward rows, and the overflow of element counts beyond 2^31.
    """
    x, w, y = problem.tensor_bytes
    read, written = {
        Direction.FORWARD: (x + w, y),
        Direction.BACKWARD_DATA: (math.prod((problem.n, problem.c, problem.k, problem.dtype.bytes)) + w, y),
        Direction.BACKWARD_WEIGHTS: (0, 0),
    }[problem.direction]
    return DriverStats(row_name(problem), problem.flops, read, written)
