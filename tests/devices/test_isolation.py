"""Launches on the CPU that nobody has seen end: a crash or a hang costs the launch, not the process."""

from concurrent.futures import ThreadPoolExecutor
from concurrent.futures import TimeoutError as FutureTimeoutError

import numpy as np
import pytest

from pytest_miopen_perf.devices import DeviceOptions, DevicePointer, cpu
from pytest_miopen_perf.devices.host_kernel import LOADER
from pytest_miopen_perf.errors import LaunchError
from pytest_miopen_perf.launch import KernelSource

CRASHES = """
extern "C" __global__ void crashes(float* y) {
    if(y[0] == 7.0f) { int* nowhere = (int*)16; *nowhere = 1; }
    if(y[0] == 8.0f) { volatile int spin = 1; while(spin) {} }
    y[0] += 1.0f;
}
"""


@pytest.fixture
def isolated(tmp_path, closing):
    """Launch the kernel above on a buffer that holds one number, in isolation; what the buffer holds afterwards."""
    (tmp_path / "crashes.hip").write_text(CRASHES)
    device = closing(cpu.open_device(DeviceOptions(cache_dir=tmp_path)))
    kernel = device.compile(KernelSource(file=str(tmp_path / "crashes.hip"), entry="crashes"))

    def launch(value):
        buffer = device.alloc(4)
        device.upload(buffer, np.array([value], np.float32))
        ticket = device.launch_isolated(kernel, (1, 1, 1), (1, 1, 1), [DevicePointer(buffer)], limit_seconds=0.3)
        assert ticket.seconds() > 0
        result = np.empty(1, np.float32)
        device.download(buffer, result)
        return result[0]

    return launch


def test_an_isolated_launch_writes_into_the_buffers_of_this_process(isolated):
    assert isolated(1.0) == 2.0


@pytest.mark.parametrize(("value", "words"), [(7.0, "wrote address 0x10"), (8.0, r"did not end within 0\.3 s")])
def test_a_crash_or_a_hang_in_isolation_costs_that_launch_alone(isolated, value, words):
    with pytest.raises(LaunchError, match=words):
        isolated(value)
    assert isolated(2.0) == 3.0


def test_nothing_forks_while_a_library_is_loaded(isolated):
    """A child forked meanwhile died of the loader's half changed lists, once in some hundred launches."""
    with ThreadPoolExecutor(1) as pool:
        with LOADER:
            launched = pool.submit(isolated, 1.0)
            with pytest.raises(FutureTimeoutError):
                launched.result(0.2)
        assert launched.result(60) == 2.0
