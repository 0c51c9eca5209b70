"""Occupancy against numbers worked out by hand, against the compiler's own, and against what must always hold."""

import re
import subprocess
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf.codeobject.architectures import ARCHITECTURES, architecture_of, planned_device
from pytest_miopen_perf.codeobject.compile import DEVICE_HEADERS
from pytest_miopen_perf.codeobject.metadata import read_resources
from pytest_miopen_perf.codeobject.occupancy import occupancy
from pytest_miopen_perf.errors import SettingsError

CASES = {
    # 86 -> 88 VGPRs: 512 / 88 = 5 waves a SIMD, 20 a CU, 5 groups of 4; LDS 8320 -> 8704: 7 groups.
    "by VGPRs": ("gfx90a", 256, {"vgprs": 86, "lds_bytes": 8320}, 5, 20, ("VGPR",)),
    # 148 -> 152: 3 a SIMD, 12 a CU, 3 groups; LDS 16640 -> 16896: 65536 / 16896 = 3 groups.
    "by VGPRs and LDS": ("gfx942", 256, {"vgprs": 148, "agprs": 64, "lds_bytes": 16640}, 3, 12, ("VGPR", "LDS")),
    # 96 -> 96 SGPRs: 8 a SIMD; 97 -> 112: 800 / 112 = 7.
    "SGPRs that fit": ("gfx90a", 64, {"vgprs": 8, "sgprs": 96}, 32, 32, ("waves", "SGPR")),
    "by SGPRs": ("gfx90a", 64, {"vgprs": 8, "sgprs": 97}, 28, 28, ("SGPR",)),
    # 65 -> 72: 7 a SIMD, 28 a CU; a group of 16 waves fits once.
    "whole groups only": ("gfx942", 1024, {"vgprs": 65}, 1, 16, ("VGPR",)),
    # 32768 -> 26 * 1280 = 33280: 163840 / 33280 = 4.
    "LDS in blocks of 1280": ("gfx950", 64, {"vgprs": 8, "lds_bytes": 32768}, 4, 4, ("LDS",)),
    # Two units together: 4 SIMDs. 152 -> 168: 1536 / 168 = 9 a SIMD, 36, 4 groups of 8 waves.
    "a work-group processor": (
        "gfx1100",
        256,
        {"vgprs": 152, "lds_bytes": 16640, "wavefront": 32, "is_processor_mode": True},
        4,
        32,
        ("VGPR",),
    ),
    # One unit: 2 SIMDs, 18 waves, 2 groups.
    "a unit of its own": ("gfx1100", 256, {"vgprs": 152, "wavefront": 32}, 2, 16, ("VGPR",)),
    # Waves of 64 on a file counted for 32: 768 VGPRs in granules of 12; 100 -> 108: 7 a SIMD.
    "waves of 64 on RDNA": (
        "gfx1201",
        64,
        {"vgprs": 100, "wavefront": 64, "is_processor_mode": True},
        28,
        28,
        ("VGPR",),
    ),
    # Groups of 2 waves: 16 barriers, 32 waves of 64.
    "by barriers": ("gfx1250", 64, {"vgprs": 8, "wavefront": 32}, 16, 32, ("barriers",)),
    # Waves begin whole: 65 work-items are 2 waves.
    "a wave begun is a wave": ("gfx90a", 65, {"vgprs": 128}, 8, 16, ("VGPR",)),
    "too much LDS": ("gfx942", 64, {"vgprs": 8, "lds_bytes": 65537}, 0, 0, ("LDS",)),
    "LDS of one group on two units": (
        "gfx1100",
        64,
        {"vgprs": 8, "wavefront": 32, "lds_bytes": 65540, "is_processor_mode": True},
        0,
        0,
        ("LDS",),
    ),
    "registers for a part of the group": ("gfx90a", 1024, {"vgprs": 256}, 0, 0, ("VGPR",)),
}


@pytest.mark.parametrize(("target", "work_items", "taken", "groups", "waves", "limits"), CASES.values(), ids=CASES)
def test_by_hand(plain_resources, target, work_items, taken, groups, waves, limits):
    resources = replace(plain_resources, **{"lds_bytes": 0, "sgprs": 16} | taken)
    held = occupancy(resources, ARCHITECTURES[target], work_items=work_items)
    assert (held.work_groups, held.waves) == (groups, waves)
    assert set(held.limited_by) == set(limits)


def test_dynamic_shared_memory_counts(plain_resources):
    static = replace(plain_resources, lds_bytes=20000)
    dynamic = replace(plain_resources, lds_bytes=4000)
    architecture = ARCHITECTURES["gfx942"]
    held = occupancy(dynamic, architecture, work_items=64, shared_bytes=16000)
    assert held == occupancy(static, architecture, work_items=64)
    assert held.work_groups == 3


def test_the_share_and_the_waves_of_a_simd(plain_resources):
    held = occupancy(replace(plain_resources, lds_bytes=20000), ARCHITECTURES["gfx942"], work_items=64)
    assert (held.waves, held.simds, held.waves_per_simd, held.share) == (3, 4, 1, 3 / 32)


KERNELS = """
#define K(name, items, floats, registers)                                                                       \\
    extern "C" __global__ void __attribute__((amdgpu_flat_work_group_size(items, items))) name(float* p)       \\
    {                                                                                                           \\
        __shared__ float s[floats];                                                                             \\
        asm volatile("" ::: registers);                                                                         \\
        s[threadIdx.x % floats] = p[threadIdx.x];                                                               \\
        __syncthreads();                                                                                        \\
        p[threadIdx.x] = s[(threadIdx.x + 1) % floats];                                                         \\
    }
"""
SHAPES = [("wave", 1, count) for count in (24, 25, 48, 64, 65, 72, 96, 97, 120, 128, 129, 168, 200, 240, 256)] + [
    (items, floats, 12)
    for items, floats in ((64, 1), (64, 4096), (64, 8193), (128, 1), (256, 2304), (256, 8192), (320, 2304), (512, 9000))
]


@pytest.mark.parametrize("target", ARCHITECTURES)
def test_the_compiler_counts_the_same(builder, hip_file, tmp_path, target):
    """LLVM writes `; Occupancy:` into its assembly. It leaves out the granule of LDS, so this comparison does too."""
    if reason := builder.refusal(target):
        pytest.skip(reason)
    architecture = ARCHITECTURES[target]
    kernels = [
        f'K(k{index}, {architecture.wavefront if items == "wave" else items}, {floats}, "v{registers - 1}")'
        for index, (items, floats, registers) in enumerate(SHAPES)
    ]
    source = hip_file(KERNELS + "\n".join(kernels), entry="k0")
    reported = re.findall(r"^; Occupancy: (\d+)", assembly(builder, source, target, tmp_path), re.MULTILINE)
    resources = read_resources(builder.build(source, target))
    without_granule = replace(architecture, lds_granule_bytes=4)
    ours = [
        occupancy(each, without_granule, work_items=each.most_work_items).waves_per_simd
        for each in (resources[f"k{index}"] for index in range(len(SHAPES)))
    ]
    assert ours == [int(count) for count in reported]


def assembly(builder, source, target, folder):
    command = [builder.compiler.program, "clang", "-x", "hip", "--cuda-device-only", f"--offload-arch={target}"]
    command += ["-nogpulib", "-nogpuinc", "-nostdinc", "-O3", f"-I{DEVICE_HEADERS}", "-include", "hip_device.h"]
    subprocess.run([*command, "-S", source.file, "-o", folder / "k.s"], check=True, env={})
    return (folder / "k.s").read_text()


NEEDS = {
    "vgprs": st.integers(0, 512),
    "sgprs": st.integers(0, 112),
    "lds_bytes": st.integers(0, 70000),
    "is_processor_mode": st.booleans(),
}


@given(
    name=st.sampled_from(list(ARCHITECTURES)),
    work_items=st.integers(1, 1024),
    taken=st.fixed_dictionaries(NEEDS),
    more=st.fixed_dictionaries({key: st.integers(0, 100) for key in ("vgprs", "sgprs", "lds_bytes")}),
)
def test_more_needs_never_hold_more(plain_resources, name, work_items, taken, more):
    architecture = ARCHITECTURES[name]
    resources = replace(plain_resources, wavefront=architecture.wavefront, **taken)
    needier = replace(resources, **{key: getattr(resources, key) + value for key, value in more.items()})
    held, less = (occupancy(each, architecture, work_items=work_items) for each in (resources, needier))
    assert 0 <= less.waves <= held.waves <= held.most_waves
    assert held.waves == held.work_groups * -(-work_items // architecture.wavefront)
    assert held.limited_by


def test_features_change_no_figure():
    assert architecture_of("gfx90a:sramecc+:xnack-") is ARCHITECTURES["gfx90a"]


def test_an_unknown_architecture_is_named_with_the_known_ones():
    with pytest.raises(SettingsError, match="'gfx1010' offers is not known here; known: gfx90a, gfx942"):
        architecture_of("gfx1010")


@pytest.mark.parametrize(
    ("target", "told"), [("gfx90a", 110), ("gfx942", 304), ("gfx950", 256), ("gfx1100", 96 // 2), ("gfx1201", 64 // 2)]
)
def test_compute_units_are_those_that_the_runtime_tells(target, told):
    """HIP counts the work-group processors of RDNA: defaults and data bases are those of a real card."""
    assert planned_device(target).compute_units == told


@pytest.mark.parametrize("target", ARCHITECTURES)
def test_a_planned_device_is_one_that_solvers_can_plan_for(target):
    info = planned_device(f"{target}:xnack-")
    assert (info.backend, info.arch, info.uid) == ("hip", target, f"{target}:xnack-")
    assert info.wavefront in (32, 64)
    assert info.lds_bytes >= 65536
    assert info.compute_units > 0
