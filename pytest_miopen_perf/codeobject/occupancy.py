"""How many waves a kernel can keep on a compute unit, and what limits them.

The count is the one of the HIP runtime's `hipModuleOccupancyMaxActiveBlocksPerMultiprocessor`: whole work-groups that
fit by vector registers, scalar registers and LDS, each rounded up to what the hardware gives out. On top of it stand
the barriers of a compute unit, which the compiler counts too. It is an upper bound: a grid may be too small for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

if TYPE_CHECKING:
    from pytest_miopen_perf.codeobject.architectures import Architecture
    from pytest_miopen_perf.codeobject.metadata import KernelResources

Limit: TypeAlias = Literal["VGPR", "SGPR", "LDS", "barriers", "waves"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Occupancy:
    """What one compute unit holds of a kernel, or one work-group processor where work-groups spread over its two units.

    Attributes:
        work_groups: Whole work-groups; 0 when not even one fits.
        waves: Their waves.
        simds: SIMDs that the waves are on.
        most_waves: Waves that a kernel with no needs would have.
        limited_by: What keeps the next work-group out, all that do.
    """

    work_groups: int
    waves: int
    simds: int
    most_waves: int
    limited_by: tuple[Limit, ...]

    @property
    def waves_per_simd(self) -> int:
        """Waves of the fullest SIMD, as compilers report occupancy."""
        return -(-self.waves // self.simds)

    @property
    def share(self) -> float:
        """Waves of the most waves, 0 to 1."""
        return self.waves / self.most_waves


def occupancy(
    resources: KernelResources, architecture: Architecture, *, work_items: int, shared_bytes: int = 0
) -> Occupancy:
    """The occupancy of a launch.

    Args:
        resources: Of the kernel.
        architecture: What it runs on.
        work_items: Of a work-group, at least 1.
        shared_bytes: Dynamic shared memory of a work-group.
    """
    units = 2 if resources.is_processor_mode else 1
    simds = architecture.simds * units
    group_waves = -(-work_items // resources.wavefront)
    groups_by: dict[Limit, int] = {
        "VGPR": _waves_by_vgprs(resources, architecture) * simds // group_waves,
        "waves": architecture.waves_per_simd * simds // group_waves,
    }
    if architecture.sgprs_per_simd is not None:
        each = _rounded_up(resources.sgprs, architecture.sgpr_granule)
        groups_by["SGPR"] = architecture.sgprs_per_simd // each * simds // group_waves
    if lds_bytes := resources.lds_bytes + shared_bytes:
        fits = lds_bytes <= architecture.lds_per_group_bytes
        each = _rounded_up(lds_bytes, architecture.lds_granule_bytes)
        groups_by["LDS"] = architecture.lds_bytes * units // each if fits else 0
    if group_waves > 1:
        groups_by["barriers"] = architecture.barriers * units
    groups = min(groups_by.values())
    return Occupancy(
        work_groups=groups,
        waves=groups * group_waves,
        simds=simds,
        most_waves=architecture.waves_per_simd * simds,
        limited_by=tuple(limit for limit, count in groups_by.items() if count == groups),
    )


def _waves_by_vgprs(resources: KernelResources, architecture: Architecture) -> int:
    """Waves that share a SIMD's vector registers; a register of a wave of 64 takes two of those counted for 32."""
    width = resources.wavefront // architecture.wavefront
    each = _rounded_up(resources.vgprs, architecture.vgpr_granule // width)
    return architecture.vgprs_per_simd // width // each


def _rounded_up(count: int, granule: int) -> int:
    """To what the hardware gives out; it never gives nothing."""
    return -(-max(count, 1) // granule) * granule
