"""The matrix-core solvers: plans, configs and refusals, none of them executed."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from matrix_problems import FILE, FWD, SOLVER_OF, WRW, config_of, half_problems, in_layout
from plan_shapes import shape_of_plan
from truncation import truncated_sums

from pytest_miopen_perf.checking.tensors import Element, quantize
from pytest_miopen_perf.devices.recognition import recognise
from pytest_miopen_perf.errors import ConfigError
from pytest_miopen_perf.launch import Pointer, Slot
from pytest_miopen_perf.problem import Direction, DType, Layout
from pytest_miopen_perf.solvers import PerformanceConfig
from pytest_miopen_perf.solvers.gathered_gemm import GemmShape, gemm_shape
from pytest_miopen_perf.solvers.implicit_gemm_matrix import SOLVERS
from pytest_miopen_perf.solvers.implicit_gemm_matrix_config import (
    MatrixConfig,
    MatrixWrwConfig,
    invalidity,
    search_space,
    with_parts,
)
from pytest_miopen_perf.solvers.matrix_cores import MatrixCore, longest_sum


@pytest.fixture(scope="module")
def nvidia_info(gpu_info):
    """As an H200 describes itself."""
    return replace(gpu_info, backend="cuda", arch="sm_90a", compute_units=132, wavefront=32, lds_bytes=232448)


@pytest.fixture(params=["cpu_info", "gpu_info", "nvidia_info"])
def any_info(request):
    return request.getfixturevalue(request.param)


def test_a_plan_in_full(make_problem, gpu_info):
    problem = make_problem(
        n=2, c=16, k=96, groups=2, spatial=(10, 11), filter=(3, 2), pad=(2, 1), stride=(2, 3), dilation=(1, 2),
        dtype=DType.FP16, **in_layout(Layout.NHWC),
    )  # fmt: skip
    config = MatrixConfig.parse("64,64,32,2,2,2")
    solution = FWD.solution(problem, gpu_info, config)
    (launch,) = solution.launches
    assert (solution.solver, solution.solver_id, solution.config) == ("HipConvImplicitGemmMatrixFwd", 10061, config)
    assert solution.workspace_bytes == FWD.workspace_bytes(problem) == 0
    assert (launch.kernel.file, launch.kernel.entry) == (FILE, "implicit_gemm_matrix_fwd")
    assert dict(launch.kernel.defines) == {
        "ELEMENT": "FP16", "ACCUMULATOR": "float", "CONV_DIRECTION": "0",
        "CONV_N": "2", "CONV_C": "16", "CONV_K": "96", "CONV_GROUPS": "2",
        "CONV_IN_D": "1", "CONV_IN_H": "10", "CONV_IN_W": "11",
        "CONV_OUT_D": "1", "CONV_OUT_H": "6", "CONV_OUT_W": "4",
        "CONV_FIL_D": "1", "CONV_FIL_H": "3", "CONV_FIL_W": "2",
        "CONV_PAD_D": "0", "CONV_PAD_H": "2", "CONV_PAD_W": "1",
        "CONV_STRIDE_D": "1", "CONV_STRIDE_H": "2", "CONV_STRIDE_W": "3",
        "CONV_DILATION_D": "1", "CONV_DILATION_H": "1", "CONV_DILATION_W": "2",
        "CONV_X_LAYOUT": "NDHWC", "CONV_W_LAYOUT": "NDHWC", "CONV_Y_LAYOUT": "NDHWC",
        "GEMM_M_PER_BLOCK": "64", "GEMM_N_PER_BLOCK": "64", "GEMM_K_PER_BLOCK": "32",
        "WAVES_M": "2", "WAVES_N": "2", "STAGES": "2", "BLOCK_SIZE": "256", "HAND_ON": "TO_RESULT",
    }  # fmt: skip
    assert launch.grid == (1 * 1 * 2, 1, 1)  # 48 channels, 48 positions, 2 groups
    assert (launch.block, launch.shared_bytes) == ((256, 1, 1), 2 * (64 + 64) * (32 + 8) * 2)
    assert launch.args == (Pointer("x", Slot.INPUT), Pointer("w", Slot.WEIGHTS), Pointer("y", Slot.OUTPUT))


def test_split_sums_are_planned_in_two_launches(make_problem, gpu_info):
    problem = make_problem(
        direction=Direction.BACKWARD_WEIGHTS,
        dtype=DType.FP16,
        n=4,
        c=8,
        k=40,
        spatial=(20, 20),
        **in_layout(Layout.NHWC),
    )
    whole = WRW.solution(problem, gpu_info, config_of(WRW, "64,64,32,2,2,2", 1))
    split = WRW.solution(problem, gpu_info, config_of(WRW, "64,64,32,2,2,2", 8))
    assert shape_of_plan(whole) == [("implicit_gemm_matrix_wrw", 2, ["x", "w", "y"])]
    assert shape_of_plan(split) == [
        ("implicit_gemm_matrix_wrw_parts", 2 * 8, ["x", "y", "workspace"]),
        ("implicit_gemm_add_parts", math.ceil(40 * 8 * 9 / 256), ["workspace", "w", "parts"]),
    ]
    assert whole.workspace_bytes == split.workspace_bytes == WRW.workspace_bytes(problem) == 256 * 40 * 8 * 9 * 4
    other = WRW.solution(problem, gpu_info, config_of(WRW, "64,64,32,2,2,2", 4))
    assert [launch.kernel for launch in other.launches] == [launch.kernel for launch in split.launches]


@settings(deadline=None, max_examples=30)
@given(problem=half_problems)
def test_every_small_problem_has_valid_configs_the_default_among_them(cpu_info, gpu_info, nvidia_info, problem):
    solver = SOLVER_OF[problem.direction]
    for info in (cpu_info, gpu_info, nvidia_info):
        if reason := solver.refusal(problem, info):
            assert "one input channel" in reason
            continue
        configs = list(solver.configs(problem, info))
        assert solver.default_config(problem, info) in configs
        assert len(set(configs)) == len(configs)
        for config in configs[:: max(1, len(configs) // 8)]:
            assert solver.parse_config(config.serialize()) == config
            for launch in solver.solution(problem, info, config).launches:
                assert launch.grid[0] <= info.max_grid[0]
                assert launch.block[0] <= info.max_block
                assert launch.shared_bytes <= info.lds_bytes
                assert recognise(launch.kernel, {}).problem.direction is problem.direction


@pytest.mark.parametrize("direction", Direction)
def test_more_than_two_to_the_31_elements_are_planned_in_a_legal_grid(make_problem, any_info, direction):
    problem = make_problem(
        direction=direction, dtype=DType.FP16, n=1_000_000, c=8, k=8, spatial=(56, 56), **in_layout(Layout.NHWC)
    )
    assert problem.n * math.prod(problem.output) > 2**31
    solver = SOLVER_OF[direction]
    for config in solver.configs(problem, any_info):
        launch = solver.solution(problem, any_info, config).launches[0]
        assert launch.grid[0] <= any_info.max_grid[0]
        assert launch.grid[0] * launch.block[0] < 2**32


@pytest.mark.parametrize("direction", Direction)
def test_elements_beyond_two_to_the_31_compile_with_64_bit_counts(cpu_device, make_problem, direction):
    problem = make_problem(
        direction=direction, dtype=DType.BF16, n=2**23, c=8, k=8, spatial=(8, 8), **in_layout(Layout.NHWC)
    )
    solver = SOLVER_OF[direction]
    config = solver.default_config(problem, cpu_device.info)
    cpu_device.compile(solver.solution(problem, cpu_device.info, config).launches[0].kernel)


def test_a_grid_that_is_too_small_for_the_product_is_said(make_problem, gpu_info):
    problem = make_problem(dtype=DType.FP16, n=2**20, c=8, k=8)
    assert "more than a grid" in FWD.refusal(problem, replace(gpu_info, max_grid=(100, 1, 1)))


# defaults


def test_default_tiles_are_large_for_large_products_and_leave_no_unit_idle_for_small_ones(make_problem, nvidia_info):
    large = make_problem(dtype=DType.FP16, n=64, c=256, k=256, spatial=(56, 56), **in_layout(Layout.NHWC))
    small = make_problem(dtype=DType.FP16, n=1, c=512, k=512, spatial=(14, 14), **in_layout(Layout.NHWC))
    config = FWD.default_config(large, nvidia_info)
    assert config.gemm_m_per_block * config.gemm_n_per_block >= 128 * 128
    assert FWD.default_config(small, nvidia_info).blocks(gemm_shape(small)) >= 16


def test_sums_over_many_positions_are_split_and_units_neither_idle_nor_crowded(make_problem, nvidia_info):
    problem = make_problem(
        direction=Direction.BACKWARD_WEIGHTS,
        dtype=DType.FP16,
        n=64,
        c=64,
        k=64,
        spatial=(56, 56),
        **in_layout(Layout.NHWC),
    )
    assert WRW.default_config(problem, nvidia_info).split_k >= 8
    fewest = 32  # of which each adds up 6272 products; the bound of the check bears 8181
    for config in WRW.configs(problem, nvidia_info):
        blocks = config.blocks(gemm_shape(problem))
        assert nvidia_info.compute_units / 2 < blocks
        assert blocks <= 8 * nvidia_info.compute_units or config.split_k == fewest


def test_parts_that_would_be_empty_are_not_tried(gpu_info):
    (whole,) = (config for config in search_space(gpu_info) if config.serialize() == "64,64,64,2,2,2")
    tried = with_parts([whole], (1, 2, 4, 8, 16), GemmShape(64, 64, 126, 1), gpu_info)
    assert [config.split_k for config in tried] == [2]


# configs and refusals


def test_a_config_reads_and_writes_as_miopens_do():
    config = FWD.parse_config("128,64,32,4,2,3")
    assert config == MatrixConfig(
        gemm_m_per_block=128, gemm_n_per_block=64, gemm_k_per_block=32, waves_m=4, waves_n=2, stages=3
    )
    assert config.serialize() == "128,64,32,4,2,3"
    split = WRW.parse_config("128,64,32,4,2,3,16")
    assert isinstance(split, MatrixWrwConfig)
    assert (split.split_k, split.parts, split.serialize()) == (16, 16, "128,64,32,4,2,3,16")


@pytest.mark.parametrize(
    ("direction", "elements"),
    [
        (Direction.FORWARD, 3 * (128 + 64) * (32 + 8)),
        (Direction.BACKWARD_DATA, 3 * (32 * (128 + 8) + 64 * (32 + 8))),
        (Direction.BACKWARD_WEIGHTS, 3 * 32 * (128 + 8 + 64 + 8)),
    ],
)
def test_shared_memory_is_that_of_lines_along_the_fast_axis(gpu_info, direction, elements):
    assert MatrixConfig.parse("128,64,32,4,2,3").lds_bytes(direction, gpu_info) == 2 * elements


def test_shared_memory_has_room_for_the_result(gpu_info):
    assert MatrixConfig.parse("128,256,32,2,4,2").lds_bytes(Direction.FORWARD, gpu_info) == 2 * 256 * (128 + 8)


@pytest.mark.parametrize("direction", Direction)
def test_shared_memory_that_hopper_s_cores_read_has_no_gaps(nvidia_info, direction):
    assert MatrixConfig.parse("128,256,64,1,8,4").lds_bytes(direction, nvidia_info) == 4 * 2 * (128 + 256) * 64


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("64,64,32,2,2,1", "stages at least 2"),
        ("64,0,32,2,2,2", "at least 1"),
        ("48,64,32,2,2,2", "cannot share 48 x 64"),
        ("64,64,16,2,2,2", "in units of 16 x 16 x 32"),
        ("64,64,32,4,8,2", "cannot share"),
        ("64,96,32,2,2,2", "lines of 96"),
        ("256,256,64,2,2,4", "bytes of shared memory"),
        ("256,64,32,2,2,2", "mostly empty"),
    ],
)
def test_what_a_config_breaks_is_said(make_problem, gpu_info, text, words):
    problem = make_problem(dtype=DType.FP16, n=64, c=64, k=64, spatial=(56, 56), **in_layout(Layout.NHWC))
    with pytest.raises(ConfigError, match=words):
        FWD.solution(problem, gpu_info, FWD.parse_config(text))


def test_a_block_larger_than_the_device_takes_is_refused(gpu_info):
    gemm = GemmShape(512, 4096, 64, 1)
    config = MatrixConfig.parse("256,128,32,8,4,2")
    assert "does not suit waves of 64" in invalidity(config, gemm, Direction.FORWARD, gpu_info)


def test_more_parts_than_the_workspace_holds_are_refused(make_problem, gpu_info):
    problem = make_problem(
        direction=Direction.BACKWARD_WEIGHTS, dtype=DType.FP16, n=8, c=1024, k=1024, spatial=(14, 14)
    )
    assert WRW.workspace_bytes(problem) == 4 * 1024 * 1024 * 9 * 4
    with pytest.raises(ConfigError, match="do not fit the workspace"):
        WRW.solution(problem, gpu_info, WRW.parse_config("64,64,32,2,2,2,8"))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"dtype": DType.FP32}, "FP16 and BF16, not FP32"),
        ({"dtype": DType.INT8}, "not INT8"),
        ({"c": 8, "k": 8, "groups": 8}, "one input channel"),
        ({"spatial": (1, 2**31 - 2)}, "32 bits"),
    ],
)
def test_what_cannot_be_computed_is_refused_in_words(make_problem, gpu_info, changes, words):
    for direction in Direction:
        problem = make_problem(direction=direction, **{"dtype": DType.FP16, **changes})
        assert words in SOLVER_OF[direction].refusal(problem, gpu_info)


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
def test_other_configs_and_devices_are_refused(make_problem, gpu_info, solver):
    problem = make_problem(direction=solver.direction, dtype=DType.FP16)
    with pytest.raises(ConfigError, match=solver.name):
        solver.solution(problem, gpu_info, PerformanceConfig())
    with pytest.raises(ConfigError, match="values"):
        solver.parse_config("1,2")
    assert "no matrix cores of gfx1030" in solver.refusal(problem, replace(gpu_info, arch="gfx1030", wavefront=32))
    assert solver.is_deterministic


@pytest.mark.parametrize(
    ("text", "core"),
    [
        ("128,256,64,1,8,4", MatrixCore.WGMMA),
        ("256,128,64,2,4,3", MatrixCore.WGMMA),
        ("64,192,64,1,12,3", MatrixCore.WGMMA),
        ("128,256,64,1,8,2", MatrixCore.MMA_SYNC),  # copies need a stage of their own
        ("128,256,32,1,8,4", MatrixCore.MMA_SYNC),  # a row of 64 neighbours would be half empty
        ("128,128,64,2,2,4", MatrixCore.MMA_SYNC),  # no four waves along n
        ("32,128,64,1,4,4", MatrixCore.MMA_SYNC),
    ],
)
def test_warpgroups_multiply_tiles_that_suit_them(make_problem, gpu_info, nvidia_info, text, core):
    config = FWD.parse_config(text)
    assert config.core(nvidia_info) is core
    assert config.core(replace(nvidia_info, arch="sm_80")) is MatrixCore.MMA_SYNC
    assert config.core(gpu_info) is MatrixCore.MFMA
    problem = make_problem(dtype=DType.FP16, n=64, c=256, k=256, spatial=(14, 14), **in_layout(Layout.NHWC))
    (launch,) = FWD.solution(problem, nvidia_info, config).launches
    assert dict(launch.kernel.defines).get("MATRIX_CORE") == ("MATRIX_WGMMA" if core is MatrixCore.WGMMA else None)


def test_on_hopper_both_cores_are_tried(nvidia_info):
    cores = [config.core(nvidia_info) for config in search_space(nvidia_info)]
    assert set(cores) == {MatrixCore.WGMMA, MatrixCore.MMA_SYNC}
    assert cores == sorted(cores, key=[MatrixCore.WGMMA, MatrixCore.MMA_SYNC].index)


def test_nvidia_s_cores_add_up_short_parts(make_problem, gpu_info, nvidia_info):
    """They cut off what does not fit a sum: on an H200, long sums of positive numbers were out of bounds."""
    problem = make_problem(
        direction=Direction.BACKWARD_WEIGHTS,
        dtype=DType.FP16,
        n=64,
        c=512,
        k=512,
        spatial=(7, 7),
        filter=(3, 3),
        pad=(1, 1),
    )
    summed = 64 * 7 * 7
    parts = {info.arch: {config.split_k for config in WRW.configs(problem, info)} for info in (gpu_info, nvidia_info)}
    assert min(parts["sm_90a"]) == 4  # of which each has 784 products; the bound of the check bears 1054
    assert longest_sum(nvidia_info, summed) == 1054
    assert min(parts["gfx942"]) == 1


def test_sums_that_no_workspace_has_parts_enough_for_are_refused(make_problem, gpu_info, nvidia_info):
    problem = make_problem(
        direction=Direction.BACKWARD_WEIGHTS, dtype=DType.FP16, n=64, c=1024, k=1024, spatial=(14, 14)
    )
    assert "12544 products in 4 parts" in WRW.refusal(problem, nvidia_info)
    assert WRW.refusal(problem, gpu_info) is None


@pytest.mark.parametrize("products", [480, 1264, 4000, 20000, 100000])
def test_what_truncation_takes_from_the_longest_part_is_within_the_bound_of_the_check(nvidia_info, products):
    """Emulated, as it was found to be bit for bit on an H200; sums of one sign, in fp16 and in bf16."""
    length = min(products, longest_sum(nvidia_info, products)) // 16 * 16
    drawn = np.random.default_rng(products).random((2, 40, length), dtype=np.float32) * np.float32(0.01)
    granted = (2 * math.sqrt(products) + 4) * 2.0**-24
    for element, share in ((Element.FP16, 1 / 2), (Element.BF16, 1 / 6)):
        x, y = quantize(drawn, element).astype(float)
        exact = (x * y).sum(axis=1)
        lost = (exact - truncated_sums(x, y)) / exact
        assert 0 < lost.mean() < granted
        assert length == products or lost.mean() > share * granted
