"""How implicit GEMM is cut: plans, defaults, configs and refusals, with nothing compiled."""

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from plan_shapes import shape_of_plan
from strategies import small_problems

from pytest_miopen_perf.devices.recognition import recognise
from pytest_miopen_perf.errors import ConfigError
from pytest_miopen_perf.launch import Pointer, Slot
from pytest_miopen_perf.problem import Direction, DType, Layout
from pytest_miopen_perf.solvers import PerformanceConfig
from pytest_miopen_perf.solvers.gathered_gemm import GemmShape, gemm_shape
from pytest_miopen_perf.solvers.implicit_gemm import SOLVERS
from pytest_miopen_perf.solvers.implicit_gemm_config import (
    CPU_SPACE,
    GPU_SPACE,
    ImplicitGemmConfig,
    ImplicitGemmWrwConfig,
    estimated_cost,
    invalidity,
    search_space,
)

FWD, BWD, WRW, ATOMIC = SOLVERS
SOLVER_OF = dict(zip(Direction, (FWD, BWD, WRW), strict=True))
FLOATS = (DType.FP32, DType.FP16, DType.BF16)


float_problems = small_problems(dtypes=FLOATS, transposed=[False])


@pytest.fixture
def resnet(make_problem):
    return make_problem(n=16, c=64, k=64, spatial=(56, 56))


@pytest.fixture(params=["cpu_info", "gpu_info"])
def any_info(request):
    return request.getfixturevalue(request.param)


def config_of(solver, text, parts=1):
    """A config of the solver, whose sums are split where it can split them."""
    return solver.parse_config(f"{text},{parts}" if solver in (WRW, ATOMIC) else text)


# plans


def test_a_plan_in_full(make_problem, gpu_info):
    problem = make_problem(
        n=2, c=6, k=96, groups=2, spatial=(10, 11), filter=(3, 2), pad=(2, 1), stride=(2, 3), dilation=(1, 2),
        dtype=DType.FP16, out_layout=Layout.NHWC,
    )  # fmt: skip
    config = ImplicitGemmConfig.parse("64,32,32,8,4,2,1")
    solution = FWD.solution(problem, gpu_info, config)
    (launch,) = solution.launches
    assert (solution.solver, solution.solver_id, solution.config) == ("HipConvImplicitGemmFwd", 10011, config)
    assert solution.workspace_bytes == FWD.workspace_bytes(problem) == 0
    assert (launch.kernel.file, launch.kernel.entry) == ("conv_implicit_gemm.hip", "implicit_gemm_conv_fwd")
    assert dict(launch.kernel.defines) == {
        "ELEMENT": "FP16", "ACCUMULATOR": "float", "CONV_DIRECTION": "0",
        "CONV_N": "2", "CONV_C": "6", "CONV_K": "96", "CONV_GROUPS": "2",
        "CONV_IN_D": "1", "CONV_IN_H": "10", "CONV_IN_W": "11",
        "CONV_OUT_D": "1", "CONV_OUT_H": "6", "CONV_OUT_W": "4",
        "CONV_FIL_D": "1", "CONV_FIL_H": "3", "CONV_FIL_W": "2",
        "CONV_PAD_D": "0", "CONV_PAD_H": "2", "CONV_PAD_W": "1",
        "CONV_STRIDE_D": "1", "CONV_STRIDE_H": "2", "CONV_STRIDE_W": "3",
        "CONV_DILATION_D": "1", "CONV_DILATION_H": "1", "CONV_DILATION_W": "2",
        "CONV_X_LAYOUT": "NCDHW", "CONV_W_LAYOUT": "NCDHW", "CONV_Y_LAYOUT": "NDHWC",
        "BLOCK_SIZE": "64", "GEMM_M_PER_BLOCK": "32", "GEMM_N_PER_BLOCK": "32", "GEMM_K_PER_BLOCK": "8",
        "GEMM_M_PER_THREAD": "4", "GEMM_N_PER_THREAD": "2", "REPEAT_M": "1", "REPEAT_N": "2",
        "VECTOR_WIDTH": "1", "LANES": "2", "HAND_ON": "TO_RESULT",
    }  # fmt: skip
    assert launch.grid == (2 * 2 * 2, 1, 1)  # 48 channels, 48 positions, 2 groups
    assert (launch.block, launch.shared_bytes) == ((64, 1, 1), 0)
    assert launch.args == (Pointer("x", Slot.INPUT), Pointer("w", Slot.WEIGHTS), Pointer("y", Slot.OUTPUT))


def test_split_sums_are_planned_in_two_launches(make_problem, gpu_info):
    problem = make_problem(direction=Direction.BACKWARD_WEIGHTS, n=4, c=8, k=40, spatial=(20, 20))
    text = "64,32,32,8,4,4,1"
    whole = WRW.solution(problem, gpu_info, config_of(WRW, text, 1))
    split = WRW.solution(problem, gpu_info, config_of(WRW, text, 8))
    atomic = ATOMIC.solution(problem, gpu_info, config_of(ATOMIC, text, 8))
    tiles, w_blocks = 2 * 3, math.ceil(40 * 8 * 9 / 256)
    assert shape_of_plan(whole) == [("implicit_gemm_conv_wrw", tiles, ["x", "w", "y"])]
    assert shape_of_plan(split) == [
        ("implicit_gemm_conv_wrw_parts", tiles * 8, ["x", "y", "workspace"]),
        ("implicit_gemm_add_parts", w_blocks, ["workspace", "w", "parts"]),
    ]
    assert shape_of_plan(atomic) == [
        ("implicit_gemm_clear_result", w_blocks, ["w"]),
        ("implicit_gemm_conv_wrw", tiles * 8, ["x", "w", "y"]),
    ]
    assert whole.workspace_bytes == split.workspace_bytes == WRW.workspace_bytes(problem) == 256 * 40 * 8 * 9 * 4
    assert atomic.workspace_bytes == 0


@pytest.mark.parametrize("solver", [WRW, ATOMIC], ids=lambda solver: solver.name)
def test_configs_that_differ_in_parts_alone_share_their_kernels(make_problem, gpu_info, solver):
    """A search compiles one kernel for all of them."""
    problem = make_problem(direction=Direction.BACKWARD_WEIGHTS, n=4, c=8, k=40, spatial=(20, 20))
    plans = [solver.solution(problem, gpu_info, config_of(solver, "64,32,32,8,4,4,1", parts)) for parts in (4, 8)]
    few, many = ([launch.kernel for launch in plan.launches] for plan in plans)
    assert few == many


def test_a_workspace_has_a_limit_and_parts_keep_to_it(make_problem, gpu_info):
    problem = make_problem(direction=Direction.BACKWARD_WEIGHTS, n=8, c=1024, k=1024, spatial=(14, 14))
    w_bytes = 1024 * 1024 * 9 * 4
    assert WRW.workspace_bytes(problem) == 4 * w_bytes <= 256 * 2**20
    assert {config.parts for config in WRW.configs(problem, gpu_info)} == {1, 2, 4}
    assert max(config.parts for config in ATOMIC.configs(problem, gpu_info)) == 128
    with pytest.raises(ConfigError, match="do not fit the workspace"):
        WRW.solution(problem, gpu_info, config_of(WRW, "64,32,32,8,4,4,1", 8))
    larger = replace(problem, c=8192, k=8192, groups=1)
    assert WRW.workspace_bytes(larger) == 0


@pytest.mark.parametrize(("n", "least"), [(1, 1), (64, 8)])
def test_sums_of_very_many_products_are_split_because_float_does_not_bear_them(make_problem, gpu_info, n, least):
    """On an H200, 802,816 products in one chain were off by 1.7e-4, beyond the bound of the check."""
    problem = make_problem(direction=Direction.BACKWARD_WEIGHTS, n=n, c=3, k=64, spatial=(112, 112))
    for solver in (WRW, ATOMIC):
        assert min(config.parts for config in solver.configs(problem, gpu_info)) == least
        assert solver.default_config(problem, gpu_info).parts >= least


@pytest.mark.parametrize("layout", [Layout.NCHW, Layout.NHWC])
def test_where_no_tap_reaches_beyond_its_position_positions_lie_in_one_row(make_problem, gpu_info, layout):
    layouts = dict.fromkeys(("in_layout", "fil_layout", "out_layout"), layout)
    problem = make_problem(n=2, spatial=(6, 7), filter=(1, 1), pad=(0, 0), **layouts)
    (launch,) = FWD.solution(problem, gpu_info, FWD.default_config(problem, gpu_info)).launches
    macros = dict(launch.kernel.defines)
    assert (macros["CONV_IN_H"], macros["CONV_IN_W"], macros["CONV_OUT_W"]) == ("1", "42", "42")
    for changes in ({"pad": (1, 0)}, {"stride": (1, 2)}, {"filter": (1, 2)}):
        changed = replace(problem, **changes)
        (launch,) = FWD.solution(changed, gpu_info, FWD.default_config(changed, gpu_info)).launches
        assert dict(launch.kernel.defines)["CONV_IN_H"] == "6"


@settings(deadline=None, max_examples=20)
@given(problem=small_problems())
def test_every_small_problem_has_valid_configs_the_default_among_them(cpu_info, gpu_info, problem):
    problem = problem.canonical()
    for info in (cpu_info, gpu_info):
        for solver in (solver for solver in SOLVERS if solver.refusal(problem, info) is None):
            configs = list(solver.configs(problem, info))
            assert solver.default_config(problem, info) in configs
            for config in configs[:: max(1, len(configs) // 8)]:
                for launch in solver.solution(problem, info, config).launches:
                    assert launch.grid[0] <= info.max_grid[0]
                    assert launch.block[0] <= info.max_block
                    assert recognise(launch.kernel, {}).problem.direction is problem.direction
                assert config.lds_bytes <= info.lds_bytes


@settings(deadline=None, max_examples=40)
@given(problem=float_problems)
def test_nothing_small_in_floating_point_is_refused(cpu_info, gpu_info, problem):
    for info in (cpu_info, gpu_info):
        assert SOLVER_OF[problem.direction].refusal(problem, info) is None


@pytest.mark.parametrize("direction", Direction)
def test_there_are_dozens_of_ways_to_cut_a_large_problem(resnet, any_info, direction):
    problem = replace(resnet, direction=direction)
    configs = list(SOLVER_OF[direction].configs(problem, any_info))
    assert 24 <= len([config for config in configs if config.parts == 1]) <= 160
    assert len(set(configs)) == len(configs)


def test_more_than_two_to_the_31_positions_and_elements_are_planned_in_a_legal_grid(make_problem, gpu_info):
    problem = make_problem(n=1_000_000, c=4, k=4, spatial=(56, 56))
    assert problem.n * math.prod(problem.output) > 2**31
    for config in FWD.configs(problem, gpu_info):
        (launch,) = FWD.solution(problem, gpu_info, config).launches
        assert launch.grid[0] <= gpu_info.max_grid[0]
        assert launch.grid[0] * launch.block[0] < 2**32


def test_tiles_of_few_rows_are_for_groups_that_have_no_more(make_problem, gpu_info):
    for channels, rows in ((8, {8, 16, 32}), (12, {16, 32}), (24, {32}), (64, {32, 64, 128})):
        problem = make_problem(n=16, c=channels, k=channels, spatial=(56, 56))
        assert {config.gemm_m_per_block for config in FWD.configs(problem, gpu_info)} == rows
    config = ImplicitGemmConfig.parse("64,8,128,8,4,4,1")
    assert "a tile of 8 rows reads too much" in invalidity(config, gemm_shape(problem), gpu_info)


# defaults


@pytest.mark.parametrize(
    ("changes", "least", "most"),
    [
        ({"n": 64, "c": 64, "k": 256, "spatial": (56, 56)}, 64 * 64, 128 * 128),
        ({"n": 1, "c": 512, "k": 512, "spatial": (7, 7)}, 32 * 32, 64 * 32),
    ],
)
def test_default_tiles_leave_no_compute_unit_idle_if_they_can(make_problem, gpu_info, changes, least, most):
    config = FWD.default_config(make_problem(**changes), gpu_info)
    assert least <= config.gemm_m_per_block * config.gemm_n_per_block <= most


def test_sums_over_many_positions_are_split_by_default_and_short_ones_are_not(make_problem, gpu_info, cpu_info):
    long = make_problem(direction=Direction.BACKWARD_WEIGHTS, n=64, c=16, k=16, spatial=(56, 56))
    short = make_problem(direction=Direction.BACKWARD_WEIGHTS, n=1, c=512, k=512, spatial=(4, 4))
    assert WRW.default_config(long, gpu_info).split_k >= 16
    assert WRW.default_config(short, cpu_info).split_k == 1


def test_the_estimate_prefers_less_waste_and_more_units_at_work(gpu_info, cpu_info):
    wide, narrow = (ImplicitGemmConfig.parse(f"256,{m},128,8,4,4,1") for m in (128, 64))
    assert estimated_cost(wide, GemmShape(40960, 4096, 512, 1), gpu_info) < estimated_cost(
        narrow, GemmShape(40960, 4096, 512, 1), gpu_info
    )
    assert estimated_cost(narrow, GemmShape(64, 4096, 512, 1), gpu_info) < estimated_cost(
        wide, GemmShape(64, 4096, 512, 1), gpu_info
    )
    for info in (gpu_info, cpu_info):
        costs = [estimated_cost(narrow, GemmShape(64, 4096, k, 1), info) for k in (64, 128, 256)]
        assert costs == sorted(costs)


def test_the_estimate_orders_what_was_measured_on_an_h200(gpu_info):
    """Backward weights of ResNet-50's first 3x3 and of ResNeXt's 32 groups, in milliseconds."""
    h200 = replace(gpu_info, backend="cuda", arch="sm_90a", compute_units=132, wavefront=32)
    first, grouped = GemmShape(64, 576, 200704, 1), GemmShape(8, 72, 25088, 32)
    measured = {
        first: {"64,64,64,8,4,4,1,256": 0.541, "64,64,64,8,4,4,1,64": 0.673, "256,64,128,8,4,4,1,32": 1.06},
        grouped: {"64,8,128,8,4,4,1,16": 0.239, "64,8,128,8,4,4,1,4": 0.782},
    }
    for gemm, configs in measured.items():
        costs = [estimated_cost(ImplicitGemmWrwConfig.parse(text), gemm, h200) for text in configs]
        assert costs == sorted(costs)


def test_a_cpu_and_a_gpu_search_different_tiles(cpu_info, gpu_info):
    assert search_space(cpu_info) is CPU_SPACE
    assert search_space(gpu_info) is GPU_SPACE


# configs


def test_a_config_reads_as_a_miopen_developer_writes_it():
    config = FWD.parse_config("256,128,128,8,4,4,1")
    assert config == ImplicitGemmConfig(
        block_size=256,
        gemm_m_per_block=128,
        gemm_n_per_block=128,
        gemm_k_per_block=8,
        gemm_m_per_thread=4,
        gemm_n_per_thread=4,
        vector_width=1,
    )
    assert config.serialize() == "256,128,128,8,4,4,1"
    assert (config.repeats(), config.lanes) == ((2, 2), 4)
    assert config.lds_bytes == 2 * 8 * (132 + 132) * 4
    split = WRW.parse_config("256,128,128,8,4,4,1,16")
    assert (split.split_k, split.parts, split.serialize()) == (16, 16, "256,128,128,8,4,4,1,16")


def test_a_lone_work_item_has_one_stage_and_as_many_sub_tiles_as_it_takes():
    config = FWD.parse_config("1,60,72,32,6,24,8")
    assert config.lds_bytes == 32 * (60 + 72) * 4
    assert (config.repeats(), config.lanes) == ((10, 3), 8)


@pytest.mark.parametrize("text", ["", "256,128,128,8,4,4", "256,128,128,8,4,4,one"])
def test_other_texts_are_refused(text):
    with pytest.raises(ConfigError, match="ImplicitGemmConfig"):
        FWD.parse_config(text)


@given(st.tuples(*[st.integers(1, 512)] * 3, *[st.integers(1, 64)] * 4))
def test_sub_tiles_cover_the_tile_once(numbers):
    config = ImplicitGemmConfig(*numbers)
    m, n = config.repeats()
    if (m, n) == (0, 0):
        return
    across_m = config.gemm_m_per_block // (m * config.gemm_m_per_thread)
    across_n = config.gemm_n_per_block // (n * config.gemm_n_per_thread)
    assert across_m * across_n == config.block_size
    assert across_m * m * config.gemm_m_per_thread == config.gemm_m_per_block
    assert across_n * n * config.gemm_n_per_thread == config.gemm_n_per_block


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0,128,128,8,4,4,1", "at least 1"),
        ("256,128,128,8,4,0,1", "at least 1"),
        ("256,128,128,8,4,4,0", "at least 1"),
        ("2048,128,128,8,4,2,1", "does not suit waves"),
        ("96,128,128,8,4,4,1", "does not suit waves"),
        ("256,128,96,8,4,4,1", "cannot share"),
        ("256,64,64,8,8,4,1", "cannot share"),
        ("256,128,128,8,4,4,3", "cannot be copied 3 at a time"),
        ("256,128,128,12,4,4,1", "cannot copy 128 x 12 elements of A"),
        ("256,128,128,1,4,4,1", "cannot copy 128 x 1 elements of A"),
        ("256,64,32,4,4,2,1", "cannot copy 4 x 32 elements of B"),
        ("256,64,32,8,4,2,2", "cannot copy 8 x 32 elements of B"),
        ("256,128,128,64,4,4,1", "bytes of shared memory"),
        ("256,256,64,8,4,4,1", "rows is mostly empty"),
    ],
)
def test_what_a_config_breaks_is_said_without_compiling(resnet, gpu_info, text, reason):
    config = ImplicitGemmConfig.parse(text)
    assert reason in invalidity(config, gemm_shape(resnet), gpu_info)
    assert config not in list(FWD.configs(resnet, gpu_info))
    with pytest.raises(ConfigError, match=text):
        FWD.solution(resnet, gpu_info, config)


def test_a_lone_work_item_has_little_private_memory(resnet, cpu_info):
    assert "private memory" in invalidity(ImplicitGemmConfig.parse("1,96,96,32,4,24,8"), gemm_shape(resnet), cpu_info)


def test_a_tile_mostly_beyond_the_last_position_is_invalid(make_problem, gpu_info):
    config = ImplicitGemmConfig.parse("256,128,128,8,4,4,1")
    gemm = gemm_shape(make_problem(k=128, spatial=(7, 7)))
    assert "columns is mostly empty" in invalidity(config, gemm, gpu_info)


def test_parts_that_would_all_but_one_be_empty_are_invalid(gpu_info):
    config = ImplicitGemmWrwConfig.parse("64,32,32,8,4,4,1,4")
    assert invalidity(config, GemmShape(64, 64, 25, 1), gpu_info) is None
    assert "4 parts" in invalidity(config, GemmShape(64, 64, 24, 1), gpu_info)
    assert "at least 1" in invalidity(replace(config, split_k=0), GemmShape(64, 64, 24, 1), gpu_info)


def test_a_config_of_another_solver_is_refused(resnet, gpu_info):
    with pytest.raises(ConfigError, match="HipConvImplicitGemmFwd does not take PerformanceConfig"):
        FWD.solution(resnet, gpu_info, PerformanceConfig())
    with pytest.raises(ConfigError, match="does not take ImplicitGemmWrwConfig"):
        FWD.solution(resnet, gpu_info, ImplicitGemmWrwConfig.parse("256,64,64,16,4,4,1,1"))
    wrw = replace(resnet, direction=Direction.BACKWARD_WEIGHTS)
    with pytest.raises(ConfigError, match="does not take ImplicitGemmConfig"):
        WRW.solution(wrw, gpu_info, ImplicitGemmConfig.parse("256,64,64,16,4,4,1"))


# refusals


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
def test_other_directions_are_refused_in_words(make_problem, any_info, solver):
    for direction in Direction:
        reason = solver.refusal(make_problem(direction=direction), any_info)
        assert (reason is None) == (direction in solver.directions)
        assert reason is None or reason.startswith(solver.name)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"direction": Direction.BACKWARD_DATA, "dtype": DType.INT8}, "int8 only for forward"),
        ({"direction": Direction.BACKWARD_WEIGHTS, "dtype": DType.INT8}, "int8 only for forward"),
        ({"c": 2**28, "filter": (3, 3)}, "32 bits"),
        ({"direction": Direction.BACKWARD_WEIGHTS, "c": 2**28, "filter": (3, 3)}, "32 bits"),
        ({"spatial": (1, 2**31 - 2)}, "32 bits"),
    ],
)
def test_what_cannot_be_computed_is_refused_in_words(make_problem, gpu_info, changes, words):
    problem = make_problem(**changes)
    assert words in SOLVER_OF[problem.direction].refusal(problem, gpu_info)


@pytest.mark.parametrize("dtype", [DType.FP16, DType.BF16])
def test_atomic_sums_are_taken_in_fp32_only(make_problem, gpu_info, dtype):
    problem = make_problem(direction=Direction.BACKWARD_WEIGHTS, dtype=dtype)
    assert "FP32 only" in ATOMIC.refusal(problem, gpu_info)
    assert WRW.refusal(problem, gpu_info) is None


def test_a_device_too_small_for_the_smallest_tile_is_refused(resnet, gpu_info):
    assert "shared memory" in FWD.refusal(resnet, replace(gpu_info, lds_bytes=1024))
    assert "waves" in FWD.refusal(resnet, replace(gpu_info, max_block=32))


def test_a_grid_beyond_the_device_is_refused_and_a_larger_tile_preferred(make_problem, gpu_info):
    problem = make_problem(n=64, c=64, k=128, spatial=(56, 56))
    blocks = math.ceil(64 * 56 * 56 / 128)
    narrow = replace(gpu_info, max_grid=(blocks, 1, 1))
    assert FWD.refusal(problem, narrow) is None
    assert FWD.default_config(problem, narrow).blocks(gemm_shape(problem)) == blocks
    assert "more than a grid" in FWD.refusal(problem, replace(narrow, max_grid=(blocks - 1, 1, 1)))
