"""What every back-end must do alike, run over each one that is available here; launches have a file of their own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from pytest_miopen_perf.devices import load_backend
from pytest_miopen_perf.errors import CompileError, DeviceError, DeviceUnavailableError, LaunchError, OutOfMemoryError
from pytest_miopen_perf.launch import KernelSource

BROKEN_TEXT = 'extern "C" __global__ void broken_kernel(float* y) { y[0] = this_name_is_unknown; }\n'


def test_the_device_says_what_it_is(device, backend_name):
    info = device.info
    assert info.backend == backend_name
    assert all((info.uid, info.name, info.arch, info.compiler))
    assert min(info.compute_units, info.wavefront, info.lds_bytes, info.memory_bytes, info.max_block) >= 1
    assert min(info.max_grid) >= 1


def test_an_unknown_device_is_unavailable_and_says_why(backend_name, options):
    unknown = replace(options, device="9999")
    reason = load_backend(backend_name).probe(unknown)
    assert "9999" in reason
    with pytest.raises(DeviceUnavailableError) as error:
        load_backend(backend_name).open_device(unknown)
    assert str(error.value) == reason


def test_no_backend_of_that_name():
    with pytest.raises(DeviceUnavailableError, match=r"'abacus'.*cpu"):
        load_backend("abacus")


@pytest.mark.parametrize("dtype", ["f4", "f2", "u2", "i1", "i4", "f8"])
def test_what_was_uploaded_is_downloaded(device, dtype):
    sent = np.arange(-50, 50).astype(dtype).reshape(4, 25)
    buffer = device.alloc(sent.nbytes)
    assert buffer.nbytes == sent.nbytes
    device.upload(buffer, sent)
    received = np.zeros_like(sent)
    device.download(buffer, received)
    np.testing.assert_array_equal(received, sent)


def test_copies_begin_at_the_start_and_leave_the_rest(device):
    buffer = device.alloc(12)
    device.fill(buffer, 0xAB)
    device.upload(buffer, np.arange(4, dtype=np.uint8))
    received = np.zeros(12, np.uint8)
    device.download(buffer, received)
    assert received.tolist() == [0, 1, 2, 3] + [0xAB] * 8
    start = np.zeros(2, np.uint8)
    device.download(buffer, start)
    assert start.tolist() == [0, 1]


def test_buffers_do_not_overlap(device):
    buffers = [device.alloc(37) for _ in range(5)]
    for number, buffer in enumerate(buffers):
        device.fill(buffer, number)
    for number, buffer in enumerate(buffers):
        received = np.zeros(37, np.uint8)
        device.download(buffer, received)
        assert set(received.tolist()) == {number}


def test_filling_with_ones_makes_nans(device):
    buffer = device.alloc(64)
    device.fill(buffer, 0xFF)
    for dtype in ("f2", "f4", "f8"):
        received = np.zeros(64 // np.dtype(dtype).itemsize, dtype)
        device.download(buffer, received)
        assert np.isnan(received).all()


@pytest.mark.parametrize("copy", ["upload", "download"])
def test_an_array_larger_than_the_buffer_is_refused(device, copy):
    buffer = device.alloc(8)
    with pytest.raises(DeviceError, match=r"12.*8"):
        getattr(device, copy)(buffer, np.zeros(3, np.float32))


@pytest.mark.parametrize("copy", ["upload", "download"])
def test_an_array_that_is_not_contiguous_is_refused(device, copy):
    buffer = device.alloc(1024)
    with pytest.raises(DeviceError, match="contiguous"):
        getattr(device, copy)(buffer, np.zeros((4, 6), np.float32)[:, ::2])


def test_freeing_twice_is_harmless(device):
    buffer = device.alloc(16)
    buffer.free()
    buffer.free()
    other = device.alloc(16)
    device.fill(other, 1)
    buffer.free()
    received = np.zeros(16, np.uint8)
    device.download(other, received)
    assert set(received.tolist()) == {1}


def test_a_freed_buffer_cannot_be_used(device):
    buffer = device.alloc(16)
    buffer.free()
    with pytest.raises(DeviceError, match="freed"):
        device.upload(buffer, np.zeros(4, np.float32))
    with pytest.raises(DeviceError, match="freed"):
        device.fill(buffer, 0)


def test_an_allocation_that_is_too_large_names_its_bytes(device):
    with pytest.raises(OutOfMemoryError, match=str(2**60)):
        device.alloc(2**60)
    device.fill(device.alloc(16), 0)


def test_free_memory_lies_within_the_memory(device):
    before = device.free_memory_bytes()
    buffer = device.alloc(2**20)
    assert 0 < device.free_memory_bytes() <= device.info.memory_bytes
    buffer.free()
    assert 0 < before <= device.info.memory_bytes


def test_the_device_tells_of_its_caches(device):
    assert device.info.cache_bytes >= 0


def test_the_second_compile_comes_from_the_cache(device, prepare, small_problem):
    prepared = prepare(device, small_problem())
    assert prepared.kernel.source == prepared.plan.kernel
    assert prepared.kernel.compile_seconds >= 0
    again = device.compile(prepared.plan.kernel)
    assert again.source == prepared.plan.kernel
    assert again.compile_seconds == 0


def test_threads_compile_at_the_same_time(device, prepare, small_problem):
    source = prepare(device, small_problem()).plan.kernel
    sources = [replace(source, entry=f"naive_conv_{direction}") for direction in ("fwd", "bwd", "wrw", "fwd")]
    with ThreadPoolExecutor(4) as threads:
        kernels = list(threads.map(device.compile, sources))
    assert [kernel.source for kernel in kernels] == sources


def test_text_that_does_not_compile(device, tmp_path):
    file = tmp_path / "broken.hip"
    file.write_text(BROKEN_TEXT)
    with pytest.raises(CompileError, match="broken_kernel") as error:
        device.compile(KernelSource(file=str(file), entry="broken_kernel"))
    assert "this_name_is_unknown" in error.value.log


def test_a_missing_file_is_named(device):
    with pytest.raises(CompileError, match=r"no_such_file\.hip"):
        device.compile(KernelSource(file="no_such_file.hip", entry="naive_conv_fwd"))


def test_a_missing_entry_is_named(device, prepare, small_problem):
    source = prepare(device, small_problem()).plan.kernel
    with pytest.raises(CompileError, match="no_such_entry"):
        device.compile(replace(source, entry="no_such_entry"))


USES = {
    "alloc": lambda device, prepared, buffer: device.alloc(16),
    "upload": lambda device, prepared, buffer: device.upload(buffer, np.zeros(4, np.float32)),
    "download": lambda device, prepared, buffer: device.download(buffer, np.zeros(4, np.float32)),
    "fill": lambda device, prepared, buffer: device.fill(buffer, 0),
    "compile": lambda device, prepared, buffer: device.compile(prepared.plan.kernel),
    "free_memory_bytes": lambda device, prepared, buffer: device.free_memory_bytes(),
}


@pytest.mark.parametrize("use", USES)
def test_a_closed_device_cannot_be_used(device, use, prepare, small_problem):
    prepared = prepare(device, small_problem())
    buffer = device.alloc(16)
    device.close()
    with pytest.raises(DeviceError):
        USES[use](device, prepared, buffer)


def test_a_closed_device_launches_nothing(device, prepare, small_problem):
    prepared = prepare(device, small_problem())
    device.close()
    with pytest.raises(LaunchError, match="naive_conv_fwd"):
        prepared.launch()


def test_closing_twice_is_harmless(device):
    buffer = device.alloc(16)
    device.close()
    device.close()
    buffer.free()
    assert device.info.name
