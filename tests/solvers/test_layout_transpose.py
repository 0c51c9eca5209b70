"""Tensors that are turned on their way to a solver and back: the kernel, the plan, the numbers."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from kernel_mutants import barriers_of, kernels_with, without_barrier
from strategies import small_problems

from pytest_miopen_perf.devices import DeviceOptions, DevicePointer, scripted
from pytest_miopen_perf.errors import ConfigError
from pytest_miopen_perf.launch import Pointer, Slot
from pytest_miopen_perf.problem import Direction, DType, Layout
from pytest_miopen_perf.records import is_transformation_kernel
from pytest_miopen_perf.solvers import PerformanceConfig
from pytest_miopen_perf.solvers.im2col_gemm import SOLVERS
from pytest_miopen_perf.solvers.layout_transpose import (
    Transposition,
    channels_first,
    transposing_launch,
    transposition,
)

SOLVER_OF = dict(zip(Direction, SOLVERS, strict=True))
FWD, _, WRW = SOLVERS
FLOATS = (DType.FP32, DType.FP16, DType.BF16)
ORDERS = ("forward", "reverse", "strided")
UNSIGNED = {1: np.uint8, 2: np.uint16, 4: np.uint32}
FILE = "transpose_layout.hip"
CHANNELS_LAST = {"in_layout": Layout.NHWC, "fil_layout": Layout.NHWC, "out_layout": Layout.NHWC}


def turned(device, wanted, source, *, info=None, text=None):
    """What the kernel makes of an array."""
    places = Pointer("x", Slot.INPUT), Pointer("y", Slot.OUTPUT)
    launch = transposing_launch(wanted, info or device.info, *places)
    kernel = launch.kernel if text is None else replace(launch.kernel, file=str(text))
    target = np.zeros_like(source)
    buffers = device.alloc(source.nbytes), device.alloc(target.nbytes)
    device.upload(buffers[0], source)
    pointers = tuple(DevicePointer(buffer) for buffer in buffers)
    device.launch(device.compile(kernel), launch.grid, launch.block, pointers).seconds()
    device.download(buffers[1], target)
    for buffer in buffers:
        buffer.free()
    return target


def matrices(wanted):
    shape = wanted.batch, wanted.rows, wanted.columns
    return np.random.default_rng(7).integers(1, 255, shape, dtype=np.uint8).astype(UNSIGNED[wanted.element_bytes])


def sizes(batch, rows, columns, element_bytes):
    return Transposition(batch=batch, rows=rows, columns=columns, element_bytes=element_bytes)


# the kernel


@pytest.mark.parametrize("element_bytes", UNSIGNED)
@pytest.mark.parametrize("shape", [(1, 1, 1), (3, 32, 64), (2, 33, 31), (1, 1, 70), (5, 65, 2)])
def test_every_matrix_is_turned(cpu_device, shape, element_bytes):
    wanted = sizes(*shape, element_bytes)
    source = matrices(wanted)
    np.testing.assert_array_equal(
        turned(cpu_device, wanted, source).ravel(), np.ascontiguousarray(source.swapaxes(1, 2)).ravel()
    )


@pytest.fixture
def several_turns(cpu_info):
    """Twelve tiles for a grid of five blocks."""
    return sizes(2, 70, 50, 2), replace(cpu_info, max_grid=(5, 1, 1))


@pytest.mark.parametrize("order", ORDERS)
def test_blocks_take_turns_in_any_order_of_work_items(open_cpu, several_turns, order):
    wanted, info = several_turns
    source = matrices(wanted)
    result = turned(open_cpu(work_item_order=order), wanted, source, info=info)
    np.testing.assert_array_equal(result.ravel(), np.ascontiguousarray(source.swapaxes(1, 2)).ravel())


@pytest.mark.parametrize("barrier", barriers_of(FILE), ids=str)
def test_no_barrier_is_there_for_nothing(open_cpu, several_turns, tmp_path, barrier):
    wanted, info = several_turns
    source = matrices(wanted)
    text = kernels_with(without_barrier(barrier), tmp_path) / FILE
    right = np.ascontiguousarray(source.swapaxes(1, 2)).ravel()
    results = (turned(open_cpu(work_item_order=each), wanted, source, info=info, text=text) for each in ORDERS)
    assert not all(np.array_equal(result.ravel(), right) for result in results)


def test_a_grid_never_has_more_blocks_than_a_device_takes(gpu_info):
    wanted = sizes(2**20, 2**12, 2**12, 4)
    assert wanted.tiles() == 2**34
    launch = transposing_launch(wanted, gpu_info, Pointer("x", Slot.INPUT), Pointer("y", Slot.OUTPUT))
    assert launch.grid[0] * launch.block[0] < 2**32
    assert launch.grid[0] <= gpu_info.max_grid[0]


# layouts


@settings(deadline=None)
@given(data=st.data(), rank=st.sampled_from([2, 3]))
def test_a_transposition_takes_one_layout_to_the_other(data, rank):
    shape = data.draw(st.tuples(*[st.integers(1, 4)] * (rank + 2)))
    default = Layout.default(rank)
    other = data.draw(st.sampled_from([each for each in Layout if each.rank == rank and each is not default]))
    logical = np.arange(math.prod(shape)).reshape(shape)
    for source, target in ((default, other), (other, default)):
        wanted = transposition(shape, source, target, 4)
        before = logical.transpose(source.order()).ravel()
        after = before.reshape(wanted.batch, wanted.rows, wanted.columns).swapaxes(1, 2).ravel()
        np.testing.assert_array_equal(after, logical.transpose(target.order()).ravel())


def test_layouts_that_no_single_transposition_joins_are_named():
    with pytest.raises(ValueError, match="CHWN and NHWC"):
        transposition((2, 3, 4, 5), Layout.CHWN, Layout.NHWC, 4)


# numbers


@settings(deadline=None, max_examples=12, derandomize=True, phases=[Phase.generate])
@given(problem=small_problems(dtypes=FLOATS, transposed=[False]))
def test_any_layout_is_right(cpu_device, solve, problem):
    check = solve(cpu_device, problem, SOLVER_OF[problem.direction])
    assert check.passed, check.sentence


EDGES = {
    "half": {"n": 3, "c": 40, "k": 34, "dtype": DType.FP16},
    "grouped bfloat": {"n": 2, "c": 6, "k": 10, "groups": 2, "dtype": DType.BF16, "stride": (2, 1)},
    "matrix": {"n": 2, "c": 20, "k": 24, "filter": (1, 1), "pad": (0, 0)},
    "volume": {"n": 2, "spatial": (4, 5, 6), "filter": (2, 3, 3), "pad": (1, 0, 1), "stride": (2, 1, 1)},
}


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize("changes", EDGES.values(), ids=EDGES)
def test_channels_last_is_right(cpu_device, solve, make_problem, direction, changes):
    last = Layout.NDHWC if "spatial" in changes else Layout.NHWC
    layouts = {"in_layout": last, "fil_layout": last, "out_layout": last}
    check = solve(cpu_device, make_problem(direction=direction, **changes, **layouts), SOLVER_OF[direction])
    assert check.passed, check.sentence


@pytest.mark.parametrize("direction", Direction)
def test_ten_runs_give_the_same_bits(cpu_device, make_problem, repeat, direction):
    problem = make_problem(direction=direction, n=2, dtype=DType.FP16, **CHANNELS_LAST)
    solver = SOLVER_OF[direction]
    solution = solver.solution(problem, cpu_device.info, solver.default_config(problem, cpu_device.info))
    assert len(set(repeat(cpu_device, problem, solution))) == 1


@pytest.mark.parametrize("direction", Direction)
def test_the_scripted_device_sees_what_a_plan_moves(execute, make_problem, direction):
    problem = make_problem(direction=direction, n=2, **CHANNELS_LAST)
    solver = SOLVER_OF[direction]
    device = scripted.open_device(DeviceOptions())
    solution = solver.solution(problem, device.info, solver.default_config(problem, device.info))
    assert execute(device, problem, solver, solution).passed
    for step, launch in enumerate(solution.launches):
        if launch.kernel.file == FILE:
            fewer = (*solution.launches[:step], *solution.launches[step + 1 :])
            assert not execute(device, problem, solver, replace(solution, launches=fewer)).passed
    device.close()


# plans


def names(solution):
    return [launch.kernel.entry for launch in solution.launches]


@pytest.mark.parametrize("direction", Direction)
def test_only_what_lies_otherwise_is_moved(make_problem, gpu_info, direction):
    solver = SOLVER_OF[direction]
    plain = make_problem(direction=direction, dtype=DType.FP16)
    fields = "in_layout", "fil_layout", "out_layout"
    for layouts in itertools.product((Layout.NCHW, Layout.NHWC, Layout.CHWN), repeat=3):
        problem = replace(plain, **dict(zip(fields, layouts, strict=True)))
        solution = solver.solution(problem, gpu_info, solver.default_config(problem, gpu_info))
        moves = [entry for entry in names(solution) if entry == "batched_transpose_32x32_half"]
        assert len(moves) == sum(layout is not Layout.NCHW for layout in layouts)
    assert solver.solution(plain, gpu_info, solver.default_config(plain, gpu_info)) == solver.plain.solution(
        plain, gpu_info, solver.default_config(plain, gpu_info)
    )


def test_a_plan_in_full(make_problem, gpu_info):
    problem = make_problem(n=2, c=6, k=8, spatial=(10, 11), in_layout=Layout.NHWC, out_layout=Layout.CHWN)
    solution = FWD.solution(problem, gpu_info, FWD.default_config(problem, gpu_info))
    columns, x = 6 * 9 * 110 * 4, 2 * 6 * 110 * 4
    x_at = math.ceil(columns / 256) * 256
    y_at = math.ceil((x_at + x) / 256) * 256
    assert solution.workspace_bytes == FWD.workspace_bytes(problem) == y_at + 2 * 8 * 110 * 4
    there, *inner, back = solution.launches
    assert there.args == (Pointer("source", Slot.INPUT), Pointer("target", Slot.WORKSPACE, x_at))
    assert dict(there.kernel.defines) == {
        "TRANSPOSE_BATCH": "2", "TRANSPOSE_ROWS": "110", "TRANSPOSE_COLUMNS": "6",
        "TRANSPOSE_ELEMENT_BYTES": "4", "BLOCK_SIZE": "256",
    }  # fmt: skip
    assert (there.grid, there.block) == ((2 * 4, 1, 1), (256, 1, 1))
    assert back.args == (Pointer("source", Slot.WORKSPACE, y_at), Pointer("target", Slot.OUTPUT))
    defines = dict(back.kernel.defines)
    assert [defines[f"TRANSPOSE_{name}"] for name in ("BATCH", "ROWS", "COLUMNS")] == ["1", "2", str(8 * 110)]
    plain = channels_first(problem)
    unmoved = FWD.plain.solution(plain, gpu_info, FWD.default_config(plain, gpu_info)).launches
    assert [launch.kernel for launch in inner] == [launch.kernel for launch in unmoved]
    assert inner[0].args[:2] == (Pointer("x", Slot.WORKSPACE, x_at), Pointer("columns", Slot.WORKSPACE))
    assert inner[1].args[:3] == (
        Pointer("w", Slot.WEIGHTS), Pointer("columns", Slot.WORKSPACE), Pointer("y", Slot.WORKSPACE, y_at),
    )  # fmt: skip


@pytest.mark.parametrize("direction", Direction)
def test_transformations_are_called_what_miopen_takes_for_one(make_problem, gpu_info, direction):
    problem = make_problem(direction=direction, **CHANNELS_LAST)
    solver = SOLVER_OF[direction]
    for launch in solver.solution(problem, gpu_info, solver.default_config(problem, gpu_info)).launches:
        assert launch.is_transformation == is_transformation_kernel(launch.kernel.entry)


@settings(deadline=None)
@given(problem=small_problems(dtypes=FLOATS, transposed=[False]))
def test_no_two_parts_of_the_workspace_overlap_and_each_is_aligned(gpu_info, problem):
    solver = SOLVER_OF[problem.direction]
    plain_bytes = solver.plain.workspace_bytes(channels_first(problem))
    solution = solver.solution(problem, gpu_info, solver.default_config(problem, gpu_info))
    parts = {(0, plain_bytes)}
    for launch in solution.launches:
        if launch.kernel.file == FILE:
            defines = dict(launch.kernel.defines)
            keys = "BATCH", "ROWS", "COLUMNS", "ELEMENT_BYTES"
            nbytes = math.prod(int(defines[f"TRANSPOSE_{key}"]) for key in keys)
            (at,) = (pointer.offset_bytes for pointer in launch.args if pointer.slot is Slot.WORKSPACE)
            assert at % 16 == 0
            parts.add((at, at + nbytes))
    ordered = sorted(parts)
    assert all(end <= first for (_, end), (first, _) in itertools.pairwise(ordered))
    assert ordered[-1][1] == solution.workspace_bytes


def test_more_than_two_to_the_31_elements_are_planned(make_problem, gpu_info):
    problem = make_problem(n=40, c=64, k=64, spatial=(1024, 1024), **CHANNELS_LAST)
    assert math.prod(problem.x_shape) > 2**31
    there = FWD.solution(problem, gpu_info, FWD.default_config(problem, gpu_info)).launches[0]
    assert there.grid[0] * there.block[0] < 2**32
    assert FWD.workspace_bytes(problem) > 2 * 4 * 2**31


# refusals


def test_what_the_plain_solver_refuses_is_refused(make_problem, gpu_info):
    problem = make_problem(direction=Direction.BACKWARD_WEIGHTS, spatial=(128, 129), **CHANNELS_LAST)
    assert "16512 products" in WRW.refusal(problem, gpu_info)
    assert "not INT8" in FWD.refusal(make_problem(dtype=DType.INT8, **CHANNELS_LAST), gpu_info)
    with pytest.raises(ConfigError, match="HipConvIm2colGemmFwd"):
        FWD.solution(make_problem(**CHANNELS_LAST), gpu_info, PerformanceConfig())
