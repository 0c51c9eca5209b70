"""What every back-end must do alike, run over each one that is available here."""

from __future__ import annotations

import json
import math
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest

from pytest_miopen_perf.checking.reference import Distribution, compute_reference, make_operands
from pytest_miopen_perf.checking.tensors import result_slot, tensor_spec, unpack
from pytest_miopen_perf.devices import BACKENDS, Call, DeviceOptions, DevicePointer, load_backend
from pytest_miopen_perf.devices.probe_kernels import EMPTY
from pytest_miopen_perf.errors import CompileError, DeviceError, DeviceUnavailableError, LaunchError, OutOfMemoryError
from pytest_miopen_perf.launch import KernelSource, Scalar, Slot
from pytest_miopen_perf.measuring import execution
from pytest_miopen_perf.measuring.batching import LaunchRule
from pytest_miopen_perf.measuring.cache_state import plan_caches
from pytest_miopen_perf.measuring.execution import ConvBuffers, set_bytes
from pytest_miopen_perf.measuring.timing import Timing
from pytest_miopen_perf.solvers import naive
from pytest_miopen_perf.statistics import StoppingRule

BROKEN_TEXT = 'extern "C" __global__ void broken_kernel(float* y) { y[0] = this_name_is_unknown; }\n'
SCALARS_TEXT = (
    'extern "C" __global__ void add_scalars(double* sum, int a, long long b, float c, double d)\n'
    "{ if(threadIdx.x == 0 && blockIdx.x == 0) *sum = (double)a + (double)b + (double)c + d; }\n"
)


@pytest.fixture(scope="module", params=BACKENDS)
def backend_name(request):
    return request.param


@pytest.fixture(scope="module")
def options(backend_name, tmp_path_factory):
    """Options for the back-end; the scripted one has no compiler, so its script knows which text is bad."""
    folder = tmp_path_factory.mktemp(backend_name)
    script = folder / "script.json"
    script.write_text(json.dumps({"rules": [{"kernel": "broken_*", "compile_error": "this_name_is_unknown"}]}))
    chosen = DeviceOptions(device=str(script) if backend_name == "scripted" else "", cache_dir=folder / "cache")
    if reason := load_backend(backend_name).probe(chosen):
        pytest.skip(f"{backend_name}: {reason}")
    return chosen


@pytest.fixture
def device(backend_name, options, closing):
    return closing(load_backend(backend_name).open_device(options))


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


@pytest.mark.parametrize("direction", ["F", "B", "W"])
@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_the_naive_kernels_compute_the_reference(device, direction, layout, prepare, small_problem):
    prepared = prepare(device, small_problem(direction, layout=layout))
    prepared.launch().seconds()
    prepared.assert_right()


@pytest.mark.parametrize("dtype", ["FP16", "BF16", "INT8"])
def test_every_element_type_is_computed(device, dtype, prepare, small_problem):
    prepared = prepare(device, small_problem("F", dtype))
    prepared.launch().seconds()
    prepared.assert_right()


def test_pointers_may_point_into_their_buffers(device, prepare, small_problem):
    prepared = prepare(device, small_problem(), offset_bytes=64)
    prepared.launch().seconds()
    prepared.assert_right()
    untouched = np.zeros(64, np.uint8)
    device.download(prepared.buffers[Slot.OUTPUT], untouched)
    assert set(untouched.tolist()) == {0xFF}


def test_an_isolated_launch_computes_the_same(device, prepare, small_problem):
    ready = prepare(device, small_problem())
    plan = ready.plan
    device.launch_isolated(
        ready.kernel, plan.grid, plan.block, ready.args, plan.shared_bytes, limit_seconds=60
    ).seconds()
    ready.assert_right()


def test_a_second_launch_sees_new_operands(device, prepare, small_problem):
    prepared = prepare(device, small_problem())
    prepared.launch().seconds()
    first = next(iter(prepared.buffers.values()))
    device.fill(first, 0)
    prepared.launch().seconds()
    np.testing.assert_array_equal(prepared.result(), np.zeros(prepared.problem.y_shape))


def test_scalars_of_every_type_arrive(device, backend_name, tmp_path):
    if backend_name == "scripted":
        pytest.skip("the scripted device computes convolutions only")
    file = tmp_path / "scalars.hip"
    file.write_text(SCALARS_TEXT)
    kernel = device.compile(KernelSource(file=str(file), entry="add_scalars"))
    buffer = device.alloc(8)
    scalars = [Scalar("a", "i32", -3), Scalar("b", "i64", 2**40), Scalar("c", "f32", 0.5), Scalar("d", "f64", 0.125)]
    device.launch(kernel, (1, 1, 1), (1, 1, 1), [DevicePointer(buffer), *scalars]).seconds()
    received = np.zeros(1)
    device.download(buffer, received)
    assert received[0] == 2**40 - 3 + 0.625


def test_times_are_positive_and_stay_what_they_are(device, prepare, small_problem):
    ticket = prepare(device, small_problem()).launch()
    seconds = ticket.seconds()
    assert math.isfinite(seconds)
    assert seconds > 0
    assert ticket.seconds() == seconds


def call_of(prepared):
    plan = prepared.plan
    return Call(prepared.kernel, plan.grid, plan.block, prepared.args, plan.shared_bytes)


def test_a_batch_computes_and_has_one_time_that_stays_what_it_is(device, prepare, small_problem):
    prepared = prepare(device, small_problem())
    ticket = device.launch_batch([call_of(prepared)] * 3)
    seconds = ticket.seconds()
    assert math.isnan(seconds) or seconds > 0  # a batch that the host was too slow for has no time
    assert ticket.seconds() == pytest.approx(seconds, rel=0, abs=0, nan_ok=True)
    prepared.assert_right()


def test_a_batch_runs_its_launches_in_order(device, prepare, small_problem):
    """The last of two problems that share their result buffer is the one that stays."""
    first, second = prepare(device, small_problem()), prepare(device, small_problem())
    into_the_first = tuple(
        DevicePointer(first.buffers[Slot.OUTPUT])
        if isinstance(arg, DevicePointer) and arg.buffer is second.buffers[Slot.OUTPUT]
        else arg
        for arg in second.args
    )
    device.fill(second.buffers[Slot.INPUT], 0)
    zeros = Call(second.kernel, second.plan.grid, second.plan.block, into_the_first, second.plan.shared_bytes)
    device.launch_batch([zeros, call_of(first)]).seconds()
    first.assert_right()
    device.launch_batch([call_of(first), zeros]).seconds()
    assert not first.result().any()


def test_a_batch_with_a_launch_that_cannot_start_names_its_kernel(device, prepare, small_problem):
    prepared = prepare(device, small_problem())
    plan = prepared.plan
    with pytest.raises(LaunchError, match="naive_conv_fwd"):
        device.launch_batch([call_of(prepared), Call(prepared.kernel, plan.grid, plan.block, prepared.args[:-1])])
    prepared.launch().seconds()
    prepared.assert_right()


def test_the_empty_kernel_runs(device):
    kernel = device.compile(EMPTY)
    times = [device.launch(kernel, (1, 1, 1), (1, 1, 1), ()).seconds() for _ in range(8)]
    assert all(map(math.isfinite, times))
    assert max(times) > 0


def test_the_device_tells_of_its_caches(device):
    assert device.info.cache_bytes >= 0


MODES = [
    ("warm", "isolated"),
    ("rotating", "isolated"),
    ("cold", "isolated"),
    ("warm", "back-to-back"),
    ("rotating", "back-to-back"),
]


@pytest.mark.parametrize(("cache_state", "launch_mode"), MODES)
def test_every_mode_times_and_leaves_right_numbers(device, small_problem, cache_state, launch_mode):
    """A last-level cache of 64 KiB is claimed, so that the sets are few on every device."""
    problem = small_problem()
    operands = make_operands(problem, seed=5, distribution=Distribution.INTEGERS)
    caches = plan_caches(cache_state, cache_bytes=2**16, set_bytes=set_bytes(problem, 0), free_bytes=2**24)
    timing = Timing(launches=LaunchRule(mode=launch_mode, can_batch=cache_state != "cold"))
    solver = next(each for each in naive.SOLVERS if each.refusal(problem, device.info) is None)
    with ConvBuffers(device, problem, operands, 0, caches) as buffers:
        solution = solver.solution(problem, device.info, solver.default_config(problem, device.info))
        prepared = execution.prepare(device, solution, buffers)
        sample = timing.measure(prepared, StoppingRule.fixed(3)).sample
        buffers.poison()
        prepared.execute()
        values = unpack(buffers.download_result(), tensor_spec(problem, result_slot(problem)))
    assert len(sample.counted) == 3
    assert (sample.batch > 1) == (launch_mode == "back-to-back")
    assert min(sample.seconds) > 0
    np.testing.assert_array_equal(values, compute_reference(problem, operands).values)


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


@pytest.mark.parametrize("count", [0, 1, -1])
def test_a_wrong_number_of_arguments_names_the_kernel(device, count, prepare, small_problem):
    prepared = prepare(device, small_problem())
    args = prepared.args[:count] if count < 1 else (*prepared.args, Scalar("extra", "i32", 1))
    with pytest.raises(LaunchError, match="naive_conv_fwd"):
        device.launch(prepared.kernel, prepared.plan.grid, prepared.plan.block, args)


def _beyond(info, what):
    grid, block, shared_bytes = [1, 1, 1], [1, 1, 1], 0
    if what == "grid":
        grid[1] = info.max_grid[1] + 1
    elif what == "empty grid":
        grid[2] = 0
    elif what == "block":
        block[0] = info.max_block + 1
    elif what == "block product":
        block = [2, info.max_block, 1]
    elif what == "empty block":
        block[1] = 0
    else:
        shared_bytes = info.lds_bytes + 1
    return tuple(grid), tuple(block), shared_bytes


@pytest.mark.parametrize("what", ["grid", "empty grid", "block", "block product", "empty block", "shared memory"])
def test_sizes_beyond_the_limits_name_the_kernel(device, what, prepare, small_problem):
    prepared = prepare(device, small_problem())
    grid, block, shared_bytes = _beyond(device.info, what)
    with pytest.raises(LaunchError, match="naive_conv_fwd"):
        device.launch(prepared.kernel, grid, block, prepared.args, shared_bytes)


def test_a_freed_argument_names_the_kernel(device, prepare, small_problem):
    prepared = prepare(device, small_problem())
    next(iter(prepared.buffers.values())).free()
    with pytest.raises(LaunchError, match="naive_conv_fwd"):
        prepared.launch()


def test_a_failed_launch_leaves_the_device_usable(device, prepare, small_problem):
    prepared = prepare(device, small_problem())
    with pytest.raises(LaunchError):
        device.launch(prepared.kernel, (0, 1, 1), prepared.plan.block, prepared.args)
    prepared.launch().seconds()
    prepared.assert_right()


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
