"""What is read from a kernel's text before a compiler sees it."""

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf.devices import host_source
from pytest_miopen_perf.devices.host_source import digest_of, host_unit
from pytest_miopen_perf.errors import CompileError
from pytest_miopen_perf.launch import KernelSource

KERNEL = 'extern "C" __global__ void k(float* y) { BODY }\n'


@pytest.fixture
def unit_of(tmp_path):
    def unit(body="", header=None, **fields):
        (tmp_path / "k.hip").write_text(
            ('#include "h.h"\n' if header is not None else "") + KERNEL.replace("BODY", body)
        )
        if header is not None:
            (tmp_path / "h.h").write_text(header)
        return host_unit(KernelSource(file=str(tmp_path / "k.hip"), entry="k", **fields))

    return unit


@pytest.mark.parametrize(
    "call",
    [
        "__syncthreads()",
        "y[0] = __shfl_xor(y[0], 1)",
        "__ballot(1)",
        "__syncwarp ()",
        'say("/*"); __syncthreads(); say("*/")',
    ],
)
def test_a_text_that_synchronises(unit_of, call):
    assert unit_of(f"{call};").synchronises
    assert unit_of("helper();", header=f"void helper() {{ {call}; }}").synchronises


@pytest.mark.parametrize(
    "body", ["", "// __syncthreads();\n", "/* __shfl(y[0],\n 1) */", "my__syncthreads();", "__shfl_table[0];"]
)
def test_a_text_that_does_not(unit_of, body):
    assert not unit_of(body).synchronises


@pytest.mark.parametrize(
    ("declaration", "names"),
    [
        ("extern __shared__ float tile[];", ["tile"]),
        ("extern __shared__ __align__(16) unsigned char tile [ ] ;", ["tile"]),
        ("extern __attribute__((aligned(16))) __shared__ float4 tile[];", ["tile"]),
        ("HIP_DYNAMIC_SHARED(float, tile)", ["tile"]),
        ("extern __shared__ int b[];\n if(1) { extern __shared__ int a[]; }", ["a", "b"]),
        ("__shared__ float tile[64];", []),
        ("// extern __shared__ float tile[];\n", []),
        ("extern int x[]; __shared__ float tile[64];", []),
    ],
)
def test_arrays_of_dynamic_shared_memory_are_found(unit_of, declaration, names):
    text = unit_of(declaration).text
    assert [name for name in ("a", "b", "tile") if f".globl {name}\\n" in text] == names


@pytest.mark.parametrize("entry", ["", "k<float>", "k();", "1k"])
def test_an_entry_that_is_no_name_is_refused(entry):
    with pytest.raises(CompileError, match="entry"):
        host_unit(KernelSource(file="conv_naive.hip", entry=entry))


def test_a_missing_file_is_named():
    with pytest.raises(CompileError, match=r"/nowhere/k\.hip"):
        host_unit(KernelSource(file="/nowhere/k.hip", entry="k"))


def test_a_text_that_is_no_text_is_named(tmp_path):
    (tmp_path / "k.hip").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(CompileError, match=r"k\.hip"):
        host_unit(KernelSource(file=str(tmp_path / "k.hip"), entry="k"))


def test_an_include_through_a_macro_is_refused(tmp_path):
    (tmp_path / "k.hip").write_text("#define HEADER <a.h>\n#include HEADER\n")
    with pytest.raises(CompileError, match=r"k\.hip has '#include HEADER'"):
        host_unit(KernelSource(file=str(tmp_path / "k.hip"), entry="k"))


def test_headers_that_include_each_other_are_read_once(tmp_path):
    for name, other in (("k.hip", "a.h"), ("a.h", "b.h"), ("b.h", "a.h")):
        (tmp_path / name).write_text(f'#pragma once\n#include "{other}"\n')
    first = host_unit(KernelSource(file=str(tmp_path / "k.hip"), entry="k")).digest
    (tmp_path / "b.h").write_text("#pragma once\n")
    assert host_unit(KernelSource(file=str(tmp_path / "k.hip"), entry="k")).digest != first


def test_whatever_decides_the_binary_decides_the_digest(unit_of, monkeypatch, tmp_path):
    units = [
        unit_of(),
        unit_of("y[0] = 1;"),
        unit_of(header=""),
        unit_of(header="int x;"),
        unit_of(defines=(("A", "1"),)),
        unit_of(defines=(("A", "2"),)),
        unit_of(defines=(("A", "1"), ("B", "2"))),
        unit_of(defines=(("B", "2"), ("A", "1"))),
        unit_of(options=("-O1",)),
        unit_of(options=("-DA=1",)),
    ]
    (tmp_path / "hip_host.h").write_text("// another host header")
    monkeypatch.setattr(host_source, "HOST_HEADERS", tmp_path)
    units.append(unit_of())
    digests = [unit.digest for unit in units]
    assert len(set(digests)) == len(digests)


def test_the_place_of_the_text_does_not_decide_it(tmp_path):
    digests = set()
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "k.hip").write_text(KERNEL)
        digests.add(host_unit(KernelSource(file=str(tmp_path / folder / "k.hip"), entry="k")).digest)
    assert len(digests) == 1


def test_a_unit_is_plain_data(unit_of):
    assert unit_of() == dataclasses.replace(unit_of())


@given(st.lists(st.text(max_size=6), max_size=5), st.lists(st.text(max_size=6), max_size=5))
def test_different_sequences_have_different_digests(one, other):
    assert (digest_of(one) == digest_of(other)) == (one == other)


def test_the_kernels_of_a_text_are_told(tmp_path):
    path = tmp_path / "k.hip"
    path.write_text("""
extern "C" __global__ void __launch_bounds__(64) first(int n) {}
extern "C" __launch_bounds__(BLOCK * 2) __global__
void __attribute__((amdgpu_num_vgpr(24))) second(float* y);
__device__ float helper(float x) { return x; }
// __global__ void commented(int n) {}
template <class T> __global__ void third(T* y) { helper(1); }
""")
    unit = host_unit(KernelSource(file=str(path), entry="absent"))
    assert unit.kernels == ("first", "second", "third")
