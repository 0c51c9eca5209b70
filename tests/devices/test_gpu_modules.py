"""Modules of a GPU: loaded once a kernel, and given back once, whoever asks and how often."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import pytest

from pytest_miopen_perf.devices import DeviceOptions
from pytest_miopen_perf.devices.gpu import GpuDevice
from pytest_miopen_perf.errors import CompileError
from pytest_miopen_perf.launch import DeviceInfo, KernelSource

INFO = DeviceInfo(
    backend="fake", name="Fake", arch="f", compute_units=1, wavefront=32, lds_bytes=1024, memory_bytes=2**20
)
TEXT = 'extern "C" __global__ void k(float* y) { y[0] = FACTOR; }\nextern "C" __global__ void l(float* y) {}\n'


@dataclass
class ModuleDriver:
    """What of a GPU compiling needs; a module is a number."""

    info: DeviceInfo = INFO
    target: str = "f"
    loaded: list[str] = field(default_factory=list)
    unloaded: list[int] = field(default_factory=list)

    def compile(self, source):
        return source.entry.encode()

    def load(self, binary, entry):
        self.loaded.append(entry)
        return len(self.loaded), entry

    def unload(self, module):
        self.unloaded.append(module)

    def close(self):
        pass


@pytest.fixture
def driver():
    return ModuleDriver()


@pytest.fixture
def device(driver, tmp_path, closing):
    return closing(GpuDevice(driver, DeviceOptions(cache_dir=tmp_path / "cache")))


@pytest.fixture
def source(tmp_path):
    file = tmp_path / "k.hip"
    file.write_text(TEXT)
    return KernelSource(file=str(file), entry="k", defines=(("FACTOR", "1"),))


def test_the_same_kernel_is_the_same_module(device, driver, source):
    first, second = device.compile(source), device.compile(source)
    assert (first.module, first.function) == (second.module, second.function)
    assert first.compile_seconds > 0
    assert second.compile_seconds == 0
    assert driver.loaded == ["k"]


def test_threads_share_a_module(device, driver, source):
    with ThreadPoolExecutor(8) as threads:
        kernels = list(threads.map(device.compile, [source] * 32))
    assert {kernel.module for kernel in kernels} == {1}
    assert driver.loaded == ["k"]


def test_another_entry_macro_or_text_is_another_module(device, driver, source, tmp_path):
    others = [replace(source, entry="l"), replace(source, defines=(("FACTOR", "2"),))]
    modules = [device.compile(each).module for each in (source, *others)]
    (tmp_path / "k.hip").write_text(TEXT + "// changed\n")
    modules.append(device.compile(source).module)
    assert modules == [1, 2, 3, 4]
    device.close()
    assert driver.unloaded == [1, 2, 3, 4]


def test_a_kernel_that_is_not_there_is_no_module(device, driver, source):
    with pytest.raises(CompileError, match="defines no kernel called gone"):
        device.compile(replace(source, entry="gone"))
    assert driver.loaded == []
