import math
from dataclasses import replace

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from strategies import small_problems

from pytest_miopen_perf.errors import ConfigError
from pytest_miopen_perf.launch import Pointer, Slot
from pytest_miopen_perf.problem import Direction, DType, Layout
from pytest_miopen_perf.solvers import PerformanceConfig
from pytest_miopen_perf.solvers.implicit_gemm import (
    CPU_SPACE,
    GPU_SPACE,
    ImplicitGemmConfig,
    invalidity,
    search_space,
)
from pytest_miopen_perf.solvers.implicit_gemm import SOLVERS as _SOLVERS

(SOLVER,) = _SOLVERS
forward_problems = small_problems(directions=[Direction.FORWARD], dtypes=[DType.FP32], transposed=[False])


def in_default_layout(problem):
    layout = Layout.default(problem.rank)
    return replace(problem, in_layout=layout, fil_layout=layout, out_layout=layout)


@pytest.fixture
def resnet(make_problem):
    return make_problem(n=16, c=64, k=64, spatial=(56, 56))


@pytest.fixture(params=["cpu_info", "gpu_info"])
def any_info(request):
    return request.getfixturevalue(request.param)


# numbers

SPREAD = [
    "256,128,128,8,4,4",
    "128,64,128,16,4,4",
    "64,32,32,8,2,2",
    "256,32,128,16,2,4",
    "64,64,256,16,4,64",
    "16,16,64,8,4,16",
    "16,64,64,8,4,32",
]


@pytest.mark.parametrize("text", SPREAD)
@pytest.mark.parametrize(
    "changes",
    [
        {
            "n": 3,
            "c": 10,
            "k": 140,
            "groups": 2,
            "spatial": (11, 9),
            "pad": (2, 1),
            "stride": (1, 2),
            "dilation": (2, 1),
        },
        {"n": 2, "c": 33, "k": 130, "spatial": (19, 17), "filter": (1, 1), "pad": (0, 0), "stride": (2, 2)},
    ],
    ids=["grouped", "1x1"],
)
def test_a_spread_of_tiles_is_right_at_their_edges(cpu_device, solve, make_problem, text, changes):
    check = solve(cpu_device, make_problem(**changes), SOLVER, ImplicitGemmConfig.parse(text))
    assert check.passed, check.sentence


# Each example is compiled: the same ones every time come from the cache from the second run on.
@settings(deadline=None, max_examples=15, derandomize=True, phases=[Phase.generate])
@given(problem=forward_problems.map(in_default_layout), data=st.data())
def test_small_problems_are_right(cpu_device, solve, problem, data):
    configs = list(SOLVER.configs(problem, cpu_device.info))
    check = solve(cpu_device, problem, SOLVER, data.draw(st.sampled_from(configs)))
    assert check.passed, check.sentence


@pytest.mark.parametrize("order", ["forward", "reverse", "strided"])
@pytest.mark.parametrize(
    "changes",
    [
        {"c": 16, "k": 16, "groups": 16, "spatial": (14, 14)},
        {"n": 2, "c": 3, "k": 5, "spatial": (5, 6, 7), "filter": (3, 2, 3), "pad": (1, 0, 1), "stride": (2, 1, 1)},
        {"n": 1, "c": 40, "k": 40, "spatial": (1, 1), "filter": (1, 1), "pad": (0, 0)},
    ],
    ids=["depthwise", "3-D", "matrix"],
)
def test_no_order_of_work_items_matters(open_cpu, solve, make_problem, order, changes):
    check = solve(open_cpu(work_item_order=order), make_problem(**changes), SOLVER)
    assert check.passed, check.sentence


# plans


def test_a_plan_in_full(make_problem, gpu_info):
    problem = make_problem(
        n=2, c=6, k=96, groups=2, spatial=(10, 11), filter=(3, 2), pad=(2, 1), stride=(2, 3), dilation=(1, 2)
    )
    config = ImplicitGemmConfig.parse("64,32,32,8,4,2")
    solution = SOLVER.solution(problem, gpu_info, config)
    (launch,) = solution.launches
    assert (solution.solver, solution.solver_id, solution.config) == ("HipConvImplicitGemmFwd", 10011, config)
    assert solution.workspace_bytes == SOLVER.workspace_bytes(problem) == 0
    assert launch.kernel.file == "conv_implicit_gemm_fwd.hip"
    assert launch.kernel.entry == "implicit_gemm_conv_fwd"
    needed = {
        "CONV_N": "2", "CONV_C": "6", "CONV_K": "96", "CONV_GROUPS": "2",
        "CONV_IN_D": "1", "CONV_IN_H": "10", "CONV_IN_W": "11",
        "CONV_OUT_D": "1", "CONV_OUT_H": "6", "CONV_OUT_W": "4",
        "CONV_FIL_D": "1", "CONV_FIL_H": "3", "CONV_FIL_W": "2",
        "CONV_PAD_D": "0", "CONV_PAD_H": "2", "CONV_PAD_W": "1",
        "CONV_STRIDE_D": "1", "CONV_STRIDE_H": "2", "CONV_STRIDE_W": "3",
        "CONV_DILATION_D": "1", "CONV_DILATION_H": "1", "CONV_DILATION_W": "2",
        "BLOCK_SIZE": "64", "GEMM_M_PER_BLOCK": "32", "GEMM_N_PER_BLOCK": "32", "GEMM_K_PER_BLOCK": "8",
        "GEMM_M_PER_THREAD": "4", "GEMM_N_PER_THREAD": "2", "REPEAT_M": "1", "REPEAT_N": "2",
    }  # fmt: skip
    assert needed.items() <= dict(launch.kernel.defines).items()
    assert launch.grid == (2 * 2 * 2, 1, 1)  # 48 channels, 48 positions, 2 groups
    assert (launch.block, launch.shared_bytes) == ((64, 1, 1), 0)
    assert launch.args == (Pointer("x", Slot.INPUT), Pointer("w", Slot.WEIGHTS), Pointer("y", Slot.OUTPUT))


@settings(deadline=None)
@given(problem=forward_problems.map(in_default_layout))
def test_every_small_problem_has_valid_configs_the_default_among_them(cpu_info, gpu_info, problem):
    for info in (cpu_info, gpu_info):
        assert SOLVER.refusal(problem, info) is None
        configs = list(SOLVER.configs(problem, info))
        assert SOLVER.default_config(problem, info) in configs
        for config in configs:
            (launch,) = SOLVER.solution(problem, info, config).launches
            assert launch.grid[0] <= info.max_grid[0]
            assert launch.block[0] <= info.max_block
            assert config.lds_bytes <= info.lds_bytes


def test_there_are_dozens_of_ways_to_cut_a_large_problem(resnet, any_info):
    configs = list(SOLVER.configs(resnet, any_info))
    assert 24 <= len(configs) <= 100
    assert len(set(configs)) == len(configs)


@pytest.mark.parametrize("space", [CPU_SPACE, GPU_SPACE], ids=["cpu", "gpu"])
def test_defaults_belong_to_their_space_and_shrink(space):
    assert set(space.defaults) <= set(space)
    tiles = [config.gemm_m_per_block * config.gemm_n_per_block for config in space.defaults]
    assert tiles == sorted(tiles, reverse=True)


def test_default_tiles_leave_no_compute_unit_idle_if_they_can(make_problem, gpu_info):
    large = make_problem(n=64, c=64, k=256, spatial=(56, 56))
    small = make_problem(n=1, c=512, k=512, spatial=(7, 7))
    assert SOLVER.default_config(large, gpu_info).serialize() == "256,128,128,8,4,4"
    assert SOLVER.default_config(small, gpu_info).serialize() == "64,32,32,8,4,4"


def test_a_cpu_and_a_gpu_search_different_tiles(cpu_info, gpu_info):
    assert search_space(cpu_info) is CPU_SPACE
    assert search_space(gpu_info) is GPU_SPACE


# configs


def test_a_config_reads_as_a_miopen_developer_writes_it():
    config = SOLVER.parse_config("256,128,128,8,4,4")
    assert config == ImplicitGemmConfig(
        block_size=256,
        gemm_m_per_block=128,
        gemm_n_per_block=128,
        gemm_k_per_block=8,
        gemm_m_per_thread=4,
        gemm_n_per_thread=4,
    )
    assert config.serialize() == "256,128,128,8,4,4"
    assert config.repeats() == (2, 2)
    assert config.lds_bytes == 2 * 8 * (132 + 128) * 4


@pytest.mark.parametrize("text", ["", "256,128,128,8,4", "256,128,128,8,4,four"])
def test_other_texts_are_refused(text):
    with pytest.raises(ConfigError, match="ImplicitGemmConfig"):
        SOLVER.parse_config(text)


@given(st.tuples(*[st.integers(1, 512)] * 3, *[st.integers(1, 64)] * 3))
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
        ("0,128,128,8,4,4", "at least 1"),
        ("256,128,128,8,4,0", "at least 1"),
        ("2048,128,128,8,4,2", "does not suit waves"),
        ("96,128,128,8,4,4", "does not suit waves"),
        ("256,128,96,8,4,4", "cannot share"),
        ("256,64,64,8,8,4", "cannot share"),
        ("256,128,128,12,4,4", "cannot copy 128 x 12 weights"),
        ("256,128,128,1,4,4", "cannot copy 128 x 1 weights"),
        ("256,64,32,4,4,2", "cannot copy 4 x 32 inputs"),
        ("256,128,128,64,4,4", "bytes of shared memory"),
        ("256,256,64,8,4,4", "output channels is mostly empty"),
    ],
)
def test_what_a_config_breaks_is_said_without_compiling(resnet, gpu_info, text, reason):
    config = ImplicitGemmConfig.parse(text)
    assert reason in invalidity(config, resnet, gpu_info)
    assert config not in list(SOLVER.configs(resnet, gpu_info))
    with pytest.raises(ConfigError, match=text):
        SOLVER.solution(resnet, gpu_info, config)


def test_a_tile_mostly_beyond_the_last_position_is_invalid(make_problem, gpu_info):
    config = ImplicitGemmConfig.parse("256,128,128,8,4,4")
    assert "output positions is mostly empty" in invalidity(config, make_problem(k=128, spatial=(7, 7)), gpu_info)


def test_a_config_of_another_solver_is_refused(resnet, gpu_info):
    with pytest.raises(ConfigError, match="six integers"):
        SOLVER.solution(resnet, gpu_info, PerformanceConfig())


# refusals


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"direction": Direction.BACKWARD_DATA}, "forward"),
        ({"direction": Direction.BACKWARD_WEIGHTS}, "forward"),
        ({"dtype": DType.FP16}, "FP32 only"),
        ({"in_layout": Layout.NHWC}, "NCHW only"),
        ({"fil_layout": Layout.CHWN}, "NCHW only"),
        ({"spatial": (4, 4, 4), "filter": (3, 3, 3), "out_layout": Layout.NDHWC}, "NCDHW only"),
        ({"c": 2**28, "filter": (3, 3)}, "32 bits"),
        ({"spatial": (1, 2**31 - 2)}, "32 bits"),
    ],
)
def test_what_cannot_be_computed_is_refused_in_words(make_problem, gpu_info, changes, words):
    assert words in SOLVER.refusal(make_problem(**changes), gpu_info)


def test_a_device_too_small_for_the_smallest_tile_is_refused(resnet, gpu_info):
    assert "shared memory" in SOLVER.refusal(resnet, replace(gpu_info, lds_bytes=1024))
    assert "waves" in SOLVER.refusal(resnet, replace(gpu_info, max_block=32))


def test_a_grid_beyond_the_device_is_refused_and_a_larger_tile_preferred(make_problem, gpu_info):
    problem = make_problem(n=64, c=64, k=128, spatial=(56, 56))
    blocks = math.ceil(64 * 56 * 56 / 128)
    narrow = replace(gpu_info, max_grid=(blocks, 1, 1), compute_units=10**6)
    assert SOLVER.refusal(problem, narrow) is None
    assert SOLVER.default_config(problem, narrow).serialize() == "256,128,128,8,4,4"
    assert "more than a grid" in SOLVER.refusal(problem, replace(narrow, max_grid=(blocks - 1, 1, 1)))


def test_more_than_two_to_the_31_positions_are_planned_in_a_legal_grid(make_problem, gpu_info):
    problem = make_problem(n=1_000_000, c=4, k=4, spatial=(56, 56))
    for config in SOLVER.configs(problem, gpu_info):
        (launch,) = SOLVER.solution(problem, gpu_info, config).launches
        assert launch.grid[0] <= gpu_info.max_grid[0]
        assert launch.grid[0] * launch.block[0] < 2**32
