"""What a code object says of its kernels is read, and damage is told apart from everything else."""

import sys
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_miopen_perf.codeobject import metadata
from pytest_miopen_perf.codeobject.compile import PROBE
from pytest_miopen_perf.codeobject.metadata import kernel_resources, read_resources
from pytest_miopen_perf.errors import CodeObjectError, DeviceUnavailableError

REGISTERS = """
extern "C" __global__ void __launch_bounds__(64) arch_only(float* p) { asm volatile("" ::: "v99"); *p = 1; }
extern "C" __global__ void __launch_bounds__(64) with_agprs(float* p) { asm volatile("" ::: "v99", "a40"); *p = 1; }
"""
SCRATCH = """
extern "C" __global__ void __launch_bounds__(64) k(float* p, const int* where)
{
    float local[64];
    for(int i = 0; i < 64; ++i) local[i] = p[i * where[i]];
    p[0] = local[where[0]] + local[where[1]];
}
"""
SPILLING = """
extern "C" __global__ void __launch_bounds__(64) __attribute__((amdgpu_num_vgpr(24))) k(float* p)
{
    float kept[48];
#pragma unroll
    for(int i = 0; i < 48; ++i) kept[i] = p[i * 64 + threadIdx.x];
    __syncthreads();
#pragma unroll
    for(int i = 0; i < 48; ++i) p[threadIdx.x * 48 + i] = kept[i] * kept[(i * 7 + 3) % 48];
}
"""


@pytest.fixture(scope="module")
def code_object(builder):
    return builder.build(PROBE, "gfx942")


def test_a_kernel_is_read_as_it_was_written(code_object):
    (kernel,) = read_resources(code_object).values()
    assert (kernel.name, kernel.target) == ("probe", "gfx942")
    assert kernel.lds_bytes == 256 * 4
    assert (kernel.wavefront, kernel.most_work_items) == (64, 256)
    assert (kernel.vgpr_spills, kernel.sgpr_spills, kernel.scratch_bytes) == (0, 0, 0)
    assert 0 < kernel.vgprs <= 512
    assert 0 < kernel.sgprs <= 112
    assert kernel.code_bytes > 100
    explicit = [(argument.offset, argument.size, argument.kind) for argument in kernel.args if not argument.is_hidden]
    assert explicit == [(0, 8, "global_buffer"), (8, 8, "global_buffer"), (16, 4, "by_value")]
    assert any(argument.is_hidden for argument in kernel.args)
    assert kernel.kernarg_bytes >= 20


@pytest.mark.parametrize(("target", "wavefront", "is_spread"), [("gfx90a", 64, False), ("gfx1100", 32, True)])
def test_waves_and_work_group_processors(builder, target, wavefront, is_spread):
    kernel = kernel_resources(builder.build(PROBE, target), "probe")
    assert (kernel.wavefront, kernel.is_processor_mode) == (wavefront, is_spread)


def test_accumulation_registers_are_among_the_vector_registers_of_a_unified_file(builder, hip_file):
    kernels = read_resources(builder.build(hip_file(REGISTERS), "gfx90a"))
    assert (kernels["arch_only"].vgprs, kernels["arch_only"].agprs) == (100, 0)
    assert (kernels["with_agprs"].vgprs, kernels["with_agprs"].agprs) == (141, 41)


def test_scratch_is_seen(builder, hip_file):
    assert kernel_resources(builder.build(hip_file(SCRATCH), "gfx1201"), "k").scratch_bytes >= 256


@pytest.mark.parametrize("target", ["gfx942", "gfx1100"])
def test_spills_are_seen(builder, hip_file, target):
    kernel = kernel_resources(builder.build(hip_file(SPILLING), target), "k")
    assert kernel.vgpr_spills > 0
    assert kernel.scratch_bytes > 0


def test_a_kernel_that_is_not_there_is_named_with_those_that_are(code_object):
    with pytest.raises(CodeObjectError, match="no kernel 'other'; it holds: probe"):
        kernel_resources(code_object, "other")


@pytest.mark.parametrize("data", [b"", b"\x7fELF", b"not an ELF file at all", b"\x7fELF" + bytes(60)])
def test_what_is_no_code_object_is_refused(builder, data):
    with pytest.raises(CodeObjectError, match="no ELF file, or a damaged one"):
        read_resources(data)


def test_the_code_of_another_machine_is_refused(builder):
    with pytest.raises(CodeObjectError, match="not for an AMD GPU"):
        read_resources(Path(sys.executable).resolve().read_bytes())


@pytest.mark.parametrize("key", [".vgpr_count", ".kernarg_segment_size", ".value_kind", "amdhsa.kernels"])
def test_a_missing_key_is_named(code_object, key):
    misspelt = code_object.replace(key.encode(), key[:-1].encode() + b"?")
    with pytest.raises(CodeObjectError, match=f"damaged: {key} is missing"):
        read_resources(misspelt)


@pytest.mark.parametrize(
    ("written", "damaged", "what"),
    [
        (b".wavefront_size\x40", b".wavefront_size\x00", "a wave of 0 work-items"),
        (b".wavefront_size\x40", b".wavefront_size\x30", "a wave of 48 work-items"),
        (b".max_flat_workgroup_size\xcd\x01\x00", b".max_flat_workgroup_size\xcd\x00\x00", "flat_workgroup_size is 0"),
        (b".vgpr_spill_count\x00", b".vgpr_spill_count\xff", r"\.vgpr_spill_count is -1"),
        (b".offset\x00", b".offset\xff", r"\.offset is -1"),
    ],
)
def test_a_count_that_counts_nothing_is_damage(code_object, written, damaged, what):
    """A flipped bit must not become a division by zero, or fewer spills than none."""
    assert written in code_object
    with pytest.raises(CodeObjectError, match=f"damaged: .*{what}"):
        read_resources(code_object.replace(written, damaged))


def test_a_kernel_without_code_is_refused(code_object):
    with pytest.raises(CodeObjectError, match="names the kernel 'prob3', and the symbol table has no such function"):
        read_resources(code_object.replace(b"\xa5.name\xa5probe", b"\xa5.name\xa5prob3"))


def test_a_file_without_the_note_is_refused(code_object):
    with pytest.raises(CodeObjectError, match="no AMDGPU metadata note"):
        read_resources(code_object.replace(b"AMDGPU\0\0", b"OTHERS\0\0"))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(data=st.data())
def test_damage_is_one_typed_error_or_harmless(code_object, data):
    damaged = bytearray(code_object)
    for _ in range(data.draw(st.integers(1, 6), label="bytes")):
        damaged[data.draw(st.integers(0, len(damaged) - 1), label="place")] = data.draw(st.integers(0, 255))
    length = data.draw(st.integers(0, len(damaged)) | st.just(len(damaged)), label="length")
    with suppress(CodeObjectError):
        read_resources(bytes(damaged[:length]))


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(place=st.integers(0, 10**6), value=st.integers(0, 255), is_metadata=st.booleans())
def test_damage_where_it_hurts(code_object, place, value, is_metadata):
    """The same, aimed at the headers and at the metadata."""
    note = code_object.index(b"AMDGPU\0\0")
    start, length = (note, 1200) if is_metadata else (0, 64 * 5)
    damaged = bytearray(code_object)
    damaged[start + place % length] = value
    with suppress(CodeObjectError):
        read_resources(bytes(damaged))


@pytest.mark.parametrize(("absent", "package"), [("elftools", "pyelftools"), ("msgpack", "msgpack")])
def test_a_missing_reader_says_what_to_install(monkeypatch, absent, package):
    find_spec = metadata.importlib.util.find_spec
    monkeypatch.setattr(metadata.importlib.util, "find_spec", lambda name: None if name == absent else find_spec(name))
    with pytest.raises(DeviceUnavailableError, match=rf"without {absent}: pip install '{package}>="):
        read_resources(b"\x7fELF")
