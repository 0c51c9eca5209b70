"""Open the CPU and run the small kernels beside this file: arrays go in and come back in place."""

from __future__ import annotations

from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from pytest_miopen_perf.devices import DeviceOptions, DevicePointer, cpu
from pytest_miopen_perf.launch import KernelSource, Scalar

KERNELS = Path(__file__).parent / "kernels"
BASELINE = ("-march=x86-64",)  # a CPU without F16C, FMA and SSE4.1: conversions and rounding become calls


@contextmanager
def opened(tmp_path_factory, **options):
    """The CPU with a compile cache that all tests of a session share; skips where it cannot be opened."""
    options = DeviceOptions(**{"cache_dir": tmp_path_factory.getbasetemp() / "cpu-cache"} | options)
    if reason := cpu.probe(options):
        pytest.skip(reason)
    device = cpu.open_device(options)
    try:
        yield device
    finally:
        device.close()


def i32(value):
    return Scalar("n", "i32", value)


def i64(value):
    return Scalar("n", "i64", value)


def source(file, entry, **fields):
    return KernelSource(file=str(KERNELS / file), entry=entry, **fields)


def run(device, kernel, block, *args, grid=(1, 1, 1), shared_bytes=0):
    """Launch, wait, and copy every array argument back in place."""
    if isinstance(kernel, KernelSource):
        kernel = device.compile(kernel)
    pointers = {}
    for position, argument in enumerate(args):
        if isinstance(argument, np.ndarray):
            pointers[position] = DevicePointer(device.alloc(argument.nbytes))
            device.upload(pointers[position].buffer, argument)
    bound = [pointers.get(position, argument) for position, argument in enumerate(args)]
    seconds = device.launch(kernel, grid, block, bound, shared_bytes).seconds()
    for position, pointer in pointers.items():
        device.download(pointer.buffer, args[position])
        pointer.buffer.free()
    return seconds
