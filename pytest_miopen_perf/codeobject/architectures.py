"""What the compute units of AMD's GPUs offer to waves, one row an architecture.

Sources, with the figures taken from each:

- LLVM, "User Guide for AMDGPU Backend" (AMDGPUUsage), kernel descriptor: granules of VGPRs and of SGPRs, and of LDS
  (GFX7 to GFX11 128 dwords, GFX950 320, GFX125x 512).
- LLVM, `AMDGPUBaseInfo.cpp`, namespace `IsaInfo`: VGPRs and most waves of a SIMD, SIMDs that a work-group spreads
  over, LDS that it can address, barriers of a compute unit (16) and of a work-group processor (32).
- AMD, ISA reference guides of MI200, CDNA3, CDNA4, RDNA3 and RDNA4: register files, LDS, unified VGPRs and AccVGPRs.
- Mesa, ACO: LDS is allocated in blocks of 1024 bytes from GFX10.3 on.
- AMD, product pages: compute units; ROCclr, `rocdevice.cpp`: half of them is `multiProcessorCount` from GFX10 on.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pytest_miopen_perf.errors import SettingsError
from pytest_miopen_perf.launch import DeviceInfo

_KIB = 1024
_GIB = 1024**3


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """One AMD GPU architecture; registers are 32-bit registers of a lane.

    Attributes:
        name: The compiler's name of the processor.
        product: A GPU that has it.
        compute_units: As the HIP runtime counts them on that GPU, since solvers plan by what it tells: of one die where
            it shows each die as a device, and on RDNA work-group processors, which are two compute units each.
        memory_bytes: Of that GPU.
        wavefront: Work-items of a wave, as kernels are compiled by default.
        simds: SIMDs of a compute unit; here and below one of the hardware's, also on RDNA.
        waves_per_simd: Most waves that a SIMD holds.
        vgprs_per_simd: VGPRs of a SIMD, shared by its waves; AccVGPRs come out of the same file from CDNA2 on.
        vgpr_granule: A wave gets a multiple of this.
        sgprs_per_simd: SGPRs of a SIMD; None when every wave has all that it can name.
        sgpr_granule: A wave gets a multiple of this.
        lds_bytes: LDS of a compute unit.
        lds_granule_bytes: A work-group gets a multiple of this.
        lds_per_group_bytes: Most LDS of a work-group.
        barriers: Work-groups of more than one wave that a compute unit holds.
    """

    name: str
    product: str
    compute_units: int
    memory_bytes: int
    wavefront: int
    simds: int
    waves_per_simd: int
    vgprs_per_simd: int
    vgpr_granule: int
    sgprs_per_simd: int | None
    sgpr_granule: int = 16
    lds_bytes: int
    lds_granule_bytes: int
    lds_per_group_bytes: int
    barriers: int = 16


_MI200 = Architecture(
    name="gfx90a",
    product="Instinct MI250X",
    compute_units=110,
    memory_bytes=64 * _GIB,
    wavefront=64,
    simds=4,
    waves_per_simd=8,
    vgprs_per_simd=512,
    vgpr_granule=8,
    sgprs_per_simd=800,
    lds_bytes=64 * _KIB,
    lds_granule_bytes=512,
    lds_per_group_bytes=64 * _KIB,
)
_MI300 = replace(_MI200, name="gfx942", product="Instinct MI300X", compute_units=304, memory_bytes=192 * _GIB)
_MI350 = replace(
    _MI200,
    name="gfx950",
    product="Instinct MI355X",
    compute_units=256,
    memory_bytes=288 * _GIB,
    lds_bytes=160 * _KIB,
    lds_granule_bytes=1280,
    lds_per_group_bytes=160 * _KIB,
)
_NAVI31 = Architecture(
    name="gfx1100",
    product="Radeon RX 7900 XTX",
    compute_units=48,
    memory_bytes=24 * _GIB,
    wavefront=32,
    simds=2,
    waves_per_simd=16,
    vgprs_per_simd=1536,
    vgpr_granule=24,
    sgprs_per_simd=None,
    lds_bytes=64 * _KIB,
    lds_granule_bytes=1024,
    lds_per_group_bytes=64 * _KIB,
)
_NAVI48 = replace(_NAVI31, name="gfx1201", product="Radeon RX 9070 XT", compute_units=32, memory_bytes=16 * _GIB)
_GFX1250 = Architecture(
    name="gfx1250",
    product="gfx1250",
    compute_units=256,
    memory_bytes=288 * _GIB,
    wavefront=32,
    simds=4,
    waves_per_simd=16,
    vgprs_per_simd=1024,
    vgpr_granule=16,
    sgprs_per_simd=None,
    lds_bytes=320 * _KIB,
    lds_granule_bytes=2048,
    lds_per_group_bytes=320 * _KIB,
)

ARCHITECTURES: dict[str, Architecture] = {row.name: row for row in (_MI200, _MI300, _MI350, _NAVI31, _NAVI48, _GFX1250)}
"""By the compiler's name of the processor. Compute units and memory of gfx1250 are placeholders: it has no product."""


def architecture_of(target: str) -> Architecture:
    """The architecture of a target such as `gfx90a:sramecc+:xnack-`; features change none of these figures.

    Raises:
        SettingsError: it is not in the table; the message lists what is.
    """
    name = target.partition(":")[0]
    if name not in ARCHITECTURES:
        raise SettingsError(
            f"what a compute unit of {name!r} offers is not known here; known: {', '.join(ARCHITECTURES)}"
        )
    return ARCHITECTURES[name]


def planned_device(target: str) -> DeviceInfo:
    """A GPU of a target as solvers see it, so that they plan launches for a device that is not here.

    Its architecture has no features, as that of a real one: data bases are named by it.

    Raises:
        SettingsError: the architecture is not in the table.
    """
    architecture = architecture_of(target)
    return DeviceInfo(
        backend="hip",
        uid=target,
        name=architecture.product,
        arch=architecture.name,
        compute_units=architecture.compute_units,
        wavefront=architecture.wavefront,
        lds_bytes=architecture.lds_per_group_bytes,
        memory_bytes=architecture.memory_bytes,
    )
