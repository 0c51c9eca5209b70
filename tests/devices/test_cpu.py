"""HIP text on the CPU: the language, the orders of work-items, what they catch, and the device around them."""

import math
import os
import platform
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from cpu_launch import BASELINE, i32, opened, run, source

from pytest_miopen_perf.devices import DeviceOptions, DevicePointer, cpu
from pytest_miopen_perf.errors import (
    CompileError,
    DeviceError,
    DeviceUnavailableError,
    LaunchError,
    OutOfMemoryError,
)
from pytest_miopen_perf.launch import Scalar

ORDERS = ("forward", "reverse", "strided")


@pytest.fixture(scope="module", params=ORDERS)
def ordered(request, tmp_path_factory):
    with opened(tmp_path_factory, work_item_order=request.param) as device:
        yield device


@pytest.fixture(scope="module")
def device(tmp_path_factory):
    with opened(tmp_path_factory) as opened_device:
        yield opened_device


@pytest.fixture(scope="module")
def devices(tmp_path_factory):
    with (
        opened(tmp_path_factory) as forward,
        opened(tmp_path_factory, work_item_order="reverse") as reverse,
        opened(tmp_path_factory, work_item_order="strided") as strided,
    ):
        yield dict(zip(ORDERS, (forward, reverse, strided), strict=True))


@pytest.mark.parametrize(("entry", "dtype"), [("sum_floats", np.float32), ("sum_halves", np.float16)])
def test_templates_with_shared_memory(ordered, entry, dtype):
    x = np.random.default_rng(1).integers(-8, 8, (6, 100)).astype(dtype)
    y = np.full(6, np.nan, np.float32)
    run(ordered, source("language.hip", entry), (64, 1, 1), x, y, i32(100), grid=(6, 1, 1))
    np.testing.assert_array_equal(y, x.astype(np.float64).sum(axis=1))


def test_every_work_item_knows_its_place(ordered):
    grid, block = (3, 2, 4), (5, 3, 2)
    y = np.full((math.prod(grid) * math.prod(block), 12), -1, np.int32)
    run(ordered, source("language.hip", "where_am_i"), block, y, grid=grid)
    expected = [
        (tx, ty, tz, bx, by, bz, *block, *grid)
        for bz in range(grid[2])
        for by in range(grid[1])
        for bx in range(grid[0])
        for tz in range(block[2])
        for ty in range(block[1])
        for tx in range(block[0])
    ]
    np.testing.assert_array_equal(y, expected)


def test_vector_types_are_as_large_and_as_aligned_as_on_a_gpu(device):
    x = np.arange(32, dtype=np.float32).reshape(8, 4)
    y, sizes = np.zeros((8, 2), np.float32), np.zeros((8, 4), np.int32)
    run(device, source("language.hip", "vectors"), (8, 1, 1), x, y, sizes)
    np.testing.assert_array_equal(y, np.stack([x[:, 0] + x[:, 1], 2 * x[:, 2] + x[:, 3]], axis=1))
    assert sizes.tolist() == [[16, 16, 16, 12]] * 8


@pytest.mark.parametrize("options", [(), BASELINE], ids=["native", "baseline"])
def test_math_functions(device, options):
    x = np.linspace(-3, 3, 25, dtype=np.float32)
    y = np.zeros((12, 25), np.float32)
    run(device, source("language.hip", "math", options=options), (25, 1, 1), x, y, i32(25))
    wide = x.astype(np.float64)
    expected = [
        wide * wide + 1,
        np.maximum(wide, 0.5),
        np.minimum(wide, 0.5),
        np.sqrt(np.abs(wide)),
        np.floor(wide),
        np.ceil(wide),
        np.rint(wide),
        np.exp(wide),
        np.tanh(wide),
        np.maximum(wide, 0.25),
        np.minimum(wide, 0.25),
        np.maximum(np.trunc(wide), 1),
    ]
    np.testing.assert_allclose(y, expected, rtol=1e-6)


def test_work_items_take_turns_in_the_order_of_the_options(devices):
    seen = {}
    for order, device in devices.items():
        with_barrier, without = np.zeros((2, 60), np.int32), np.zeros(60, np.int32)
        run(device, source("synchronised.hip", "turns"), (60, 1, 1), with_barrier)
        run(device, source("free.hip", "turns"), (60, 1, 1), without, np.zeros(1, np.int32))
        first, second = with_barrier[0] - with_barrier[0].min(), with_barrier[1] - with_barrier[1].min()
        assert sorted(first) == sorted(second) == sorted(without) == list(range(60))
        assert with_barrier[1].min() > with_barrier[0].max(), "the barrier separates the phases"
        np.testing.assert_array_equal(first, without)
        seen[order] = first.tolist()
    assert seen["forward"] == list(range(60))
    assert seen["reverse"] == list(range(60))[::-1]
    assert seen["strided"] not in (seen["forward"], seen["reverse"])


@pytest.mark.parametrize("count", [1, 2, 3, 7, 64, 96, 617, 1000, 1024])
def test_a_strided_phase_leaves_nobody_out(devices, count):
    y = np.zeros((2, count), np.int32)
    run(devices["strided"], source("synchronised.hip", "turns"), (count, 1, 1), y)
    assert sorted(y[0] - y[0].min()) == sorted(y[1] - y[1].min()) == list(range(count))


def _reverse_then_shift(device, without):
    x = np.random.default_rng(2).integers(0, 1 << 20, (40, 64)).astype(np.int32)
    y = np.zeros_like(x)
    kernel = source("synchronised.hip", "reverse_then_shift", defines=(("WITHOUT", str(without)),))
    run(device, kernel, (64, 1, 1), x, y, grid=(40, 1, 1))
    reversed_x = x[:, ::-1]
    return np.array_equal(y, reversed_x + np.roll(reversed_x, -1, axis=1)[:, ::-1])


def test_with_all_barriers_every_order_is_right(ordered):
    assert _reverse_then_shift(ordered, without=0)


@pytest.mark.parametrize("barrier", [1, 2, 3, 4, 5])
def test_a_missing_barrier_is_wrong_in_some_order(devices, barrier):
    assert not all(_reverse_then_shift(device, without=barrier) for device in devices.values())


def test_a_barrier_that_some_do_not_reach_names_kernel_and_block(ordered):
    y = np.zeros(32, np.float32)
    kernel = source("synchronised.hip", "some_leave")
    with pytest.raises(LaunchError, match=r"some_leave of .*synchronised\.hip: .*block \(0, 3, 0\).*__syncthreads\(\)"):
        run(ordered, kernel, (32, 1, 1), y, i32(5), i32(3), grid=(1, 6, 1))
    run(ordered, kernel, (32, 1, 1), y, i32(0), i32(3), grid=(1, 6, 1))
    assert (y == 1).all()


def test_a_block_that_leaves_as_a_whole_is_no_divergence(ordered):
    run(ordered, source("synchronised.hip", "some_leave"), (32, 1, 1), np.zeros(32, np.float32), i32(32), i32(0))


def test_a_frame_that_would_overflow_a_stack_does_not_compile(device):
    with pytest.raises(CompileError, match=r"large_frame of .* private memory") as error:
        device.compile(source("frame.hip", "large_frame"))
    assert "frame" in error.value.log


@pytest.mark.parametrize("count", [64, 1000])
def test_dynamic_shared_memory(ordered, count):
    x, y = np.arange(count, dtype=np.float32), np.zeros(count, np.float32)
    run(ordered, source("shared.hip", "reverse"), (64, 1, 1), x, y, i32(count), shared_bytes=4 * count)
    np.testing.assert_array_equal(y, x[::-1])


def test_dynamic_shared_memory_in_a_template(ordered):
    x, y = np.arange(64, dtype=np.int16), np.zeros(64, np.int16)
    run(ordered, source("shared.hip", "swap_neighbours"), (64, 1, 1), x, y, shared_bytes=128)
    np.testing.assert_array_equal(y, x.reshape(-1, 2)[:, ::-1].reshape(-1))


def test_all_names_of_dynamic_shared_memory_mean_the_same_bytes(ordered):
    x, y = np.arange(64, dtype=np.float32), np.zeros(64, np.float32)
    run(ordered, source("shared.hip", "three_names"), (64, 1, 1), x, y, shared_bytes=256)
    np.testing.assert_array_equal(y, x.reshape(-1, 2)[:, ::-1].reshape(-1))


def test_static_shared_memory_up_to_the_limit(device):
    y = np.zeros(32, np.float32)
    run(device, source("shared.hip", "static_kilobytes", defines=(("KILOBYTES", "64"),)), (32, 1, 1), y)
    np.testing.assert_array_equal(y, 16383 - np.arange(32))


@pytest.mark.parametrize(("kilobytes", "dynamic"), [(65, 0), (60, 4097)])
def test_shared_memory_beyond_the_limit_is_refused(device, kilobytes, dynamic):
    kernel = source("shared.hip", "static_kilobytes", defines=(("KILOBYTES", str(kilobytes)),))
    with pytest.raises(LaunchError, match=rf"static_kilobytes.*{kilobytes * 1024}.*{dynamic}.*65536"):
        run(device, kernel, (32, 1, 1), np.zeros(32, np.float32), shared_bytes=dynamic)


def _shuffled(x, lane_of):
    """What lanes of waves of 64 read when lane l reads lane_of(l)."""
    waves = x.reshape(-1, 64)
    return waves[:, [lane_of(lane) for lane in range(64)]].reshape(-1)


def test_shuffles(ordered):
    x = np.random.default_rng(3).integers(0, 1000, 128).astype(np.int32)
    y = np.zeros((8, 128), np.int32)
    run(ordered, source("waves.hip", "shuffles"), (128, 1, 1), x, y)
    lanes = [
        lambda lane: 5,
        lambda lane: lane // 16 * 16 + 3,
        lambda lane: lane - 2 if lane >= 2 else lane,
        lambda lane: lane - 3 if lane % 8 >= 3 else lane,
        lambda lane: lane + 2 if lane < 62 else lane,
        lambda lane: lane + 3 if lane % 8 < 5 else lane,
        lambda lane: lane ^ 1,
        lambda lane: lane ^ 32,
    ]
    np.testing.assert_array_equal(y, [_shuffled(x, lane_of) for lane_of in lanes])


def test_shuffles_of_doubles_and_a_barrier(ordered):
    x, y = np.arange(256, dtype=np.float64) / 8, np.zeros(1)
    run(ordered, source("waves.hip", "sum_doubles"), (256, 1, 1), x, y)
    assert y[0] == x.sum()


def test_waves_may_shuffle_differently_often(ordered):
    y = np.zeros(192, np.int32)
    run(ordered, source("waves.hip", "uneven"), (192, 1, 1), y)
    lane, wave = np.arange(192) % 64, np.arange(192) // 64
    origin = np.arange(192) ^ 4
    origin = np.where((wave == 1) & (lane % 64 < 8), origin ^ 2, origin)
    origin = np.where(wave % 2 == 0, origin ^ 1, origin)
    np.testing.assert_array_equal(y, origin)


def test_votes(ordered):
    x = (np.random.default_rng(4).integers(0, 3, 160) == 0).astype(np.int32)
    x[64:128] = 1
    masks, any_, all_ = np.zeros(160, np.uint64), np.zeros(160, np.int32), np.zeros(160, np.int32)
    run(ordered, source("waves.hip", "votes"), (160, 1, 1), x, masks, any_, all_)
    for begin, end in [(0, 64), (64, 128), (128, 160)]:
        mask = sum(int(bit) << lane for lane, bit in enumerate(x[begin:end]))
        assert set(masks[begin:end].tolist()) == {mask}
        assert set(any_[begin:end].tolist()) == {int(x[begin:end].any())}
        assert set(all_[begin:end].tolist()) == {int(x[begin:end].all())}


def test_atomics_of_blocks_on_several_threads(device):
    count = 512 * 64
    i, wide = np.zeros(4, np.int32), np.zeros(1, np.uint64)
    f, d = np.zeros(2, np.float32), np.zeros(1)
    run(device, source("atomics.hip", "atomics"), (64, 1, 1), i, wide, f, d, grid=(512, 1, 1))
    assert i.tolist() == [count, count - 1, 1 - count, count]
    assert (wide[0], f.tolist(), d[0]) == (count << 33, [count, count - 1], count / 2)


def test_text_that_does_not_compile_keeps_the_compilers_words(device):
    with pytest.raises(CompileError, match=r"broken of .*broken\.hip does not compile") as error:
        device.compile(source("broken.hip", "broken"))
    assert "this_name_is_unknown" in error.value.log
    assert "broken.hip:1" in error.value.log


def test_launches_from_many_threads(device):
    kernel = device.compile(source("synchronised.hip", "reverse_then_shift", defines=(("WITHOUT", "0"),)))

    def reverse(seed):
        x = np.random.default_rng(seed).integers(0, 100, (80, 64)).astype(np.int32)
        y = np.zeros_like(x)
        run(device, kernel, (64, 1, 1), x, y, grid=(80, 1, 1))
        expected = x[:, ::-1] + np.roll(x[:, ::-1], -1, axis=1)[:, ::-1]
        return np.array_equal(y, expected)

    with ThreadPoolExecutor(6) as threads:
        assert all(threads.map(reverse, range(60)))


def test_blocks_are_run_once_each(device):
    y = np.zeros(7, np.int32)
    run(device, source("free.hip", "lanes_of_many"), (32, 1, 1), y, grid=(1001, 1, 1))
    assert y.sum() == 1001 * 32
    assert set(y.tolist()) == {143 * 32}


def test_the_time_is_that_of_the_launch(device):
    y = np.ones(1 << 20, np.float32)
    seconds = run(
        device, source("free.hip", "scale"), (256, 1, 1), y, Scalar("f", "f32", 2.0), i32(y.size), grid=(4096, 1, 1)
    )
    assert seconds > 0
    assert (y == 2).all()


def test_the_device_says_what_the_machine_says(device):
    info = device.info
    assert info.arch == platform.machine()
    assert info.compute_units == len(os.sched_getaffinity(0))
    assert info.name in Path("/proc/cpuinfo").read_text()
    assert (info.wavefront, info.lds_bytes, info.max_block) == (1, 65536, 1024)
    assert 0 < device.free_memory_bytes() < info.memory_bytes


def test_memory_that_is_not_there_is_refused_with_both_numbers(device, monkeypatch):
    monkeypatch.setattr(cpu, "_meminfo_bytes", lambda field: {"MemAvailable": 5000}[field])
    with pytest.raises(OutOfMemoryError, match=r"5001 bytes.*5000"):
        device.alloc(5001)
    assert device.alloc(5000).nbytes == 5000


def test_a_negative_size_is_refused(device):
    with pytest.raises(DeviceError, match="-1"):
        device.alloc(-1)


def test_buffers_start_at_a_cache_line(device):
    assert [device.alloc(size).address % 64 for size in (1, 7, 64, 1000)] == [0, 0, 0, 0]


def test_a_buffer_of_another_device_is_refused(devices):
    mine, other = devices["forward"], devices["reverse"]
    buffer = other.alloc(16)
    with pytest.raises(DeviceError, match="another device"):
        mine.fill(buffer, 0)
    kernel = mine.compile(source("free.hip", "scale"))
    with pytest.raises(LaunchError, match=r"argument 1 of kernel scale .*another device"):
        mine.launch(kernel, (1, 1, 1), (1, 1, 1), [DevicePointer(buffer), Scalar("f", "f32", 1.0), i32(1)])


def test_closing_frees_the_buffers(tmp_path_factory):
    with opened(tmp_path_factory) as device:
        buffer = device.alloc(16)
    with pytest.raises(DeviceError, match="freed"):
        _ = buffer.address


@pytest.mark.parametrize(
    ("target", "value", "reason"),
    [("sys.platform", "darwin", "Linux.*darwin"), ("platform.machine", lambda: "riscv64", "x86-64.*riscv64")],
)
def test_a_machine_that_cannot_says_why(monkeypatch, target, value, reason):
    monkeypatch.setattr(target, value)
    options = DeviceOptions()
    with pytest.raises(DeviceUnavailableError, match=reason) as error:
        cpu.open_device(options)
    assert cpu.probe(options) == str(error.value)


def test_probing_starts_no_process(monkeypatch):
    monkeypatch.setattr("subprocess.Popen", None)
    assert isinstance(cpu.probe(DeviceOptions()), str)
