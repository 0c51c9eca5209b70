"""Binaries on disk: found again, never loaded damaged, written by several at once, or not at all."""

import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from cpu_launch import opened, run, source

from pytest_miopen_perf.devices import compile_cache
from pytest_miopen_perf.devices.compile_cache import CompileCache
from pytest_miopen_perf.errors import PerfWarning
from pytest_miopen_perf.launch import KernelSource, Scalar

KEY = "ab" * 32


@pytest.fixture
def cache(tmp_path):
    cache = CompileCache(tmp_path / "deep" / "cache")
    yield cache
    cache.close()


def _only_file(folder):
    (file,) = (path for path in folder.rglob("*") if path.is_file())
    return file


def test_what_was_put_is_got(cache, tmp_path):
    assert cache.get(KEY) is None
    cache.put(KEY, b"binary")
    assert cache.get(KEY) == b"binary"
    assert CompileCache(tmp_path / "deep" / "cache").get(KEY) == b"binary"
    assert cache.get("cd" * 32) is None


def test_an_empty_binary_is_a_binary(cache):
    cache.put(KEY, b"")
    assert cache.get(KEY) == b""


@pytest.mark.parametrize("keep", [0, 1, 31, 32, 33, -1])
def test_a_truncated_file_counts_as_none(cache, tmp_path, keep):
    cache.put(KEY, bytes(1000))
    file = _only_file(tmp_path)
    file.write_bytes(file.read_bytes()[:keep])
    assert cache.get(KEY) is None
    cache.put(KEY, b"new")
    assert cache.get(KEY) == b"new"


def test_a_changed_byte_counts_as_none(cache, tmp_path):
    cache.put(KEY, bytes(1000))
    file = _only_file(tmp_path)
    for position in (0, 500, 1031):
        data = bytearray(file.read_bytes())
        data[position] ^= 1
        file.write_bytes(data)
        assert cache.get(KEY) is None


def test_a_folder_in_the_place_of_a_file_counts_as_none(cache, tmp_path):
    (tmp_path / "deep" / "cache" / KEY).mkdir(parents=True)
    assert cache.get(KEY) is None


def test_nothing_but_the_entry_is_left_behind(cache, tmp_path):
    cache.put(KEY, b"one")
    cache.put(KEY, b"two")
    assert _only_file(tmp_path).name == KEY


def test_threads_may_write_the_same_key(cache, tmp_path):
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda _: cache.put(KEY, bytes(5000)), range(50)))
    assert cache.get(KEY) == bytes(5000)
    assert _only_file(tmp_path).name == KEY


@pytest.fixture
def unwritable(tmp_path):
    """A folder that nobody can write into, root neither: a file stands in its way."""
    (tmp_path / "file").write_text("")
    return tmp_path / "file" / "cache"


def test_a_folder_that_cannot_be_written_warns_once_and_is_replaced(unwritable):
    cache = CompileCache(unwritable)
    with pytest.warns(PerfWarning, match=rf"compile cache {unwritable} cannot be written .*compiled anew") as seen:
        cache.put(KEY, b"one")
    assert len(seen) == 1
    cache.put("cd" * 32, b"two")
    assert (cache.get(KEY), cache.get("cd" * 32)) == (b"one", b"two")
    cache.close()
    assert cache.get(KEY) is None


def test_a_read_only_folder_still_serves_what_it_holds(cache, tmp_path, monkeypatch):
    cache.put(KEY, b"shared")
    write, shared = compile_cache._write, tmp_path / "deep" / "cache"

    def read_only(folder, key, data):
        if folder == shared:
            raise PermissionError(13, "Permission denied")
        write(folder, key, data)

    monkeypatch.setattr(compile_cache, "_write", read_only)
    reader = CompileCache(shared)
    with pytest.warns(PerfWarning, match="Permission denied"):
        reader.put("cd" * 32, b"private")
    assert (reader.get(KEY), reader.get("cd" * 32)) == (b"shared", b"private")
    reader.close()


def test_the_private_folder_goes_with_the_cache(unwritable):
    cache = CompileCache(unwritable)
    with pytest.warns(PerfWarning):
        cache.put(KEY, b"one")
    private = Path(cache._private.name)
    assert private.is_dir()
    cache.close()
    cache.close()
    assert not private.exists()


# The cache inside the device.

SCALE = 'extern "C" __global__ void scale(float* y, float factor) { y[threadIdx.x] *= factor FACTOR; }\n'


@pytest.fixture
def kernel_file(tmp_path):
    file = tmp_path / "scale.hip"
    file.write_text(SCALE.replace("FACTOR", ""))
    return file


def _scaled(device, file, **fields):
    y = np.ones(4, np.float32)
    kernel = device.compile(KernelSource(file=str(file), entry="scale", **fields))
    run(device, kernel, (4, 1, 1), y, Scalar("factor", "f32", 3.0))
    return float(y[0]), kernel.compile_seconds


def test_a_hit_costs_no_compiler_and_a_changed_text_does(tmp_path_factory, tmp_path, kernel_file):
    with opened(tmp_path_factory, cache_dir=tmp_path / "cache") as device:
        value, seconds = _scaled(device, kernel_file)
        assert value == 3
        assert seconds > 0
        assert _scaled(device, kernel_file) == (3, 0)
        kernel_file.write_text(SCALE.replace("FACTOR", "* 2"))
        value, seconds = _scaled(device, kernel_file)
        assert value == 6
        assert seconds > 0
        assert _scaled(device, kernel_file, options=("-DUNUSED=1",))[1] > 0
    with opened(tmp_path_factory, cache_dir=tmp_path / "cache") as device:
        assert _scaled(device, kernel_file) == (6, 0)


@pytest.mark.parametrize("keep", [0, 4096])
def test_a_damaged_binary_is_compiled_anew(tmp_path_factory, tmp_path, kernel_file, keep):
    with opened(tmp_path_factory, cache_dir=tmp_path / "cache") as device:
        _scaled(device, kernel_file)
        file = _only_file(tmp_path / "cache")
        file.write_bytes(file.read_bytes()[:keep])
        value, seconds = _scaled(device, kernel_file)
        assert value == 3
        assert seconds > 0
        assert _scaled(device, kernel_file) == (3, 0)


def test_a_device_without_a_writable_cache_works_and_warns_once(tmp_path_factory, unwritable):
    with opened(tmp_path_factory, cache_dir=unwritable) as device:
        with pytest.warns(PerfWarning, match="cannot be written"):
            device.compile(source("free.hip", "takes_nothing"))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert device.compile(source("free.hip", "takes_nothing")).compile_seconds == 0
            device.compile(source("free.hip", "divide"))


def test_threads_that_want_the_same_kernel_compile_it_once(tmp_path_factory, tmp_path, kernel_file):
    with opened(tmp_path_factory, cache_dir=tmp_path / "cache") as device, ThreadPoolExecutor(4) as threads:
        seconds = [result[1] for result in threads.map(lambda _: _scaled(device, kernel_file), range(8))]
    assert sum(each > 0 for each in seconds) == 1


PROCESS = """
import sys
from pathlib import Path
from pytest_miopen_perf.devices import DeviceOptions, cpu
from pytest_miopen_perf.launch import KernelSource
device = cpu.open_device(DeviceOptions(cache_dir=Path(sys.argv[1])))
kernel = device.compile(KernelSource(file=sys.argv[2], entry="scale"))
device.close()
"""


def test_two_processes_may_compile_the_same_key_at_once(tmp_path_factory, tmp_path, kernel_file):
    folder = tmp_path / "cache"
    with opened(tmp_path_factory, cache_dir=folder) as device:
        command = [sys.executable, "-c", PROCESS, str(folder), str(kernel_file)]
        processes = [subprocess.Popen(command) for _ in range(2)]
        assert [process.wait() for process in processes] == [0, 0]
        assert _scaled(device, kernel_file) == (3, 0)
    assert _only_file(folder)
