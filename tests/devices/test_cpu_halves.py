"""Sixteen-bit numbers of HIP text on the CPU, bit by bit, also on a CPU that has no instructions for them."""

import re

import numpy as np
import pytest
from cpu_launch import BASELINE, i32, opened, run, source


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    with opened(tmp_path_factory) as opened_device:
        yield opened_device


def _all_halves():
    return np.arange(65536, dtype=np.uint16).view(np.float16)


def _halves_and_what_lies_between(dtype):
    """Every finite half, the midpoints to the next one, the neighbours of both, and what a half cannot hold."""
    finite = np.sort(_all_halves()[np.isfinite(_all_halves())]).astype(dtype)
    middles = (finite[:-1] + finite[1:]) / 2
    points = np.concatenate([finite, middles, [65520.0, -65520.0, 1e30, -1e30, np.inf, -np.inf, 2**-26, 1e-30]])
    points = points.astype(dtype)
    return np.concatenate([points, np.nextafter(points, dtype(np.inf)), np.nextafter(points, dtype(-np.inf)), [np.nan]])


@pytest.mark.parametrize("options", [(), BASELINE], ids=["native", "baseline"])
@pytest.mark.parametrize(("entry", "dtype"), [("half_to_float", np.float32), ("half_to_double", np.float64)])
def test_every_half_is_widened_as_numpy_does(device, options, entry, dtype):
    x, y = _all_halves().copy(), np.zeros(65536, dtype)
    run(device, source("halves.hip", entry, options=options), (64, 1, 1), x, y, i32(65536))
    np.testing.assert_array_equal(y, x.astype(dtype))
    np.testing.assert_array_equal(np.signbit(y), np.signbit(x))


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
@pytest.mark.parametrize("options", [(), BASELINE], ids=["native", "baseline"])
@pytest.mark.parametrize(("entry", "dtype"), [("float_to_half", np.float32), ("double_to_half", np.float64)])
def test_numbers_are_rounded_to_halves_as_numpy_does(device, options, entry, dtype):
    x = _halves_and_what_lies_between(dtype).astype(dtype)
    y = np.zeros(x.size, np.float16)
    run(device, source("halves.hip", entry, options=options), (64, 1, 1), x, y, i32(x.size))
    np.testing.assert_array_equal(y, x.astype(np.float16))
    np.testing.assert_array_equal(np.signbit(y), np.signbit(x))


@pytest.mark.filterwarnings("ignore:overflow encountered:RuntimeWarning")
def test_arithmetic_of_halves_on_a_cpu_without_them(device):
    x, y = _all_halves()[:31744].copy(), np.zeros(31744, np.float16)
    run(device, source("halves.hip", "half_arithmetic", options=BASELINE), (64, 1, 1), x, y, i32(x.size))
    product = (x.astype(np.float64) * 3).astype(np.float16)
    np.testing.assert_allclose(y, (product.astype(np.float64) + 0.25).astype(np.float16), rtol=1e-3)


@pytest.mark.parametrize("options", [(), BASELINE], ids=["native", "baseline"])
def test_floats_are_rounded_to_bf16(device, options):
    found = re.search(r"clang (?:version )?(\d+)", device.info.compiler)
    if not found or int(found[1]) < 18:
        pytest.skip(f"__bf16 is a number since clang 18: {device.info.compiler}")
    bits = np.random.default_rng(5).integers(0, 1 << 32, 40000, dtype=np.uint64).astype(np.uint32)
    bits = np.concatenate([bits, np.arange(0, 1 << 16, 7, dtype=np.uint32) << 16 | 0x8000])
    x, y = bits.view(np.float32), np.zeros(bits.size, np.uint16)
    run(device, source("halves.hip", "float_to_bf16", options=options), (64, 1, 1), x, y, i32(x.size))
    number = ~np.isnan(x)
    wide = bits.astype(np.uint64)
    expected = (wide + 0x7FFF + (wide >> 16 & 1)) >> 16
    np.testing.assert_array_equal(y[number], expected[number])
    assert np.isnan((y[~number].astype(np.uint32) << 16).view(np.float32)).all()
