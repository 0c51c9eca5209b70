import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from pytest_miopen_perf.checking.reference import Distribution, compute_reference, make_operands
from pytest_miopen_perf.checking.tensors import result_slot, tensor_spec, unpack
from pytest_miopen_perf.checking.verification import element_bounds
from pytest_miopen_perf.devices.recognition import recognise
from pytest_miopen_perf.errors import ConfigError
from pytest_miopen_perf.launch import Pointer, Slot
from pytest_miopen_perf.measuring.execution import ConvBuffers, prepare
from pytest_miopen_perf.problem import Direction, DType, Layout
from pytest_miopen_perf.records import is_transformation_kernel
from pytest_miopen_perf.solvers import Algorithm, PerformanceConfig
from pytest_miopen_perf.solvers.gemm import GemmConfig
from pytest_miopen_perf.solvers.limits import LONGEST_STRICT_SUM
from pytest_miopen_perf.solvers.winograd_wrw import SOLVERS, WinogradWrwConfig, wrw_tiling_of

F32, F34 = SOLVERS
TILE_OF = {F32: 2, F34: 4}
by_name = pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
SMALL_CUT = "16,64,8,4,16"


@pytest.fixture(scope="session")
def make_wrw(make_problem):
    return lambda **changes: make_problem(direction=Direction.BACKWARD_WEIGHTS, **changes)


def in_layout(layout):
    return {"in_layout": layout, "fil_layout": layout, "out_layout": layout}


@st.composite
def wrw_problems(draw, make_wrw):
    groups = draw(st.integers(1, 3))
    pad = draw(st.tuples(st.integers(0, 3), st.integers(0, 3)))
    return make_wrw(
        dtype=draw(st.sampled_from([DType.FP32, DType.FP16, DType.BF16])),
        n=draw(st.integers(1, 3)),
        c=groups * draw(st.integers(1, 4)),
        k=groups * draw(st.integers(1, 4)),
        groups=groups,
        spatial=tuple(draw(st.integers(max(1, 3 - 2 * p), 12)) for p in pad),
        pad=pad,
        **in_layout(draw(st.sampled_from([Layout.NCHW, Layout.NHWC]))),
    )


# numbers


@settings(deadline=None, max_examples=8, derandomize=True, phases=[Phase.generate])
@given(data=st.data(), distribution=st.sampled_from(Distribution))
def test_small_problems_are_right(cpu_device, solve, make_wrw, data, distribution):
    problem = data.draw(wrw_problems(make_wrw))
    solver = data.draw(st.sampled_from(SOLVERS))
    parts = sorted({config.split_k for config in solver.configs(problem, cpu_device.info)})
    config = solver.parse_config(f"{SMALL_CUT},{data.draw(st.sampled_from(parts))}")
    check = solve(cpu_device, problem, solver, config, distribution=distribution)
    assert check.passed, check.sentence


EDGES = {
    "several blocks": {"n": 2, "c": 70, "k": 40, "spatial": (18, 21)},
    "grouped": {"n": 2, "c": 6, "k": 10, "groups": 2, "spatial": (9, 8), "pad": (0, 2)},
    "half, channels last": {"c": 6, "k": 10, "dtype": DType.FP16, "spatial": (11, 6), **in_layout(Layout.NHWC)},
    "one pixel": {"n": 5, "spatial": (1, 1)},
    "pads beyond the filter": {"n": 2, "spatial": (3, 2), "pad": (4, 3)},
}


@by_name
@pytest.mark.parametrize("changes", EDGES.values(), ids=EDGES)
def test_edges_are_right(cpu_device, solve, make_wrw, solver, changes):
    check = solve(cpu_device, make_wrw(**changes), solver, solver.parse_config(f"{SMALL_CUT},2"))
    assert check.passed, check.sentence


@pytest.mark.parametrize(("n", "full"), [(3, 4.5), (8, 6.0)])
def test_parts_that_are_empty_or_not_full_are_right(cpu_device, solve, make_wrw, n, full):
    problem = make_wrw(n=n, spatial=(9, 5))
    assert n * 3 * 2 / wrw_tiling_of(problem, 4, 8).part_tiles == full
    check = solve(cpu_device, problem, F34, F34.parse_config(f"{SMALL_CUT},8"))
    assert check.passed, check.sentence


@pytest.mark.parametrize("order", ["reverse", "strided"])
def test_no_order_of_work_items_matters(open_cpu, solve, make_wrw, order):
    problem = make_wrw(n=2, c=20, k=20)
    check = solve(open_cpu(work_item_order=order), problem, F34, F34.parse_config(f"{SMALL_CUT},2"))
    assert check.passed, check.sentence


def run(device, problem, solver, operands, config, runs=1):
    """The logical result of each run."""
    spec = tensor_spec(problem, result_slot(problem))
    solution = solver.solution(problem, device.info, config)
    with ConvBuffers(device, problem, operands, solution.workspace_bytes) as buffers:
        prepared = prepare(device, solution, buffers)
        for _ in range(runs):
            buffers.poison()
            prepared.execute()
            yield unpack(buffers.download_result(), spec)


@by_name
def test_ten_runs_give_the_same_bits_with_several_parts_too(cpu_device, make_wrw, solver):
    problem = make_wrw(n=4)
    config = solver.parse_config(f"{SMALL_CUT},4")
    runs = list(run(cpu_device, problem, solver, make_operands(problem, seed=3), config, 10))
    assert len({result.tobytes() for result in runs}) == 1


@by_name
def test_rounding_leaves_half_of_the_bound(cpu_device, make_wrw, solver):
    """Short sums and long ones: what transforms lose, and what a chain of sums of one sign loses."""
    for changes in ({"n": 1, "spatial": (5, 5)}, {"n": 16, "c": 2, "k": 2, "spatial": (32, 32)}):
        problem = make_wrw(**changes)
        for distribution in Distribution:
            operands = make_operands(problem, seed=7, distribution=distribution)
            reference = compute_reference(problem, operands)
            bounds = element_bounds(problem, reference, algorithm=Algorithm.WINOGRAD)
            (result,) = run(cpu_device, problem, solver, operands, solver.parse_config(f"{SMALL_CUT},1"))
            assert (np.abs(result - reference.values) / bounds).max() < 0.5


# plans


def test_a_plan_in_full(make_wrw, gpu_info):
    problem = make_wrw(n=2, c=6, k=8, groups=2, spatial=(10, 11))
    solution = F34.solution(problem, gpu_info, WinogradWrwConfig(32, 32, 8, 4, 4, 4))
    part_tiles = 8  # of 2 * 3 * 3 tiles in 4 parts, in vectors of 4
    assert (solution.solver, solution.solver_id) == ("HipConvWinogradF34Wrw", 10056)
    assert [launch.kernel.entry for launch in solution.launches] == [
        "winograd_transform_data", "winograd_transform_results", "gemm_conv", "winograd_transform_weights",
    ]  # fmt: skip
    data, results, products, weights = solution.launches
    spread_at = math.ceil(36 * 6 * 4 * part_tiles * 4 / 256) * 256
    products_at = spread_at + math.ceil(36 * 8 * 4 * part_tiles * 4 / 256) * 256
    assert data.args == (Pointer("x", Slot.INPUT), Pointer("patches", Slot.WORKSPACE))
    assert results.args == (Pointer("y", Slot.OUTPUT), Pointer("spread", Slot.WORKSPACE, spread_at))
    assert products.args[:3] == (
        Pointer("spread", Slot.WORKSPACE, spread_at),
        Pointer("patches", Slot.WORKSPACE, 0),
        Pointer("products", Slot.WORKSPACE, products_at),
    )
    assert weights.args == (Pointer("products", Slot.WORKSPACE, products_at), Pointer("w", Slot.WEIGHTS))
    sizes = {"GEMM_M": "4", "GEMM_N": "3", "GEMM_K": str(part_tiles), "GEMM_BATCH": str(4 * 36 * 2)} | {
        "A_ALIGNED": "1",
        "B_ALIGNED": "1",
    }
    assert sizes.items() <= dict(products.kernel.defines).items()
    assert products.grid == (4 * 36 * 2, 1, 1)
    assert [launch.grid for launch in (data, results, weights)] == [(1, 1, 1)] * 3
    macros = dict(weights.kernel.defines)
    assert {name: macros[name] for name in ("TILE", "PARTS", "PART_TILES", "WINOGRAD_STEP", "SOURCE_NAME")} == {
        "TILE": "4", "PARTS": "4", "PART_TILES": "8", "WINOGRAD_STEP": "2", "SOURCE_NAME": "x",
    }  # fmt: skip


@by_name
def test_a_workspace_has_room_for_every_config(make_wrw, gpu_info, solver):
    problem = make_wrw(n=4, c=8, k=12, spatial=(20, 20))
    ends = {
        wrw_tiling_of(problem, TILE_OF[solver], config.split_k).offsets()[-1]
        for config in solver.configs(problem, gpu_info)
    }
    assert solver.workspace_bytes(problem) == max(ends)
    assert len(ends) > 1


@by_name
def test_launches_are_recognised_and_called_what_miopen_calls_them(make_wrw, gpu_info, solver):
    problem = make_wrw()
    for launch in solver.solution(problem, gpu_info, solver.default_config(problem, gpu_info)).launches:
        assert launch.is_transformation == is_transformation_kernel(launch.kernel.entry)
        assert recognise(launch.kernel, {}).problem.direction is Direction.BACKWARD_WEIGHTS


@by_name
def test_the_contract_holds_on_either_device(make_wrw, cpu_info, gpu_info, solver):
    for info in (cpu_info, gpu_info):
        for changes in ({}, {"n": 16, "c": 64, "k": 64, "spatial": (56, 56)}):
            problem = make_wrw(**changes)
            assert solver.refusal(problem, info) is None
            configs = list(solver.configs(problem, info))
            assert len(set(configs)) == len(configs)
            assert solver.default_config(problem, info) in configs
            for config in configs[:: max(1, len(configs) // 16)]:
                solution = solver.solution(problem, info, config)
                assert solution.workspace_bytes == solver.workspace_bytes(problem)
                for launch in solution.launches:
                    assert launch.grid[0] <= info.max_grid[0]
                    assert launch.block[0] <= info.max_block


def test_long_sums_are_split_by_default_where_the_result_is_small(make_wrw, gpu_info, cpu_info):
    long = make_wrw(n=64, c=16, k=16, spatial=(56, 56))
    short = make_wrw(n=1, c=512, k=512, spatial=(8, 8))
    assert F34.default_config(long, gpu_info).split_k >= 8
    assert F34.default_config(short, gpu_info).split_k == 1
    assert F34.default_config(short, cpu_info).split_k == 1


def test_sums_of_very_many_tiles_are_split_because_float_does_not_bear_them(make_wrw, gpu_info):
    problem = make_wrw(n=64, c=4, k=4, spatial=(112, 112))
    for solver in SOLVERS:
        parts = {config.split_k for config in solver.configs(problem, gpu_info)}
        tiles = 64 * math.ceil(112 / TILE_OF[solver]) ** 2
        assert min(parts) * LONGEST_STRICT_SUM >= tiles
        assert min(parts) == 1 or min(parts) // 2 * LONGEST_STRICT_SUM < tiles


def test_products_of_many_parts_keep_to_a_limit(make_wrw, gpu_info):
    problem = make_wrw(n=8, c=1024, k=1024, spatial=(14, 14))
    assert {config.split_k for config in F34.configs(problem, gpu_info)} == {1}
    with pytest.raises(ConfigError, match="cannot use 64,64,16,4,4,2: parts may be 1"):
        F34.solution(problem, gpu_info, WinogradWrwConfig(64, 64, 16, 4, 4, 2))


def test_more_than_two_to_the_31_floats_of_workspace_are_planned(make_wrw, gpu_info):
    problem = make_wrw(n=256, c=128, k=64, spatial=(112, 112))
    assert F32.workspace_bytes(problem) > 2**33
    for launch in F32.solution(problem, gpu_info, F32.default_config(problem, gpu_info)).launches:
        assert launch.grid[0] * launch.block[0] < 2**32


# configs and refusals


def test_a_config_reads_as_it_is_written():
    config = F34.parse_config("64,64,16,4,4,8")
    assert config == WinogradWrwConfig(64, 64, 16, 4, 4, split_k=8)
    assert config.serialize() == "64,64,16,4,4,8"
    with pytest.raises(ConfigError, match="split_k"):
        F34.parse_config("64,64,16,4,4")


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
        ({"n": 2**20, "spatial": (64, 64)}, "1048576 tiles exactly enough"),
        ({"n": 64, "c": 4096, "k": 4096, "spatial": (256, 256)}, "bytes of workspace; the device has 137438953472"),
    ],
)
def test_what_cannot_be_computed_is_refused_in_words(make_wrw, gpu_info, solver, changes, words):
    assert words in solver.refusal(make_wrw(**changes), gpu_info)


def test_a_device_too_small_is_refused(make_wrw, gpu_info):
    assert "shared memory" in F34.refusal(make_wrw(), replace(gpu_info, lds_bytes=512))
    assert "more than a grid" in F34.refusal(make_wrw(spatial=(99, 99)), replace(gpu_info, max_grid=(2, 1, 1)))


def test_a_config_of_another_solver_is_refused(make_wrw, gpu_info):
    for config in (PerformanceConfig(), GemmConfig(64, 64, 16, 4, 4)):
        with pytest.raises(ConfigError, match="HipConvWinogradF32Wrw takes WinogradWrwConfig"):
            F32.solution(make_wrw(), gpu_info, config)
    with pytest.raises(ConfigError, match="cannot use 128,32,8,8,4,1"):
        F32.solution(make_wrw(), gpu_info, WinogradWrwConfig(128, 32, 8, 8, 4, 1))
    with pytest.raises(ConfigError, match="parts may be"):
        F32.solution(make_wrw(), gpu_info, WinogradWrwConfig(32, 32, 8, 4, 4, 3))
