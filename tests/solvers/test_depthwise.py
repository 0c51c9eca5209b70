import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from kernel_mutants import barriers_of, with_texts, without_barrier
from strategies import small_problems

from pytest_miopen_perf.checking.check import Reason
from pytest_miopen_perf.checking.reference import make_operands
from pytest_miopen_perf.errors import ConfigError
from pytest_miopen_perf.launch import Pointer, Slot
from pytest_miopen_perf.measuring.execution import ConvBuffers, prepare
from pytest_miopen_perf.problem import Direction, DType, Layout
from pytest_miopen_perf.solvers import PerformanceConfig
from pytest_miopen_perf.solvers import depthwise as data_directions
from pytest_miopen_perf.solvers.depthwise import DepthwiseConfig
from pytest_miopen_perf.solvers.depthwise_wrw import SOLVERS as WRW_SOLVERS
from pytest_miopen_perf.solvers.depthwise_wrw import DepthwiseWrwConfig, tap_tile

SOLVERS = (*data_directions.SOLVERS, *WRW_SOLVERS)
FWD, BWD, WRW = SOLVERS
SOLVER_OF = {Direction.FORWARD: FWD, Direction.BACKWARD_DATA: BWD, Direction.BACKWARD_WEIGHTS: WRW}
FLOATS = (DType.FP32, DType.FP16, DType.BF16)
ORDERS = ("forward", "reverse", "strided")


def in_layout(layout):
    return {"in_layout": layout, "fil_layout": layout, "out_layout": layout}


@st.composite
def depthwise_problems(draw):
    """Small problems of two or three groups of one channel, in one layout."""
    problem = draw(small_problems(dtypes=FLOATS, transposed=[False]))
    layout = draw(st.sampled_from([Layout.NCHW, Layout.NHWC] if problem.rank == 2 else [Layout.NCDHW, Layout.NDHWC]))
    groups = draw(st.integers(1, 3))
    return replace(problem, c=groups, k=groups * draw(st.integers(1, 3)), groups=groups, **in_layout(layout))


def depthwise(make_problem, **changes):
    return make_problem(**{"n": 2, "c": 6, "k": 6, "groups": 6, "spatial": (13, 11)} | changes)


MOBILENET = {"n": 64, "c": 144, "k": 144, "groups": 144, "spatial": (56, 56)}
PACKED = {"c": 24, "k": 24, "groups": 24, "stride": (2, 1), "pad": (1, 2), **in_layout(Layout.NHWC)}


# numbers


@settings(deadline=None, max_examples=24, derandomize=True, phases=[Phase.generate])
@given(problem=depthwise_problems(), data=st.data())
def test_small_problems_are_right(cpu_device, solve, problem, data):
    solver = SOLVER_OF[problem.direction]
    config = data.draw(st.sampled_from(list(solver.configs(problem, cpu_device.info))))
    check = solve(cpu_device, problem, solver, config)
    assert check.passed, check.sentence


EDGES = {
    "wide": {"filter": (1, 19), "pad": (0, 9)},
    "strided": {"filter": (5, 4), "pad": (2, 0), "stride": (2, 3)},
    "dilated": {"filter": (3, 3), "pad": (1, 2), "dilation": (3, 2), "stride": (2, 1)},
    "multiplied": {"k": 18, "filter": (3, 2)},
    "half": {"dtype": DType.FP16, "k": 12, **in_layout(Layout.NHWC)},
    "packed": {"c": 16, "k": 16, "groups": 16, **in_layout(Layout.NHWC)},
    "packed and wide": {"c": 8, "k": 8, "groups": 8, "filter": (9, 11), "pad": (4, 5), **in_layout(Layout.NHWC)},
    "bfloat": {"dtype": DType.BF16, "spatial": (28, 28), **in_layout(Layout.NHWC)},
    "volume": {"spatial": (5, 6, 7), "filter": (3, 2, 3), "pad": (1, 0, 1), "stride": (2, 1, 1)},
    "padded away": {"spatial": (3, 3), "filter": (2, 2), "pad": (5, 4)},
}


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize("changes", EDGES.values(), ids=EDGES)
def test_edges_are_right_with_the_default_config(cpu_device, solve, make_problem, direction, changes):
    check = solve(cpu_device, depthwise(make_problem, direction=direction, **changes), SOLVER_OF[direction])
    assert check.passed, check.sentence


@pytest.mark.parametrize(
    ("direction", "text"),
    [
        ("F", "64,4,8"),
        ("F", "16,1,32"),
        ("B", "64,2,16"),
        ("B", "16,4,1"),
        ("W", "16,1,1,2,4,4"),
        ("W", "64,1,1,4,1,2"),
    ],
)
def test_a_spread_of_configs_is_right(cpu_device, solve, make_problem, direction, text):
    problem = depthwise(make_problem, direction=Direction(direction), c=9, k=18, groups=9, spatial=(17, 21))
    solver = SOLVER_OF[problem.direction]
    check = solve(cpu_device, problem, solver, solver.parse_config(text))
    assert check.passed, check.sentence


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("text", ["16,16,1,1,4,4", "16,16,2,2,2,1", "32,16,4,1,8,2", "16,8,8,2,4,2"])
def test_channels_that_come_last_are_taken_in_packs(cpu_device, solve, make_problem, dtype, text):
    problem = depthwise(make_problem, direction=Direction.BACKWARD_WEIGHTS, dtype=dtype, **PACKED)
    check = solve(cpu_device, problem, WRW, WRW.parse_config(text))
    assert check.passed, check.sentence


# the sums of backward weights


@pytest.fixture
def wrw_problem(make_problem):
    return depthwise(make_problem, direction=Direction.BACKWARD_WEIGHTS)


WRW_FILE = "conv_depthwise_wrw.hip"
WRW_CONFIG = DepthwiseWrwConfig(16, 1, 1, 2, 2, 2)


def reasons(open_cpu, execute, problem, solution):
    return [execute(open_cpu(work_item_order=order), problem, WRW, solution).reason for order in ORDERS]


def test_no_order_of_work_items_matters(open_cpu, cpu_info, execute, wrw_problem):
    solution = WRW.solution(wrw_problem, cpu_info, WRW_CONFIG)
    assert reasons(open_cpu, execute, wrw_problem, solution) == [Reason.RIGHT] * 3


@pytest.mark.parametrize("barrier", barriers_of(WRW_FILE), ids=str)
def test_no_barrier_is_there_for_nothing(open_cpu, cpu_info, execute, wrw_problem, tmp_path, barrier):
    solution = WRW.solution(wrw_problem, cpu_info, WRW_CONFIG)
    mutant = with_texts(solution, WRW_FILE, without_barrier(barrier), tmp_path)
    assert set(reasons(open_cpu, execute, wrw_problem, mutant)) - {Reason.RIGHT}


def test_ten_runs_give_the_same_bits(cpu_device, wrw_problem):
    solution = WRW.solution(wrw_problem, cpu_device.info, WRW_CONFIG)
    with ConvBuffers(cpu_device, wrw_problem, make_operands(wrw_problem, seed=3), solution.workspace_bytes) as buffers:
        prepared = prepare(cpu_device, solution, buffers)
        runs = set()
        for _ in range(10):
            buffers.poison()
            prepared.execute()
            runs.add(buffers.download_result().tobytes())
    assert len(runs) == 1


# plans


def test_a_plan_of_the_data_directions(make_problem, gpu_info):
    problem = depthwise(make_problem, k=12, stride=(2, 1), **in_layout(Layout.NHWC))
    solution = FWD.solution(problem, gpu_info, DepthwiseConfig(64, 2, 4))
    (launch,) = solution.launches
    assert (solution.solver, solution.solver_id, solution.workspace_bytes) == ("HipConvDepthwiseFwd", 10031, 0)
    assert (launch.kernel.file, launch.kernel.entry) == ("conv_depthwise.hip", "depthwise_conv_fwd")
    assert launch.args == (Pointer("x", Slot.INPUT), Pointer("w", Slot.WEIGHTS), Pointer("y", Slot.OUTPUT))
    assert problem.output == (7, 11)
    assert launch.grid == (math.ceil(2 * 12 * 4 * 3 / 64), 1, 1)
    assert launch.block == (64, 1, 1)
    assert not launch.is_transformation
    defines = dict(launch.kernel.defines)
    tuned = {name: defines[name] for name in ("BLOCK_SIZE", "ROWS_PER_THREAD", "PIXELS_PER_THREAD")}
    assert tuned == {"BLOCK_SIZE": "64", "ROWS_PER_THREAD": "2", "PIXELS_PER_THREAD": "4"}
    assert (defines["CONV_DIRECTION"], defines["CONV_X_LAYOUT"], defines["ELEMENT"]) == ("0", "NDHWC", "FP32")


def test_a_plan_of_backward_weights(make_problem, gpu_info):
    problem = depthwise(
        make_problem, direction=Direction.BACKWARD_WEIGHTS, c=40, k=40, groups=40, filter=(5, 9), pad=(2, 4)
    )
    solution = WRW.solution(problem, gpu_info, DepthwiseWrwConfig(256, 1, 1, 2, 4, 1))
    (launch,) = solution.launches
    assert (solution.solver_id, launch.kernel.entry) == (10033, "depthwise_conv_wrw")
    assert tap_tile(problem) == (5, 5)
    assert launch.grid == (40 * 2, 1, 1)
    assert launch.args == (Pointer("x", Slot.INPUT), Pointer("w", Slot.WEIGHTS), Pointer("y", Slot.OUTPUT))


def test_a_plan_of_backward_weights_in_parts(make_problem, gpu_info):
    problem = depthwise(make_problem, direction=Direction.BACKWARD_WEIGHTS, c=40, k=40, groups=40, spatial=(56, 56))
    solution = WRW.solution(problem, gpu_info, DepthwiseWrwConfig(256, 1, 1, 2, 2, 4))
    parts, sums = solution.launches
    assert (parts.kernel.entry, sums.kernel.entry) == ("depthwise_conv_wrw_parts", "implicit_gemm_add_parts")
    assert parts.grid == (40 * 4, 1, 1)
    assert [pointer.slot for pointer in parts.args] == [Slot.INPUT, Slot.OUTPUT, Slot.WORKSPACE]
    workspace, w, count = sums.args
    assert (workspace.slot, w.slot) == (Slot.WORKSPACE, Slot.WEIGHTS)
    assert str(count.value) == dict(parts.kernel.defines)["PARTS"] == "4"
    assert solution.workspace_bytes == WRW.workspace_bytes(problem) == 128 * 40 * 9 * 4


def test_one_position_needs_no_workspace(make_problem):
    problem = depthwise(make_problem, n=1, direction=Direction.BACKWARD_WEIGHTS, spatial=(3, 3), pad=(0, 0))
    assert WRW.workspace_bytes(problem) == 0


@pytest.mark.parametrize("layout", [Layout.NCHW, Layout.NHWC])
def test_the_default_of_backward_weights_keeps_a_gpu_busy(make_problem, gpu_info, layout):
    """Once, the whole work was that of five blocks."""
    problem = depthwise(make_problem, direction=Direction.BACKWARD_WEIGHTS, **MOBILENET, **in_layout(layout))
    config = WRW.default_config(problem, gpu_info)
    launch, _ = WRW.solution(problem, gpu_info, config).launches
    assert launch.grid[0] * launch.block[0] >= 512 * gpu_info.compute_units


@settings(deadline=None)
@given(problem=depthwise_problems())
def test_every_small_problem_has_valid_configs_the_default_among_them(cpu_info, gpu_info, problem):
    solver = SOLVER_OF[problem.direction]
    for info in (cpu_info, gpu_info):
        assert solver.refusal(problem, info) is None
        configs = list(solver.configs(problem, info))
        assert solver.default_config(problem, info) in configs
        assert len(set(configs)) == len(configs)
        for config in configs:
            assert solver.parse_config(config.serialize()) == config
            for launch in solver.solution(problem, info, config).launches:
                assert launch.grid[0] <= info.max_grid[0]
                assert launch.block[0] <= info.max_block


@pytest.mark.parametrize("direction", Direction)
def test_more_than_two_to_the_31_elements_are_planned_in_a_legal_grid(make_problem, gpu_info, direction):
    problem = make_problem(direction=direction, dtype=DType.FP16, n=200_000, c=64, k=64, groups=64, spatial=(56, 56))
    assert math.prod(problem.x_shape) > 2**31
    solver = SOLVER_OF[direction]
    configs = list(solver.configs(problem, gpu_info))
    assert solver.default_config(problem, gpu_info) in configs
    for config in configs:
        for launch in solver.solution(problem, gpu_info, config).launches:
            assert launch.grid[0] * launch.block[0] < 2**32


def test_elements_beyond_two_to_the_31_compile_with_64_bit_counts(cpu_device, gpu_info, make_problem):
    """The kernels that the preprocessor gives wide counters are other ones; they compile too."""
    for direction in Direction:
        problem = make_problem(direction=direction, dtype=DType.FP16, n=2**23, c=8, k=8, groups=8, spatial=(8, 8))
        solver = SOLVER_OF[direction]
        config = list(solver.configs(problem, gpu_info))[-1]
        for launch in solver.solution(problem, gpu_info, config).launches:
            cpu_device.compile(launch.kernel)


def test_positions_beyond_two_to_the_31_are_counted_in_64_bits(cpu_device, gpu_info, make_problem):
    problem = depthwise(
        make_problem,
        direction=Direction.BACKWARD_WEIGHTS,
        dtype=DType.FP16,
        n=2**25 + 1,
        c=1,
        k=1,
        groups=1,
        spatial=(8, 8),
    )
    for launch in WRW.solution(problem, gpu_info, DepthwiseWrwConfig(256, 1, 1, 1, 1, 128)).launches:
        cpu_device.compile(launch.kernel)


# refusals


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"groups": 3}, "one input channel; here 3 groups share 6"),
        ({"dtype": DType.INT8}, "not INT8"),
        ({"in_layout": Layout.NHWC}, "NCHW or NHWC; here they are NCHW, NHWC"),
        (in_layout(Layout.CHWN), "CHWN"),
        ({"spatial": (1, 2**31 - 2)}, "32 bits"),
    ],
)
def test_what_cannot_be_computed_is_refused_in_words(make_problem, gpu_info, changes, words):
    for direction in Direction:
        assert words in SOLVER_OF[direction].refusal(depthwise(make_problem, direction=direction, **changes), gpu_info)


@pytest.mark.parametrize(
    ("direction", "text", "reason"),
    [
        ("F", "64,0,4", "at least 1"),
        ("F", "96,1,1", "does not suit waves"),
        ("B", "64,4,8", "too many for the registers"),
        ("F", "64,16,1", "mostly beyond an image of 7 x 9"),
        ("W", "0,1,1,1,1,1", "at least 1"),
        ("W", "192,1,1,1,1,1", "cannot halve"),
        ("W", "64,128,1,1,1,1", "cannot halve"),
        ("W", "64,1,2,1,1,1", "cannot halve"),
        ("W", "64,16,1,1,1,1", "mostly empty"),
        ("W", "64,2,2,1,1,1", "lie nowhere together"),
        ("W", "64,1,1,16,1,1", "mostly beyond an image of 7 x 9"),
        ("W", "64,1,1,1,1,4", "4 parts are more than 64 work-items"),
        ("W", "64,1,1,8,16,1", "too many for the registers"),
        ("W", "64,1,1,1,1,256", "do not fit the workspace"),
    ],
)
def test_what_a_config_breaks_is_said(make_problem, gpu_info, direction, text, reason):
    problem = depthwise(make_problem, direction=Direction(direction), spatial=(7, 9))
    solver = SOLVER_OF[problem.direction]
    config = solver.parse_config(text)
    assert config not in list(solver.configs(problem, gpu_info))
    with pytest.raises(ConfigError, match=reason):
        solver.solution(problem, gpu_info, config)


@pytest.mark.parametrize(
    ("changes", "text", "reason"),
    [
        (PACKED | {"c": 23, "k": 23, "groups": 23}, "64,16,2,1,1,1", "lie nowhere together"),
        (PACKED | {"k": 48}, "64,16,2,1,1,1", "lie nowhere together"),
        (PACKED, "64,1,1,1,1,1", "little of each line of memory"),
        (PACKED | {"filter": (9, 9), "pad": (4, 4)}, "64,16,4,1,1,1", "100 sums"),
        ({"spatial": (99, 99), "dilation": (9, 1)}, "64,1,1,16,1,1", "read from 34 rows"),
        ({"spatial": (99, 99), "dilation": (1, 24)}, "64,1,1,1,2,1", "take 50 registers for a row of x"),
    ],
)
def test_what_a_config_of_backward_weights_breaks_is_said(make_problem, gpu_info, changes, text, reason):
    problem = depthwise(make_problem, direction=Direction.BACKWARD_WEIGHTS, **changes)
    with pytest.raises(ConfigError, match=reason):
        WRW.solution(problem, gpu_info, WRW.parse_config(text))


def test_a_row_that_needs_many_registers_is_taken_one_result_at_a_time(make_problem, gpu_info):
    problem = depthwise(make_problem, spatial=(99, 99), stride=(9, 9), dilation=(5, 5))
    assert {config.pixels_per_thread for config in FWD.configs(problem, gpu_info)} == {1, 2, 4}


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
def test_a_config_of_another_solver_is_refused(make_problem, gpu_info, solver):
    (direction,) = solver.directions
    with pytest.raises(ConfigError, match=solver.name):
        solver.solution(depthwise(make_problem, direction=direction), gpu_info, PerformanceConfig())
    with pytest.raises(ConfigError, match="Depthwise"):
        solver.parse_config("1,2")


def test_devices_too_small_are_refused(make_problem, gpu_info):
    wrw = depthwise(make_problem, direction=Direction.BACKWARD_WEIGHTS)
    assert "shared memory" in WRW.refusal(wrw, replace(gpu_info, lds_bytes=64))
    assert "waves" in FWD.refusal(depthwise(make_problem), replace(gpu_info, max_block=32))
    crowded = depthwise(make_problem, n=2**16, c=256, k=256, groups=256)
    assert "more than a grid" in FWD.refusal(crowded, replace(gpu_info, max_grid=(100, 1, 1)))


def test_results_of_nan_are_caught_where_a_padded_tap_reads_nothing(cpu_device, solve, make_problem):
    """Filters larger than the image: most taps of most results read beyond it."""
    problem = depthwise(make_problem, spatial=(4, 3), filter=(9, 11), pad=(5, 6))
    check = solve(cpu_device, problem, FWD)
    assert check.passed, check.sentence
    assert np.isfinite(check.got)


@pytest.mark.parametrize("layout", [Layout.NCHW, Layout.NHWC])
def test_no_work_item_adds_up_more_than_fp32_holds_exactly_enough(make_problem, gpu_info, layout):
    problem = depthwise(
        make_problem, direction=Direction.BACKWARD_WEIGHTS, **MOBILENET | {"n": 512}, **in_layout(layout)
    )
    longest = {
        dtype: max(
            -(-512 * -(-56 // c.rows_per_thread) * -(-56 // c.pixels_per_thread) // (c.lanes * c.parts))
            * c.rows_per_thread
            * c.pixels_per_thread
            for c in WRW.configs(replace(problem, dtype=dtype), gpu_info)
        )
        for dtype in FLOATS
    }
    assert longest[DType.FP32] <= 2**14 < longest[DType.FP16]
    with pytest.raises(ConfigError, match="one after another"):
        WRW.solution(problem, gpu_info, DepthwiseWrwConfig(64, 32, 1, 1, 1, 1))
