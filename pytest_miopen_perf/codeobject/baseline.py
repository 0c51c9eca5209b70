"""What kernels took when somebody last agreed to it.

The figures are a compiler's and hold for that compiler only: its name and version are part of their key. What a kernel
is called by is problem, solver, config and entry point, never its text or its macros: that these may change without
harm is what the comparison is for.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_miopen_perf.codeobject.table import Compiled, StaticRow


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticKey:
    """What makes two figures comparable.

    Attributes:
        compiler: Name and version.
        target: For example `gfx942`.
        problem: The problem's short name; the file of a kernel that belongs to no solver.
        solver: Who launches it; "" for a kernel that belongs to no solver.
        config: The performance config; what specialises a kernel that belongs to no solver.
        kernel: The entry point, and a number where a solution has it with other macros too.
    """

    compiler: str
    target: str
    problem: str
    solver: str
    config: str
    kernel: str

    @property
    def launch(self) -> tuple[str, str, str, str]:
        """Everything but compiler and target."""
        return self.problem, self.solver, self.config, self.kernel

    @property
    def name(self) -> str:
        """In words: `fp32-F-... HipConvNaiveFwd naive_conv_fwd`."""
        return " ".join(filter(None, self.launch))


@dataclass(frozen=True, slots=True, kw_only=True)
class StaticFigures:
    """What a kernel takes: the figures of `KernelResources` and `Occupancy` that a baseline keeps.

    Of shared memory it is what a work-group gets, static and dynamic together.

    Raises:
        ValueError: the waves are on no SIMD.
    """

    vgprs: int
    agprs: int
    sgprs: int
    vgpr_spills: int
    sgpr_spills: int
    lds_bytes: int
    scratch_bytes: int
    kernarg_bytes: int
    code_bytes: int
    waves: int
    simds: int

    def __post_init__(self) -> None:
        """Check what is divided by."""
        if self.simds < 1:
            raise ValueError(f"simds is {self.simds}, and a compute unit has at least one")


Baseline = dict[StaticKey, StaticFigures]
"""Figures by key."""


def key_of(row: StaticRow) -> StaticKey:
    """What a row is compared by."""
    case = row.case
    return StaticKey(
        compiler=row.compiler,
        target=case.target,
        problem=case.problem,
        solver=case.solver,
        config=case.config,
        kernel=case.name,
    )


def figures_of(compiled: Compiled) -> StaticFigures:
    """What a baseline keeps of a kernel."""
    taken, held = compiled.resources, compiled.occupancy
    return StaticFigures(
        vgprs=taken.vgprs,
        agprs=taken.agprs,
        sgprs=taken.sgprs,
        vgpr_spills=taken.vgpr_spills,
        sgpr_spills=taken.sgpr_spills,
        lds_bytes=taken.lds_bytes + compiled.shared_bytes,
        scratch_bytes=taken.scratch_bytes,
        kernarg_bytes=taken.kernarg_bytes,
        code_bytes=taken.code_bytes,
        waves=held.waves,
        simds=held.simds,
    )


def absence(baseline: Baseline, looked_at: Iterable[StaticKey]) -> str:
    """Which kernels of a baseline nobody has looked at, in words; "" when there is none.

    What is known of other compilers and targets than those that were looked at is no absence.
    """
    seen = set(looked_at)
    places = {(key.compiler, key.target) for key in seen}
    gone = [key for key in baseline if (key.compiler, key.target) in places and key not in seen]
    if not gone:
        return ""
    were = "1 kernel of the baseline was" if len(gone) == 1 else f"{len(gone)} kernels of the baseline were"
    return f"{were} not looked at, such as {gone[0].name} on {gone[0].target}"
