import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import LAYOUTS, problems, small_problems

from pytest_miopen_perf.checking.reference import Distribution
from pytest_miopen_perf.checking.tensors import tensor_spec
from pytest_miopen_perf.devices import DevicePointer
from pytest_miopen_perf.errors import ConfigError
from pytest_miopen_perf.launch import Pointer, Scalar, Slot
from pytest_miopen_perf.problem import Direction, DType, Layout
from pytest_miopen_perf.solvers import PerformanceConfig
from pytest_miopen_perf.solvers.naive import SOLVERS

SOLVER_OF = {solver.direction: solver for solver in SOLVERS}
FLOATS = (DType.FP32, DType.FP16, DType.BF16)
CASES = [(direction, dtype) for direction in Direction for dtype in FLOATS] + [(Direction.FORWARD, DType.INT8)]


def plan(problem, info):
    solver = SOLVER_OF[problem.direction]
    solution = solver.solution(problem, info, solver.default_config(problem, info))
    (launch,) = solution.launches
    return solution, launch


def scalars(launch):
    return {arg.name: arg.value for arg in launch.args if isinstance(arg, Scalar)}


# numbers


@pytest.mark.parametrize(("direction", "dtype"), CASES)
@settings(deadline=None, max_examples=25)
@given(data=st.data(), distribution=st.sampled_from(Distribution))
def test_every_direction_type_and_layout_is_right(cpu_device, solve, direction, dtype, data, distribution):
    every = small_problems(dtypes=[dtype]).map(lambda problem: replace(problem.canonical(), direction=direction))
    problem = data.draw(every)
    check = solve(cpu_device, problem, SOLVER_OF[direction], distribution=distribution)
    assert check.passed, check.sentence


@pytest.mark.parametrize("direction", Direction)
def test_sums_in_float_are_right_too(cpu_device, solve, make_problem, direction):
    solver = replace(SOLVER_OF[direction], accumulator="float")
    check = solve(cpu_device, make_problem(direction=direction, n=3, c=64, k=32, spatial=(12, 12)), solver)
    assert check.passed, check.sentence


@pytest.mark.parametrize("direction", Direction)
def test_a_grid_smaller_than_the_result_covers_it(cpu_device, execute, make_problem, direction):
    """As many turns as it takes, on a device whose grid has three blocks."""
    problem = make_problem(direction=direction, n=2, c=32, k=32, spatial=(14, 14))
    solution, launch = plan(problem, replace(cpu_device.info, max_grid=(3, 1, 1)))
    assert launch.grid == (3, 1, 1)
    check = execute(cpu_device, problem, SOLVER_OF[direction], solution)
    assert check.passed, check.sentence


def test_elements_beyond_two_to_the_31_are_reached(cpu_device, make_problem):
    """Six elements of 2^31 + 2^21 int8 inputs; the memory between them is never touched."""
    width, step = 2**30 + 2**20, 2**29
    problem = make_problem(
        dtype=DType.INT8, n=2, c=1, k=1, spatial=(1, width), filter=(1, 1), pad=(0, 0), stride=(1, step)
    )
    specs = {slot: tensor_spec(problem, slot) for slot in (Slot.INPUT, Slot.WEIGHTS, Slot.OUTPUT)}
    assert specs[Slot.INPUT].elements > 2**31
    if cpu_device.free_memory_bytes() < specs[Slot.INPUT].nbytes:
        pytest.skip("less than 2 GiB of memory are available")
    _, launch = plan(problem, cpu_device.info)
    buffers = {slot: cpu_device.alloc(spec.nbytes) for slot, spec in specs.items()}
    numbers = np.arange(1, 7, dtype=np.int8).reshape(2, 3)
    try:
        buffers[Slot.INPUT].bytes.view(np.int8)[: 2 * width].reshape(2, width)[:, ::step] = numbers
        cpu_device.fill(buffers[Slot.WEIGHTS], 1)
        args = [DevicePointer(buffers[arg.slot]) if isinstance(arg, Pointer) else arg for arg in launch.args]
        cpu_device.launch(cpu_device.compile(launch.kernel), launch.grid, launch.block, args).seconds()
        y = np.empty((2, 3), np.int32)
        cpu_device.download(buffers[Slot.OUTPUT], y)
    finally:
        for buffer in buffers.values():
            buffer.free()
    np.testing.assert_array_equal(y, numbers)


# plans


def test_a_plan_in_full(make_problem, gpu_info):
    problem = make_problem(
        n=2, c=6, k=8, groups=2, spatial=(10, 11), filter=(3, 2), pad=(2, 1), stride=(2, 3), dilation=(1, 2),
        in_layout=Layout.NHWC, out_layout=Layout.CHWN,
    )  # fmt: skip
    solution, launch = plan(problem, gpu_info)
    assert (solution.solver, solution.solver_id, solution.workspace_bytes) == ("HipConvNaiveFwd", 10001, 0)
    assert solution.config.serialize() == ""
    assert (launch.kernel.file, launch.kernel.entry) == ("conv_naive.hip", "naive_conv_fwd")
    assert launch.kernel.defines == (("ELEMENT", "FP32"), ("ACCUMULATOR", "double"), ("BLOCK", "256"))
    assert problem.output == (6, 4)
    assert (launch.grid, launch.block, launch.shared_bytes) == ((2, 1, 1), (256, 1, 1), 0)
    assert not launch.is_transformation
    assert launch.args == (
        Pointer("x", Slot.INPUT), Pointer("w", Slot.WEIGHTS), Pointer("y", Slot.OUTPUT),
        Scalar("n", "i32", 2), Scalar("groups", "i32", 2), Scalar("c", "i32", 3), Scalar("k", "i32", 4),
        Scalar("in_d", "i32", 1), Scalar("in_h", "i32", 10), Scalar("in_w", "i32", 11),
        Scalar("out_d", "i32", 1), Scalar("out_h", "i32", 6), Scalar("out_w", "i32", 4),
        Scalar("fil_d", "i32", 1), Scalar("fil_h", "i32", 3), Scalar("fil_w", "i32", 2),
        Scalar("pad_d", "i32", 0), Scalar("pad_h", "i32", 2), Scalar("pad_w", "i32", 1),
        Scalar("stride_d", "i32", 1), Scalar("stride_h", "i32", 2), Scalar("stride_w", "i32", 3),
        Scalar("dilation_d", "i32", 1), Scalar("dilation_h", "i32", 1), Scalar("dilation_w", "i32", 2),
        Scalar("x_n", "i64", 660), Scalar("x_c", "i64", 1),
        Scalar("x_d", "i64", 0), Scalar("x_h", "i64", 66), Scalar("x_w", "i64", 6),
        Scalar("w_k", "i64", 18), Scalar("w_c", "i64", 6),
        Scalar("w_d", "i64", 0), Scalar("w_h", "i64", 2), Scalar("w_w", "i64", 1),
        Scalar("y_n", "i64", 1), Scalar("y_k", "i64", 48),
        Scalar("y_d", "i64", 0), Scalar("y_h", "i64", 8), Scalar("y_w", "i64", 2),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("direction", "name", "solver_id", "entry", "blocks"),
    [
        ("F", "HipConvNaiveFwd", 10001, "naive_conv_fwd", 85),
        ("B", "HipConvNaiveBwd", 10002, "naive_conv_bwd", 57),
        ("W", "HipConvNaiveWrw", 10003, "naive_conv_wrw", 23),
    ],
)
def test_each_direction_has_its_kernel_and_one_work_item_an_element(
    make_problem, gpu_info, direction, name, solver_id, entry, blocks
):
    problem = make_problem(
        direction=Direction(direction), n=3, c=12, k=18, spatial=(10, 8, 5), filter=(3, 3, 3), stride=(1, 1, 1)
    )
    problem = replace(problem, in_layout=Layout.NDHWC, n=3)
    solution, launch = plan(problem, gpu_info)
    result = {"F": problem.y_shape, "B": problem.x_shape, "W": problem.w_shape}[direction]
    assert (solution.solver, solution.solver_id, launch.kernel.entry) == (name, solver_id, entry)
    assert launch.grid == (math.ceil(math.prod(result) / 256), 1, 1)
    assert launch.grid[0] == blocks
    assert scalars(launch)["x_d"] == 8 * 5 * 12


@pytest.mark.parametrize(("dtype", "accumulator"), [(DType.FP16, "double"), (DType.INT8, "int")])
def test_what_is_added_up_in_what(make_problem, gpu_info, dtype, accumulator):
    _, launch = plan(make_problem(dtype=dtype), gpu_info)
    assert dict(launch.kernel.defines) == {"ELEMENT": dtype.value, "ACCUMULATOR": accumulator, "BLOCK": "256"}


def test_a_tensor_of_more_than_two_to_the_31_elements_has_64_bit_strides_and_a_legal_grid(make_problem, gpu_info):
    problem = make_problem(n=200_000, c=64, k=128, spatial=(56, 56))
    _, launch = plan(problem, gpu_info)
    strides = {arg.name: arg for arg in launch.args if isinstance(arg, Scalar) and arg.type == "i64"}
    assert strides["x_n"].value == 64 * 56 * 56
    assert strides["y_n"].value * (problem.n - 1) > 2**31
    assert launch.grid[0] <= gpu_info.max_grid[0]
    assert launch.grid[0] * launch.block[0] < 2**32 <= math.prod(problem.y_shape)


@settings(deadline=None)
@given(problem=problems().filter(lambda problem: not problem.is_empty))
def test_arguments_fit_their_types_whatever_the_problem(gpu_info, problem):
    problem = problem.canonical()
    if SOLVER_OF[problem.direction].refusal(problem, gpu_info):
        return
    _, launch = plan(problem, gpu_info)
    assert 1 <= launch.grid[0] <= gpu_info.max_grid[0]
    for arg in launch.args[3:]:
        assert 0 <= arg.value < 2 ** (31 if arg.type == "i32" else 63)


def test_a_block_is_no_larger_than_the_device_allows(make_problem, gpu_info):
    _, launch = plan(make_problem(), replace(gpu_info, max_block=64))
    assert launch.block == (64, 1, 1)
    assert ("BLOCK", "64") in launch.kernel.defines


def test_one_binary_serves_every_problem_of_a_type(make_problem, gpu_info):
    several = (make_problem(), make_problem(n=5, groups=2), make_problem(spatial=(4, 4, 4), filter=(3, 3, 3)))
    assert len({plan(problem, gpu_info)[1].kernel for problem in several}) == 1


# refusals


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
def test_other_directions_are_refused_in_words(make_problem, gpu_info, solver):
    for direction in Direction:
        reason = solver.refusal(make_problem(direction=direction), gpu_info)
        assert (reason is None) == (direction is solver.direction)
        assert reason is None or reason.startswith(solver.name)
        assert (direction in solver.directions) == (reason is None)


@pytest.mark.parametrize("direction", [Direction.BACKWARD_DATA, Direction.BACKWARD_WEIGHTS])
def test_int8_goes_forward_only(make_problem, gpu_info, direction):
    reason = SOLVER_OF[direction].refusal(make_problem(direction=direction, dtype=DType.INT8), gpu_info)
    assert "int8 only for forward" in reason


def test_positions_beyond_an_int_are_refused(make_problem, gpu_info):
    problem = make_problem(spatial=(1, 2**31 - 2), filter=(1, 3), pad=(0, 1))
    assert "32 bits" in SOLVERS[0].refusal(problem, gpu_info)


@settings(deadline=None, max_examples=30)
@given(problem=small_problems(dtypes=FLOATS))
def test_nothing_small_in_floating_point_is_refused(gpu_info, problem):
    problem = problem.canonical()
    assert SOLVER_OF[problem.direction].refusal(problem, gpu_info) is None


# configs


def test_there_is_nothing_to_tune(make_problem, gpu_info):
    (solver, *_) = SOLVERS
    assert list(solver.configs(make_problem(), gpu_info)) == [PerformanceConfig()]
    assert solver.parse_config("") == PerformanceConfig()
    with pytest.raises(ConfigError):
        solver.parse_config("256")


def test_all_layouts_are_tested():
    assert {layout for layouts in LAYOUTS.values() for layout in layouts} == set(Layout)
