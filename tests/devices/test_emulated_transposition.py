"""The scripted device moves what a transposing kernel would move."""

import numpy as np
import pytest

from pytest_miopen_perf.devices import DevicePointer
from pytest_miopen_perf.devices.emulated_transposition import recognise_transposition
from pytest_miopen_perf.devices.script import KernelScript, Script, WrongElement
from pytest_miopen_perf.devices.scripted import ScriptedDevice
from pytest_miopen_perf.errors import LaunchError
from pytest_miopen_perf.launch import KernelSource

MACROS = {"BATCH": "2", "ROWS": "3", "COLUMNS": "5", "ELEMENT_BYTES": "2"}
SOURCE = np.arange(30, dtype=np.uint16)
TURNED = SOURCE.reshape(2, 3, 5).swapaxes(1, 2).ravel()


def kernel(**changes):
    defines = tuple((f"TRANSPOSE_{name}", value) for name, value in (MACROS | changes).items())
    return KernelSource(file="transpose_layout.hip", entry="batched_transpose_32x32_half", defines=defines)


def target_after(source=None, *, wrong=None, offset_bytes=0, target_bytes=60):
    """The target, which held sevens, and its bytes before the offset."""
    device = ScriptedDevice(Script(rules=(KernelScript(wrong=wrong),)))
    buffers = device.alloc(60), device.alloc(target_bytes)
    device.upload(buffers[0], SOURCE)
    device.fill(buffers[1], 7)
    pointers = DevicePointer(buffers[0]), DevicePointer(buffers[1], offset_bytes)
    device.launch(device.compile(source or kernel()), (2, 1, 1), (32, 1, 1), pointers)
    memory = np.empty(target_bytes, np.uint8)
    device.download(buffers[1], memory)
    device.close()
    return memory


def test_every_matrix_is_turned():
    np.testing.assert_array_equal(target_after().view(np.uint16), TURNED)


def test_the_pointer_says_where():
    memory = target_after(offset_bytes=8, target_bytes=70)
    assert set(memory[:8]) | set(memory[68:]) == {7}
    np.testing.assert_array_equal(memory[8:68].view(np.uint16), TURNED)


def test_a_matrix_that_passes_its_buffer_does_not_start():
    with pytest.raises(LaunchError, match="target takes 60 bytes, and its pointer has 52"):
        target_after(offset_bytes=8)
    with pytest.raises(LaunchError, match="source takes 120 bytes"):
        target_after(kernel(BATCH="4"), target_bytes=120)


@pytest.mark.parametrize(("wrong", "byte"), [("unwritten", 7), ("zeros", 0), ("nan", 0xFF)])
def test_a_script_spoils_all_that_is_moved(wrong, byte):
    assert set(target_after(wrong=wrong)) == {byte}


def test_a_single_wrong_number_belongs_to_kernels_that_compute():
    memory = target_after(wrong=WrongElement(element=0, add=1.0))
    np.testing.assert_array_equal(memory.view(np.uint16), TURNED)


def test_other_kernels_are_no_transpositions():
    assert recognise_transposition(kernel()) == (2, 3, 5, 2)
    assert recognise_transposition(kernel(ROWS="many")) is None
    assert recognise_transposition(KernelSource(file="f", entry="batched_transpose_32x32_half")) is None
    assert set(target_after(kernel(ROWS="many"))) == {7}
