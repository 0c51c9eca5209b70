"""What launches must do alike on every back-end: numbers, times, batches, and what cannot start."""

import math

import numpy as np
import pytest

from pytest_miopen_perf.checking.reference import Distribution, compute_reference, make_operands
from pytest_miopen_perf.checking.tensors import result_slot, tensor_spec, unpack
from pytest_miopen_perf.devices import Call, DevicePointer
from pytest_miopen_perf.devices.probe_kernels import EMPTY
from pytest_miopen_perf.errors import LaunchError
from pytest_miopen_perf.launch import KernelSource, Scalar, Slot
from pytest_miopen_perf.measuring import execution
from pytest_miopen_perf.measuring.batching import LaunchRule
from pytest_miopen_perf.measuring.cache_state import plan_caches
from pytest_miopen_perf.measuring.execution import ConvBuffers, set_bytes
from pytest_miopen_perf.measuring.timing import Timing
from pytest_miopen_perf.solvers import naive
from pytest_miopen_perf.statistics import StoppingRule

SCALARS_TEXT = (
    'extern "C" __global__ void add_scalars(double* sum, int a, long long b, float c, double d)\n'
    "{ if(threadIdx.x == 0 && blockIdx.x == 0) *sum = (double)a + (double)b + (double)c + d; }\n"
)


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


FAULTY_TEXT = """
extern "C" __global__ void faulty(float* y, int how) {
    if(how == 1) { int* nowhere = (int*)16; *nowhere = 1; }
    if(how == 2) { volatile int spin = 1; while(spin) {} }
    y[0] += 1.0f;
}
"""


def test_a_crash_or_a_hang_in_isolation_costs_that_launch_alone(device, backend_name, tmp_path):
    if backend_name == "scripted":
        pytest.skip("the scripted device computes convolutions only")
    file = tmp_path / "faulty.hip"
    file.write_text(FAULTY_TEXT)
    kernel = device.compile(KernelSource(file=str(file), entry="faulty"))
    buffer = device.alloc(4)
    device.fill(buffer, 0)

    def launch(how, limit_seconds=60.0):
        args = [DevicePointer(buffer), Scalar("how", "i32", how)]
        device.launch_isolated(kernel, (1, 1, 1), (1, 1, 1), args, limit_seconds=limit_seconds).seconds()

    launch(0)
    with pytest.raises(LaunchError, match="faulty"):
        launch(1)
    launch(0)
    with pytest.raises(LaunchError, match=r"faulty of .* within 0\.5 s"):
        launch(2, 0.5)
    launch(0)
    received = np.zeros(1, np.float32)
    device.download(buffer, received)
    assert received[0] == 3.0


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
