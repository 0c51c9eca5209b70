import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from pytest_miopen_perf.checking.reference import Distribution, compute_reference, make_operands
from pytest_miopen_perf.checking.tensors import result_slot, tensor_spec, unpack
from pytest_miopen_perf.checking.verification import element_bounds
from pytest_miopen_perf.errors import ConfigError
from pytest_miopen_perf.launch import Pointer, Slot
from pytest_miopen_perf.measuring.execution import ConvBuffers, prepare
from pytest_miopen_perf.problem import Direction, DType, Layout
from pytest_miopen_perf.records import is_transformation_kernel
from pytest_miopen_perf.solvers import Algorithm, PerformanceConfig
from pytest_miopen_perf.solvers.gemm import GemmConfig
from pytest_miopen_perf.solvers.winograd import SOLVERS, tiling_of

F23_FWD, F23_BWD, F43_FWD, F43_BWD = SOLVERS
by_name = pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)


def in_layout(layout):
    return {"in_layout": layout, "fil_layout": layout, "out_layout": layout}


def for_solver(make_problem, solver, **changes):
    return make_problem(direction=solver.direction, **changes)


@st.composite
def winograd_problems(draw, make_problem):
    groups = draw(st.integers(1, 3))
    pad = draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
    return make_problem(
        direction=draw(st.sampled_from([Direction.FORWARD, Direction.BACKWARD_DATA])),
        dtype=draw(st.sampled_from([DType.FP32, DType.FP16, DType.BF16])),
        n=draw(st.integers(1, 2)),
        c=groups * draw(st.integers(1, 4)),
        k=groups * draw(st.integers(1, 4)),
        groups=groups,
        spatial=tuple(draw(st.integers(max(1, 3 - 2 * p), 12)) for p in pad),
        pad=pad,
        **in_layout(draw(st.sampled_from([Layout.NCHW, Layout.NHWC]))),
    )


# numbers


@settings(deadline=None, max_examples=10, derandomize=True, phases=[Phase.generate])
@given(data=st.data(), distribution=st.sampled_from(Distribution))
def test_small_problems_are_right(cpu_device, solve, make_problem, data, distribution):
    problem = data.draw(winograd_problems(make_problem))
    for solver in SOLVERS:
        if solver.direction is problem.direction:
            check = solve(cpu_device, problem, solver, distribution=distribution)
            assert check.passed, check.sentence


EDGES = {
    "several blocks": {"n": 2, "c": 20, "k": 40, "spatial": (18, 21)},
    "grouped": {"c": 6, "k": 10, "groups": 2, "spatial": (9, 8), "pad": (0, 2)},
    "half, channels last": {"c": 6, "k": 10, "dtype": DType.FP16, "spatial": (11, 6), **in_layout(Layout.NHWC)},
    "one pixel": {"n": 3, "spatial": (1, 1)},
    "pads beyond the filter": {"spatial": (3, 2), "pad": (4, 3)},
}


@by_name
@pytest.mark.parametrize("changes", EDGES.values(), ids=EDGES)
def test_edges_are_right(cpu_device, solve, make_problem, solver, changes):
    check = solve(cpu_device, for_solver(make_problem, solver, **changes), solver)
    assert check.passed, check.sentence


@pytest.mark.parametrize("order", ["reverse", "strided"])
def test_no_order_of_work_items_matters(open_cpu, solve, make_problem, order):
    for solver in (F43_FWD, F43_BWD):
        check = solve(open_cpu(work_item_order=order), for_solver(make_problem, solver, c=20, k=20), solver)
        assert check.passed, check.sentence


def run(device, problem, solver, operands, runs=1):
    """The logical result of each run."""
    spec = tensor_spec(problem, result_slot(problem))
    solution = solver.solution(problem, device.info, solver.default_config(problem, device.info))
    with ConvBuffers(device, problem, operands, solution.workspace_bytes) as buffers:
        prepared = prepare(device, solution, buffers)
        for _ in range(runs):
            buffers.poison()
            prepared.execute()
            yield unpack(buffers.download_result(), spec)


@by_name
def test_ten_runs_give_the_same_bits(cpu_device, make_problem, solver):
    problem = for_solver(make_problem, solver)
    runs = list(run(cpu_device, problem, solver, make_operands(problem, seed=3), 10))
    assert len({result.tobytes() for result in runs}) == 1


def test_larger_tiles_round_more_and_leave_half_of_the_bound(cpu_device, make_problem):
    """The measurement behind the number of roundings that the check allows."""
    problem = make_problem(c=3, k=8, spatial=(28, 28))
    worst = {F23_FWD: 0.0, F43_FWD: 0.0}
    for seed in range(4):
        for distribution in Distribution:
            operands = make_operands(problem, seed=seed, distribution=distribution)
            reference = compute_reference(problem, operands)
            bounds = element_bounds(problem, reference, algorithm=Algorithm.WINOGRAD)
            for solver, largest in worst.items():
                (result,) = run(cpu_device, problem, solver, operands)
                worst[solver] = max(largest, float((np.abs(result - reference.values) / bounds).max()))
    assert worst[F23_FWD] < worst[F43_FWD] < 0.6


# plans


def test_a_plan_in_full(make_problem, gpu_info):
    problem = make_problem(n=2, c=6, k=8, groups=2, spatial=(10, 11))
    solution = F43_FWD.solution(problem, gpu_info, GemmConfig(32, 32, 8, 4, 4))
    tiles = 2 * math.ceil(10 / 4) * math.ceil(11 / 4)
    assert (solution.solver, solution.solver_id) == ("HipConvWinogradF43Fwd", 10053)
    assert [launch.kernel.entry for launch in solution.launches] == [
        "winograd_transform_data", "winograd_transform_filter", "gemm_conv", "winograd_transform_output",
    ]  # fmt: skip
    data, filters, products, output = solution.launches
    patch_bytes, filter_bytes, product_bytes = (36 * count * 4 for count in (6 * tiles, 8 * 3, 8 * tiles))
    filters_at = math.ceil(patch_bytes / 256) * 256
    products_at = filters_at + math.ceil(filter_bytes / 256) * 256
    assert data.args == (Pointer("x", Slot.INPUT), Pointer("patches", Slot.WORKSPACE))
    assert filters.args == (Pointer("w", Slot.WEIGHTS), Pointer("filters", Slot.WORKSPACE, filters_at))
    assert products.args[:3] == (
        Pointer("filters", Slot.WORKSPACE, filters_at),
        Pointer("patches", Slot.WORKSPACE, 0),
        Pointer("products", Slot.WORKSPACE, products_at),
    )
    assert output.args == (Pointer("products", Slot.WORKSPACE, products_at), Pointer("y", Slot.OUTPUT))
    assert solution.workspace_bytes == products_at + math.ceil(product_bytes / 256) * 256
    sizes = {"GEMM_M": "4", "GEMM_N": str(tiles), "GEMM_K": "3", "GEMM_BATCH": "72"}
    assert sizes.items() <= dict(products.kernel.defines).items()
    assert products.grid == (72, 1, 1)
    assert data.grid == (math.ceil(6 * tiles / 256), 1, 1)


def test_backward_data_reads_y_and_writes_x(make_problem, gpu_info):
    problem = for_solver(make_problem, F23_BWD)
    launches = F23_BWD.solution(problem, gpu_info, F23_BWD.default_config(problem, gpu_info)).launches
    assert launches[0].args[0] == Pointer("y", Slot.OUTPUT)
    assert launches[-1].args[1] == Pointer("x", Slot.INPUT)


@by_name
def test_transformations_are_called_what_miopen_takes_for_one(make_problem, gpu_info, solver):
    problem = for_solver(make_problem, solver)
    for launch in solver.solution(problem, gpu_info, solver.default_config(problem, gpu_info)).launches:
        assert launch.is_transformation == is_transformation_kernel(launch.kernel.entry)


@by_name
def test_the_contract_holds_on_either_device(make_problem, cpu_info, gpu_info, solver):
    for info in (cpu_info, gpu_info):
        for changes in ({}, {"c": 64, "k": 64, "spatial": (56, 56)}):
            problem = for_solver(make_problem, solver, **changes)
            assert solver.refusal(problem, info) is None
            configs = list(solver.configs(problem, info))
            assert solver.default_config(problem, info) in configs
            for config in configs:
                for launch in solver.solution(problem, info, config).launches:
                    assert launch.grid[0] <= info.max_grid[0]
                    assert launch.block[0] <= info.max_block


def test_more_than_two_to_the_31_floats_of_workspace_are_planned(make_problem, gpu_info):
    problem = make_problem(n=128, c=64, k=64, spatial=(224, 224))
    assert tiling_of(problem, 2).patch_floats > 2**30
    assert F23_FWD.workspace_bytes(problem) > 2**33
    for launch in F23_FWD.solution(problem, gpu_info, F23_FWD.default_config(problem, gpu_info)).launches:
        assert launch.grid[0] * launch.block[0] < 2**32


# refusals


@by_name
@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"filter": (3, 5)}, "3x3"),
        ({"spatial": (5, 5, 5)}, "3x3"),
        ({"stride": (1, 2)}, "strides"),
        ({"dilation": (2, 1)}, "dilations"),
        ({"dtype": DType.INT8}, "not INT8"),
        ({"in_layout": Layout.NHWC}, "must all be"),
        ({"n": 2**30, "spatial": (64, 64)}, "32 bits"),
    ],
)
def test_what_cannot_be_computed_is_refused_in_words(make_problem, gpu_info, solver, changes, words):
    assert words in solver.refusal(for_solver(make_problem, solver, **changes), gpu_info)


def test_a_device_too_small_is_refused(make_problem, gpu_info):
    assert "shared memory" in F43_FWD.refusal(make_problem(), replace(gpu_info, lds_bytes=512))
    assert "more than a grid" in F43_FWD.refusal(make_problem(spatial=(99, 99)), replace(gpu_info, max_grid=(2, 1, 1)))


def test_a_config_of_another_solver_is_refused(make_problem, gpu_info):
    with pytest.raises(ConfigError, match="HipConvWinogradF23Fwd"):
        F23_FWD.solution(make_problem(), gpu_info, PerformanceConfig())
    with pytest.raises(ConfigError, match="cannot use 128,32,8,8,4"):
        F23_FWD.solution(make_problem(), gpu_info, GemmConfig(128, 32, 8, 8, 4))
