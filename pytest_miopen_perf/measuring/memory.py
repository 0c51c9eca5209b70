"""How much memory a problem takes, told before it is run."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pytest_miopen_perf.wording import counted

if TYPE_CHECKING:
    from pytest_miopen_perf.problem import ConvProblem

_FLOAT32_BYTES = 4
_FLOAT64_BYTES = 8
_RESULT_COPIES = 5
"""float64 arrays of the result's size at the peak of a check: values, magnitudes, download, bound, excess."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryEstimate:
    """Bytes on the device, and bytes on the host for data, reference and check."""

    device_bytes: int
    host_bytes: int

    def needed_bytes(self, *, shares_host: bool) -> int:
        """Bytes of the memory that the device has, which is the host's on a CPU."""
        return self.device_bytes + (self.host_bytes if shares_host else 0)

    def shortage(self, *, free_bytes: int, shares_host: bool) -> str:
        """Why it does not fit, naming both numbers; "" when it fits.

        Args:
            free_bytes: What may be used: of the device, which is the host's memory on a CPU.
            shares_host: Whether device and host memory are one.
        """
        needed = self.needed_bytes(shares_host=shares_host)
        if needed <= free_bytes:
            return ""
        return f"it needs {byte_size(needed)} of memory and {byte_size(free_bytes)} may be used"


def estimate_memory(problem: ConvProblem, workspace_bytes: int) -> MemoryEstimate:
    """What a canonical problem takes with a workspace of the given size."""
    x, w, y = (math.prod(shape) for shape in (problem.x_shape, problem.w_shape, problem.y_shape))
    result = {"F": y, "B": x, "W": w}[problem.direction.value]
    operands = x + w + y - result
    return MemoryEstimate(
        device_bytes=sum(problem.tensor_bytes) + workspace_bytes,
        host_bytes=2 * operands * _FLOAT32_BYTES + _RESULT_COPIES * result * _FLOAT64_BYTES,
    )


def byte_size(nbytes: int) -> str:
    """A size as people read it: `1 byte`, `12 bytes`, `1.5 GiB`."""
    for unit, size in (("GiB", 2**30), ("MiB", 2**20), ("KiB", 2**10)):
        if nbytes >= size:
            return f"{nbytes / size:.1f} {unit}"
    return counted(nbytes, "byte")
