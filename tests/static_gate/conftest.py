"""Inner sessions whose code objects stay in the outer session's cache, and two kernels of a user's own."""

import functools

import pytest
from inner_sessions import import_all

from pytest_miopen_perf.codeobject import gate

import_all()

LINE = "MIOpenDriver conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1"
PROBLEM = "fp32-F-1x4x6x6-k4-3x3-p1"
NAIVE = "HipConvNaiveFwd-naive_conv_fwd"

_REVERSE = """
extern "C" __global__ void __launch_bounds__(64) k(const float* x, float* y)
{
    __shared__ float tile[TILE];
    tile[threadIdx.x] = x[threadIdx.x];
    __syncthreads();
    y[threadIdx.x] = tile[63 - threadIdx.x];
}
"""
_SPILLING = """
extern "C" __global__ void __launch_bounds__(64) __attribute__((amdgpu_num_vgpr(24))) k(const float* x, float* y)
{
    float kept[48];
#pragma unroll
    for(int i = 0; i < 48; ++i) kept[i] = x[i * 64 + threadIdx.x];
    __syncthreads();
#pragma unroll
    for(int i = 0; i < 48; ++i) y[threadIdx.x * 48 + i] = kept[i] * kept[(i * 7 + 3) % 48];
}
"""


@pytest.fixture(autouse=True)
def _needs_the_compiler(monkeypatch):
    monkeypatch.delenv("MIOPEN_PERFORMANCE_LOGS", raising=False)
    if reason := gate.probe():
        pytest.skip(reason)


@pytest.fixture
def run_all(pytester, request):
    """An inner session on the scripted device, with a folder of code objects that stays."""
    cache = request.config.cache.mkdir("miopen-perf-codeobject")

    def make(*arguments, **how):
        options = ("--miopen-perf-backend=scripted", f"--miopen-perf-cache={cache}")
        return pytester.runpytest(*options, *arguments, **how)

    return make


@pytest.fixture
def run(run_all):
    """The same with the naive solver alone: a kernel a problem and target."""
    return functools.partial(run_all, "--miopen-perf-solver=HipConvNaive*")


@pytest.fixture
def convolution_test(pytester):
    """One test function over the problems of the marker."""

    def make(*lines, marks="", fixtures="miopen_perf, conv_problem", body="miopen_perf(conv_problem)"):
        pytester.makepyfile(
            test_conv=f"""
            import pytest

            @pytest.mark.miopen_perf(problems={list(lines) or [LINE]!r})
            {marks}
            def test_conv({fixtures}):
                {body}
            """
        )

    return make


@pytest.fixture
def kernel_file(pytester):
    """`k.hip` in the inner session's folder: one that is clean, or one that spills, under the same name."""

    def write(kind):
        (pytester.path / "k.hip").write_text({"clean": _REVERSE, "spilling": _SPILLING}[kind])

    return write


@pytest.fixture
def kernel_test(pytester):
    """One test function with the fixture for own kernels."""

    def make(body):
        lines = "\n                ".join(body.splitlines())
        pytester.makepyfile(
            test_own=f"""
            def test_own(miopen_perf_code_object):
                {lines}
            """
        )

    return make
