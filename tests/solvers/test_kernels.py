"""The kernels' own text: what it needs, and how it rounds."""

import re

import numpy as np
import pytest

from pytest_miopen_perf.checking.tensors import bf16_bits, bf16_values
from pytest_miopen_perf.devices import DevicePointer
from pytest_miopen_perf.kernel_source.files import include_dir, kernels_dir
from pytest_miopen_perf.launch import Pointer, Slot
from pytest_miopen_perf.problem import DType
from pytest_miopen_perf.solvers import naive

KERNELS = sorted(kernels_dir().glob("*.hip"))
HEADERS = sorted(include_dir().glob("*.h"))


# what the text needs


@pytest.mark.parametrize("path", [*KERNELS, *HEADERS], ids=lambda path: path.name)
def test_only_our_own_headers_are_included(path):
    """Other text would not be found by hiprtc, which gets our headers by name."""
    for included in re.findall(r"^\s*#\s*include\s*(\S+)", path.read_text(), re.MULTILINE):
        assert included.strip('"') in {header.name for header in HEADERS}
        assert included.startswith('"')


@pytest.mark.parametrize("path", KERNELS, ids=lambda path: path.name)
def test_entries_have_plain_names_and_a_bound_on_their_blocks(path):
    entries = re.findall(r'extern "C" __global__ void (__launch_bounds__\(\w+\))?\s*(\w+)', path.read_text())
    assert entries
    assert all(bounds for bounds, _ in entries)


# how results are rounded


def run_sums(device, make_problem, dtype, high, low):
    """high + low by a naive forward over two input channels and weights of one, as the bits of the result."""
    problem = make_problem(dtype=dtype, c=2, k=1, spatial=(1, high.size), filter=(1, 1), pad=(0, 0), stride=(1, 1))
    solver = naive.SOLVERS[0]
    (launch,) = solver.solution(problem, device.info, solver.default_config(problem, device.info)).launches
    one = {DType.FP16: 0x3C00, DType.BF16: 0x3F80}[dtype]
    memory = {
        Slot.INPUT: np.concatenate([high, low]),
        Slot.WEIGHTS: np.array([one, one], np.uint16),
        Slot.OUTPUT: np.zeros(high.size, np.uint16),
    }
    buffers = {slot: device.alloc(array.nbytes) for slot, array in memory.items()}
    for slot, array in memory.items():
        device.upload(buffers[slot], array)
    args = [DevicePointer(buffers[arg.slot]) if isinstance(arg, Pointer) else arg for arg in launch.args]
    device.launch(device.compile(launch.kernel), launch.grid, launch.block, args).seconds()
    device.download(buffers[Slot.OUTPUT], memory[Slot.OUTPUT])
    for buffer in buffers.values():
        buffer.free()
    return memory[Slot.OUTPUT]


@pytest.mark.parametrize("part", [-0.75, -0.5, -0.25, 0.25, 0.4921875, 0.5, 0.5078125, 0.75])
@pytest.mark.parametrize("dtype", [DType.BF16, DType.FP16])
def test_a_store_rounds_every_number_to_nearest_and_ties_to_even(cpu_device, make_problem, dtype, part):
    """Each of the 65536 numbers and a part of its last place: below, on and above the tie, NaN, infinity, overflow."""
    numpy_bits = {DType.BF16: bf16_bits, DType.FP16: lambda values: values.astype(np.float16).view(np.uint16)}[dtype]
    numpy_values = {DType.BF16: bf16_values, DType.FP16: lambda bits: bits.view(np.float16).astype(np.float32)}[dtype]
    digits = {DType.BF16: 7, DType.FP16: 10}[dtype]
    high = np.arange(2**16, dtype=np.uint16)
    with np.errstate(all="ignore"):
        _, exponent = np.frexp(numpy_values(high))
        low = numpy_bits(np.ldexp(np.float32(part), exponent - 1 - digits))
        expected = numpy_bits((np.float64(numpy_values(high)) + numpy_values(low)).astype(np.float32))
        got = run_sums(cpu_device, make_problem, dtype, high, low)
        is_nan = np.isnan(numpy_values(expected))
        np.testing.assert_array_equal(np.isnan(numpy_values(got)), is_nan)
    np.testing.assert_array_equal(got[~is_nan], expected[~is_nan])
