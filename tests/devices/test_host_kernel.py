"""A loaded kernel: what it says of its arguments, what a launch may give it, and that it is unloaded again."""

import gc
from pathlib import Path

import numpy as np
import pytest
from cpu_launch import i32, i64, opened, run, source

from pytest_miopen_perf.devices import DevicePointer
from pytest_miopen_perf.devices.host_kernel import load_kernel
from pytest_miopen_perf.errors import CompileError, LaunchError
from pytest_miopen_perf.launch import KernelSource, Scalar


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    with opened(tmp_path_factory) as device:
        yield device


def f32(value):
    return Scalar("f", "f32", value)


def f64(value):
    return Scalar("d", "f64", value)


def test_every_kind_of_argument_arrives(device):
    y = np.zeros(5)
    run(device, source("free.hip", "every_kind"), (1, 1, 1), y, i32(-7), i64(1 << 50), f32(0.1), f64(0.1), i32(9))
    assert y.tolist() == [-7, 1 << 50, float(np.float32(0.1)), 0.1, 9]


def test_a_kernel_without_arguments_runs(device):
    assert run(device, source("free.hip", "takes_nothing"), (1, 1, 1)) >= 0


def test_a_kernel_says_what_it_takes(device):
    kernel = device.compile(source("free.hip", "every_kind"))
    assert (kernel.kinds, kernel.sizes) == ("pilfdi", (8, 4, 8, 4, 8, 4))
    assert device.compile(source("free.hip", "takes_pair")).kinds == "po"


@pytest.mark.parametrize(
    ("position", "argument", "words"),
    [
        (1, i64(1), r"argument 2 .* is a 4-byte integer in its text .* gives an 8-byte integer"),
        (2, i32(1), r"argument 3 .* is an 8-byte integer in its text .* gives a 4-byte integer"),
        (1, f32(1), r"argument 2 .* is a 4-byte integer in its text .* gives a float"),
        (3, f64(1), r"argument 4 .* is a float in its text .* gives a double"),
        (0, i64(1), r"argument 1 .* is a pointer in its text .* gives an 8-byte integer"),
        (1, i32(1 << 31), r"argument 2 \(n\) .* is 2147483648, which does not fit i32"),
        (1, i32(1.5), r"argument 2 \(n\) .* is 1\.5, which is no i32"),
        (2, i64(1 << 63), r"argument 3 \(n\) .* is 9223372036854775808, which does not fit i64"),
        (3, Scalar("f", "f32", "x"), r"argument 4 \(f\) .* is 'x', which is no f32"),
    ],
)
def test_an_argument_that_does_not_fit_is_named(device, position, argument, words):
    kernel = device.compile(source("free.hip", "every_kind"))
    args = [DevicePointer(device.alloc(40)), i32(1), i64(1), f32(1), f64(1), i32(1)]
    args[position] = argument
    with pytest.raises(LaunchError, match=f"(?=.*every_kind of ){words}"):
        device.launch(kernel, (1, 1, 1), (1, 1, 1), args)


def test_a_pointer_where_a_number_belongs(device):
    kernel = device.compile(source("free.hip", "every_kind"))
    pointer = DevicePointer(device.alloc(40))
    with pytest.raises(LaunchError, match=r"argument 3 .* gives a pointer"):
        device.launch(kernel, (1, 1, 1), (1, 1, 1), [pointer, i32(1), pointer, f32(1), f64(1), i32(1)])


def test_a_structure_by_value_cannot_be_passed(device):
    kernel = device.compile(source("free.hip", "takes_pair"))
    with pytest.raises(LaunchError, match=r"argument 2 .* 8 bytes that no launch can pass"):
        device.launch(kernel, (1, 1, 1), (1, 1, 1), [DevicePointer(device.alloc(4)), i64(0)])


@pytest.mark.parametrize("given", [0, 5, 7])
def test_both_numbers_of_arguments_are_named(device, given):
    kernel = device.compile(source("free.hip", "every_kind"))
    with pytest.raises(LaunchError, match=rf"every_kind of .* takes 6 arguments, the launch gives {given}"):
        device.launch(kernel, (1, 1, 1), (1, 1, 1), [i32(0)] * given)


@pytest.mark.parametrize("offset", [-4, 41])
def test_a_pointer_beside_its_buffer_is_refused(device, offset):
    kernel = device.compile(source("free.hip", "scale"))
    pointer = DevicePointer(device.alloc(40), offset)
    with pytest.raises(LaunchError, match=rf"argument 1 .* points at byte {offset} of a buffer of 40 bytes"):
        device.launch(kernel, (1, 1, 1), (1, 1, 1), [pointer, f32(1), i32(0)])


def _loaded_objects():
    lines = Path("/proc/self/maps").read_text().splitlines()
    return len({line.split()[-2] for line in lines if "miopen-perf-so-" in line})


def test_a_kernel_that_nobody_holds_is_unloaded(device):
    gc.collect()
    before = _loaded_objects()
    kernels = [device.compile(source("free.hip", entry)) for entry in ("scale", "divide", "wild")]
    assert _loaded_objects() == before + 3
    del kernels
    gc.collect()
    assert _loaded_objects() == before


def test_two_loads_of_one_binary_share_nothing(device):
    """The loader takes equal path names for the same library; a new binary must not come out as an old one."""
    y = np.zeros(3, np.int32)
    for entry, expected in (("lanes_of_many", 5), ("lanes_of_many", 10)):
        run(device, source("free.hip", entry), (5, 1, 1), y)
        assert y[0] == expected


@pytest.mark.parametrize("binary", [b"", b"not an object", b"\x7fELF" + bytes(60)])
def test_a_binary_that_does_not_load_is_refused(binary):
    with pytest.raises(CompileError, match=r"scale of .*free\.hip does not load"):
        load_kernel(binary, source("free.hip", "scale"), 0.0)


@pytest.mark.parametrize("name", ["N", "T", "A", "I", "F", "count", "job", "params"])
def test_a_kernel_may_call_its_macro_what_it_likes(device, tmp_path, name):
    file = tmp_path / "macro.hip"
    file.write_text(f'extern "C" __global__ void fill(double* y) {{ y[0] = {name}; }}')
    y = np.zeros(1)
    run(device, KernelSource(file=str(file), entry="fill", defines=((name, "41+1"),)), (1, 1, 1), y)
    assert y[0] == 42
