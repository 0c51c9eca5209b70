"""NVIDIA without a card: the reason in words, and the HIP text through NVRTC where its wheel is installed."""

import enum
import sys
from types import SimpleNamespace

import pytest

from pytest_miopen_perf.devices import DeviceOptions, cuda
from pytest_miopen_perf.errors import CompileError, DeviceUnavailableError
from pytest_miopen_perf.launch import DeviceInfo, KernelSource
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.solvers import builtin_solvers

H200 = DeviceInfo(
    backend="cuda",
    name="H200",
    arch="sm_90a",
    compute_units=132,
    wavefront=32,
    lds_bytes=232448,
    memory_bytes=2**37,
)


@pytest.fixture(scope="module")
def driver():
    """The compiling half of the driver; the other half needs a card."""
    nvrtc = pytest.importorskip("cuda.bindings.nvrtc", reason="cuda-bindings is not installed")
    try:
        nvrtc.nvrtcVersion()
    except (RuntimeError, OSError) as error:
        pytest.skip(f"NVRTC is not installed: {error}")
    driver = object.__new__(cuda.CudaDriver)
    driver._nvrtc = nvrtc
    driver._info = H200
    return driver


def source(tmp_path, text, **fields):
    path = tmp_path / "kernel.hip"
    path.write_text(text)
    return KernelSource(file=str(path), entry="kernel", **fields)


def test_the_reason_is_told_in_words_and_never_raised():
    reason = cuda.probe(DeviceOptions())
    if not reason:
        pytest.skip("there is a card")
    assert "NVIDIA GPU" in reason or "pip install" in reason
    with pytest.raises(DeviceUnavailableError, match=r"NVIDIA GPU|pip install"):
        cuda.open_device(DeviceOptions())


def test_bindings_that_are_missing_say_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "cuda.bindings", SimpleNamespace())
    assert "pip install 'cuda-bindings>=12.8'" in cuda.probe(DeviceOptions())


class Status(enum.Enum):
    CUDA_SUCCESS = 0
    CUDA_ERROR_DEVICE_UNAVAILABLE = 46


DONE, REFUSED = (Status.CUDA_SUCCESS,), (Status.CUDA_ERROR_DEVICE_UNAVAILABLE,)


@pytest.fixture
def bindings(monkeypatch):
    """A machine with one card, as far as opening it goes; what a test changes of it, it refuses."""
    driver = SimpleNamespace(
        CUresult=Status,
        cuInit=lambda flags: DONE,
        cuDeviceGetCount=lambda: (*DONE, 1),
        cuDeviceGet=lambda ordinal: (*DONE, "device"),
        cuDevicePrimaryCtxRetain=lambda device: (*DONE, "context"),
        cuDevicePrimaryCtxRelease=lambda device: given_back.append(device) or DONE,
        cuCtxSetCurrent=lambda context: DONE,
        cuMemFree=lambda memory: given_back.append(memory) or DONE,
        cuModuleUnload=lambda module: given_back.append(module) or DONE,
        cuEventDestroy=lambda event: given_back.append(event) or DONE,
        cuGetErrorString=lambda status: (*DONE, b"the card is busy"),
        given_back=(given_back := []),
    )
    nvrtc = SimpleNamespace(nvrtcVersion=lambda: ("NVRTC_SUCCESS", 13, 0))
    monkeypatch.setitem(sys.modules, "cuda.bindings", found := SimpleNamespace(driver=driver, nvrtc=nvrtc))
    return found


def test_a_card_without_a_compiler_beside_it_is_a_reason(bindings):
    def absent():
        raise RuntimeError("libnvrtc.so is not found")

    bindings.nvrtc.nvrtcVersion = absent
    reason = cuda.probe(DeviceOptions())
    assert reason.startswith("there is no compiler for the NVIDIA GPU 0: libnvrtc.so is not found; pip install ")
    with pytest.raises(DeviceUnavailableError) as error:
        cuda.open_device(DeviceOptions())
    assert str(error.value) == reason


def test_a_card_that_cannot_be_opened_is_unavailable_in_the_drivers_words(bindings):
    bindings.driver.cuDevicePrimaryCtxRetain = lambda device: REFUSED
    assert cuda.probe(DeviceOptions()) == ""
    with pytest.raises(DeviceUnavailableError, match=r"the card is busy \(CUDA_ERROR_DEVICE_UNAVAILABLE\)"):
        cuda.open_device(DeviceOptions())
    assert bindings.driver.given_back == []


def test_a_card_that_cannot_be_described_gets_its_context_back(bindings):
    bindings.driver.cuCtxSetCurrent = lambda context: REFUSED
    with pytest.raises(DeviceUnavailableError, match="the card is busy"):
        cuda.open_device(DeviceOptions())
    assert bindings.driver.given_back == ["device"]


@pytest.mark.parametrize("function", ["free", "unload", "destroy_event"])
def test_a_lost_card_is_no_reason_to_stop_giving_back(bindings, function):
    """A launch that failed has been told; its buffers are freed on the way out, and must not tell something else."""
    driver = object.__new__(cuda.CudaDriver)
    driver._cuda, driver._context = bindings.driver, "context"
    bindings.driver.cuCtxSetCurrent = lambda context: REFUSED
    getattr(driver, function)("handle")
    assert bindings.driver.given_back == ["handle"]


@pytest.mark.parametrize("base", ["conv", "convfp16", "convbfp16", "convint8"])
def test_every_solvers_text_is_taken_by_nvrtc(driver, base):
    lines = [f"{base} -n 2 -c 16 -H 9 -W 9 -k 16 -y 3 -x 3 -p 1 -q 1 -F {bit}" for bit in (1, 2, 4)]
    lines += [
        f"{base} -n 2 -c 16 -H 9 -W 9 -k 16 -y 1 -x 1 -F 1",
        f"{base} -n 2 -c 8 -H 9 -W 9 -k 8 -y 3 -x 3 -g 8 -F 0",
    ]
    kernels = {
        launch.kernel
        for line in lines
        for problem in ConvProblem.from_driver(line)
        for solver in builtin_solvers()
        if solver.refusal(problem, H200) is None
        for launch in solver.solution(problem, H200, solver.default_config(problem, H200)).launches
    }
    assert kernels
    for kernel in kernels:
        assert driver.compile(kernel)[:4] == b"\x7fELF"


def test_a_half_is_as_trivial_as_the_built_in_one(driver, tmp_path):
    """`_Float16 zero = {};` is zero: with a constructor of its own it would stay unset."""
    text = (
        "static_assert(__is_trivial(_Float16) && sizeof(_Float16) == 2);\n"
        "constexpr _Float16 zero = {};\nstatic_assert(zero.bits == 0);\n"
        'extern "C" __global__ void kernel(_Float16* y) { y[threadIdx.x] = zero; }\n'
    )
    assert driver.compile(source(tmp_path, text))


def test_a_text_that_does_not_compile_keeps_nvrtcs_words_and_its_own_line(driver, tmp_path):
    with pytest.raises(CompileError, match="kernel of") as error:
        driver.compile(source(tmp_path, 'extern "C" __global__ void kernel() {\n  no_such_name();\n}\n'))
    assert "no_such_name" in error.value.log
    assert "kernel.hip(2)" in error.value.log


def test_a_missing_file_is_named(driver):
    with pytest.raises(CompileError, match=r"no_such\.hip"):
        driver.compile(KernelSource(file="no_such.hip", entry="kernel"))
