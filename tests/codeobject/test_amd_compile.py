"""Kernel text becomes code objects: with an empty PATH, cached, in time, and in the compiler's words when it fails."""

import _thread
import threading
import time

import pytest

from pytest_miopen_perf.codeobject import compile as amd_compile
from pytest_miopen_perf.codeobject.compile import PROBE, CodeObjectBuilder
from pytest_miopen_perf.codeobject.metadata import read_resources
from pytest_miopen_perf.codeobject.toolchain import AmdCompiler
from pytest_miopen_perf.errors import CompileError, PerfWarning
from pytest_miopen_perf.launch import KernelSource

COPY = 'extern "C" __global__ void k(const float* x, float* y) { y[threadIdx.x] = x[blockIdx.x]; }'
EVERYTHING = """
#include <hip/hip_runtime.h>
#include "index.h"
extern "C" __global__ void __launch_bounds__(BLOCK, 2) k(float* p, int* q, unsigned long long* r, double* d)
{
    extern __shared__ float tile[];
    __shared__ float4 rows[4];
    const int i = (int)first_index();
    tile[i] = min(max(p[i], 0.0f), __expf(p[i + 1])) + sqrtf(p[i]) + fmaf(p[2], p[3], floorf(p[4])) + rsqrtf(p[5]);
    rows[i & 3] = make_float4(p[i], 1.0f, 2.0f, __shfl_down(p[i], 1));
    __syncthreads();
    atomicAdd(&p[i], tile[i + 1] + rows[i & 1].w);
    unsafeAtomicAdd(&p[i], __shfl_xor(p[i], 3, 8));
    atomicMax(q, atomicCAS(q, 1, 2) + __popc((unsigned)i) + __clz(i));
    d[i] = fma(d[i], d[i + 1], __shfl(d[i], 2)) + __int_as_float(i);
    *r = __ballot(i > 3) + (__all(i) && __any(i)) + __lane_id() + warpSize + gridDim.x * blockDim.y;
    __threadfence();
}
"""


@pytest.mark.parametrize("target", ["gfx90a", "gfx942", "gfx950", "gfx1100", "gfx1201", "gfx1250"])
def test_the_whole_dialect_compiles(builder, hip_file, target):
    if reason := builder.refusal(target):
        pytest.skip(reason)
    source = hip_file(EVERYTHING, defines=(("BLOCK", "256"),))
    kernel = read_resources(builder.build(source, target))["k"]
    assert kernel.target == target
    assert kernel.most_work_items == 256


def test_features_of_a_target_are_kept(builder):
    target = "gfx90a:sramecc+:xnack-"
    assert builder.refusal(target) == ""
    assert read_resources(builder.build(PROBE, target))["probe"].target == target


def test_a_feature_that_the_processor_lacks_is_refused_in_the_compilers_words(builder):
    assert "invalid target ID" in builder.refusal("gfx1100:xnack-")


def test_an_unknown_processor_is_refused_without_compiling(builder):
    assert "does not know gfx9999" in builder.refusal("gfx9999")


def test_the_log_of_a_failure_is_kept(builder, hip_file):
    with pytest.raises(CompileError, match=r"k of .* for gfx942 does not compile") as caught:
        builder.build(hip_file("this is no kernel"), "gfx942")
    assert "kernel.hip:1:1: error:" in caught.value.log


def test_a_function_that_needs_the_device_libraries_does_not_link(builder, hip_file):
    text = 'extern "C" __device__ float sinh_of(float); extern "C" __global__ void k(float* p) { *p = sinh_of(*p); }'
    with pytest.raises(CompileError) as caught:
        builder.build(hip_file(text), "gfx942")
    assert "undefined" in caught.value.log
    assert "sinh_of" in caught.value.log


def test_a_missing_file_is_named(builder, tmp_path):
    with pytest.raises(CompileError, match=r"nowhere\.hip"):
        builder.build(KernelSource(file=str(tmp_path / "nowhere.hip"), entry="k"), "gfx942")


def test_the_binary_does_not_depend_on_the_environment(builder, hip_file, tmp_path, monkeypatch):
    source = hip_file("#include <float_of.h>\n" + COPY)
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "float_of.h").write_text("")
    monkeypatch.setenv("CPATH", str(tmp_path / "elsewhere"))
    with pytest.raises(CompileError, match=r"float_of.h' file not found"):
        builder.build(source, "gfx942")


def counted(monkeypatch):
    """How often a compiler process starts from now on."""
    started = []
    run = amd_compile.run_compiler
    monkeypatch.setattr(amd_compile, "run_compiler", lambda *words: started.append(words) or run(*words))
    return started


def test_a_second_build_comes_from_the_cache(builder, hip_file, tmp_path, monkeypatch):
    started = counted(monkeypatch)
    first, second = (CodeObjectBuilder(builder.compiler, tmp_path / "cache") for _ in range(2))
    source = hip_file(COPY)
    code_object = first.build(source, "gfx942")
    assert len(started) == 3
    assert second.build(source, "gfx942") == code_object
    assert len(started) == 3


@pytest.mark.parametrize("change", ["text", "header", "define", "option", "target"])
def test_what_changes_the_binary_changes_its_key(builder, hip_file, tmp_path, monkeypatch, change):
    started = counted(monkeypatch)
    fresh = CodeObjectBuilder(builder.compiler, tmp_path / "cache")
    (tmp_path / "own.h").write_text("#define OWN 1\n")
    text = '#include "own.h"\n' + COPY
    fresh.build(hip_file(text), "gfx942")
    if change == "header":
        (tmp_path / "own.h").write_text("#define OWN 2\n")
    fresh.build(
        hip_file(
            text + ("// more" if change == "text" else ""),
            defines=(("A", "1"),) if change == "define" else (),
            options=("-O1",) if change == "option" else (),
        ),
        "gfx90a" if change == "target" else "gfx942",
    )
    assert len(started) == 6


def test_a_header_in_a_folder_of_an_option_changes_the_binary(builder, hip_file, tmp_path):
    fresh = CodeObjectBuilder(builder.compiler, tmp_path / "cache")
    header = tmp_path / "elsewhere" / "size.h"
    header.parent.mkdir()
    text = """
        #import "size.h"
        extern "C" __global__ void k(float* y)
        {
            __shared__ float s[64 * N];
            s[threadIdx.x] = y[threadIdx.x];
            __syncthreads();
            y[threadIdx.x] = s[threadIdx.x ^ 1];
        }
    """
    source = hip_file(text, options=(f"-I{header.parent}",))
    sizes = []
    for count in (1, 2):
        header.write_text(f"#define N {count}\n")
        sizes.append(read_resources(fresh.build(source, "gfx942"))["k"].lds_bytes)
    assert sizes == [256, 512]


def test_an_option_that_the_cache_cannot_follow_is_refused(builder, hip_file):
    with pytest.raises(CompileError, match="which is no absolute path"):
        builder.build(hip_file(COPY, options=("-Iinclude",)), "gfx942")


def test_one_binary_serves_every_kernel_of_a_file(builder, hip_file, tmp_path, monkeypatch):
    started = counted(monkeypatch)
    fresh = CodeObjectBuilder(builder.compiler, tmp_path / "cache")
    text = COPY + COPY.replace(" k(", " other(")
    assert fresh.build(hip_file(text, "k"), "gfx942") == fresh.build(hip_file(text, "other"), "gfx942")
    assert len(started) == 3


def test_many_are_built_at_once_and_a_failure_spoils_only_itself(builder, hip_file, tmp_path):
    good = hip_file(COPY)
    bad = hip_file("no", name="bad.hip")
    threads = set()
    fresh = CodeObjectBuilder(builder.compiler, tmp_path / "cache", threads=2)
    build = fresh.build
    fresh.build = lambda *pair: threads.add(threading.current_thread().name) or build(*pair)
    first, failed, again, other = fresh.build_all(
        [(good, "gfx942"), (bad, "gfx942"), (good, "gfx942"), (good, "gfx90a")]
    )
    assert isinstance(failed, CompileError)
    assert first is again
    assert first != other
    assert all(name.startswith("miopen-perf-amd") for name in threads)


@pytest.mark.usefixtures("heeds_interrupts")
def test_an_interrupt_starts_no_further_compiler(builder, tmp_path):
    fresh = CodeObjectBuilder(builder.compiler, tmp_path / "cache", threads=2)
    started = []

    def build(source, target):
        started.append(source)
        if len(started) == 4:
            _thread.interrupt_main()
        time.sleep(0.02)
        return b""

    fresh.build = build
    wanted = [(KernelSource(file=f"{number}.hip", entry="k"), "gfx942") for number in range(200)]
    with pytest.raises(KeyboardInterrupt):
        fresh.build_all(wanted)
    assert len(started) < len(wanted)


def fake(program):
    return AmdCompiler(program=program, version="fake 1", processors=frozenset({"gfx942"}))


def test_a_compiler_that_hangs_is_stopped(stand_in, tmp_path, hip_file):
    slow = CodeObjectBuilder(fake(stand_in("exec /bin/sleep 60")), tmp_path / "cache", timeout_s=0.2)
    with pytest.raises(CompileError, match=r"was stopped after 0\.2 s"):
        slow.build(hip_file(COPY), "gfx942")


def test_a_compiler_that_writes_nothing_is_caught(stand_in, tmp_path, hip_file):
    silent = CodeObjectBuilder(fake(stand_in("exit 0")), tmp_path / "cache")
    with pytest.raises(CompileError, match="reported success and wrote no code object"):
        silent.build(hip_file(COPY), "gfx942")


def test_a_compiler_that_is_gone_is_named(tmp_path, hip_file):
    gone = CodeObjectBuilder(fake(str(tmp_path / "no-zig")), tmp_path / "cache")
    with pytest.raises(CompileError, match="does not start"):
        gone.build(hip_file(COPY), "gfx942")


def test_a_compiler_that_names_a_target_must_manage_a_kernel(stand_in, tmp_path):
    crashing = CodeObjectBuilder(fake(stand_in("echo stack dump; kill -ABRT $$")), tmp_path / "cache")
    reason = crashing.refusal("gfx942")
    assert "names gfx942 and cannot compile for it" in reason
    assert "stack dump" in reason


def test_a_compiler_gets_an_empty_path_and_a_folder_that_goes(stand_in, tmp_path, hip_file):
    spy = stand_in(f'echo "$PATH|$HOME|$TMPDIR" > {tmp_path}/seen; exit 1')
    with pytest.raises(CompileError):
        CodeObjectBuilder(fake(spy), tmp_path / "cache").build(hip_file(COPY), "gfx942")
    path, home, folder = (tmp_path / "seen").read_text().strip().split("|")
    assert (path, home) == ("/nonexistent", "")
    assert folder.startswith("/")
    assert not amd_compile.Path(folder).exists()


def test_a_cache_that_cannot_be_written_warns_once(builder, hip_file, tmp_path):
    (tmp_path / "file").write_text("in the way")
    blocked = CodeObjectBuilder(builder.compiler, tmp_path / "file" / "cache")
    with pytest.warns(PerfWarning, match="compile cache"):
        code_object = blocked.build(hip_file(COPY), "gfx942")
    assert blocked.build(hip_file(COPY), "gfx942") == code_object
    blocked.close()
