"""What the driver makes of each failure; runs on the stand-in library only, in a child of `test_standin.py`.

The stand-in reads its environment at every call, so that a test makes a fault by setting a variable.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hip import hip as runtime

from pytest_miopen_perf.devices import DeviceOptions, DevicePointer, hip
from pytest_miopen_perf.errors import CompileError, DeviceError, DeviceUnavailableError, LaunchError, OutOfMemoryError
from pytest_miopen_perf.launch import KernelSource, Scalar

TEXT = """
extern "C" __global__ void scale(float* y, int n, float factor)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if(i < n) y[i] *= factor;
}
"""
OUT_OF_MEMORY, INVALID_DEVICE, LAUNCH_FAILURE = 2, 101, 719


@pytest.fixture(scope="module")
def options(tmp_path_factory):
    return DeviceOptions(cache_dir=tmp_path_factory.mktemp("cache"))


@pytest.fixture
def device(options):
    device = hip.open_device(options)
    assert device.info.name == "stand-in (CPU)"
    yield device
    device.close()


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    file = tmp_path_factory.mktemp("text") / "scale.hip"
    file.write_text(TEXT)
    return KernelSource(file=str(file), entry="scale")


@pytest.fixture
def fault(monkeypatch):
    """Make functions answer with a status: fault(hipMalloc=2)."""
    return lambda **wishes: monkeypatch.setenv("STANDIN_HIP_FAULTS", ",".join(f"{k}={v}" for k, v in wishes.items()))


@pytest.fixture
def lose_device(monkeypatch):
    return lambda: monkeypatch.setenv("STANDIN_HIP_FAULTS", f"*={LAUNCH_FAILURE}")


@pytest.fixture
def launch(device, source):
    """Launches over 100 elements; the buffer is the attribute `buffer`."""
    kernel = device.compile(source)
    buffer = device.alloc(400)

    def start():
        args = [DevicePointer(buffer), Scalar("n", "i32", 100), Scalar("factor", "f32", 0.5)]
        return device.launch(kernel, (2, 1, 1), (64, 1, 1), args)

    start.buffer = buffer
    return start


def assert_works(device, launch):
    device.upload(launch.buffer, np.arange(100, dtype=np.float32))
    launch().seconds()
    received = np.zeros(100, np.float32)
    device.download(launch.buffer, received)
    np.testing.assert_array_equal(received, np.arange(100) * np.float32(0.5))


def test_the_device_is_what_the_library_says(device):
    info = device.info
    assert (info.arch, info.uid) == ("gfx90a", "5ca1ab1e0ddba11s")
    assert (info.wavefront, info.lds_bytes, info.memory_bytes, info.max_block) == (64, 65536, 2**30, 1024)
    assert info.max_grid == (2147483647, 65536, 65536)
    assert (info.compiler, info.runtime, info.driver) == ("HIPRTC 7.2 of HIP 7.2.26015", "7.2.26015", "7.2.26015")


def test_a_device_without_a_serial_number_is_known_by_its_place(options, monkeypatch):
    monkeypatch.setenv("STANDIN_HIP_UUID", "")
    device = hip.open_device(options)
    assert device.info.uid == "0000:83:00"
    device.close()


def test_no_device(options, monkeypatch):
    monkeypatch.setenv("STANDIN_HIP_DEVICES", "0")
    monkeypatch.setenv("HIP_VISIBLE_DEVICES", "7")
    reason = hip.probe(options)
    assert "the stand-in has no device (hipErrorNoDevice)" in reason
    assert "HIP_VISIBLE_DEVICES='7'" in reason
    with pytest.raises(DeviceUnavailableError) as error:
        hip.open_device(options)
    assert str(error.value) == reason


@pytest.mark.parametrize("device", ["2", "-1", "first"])
def test_a_device_that_is_not_there(options, monkeypatch, device):
    monkeypatch.setenv("STANDIN_HIP_DEVICES", "2")
    assert f"there is no AMD GPU {device}: there are 2, counted from 0" in hip.probe(replace(options, device=device))


def test_the_device_that_is_asked_for_is_used_in_every_thread(options, source, monkeypatch):
    monkeypatch.setenv("STANDIN_HIP_DEVICES", "2")
    device = hip.open_device(replace(options, device="1"))
    assert device.info.ordinal == 1

    def work():
        device.alloc(64).free()
        return runtime.hipGetDevice()[-1]

    with ThreadPoolExecutor(2) as threads:
        assert [threads.submit(work).result() for _ in range(4)] == [1] * 4
    device.close()


@pytest.mark.parametrize(
    "function", ["hipGetDeviceCount", "hipGetDevicePropertiesR0600", "hipRuntimeGetVersion", "hiprtcVersion"]
)
def test_a_runtime_that_fails_while_it_is_looked_at_is_a_reason(options, fault, function):
    fault(**{function: INVALID_DEVICE if not function.startswith("hiprtc") else 1})
    assert "hipErrorInvalidDevice" in hip.probe(options) or "HIPRTC_ERROR_OUT_OF_MEMORY" in hip.probe(options)


def test_a_status_that_the_bindings_do_not_know_is_a_reason(options, fault):
    fault(hipGetDeviceCount=123456)
    assert "123456" in hip.probe(options)


UNKNOWN = 123456
"""A status of a runtime that is newer than the bindings."""


@pytest.mark.parametrize("function", ["hipModuleLaunchKernel", "hipEventRecord", "hipSetDevice", "hipEventCreate"])
def test_a_launch_with_a_status_that_the_bindings_do_not_know_names_its_kernel(device, launch, fault, function):
    fault(**{function: UNKNOWN})
    with pytest.raises(LaunchError, match=rf"scale of .*{UNKNOWN}"):
        launch()


@pytest.mark.parametrize("function", ["hipMalloc", "hipSetDevice"])
def test_memory_with_a_status_that_the_bindings_do_not_know(device, fault, function):
    fault(**{function: UNKNOWN})
    with pytest.raises(DeviceError, match=str(UNKNOWN)):
        device.alloc(16)


@pytest.mark.parametrize("function", ["hiprtcCompileProgram", "hiprtcDestroyProgram"])
def test_a_compiler_with_a_status_that_the_bindings_do_not_know(device, source, fault, function):
    fault(**{function: UNKNOWN})
    fresh = replace(source, defines=(("UNKNOWN", function),))
    if function == "hiprtcDestroyProgram":
        assert device.compile(fresh).compile_seconds > 0
    else:
        with pytest.raises(DeviceError, match=rf"scale of .* cannot be compiled.*{UNKNOWN}"):
            device.compile(fresh)


def test_giving_back_with_a_status_that_the_bindings_do_not_know(device, launch, fault):
    launch().seconds()
    fault(hipFree=UNKNOWN, hipModuleUnload=UNKNOWN, hipEventDestroy=UNKNOWN, hipSetDevice=UNKNOWN)
    device.close()


def test_out_of_memory_names_the_bytes_and_leaves_the_device_usable(device, launch, fault, monkeypatch):
    fault(hipMalloc=OUT_OF_MEMORY)
    with pytest.raises(OutOfMemoryError, match=r"4096 bytes on stand-in \(CPU\): the stand-in is out of memory"):
        device.alloc(4096)
    monkeypatch.delenv("STANDIN_HIP_FAULTS")
    assert_works(device, launch)


def test_memory_that_really_runs_out(device):
    first = device.alloc(2**29)
    with pytest.raises(OutOfMemoryError, match=str(2**30)):
        device.alloc(2**30)
    first.free()
    device.alloc(2**30).free()


USES = {
    "upload": (
        "hipMemcpy",
        lambda device, buffer: device.upload(buffer, np.zeros(4, np.uint8)),
        "4 bytes .* copied to",
    ),
    "download": ("hipMemcpy", lambda device, buffer: device.download(buffer, np.zeros(4, np.uint8)), "copied from"),
    "fill": ("hipMemset", lambda device, buffer: device.fill(buffer, 0), "4 bytes could not be filled on"),
    "memory": ("hipMemGetInfo", lambda device, buffer: device.free_memory_bytes(), ""),
}


@pytest.mark.parametrize(("function", "use", "what"), USES.values(), ids=USES)
def test_a_refusal_tells_what_failed_where_and_the_runtimes_words(device, fault, function, use, what):
    buffer = device.alloc(4)
    fault(**{function: INVALID_DEVICE})
    with pytest.raises(
        DeviceError, match=rf"{what}.*stand-in \(CPU\).*: the stand-in refuses \(hipErrorInvalidDevice\)"
    ):
        use(device, buffer)


def test_a_device_that_cannot_be_made_current_is_told(device, fault):
    fault(hipSetDevice=INVALID_DEVICE)
    with pytest.raises(DeviceError, match=r"the stand-in refuses \(hipErrorInvalidDevice\)"):
        device.alloc(16)


def test_a_binary_that_does_not_load_names_its_kernel(device, source, fault):
    fault(hipModuleLoadData=209)
    with pytest.raises(DeviceError, match=r"scale of .* could not be loaded on stand-in .*hipErrorNoBinaryForGpu"):
        device.compile(source)


@pytest.mark.parametrize("function", ["hipModuleLaunchKernel", "hipEventRecord", "hipEventCreate", "hipSetDevice"])
def test_a_launch_that_is_refused_names_its_kernel(device, launch, fault, function, monkeypatch):
    fault(**{function: LAUNCH_FAILURE})
    with pytest.raises(LaunchError, match=r"scale of .*the stand-in lost a launch \(hipErrorLaunchFailure\)"):
        launch()
    monkeypatch.delenv("STANDIN_HIP_FAULTS")
    assert_works(device, launch)


@pytest.mark.parametrize("function", ["hipEventSynchronize", "hipEventElapsedTime"])
def test_a_launch_that_does_not_end_names_its_kernel(device, launch, fault, function, monkeypatch):
    ticket = launch()
    fault(**{function: LAUNCH_FAILURE})
    with pytest.raises(LaunchError, match=r"scale of .* did not come to its end: the stand-in lost a launch"):
        ticket.seconds()
    monkeypatch.delenv("STANDIN_HIP_FAULTS")
    assert_works(device, launch)


def test_a_lost_device_fails_everywhere_and_still_closes(device, launch, lose_device):
    ticket = launch()
    lose_device()
    with pytest.raises(LaunchError, match="did not come to its end"):
        ticket.seconds()
    with pytest.raises(LaunchError, match="scale of"):
        launch()
    with pytest.raises(DeviceError, match="hipErrorLaunchFailure"):
        device.download(launch.buffer, np.zeros(100, np.float32))
    with pytest.raises(DeviceError, match="hipErrorLaunchFailure"):
        device.alloc(16)
    launch.buffer.free()
    device.close()


@pytest.mark.parametrize("told_ms", ["0", "-0.25", "nan", "inf"])
def test_times_come_as_the_runtime_tells_them(launch, told_ms, monkeypatch):
    monkeypatch.setenv("STANDIN_HIP_EVENT_MS", told_ms)
    assert launch().seconds() == pytest.approx(float(told_ms) * 1e-3, nan_ok=True)


def test_milliseconds_become_seconds(launch, monkeypatch):
    monkeypatch.setenv("STANDIN_HIP_EVENT_MS", "1.5")
    assert math.isclose(launch().seconds(), 1.5e-3)


def test_tickets_that_nobody_asks_leave_no_events_behind(launch):
    for _ in range(3):
        launch()


def test_a_kernel_that_does_not_compile_keeps_the_log(device, tmp_path):
    file = tmp_path / "wrong.hip"
    file.write_text('extern "C" __global__ void wrong(float* y) { y[0] = this_is_unknown; }\n')
    with pytest.raises(CompileError, match=r"wrong of .*wrong\.hip does not compile") as error:
        device.compile(KernelSource(file=str(file), entry="wrong"))
    assert "this_is_unknown" in error.value.log


def test_a_header_that_was_not_given_is_not_found(device, tmp_path):
    file = tmp_path / "lonely.hip"
    file.write_text('#include "nowhere.h"\nextern "C" __global__ void lonely(float* y) { y[0] = 0; }\n')
    with pytest.raises(CompileError, match="lonely") as error:
        device.compile(KernelSource(file=str(file), entry="lonely"))
    assert "nowhere.h" in error.value.log


@pytest.mark.parametrize(
    "function",
    ["hiprtcCreateProgram", "hiprtcCompileProgram", "hiprtcGetCodeSize", "hiprtcGetCode", "hipModuleLoadData"],
)
def test_a_compiler_that_fails_is_told_in_its_words(device, source, fault, function):
    status, words = (200, "hipErrorInvalidImage") if function == "hipModuleLoadData" else (3, "INVALID_INPUT|scale")
    fault(**{function: status})
    with pytest.raises(DeviceError, match=words):
        device.compile(replace(source, defines=(("TRY", function),)))


def test_a_binary_without_the_kernel(device, source, fault):
    fault(hipModuleGetFunction=500)
    with pytest.raises(CompileError, match=r"no kernel called scale.*hipErrorNotFound"):
        device.compile(source)


def test_features_of_an_architecture_decide_the_binary_and_its_place_in_the_cache(options, source, monkeypatch):
    """A binary for xnack- does not load where xnack is on, and `HSA_XNACK` turns it on from one session to the next."""
    source = replace(source, defines=(("FEATURES", "1"),))
    seconds = []
    for arch in ("gfx90a:sramecc+:xnack-", "gfx90a:sramecc+:xnack+", "gfx90a:sramecc+:xnack-"):
        monkeypatch.setenv("STANDIN_HIP_ARCH", arch)
        device = hip.open_device(options)
        assert device.info.arch == "gfx90a"
        seconds.append(device.compile(source).compile_seconds)
        device.close()
    assert seconds[0] > 0
    assert seconds[1] > 0
    assert seconds[2] == 0


def test_arguments_beyond_their_types_are_refused(device, source):
    kernel = device.compile(source)
    buffer = device.alloc(4)
    args = [DevicePointer(buffer), Scalar("n", "i32", 2**31), Scalar("factor", "f32", 1.0)]
    with pytest.raises(LaunchError, match=r"scale of .*2147483648"):
        device.launch(kernel, (1, 1, 1), (1, 1, 1), args)


def test_a_code_object_of_a_real_gpu_does_not_load(device):
    with pytest.raises(DeviceError, match="hipErrorNoBinaryForGpu"):
        device._driver.load(b"\x7fELF" + bytes(200), "scale")
