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
from pytest_miopen_perf.launch import Pointer, Scalar, Slot
from pytest_miopen_perf.measuring.execution import ConvBuffers, prepare
from pytest_miopen_perf.problem import Direction, DType, Layout
from pytest_miopen_perf.records import is_transformation_kernel
from pytest_miopen_perf.solvers import PerformanceConfig
from pytest_miopen_perf.solvers.gemm import GemmConfig
from pytest_miopen_perf.solvers.im2col_gemm import SOLVERS, image_is_matrix
from pytest_miopen_perf.solvers.problem_macros import problem_macros

SOLVER_OF = dict(zip(Direction, SOLVERS, strict=True))
FWD, BWD, WRW = SOLVERS
FLOATS = (DType.FP32, DType.FP16, DType.BF16)
ORDERS = ("forward", "reverse", "strided")
SMALL = GemmConfig(16, 64, 8, 4, 16)


@st.composite
def channels_first_problems(draw):
    problem = draw(small_problems(dtypes=FLOATS, transposed=[False]))
    layout = Layout.default(problem.rank)
    return replace(problem, in_layout=layout, fil_layout=layout, out_layout=layout)


# numbers


@settings(deadline=None, max_examples=16, derandomize=True, phases=[Phase.generate])
@given(problem=channels_first_problems())
def test_small_problems_are_right(cpu_device, solve, problem):
    check = solve(cpu_device, problem, SOLVER_OF[problem.direction])
    assert check.passed, check.sentence


EDGES = {
    "grouped": {
        "n": 2,
        "c": 6,
        "k": 10,
        "groups": 2,
        "spatial": (11, 9),
        "pad": (2, 1),
        "stride": (1, 2),
        "dilation": (2, 1),
    },
    "half": {"n": 3, "c": 5, "k": 20, "dtype": DType.FP16, "spatial": (9, 10)},
    "bfloat": {"n": 2, "c": 20, "k": 5, "dtype": DType.BF16, "stride": (2, 2)},
    "volume": {"n": 2, "spatial": (4, 5, 6), "filter": (2, 3, 3), "pad": (1, 0, 1), "stride": (2, 1, 1)},
    "matrix": {"n": 2, "c": 20, "k": 24, "filter": (1, 1), "pad": (0, 0)},
    "half matrix": {"n": 2, "c": 20, "k": 24, "groups": 2, "filter": (1, 1), "pad": (0, 0), "dtype": DType.FP16},
    "strided matrix": {"c": 20, "k": 24, "filter": (1, 1), "pad": (0, 0), "stride": (2, 2)},
}


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize("changes", EDGES.values(), ids=EDGES)
def test_edges_are_right(cpu_device, solve, make_problem, direction, changes):
    check = solve(cpu_device, make_problem(direction=direction, **changes), SOLVER_OF[direction])
    assert check.passed, check.sentence


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize("text", ["64,128,16,8,32", "16,256,8,8,16", "32,64,16,4,16"])
def test_a_spread_of_tiles_is_right_at_their_edges(cpu_device, solve, make_problem, direction, text):
    problem = make_problem(direction=direction, c=19, k=70, spatial=(13, 15))
    check = solve(cpu_device, problem, SOLVER_OF[direction], GemmConfig.parse(text))
    assert check.passed, check.sentence


def reasons(open_cpu, execute, problem, solver, solution):
    return [execute(open_cpu(work_item_order=order), problem, solver, solution).reason for order in ORDERS]


@pytest.fixture
def several_stages(make_problem):
    """A product of more than three stages, and of more than one block in m and n."""
    return make_problem(c=4, k=40, spatial=(12, 11))


def test_no_order_of_work_items_matters(open_cpu, cpu_info, execute, several_stages):
    solution = FWD.solution(several_stages, cpu_info, SMALL)
    assert reasons(open_cpu, execute, several_stages, FWD, solution) == [Reason.RIGHT] * 3


@pytest.mark.parametrize("barrier", barriers_of("gemm.hip"), ids=str)
def test_no_barrier_is_there_for_nothing(open_cpu, cpu_info, execute, several_stages, tmp_path, barrier):
    solution = FWD.solution(several_stages, cpu_info, SMALL)
    mutant = with_texts(solution, "gemm.hip", without_barrier(barrier), tmp_path)
    assert set(reasons(open_cpu, execute, several_stages, FWD, mutant)) - {Reason.RIGHT}


@pytest.mark.parametrize("direction", Direction)
def test_ten_runs_give_the_same_bits(cpu_device, make_problem, repeat, direction):
    problem = make_problem(direction=direction, n=3, dtype=DType.FP16)
    solver = SOLVER_OF[direction]
    solution = solver.solution(problem, cpu_device.info, SMALL)
    assert len(set(repeat(cpu_device, problem, solution))) == 1


def test_sixteen_bit_weights_are_rounded_once_whatever_the_images(cpu_device, solve, make_problem):
    """Forty images whose sums would drift if each of them were rounded to bf16."""
    problem = make_problem(direction=Direction.BACKWARD_WEIGHTS, dtype=DType.BF16, n=40, c=2, k=2, spatial=(4, 4))
    check = solve(cpu_device, problem, WRW)
    assert check.passed, check.sentence


# plans


def names(solution):
    return [launch.kernel.entry for launch in solution.launches]


def test_each_image_has_its_pair_of_launches(make_problem, gpu_info):
    def plan(direction, **changes):
        problem = make_problem(direction=direction, n=3, **changes)
        solver = SOLVER_OF[direction]
        return solver.solution(problem, gpu_info, solver.default_config(problem, gpu_info))

    assert names(plan(Direction.FORWARD)) == ["Im2d2Col", "gemm_conv"] * 3
    assert names(plan(Direction.BACKWARD_DATA)) == ["gemm_conv", "Col2Im2dU"] * 3
    assert names(plan(Direction.BACKWARD_WEIGHTS)) == ["Im2d2Col", "gemm_conv"] + ["Im2d2Col", "gemm_conv_add"] * 2
    assert names(plan(Direction.FORWARD, spatial=(4, 5, 6)))[0] == "Im3d2Col"
    assert names(plan(Direction.BACKWARD_DATA, spatial=(4, 5, 6)))[1] == "Col2Im3dU"


@pytest.mark.parametrize("direction", Direction)
@pytest.mark.parametrize("spatial", [(5, 6), (3, 4, 5)])
def test_transformations_are_called_what_miopen_takes_for_one(make_problem, gpu_info, direction, spatial):
    problem = make_problem(direction=direction, spatial=spatial)
    solver = SOLVER_OF[direction]
    for launch in solver.solution(problem, gpu_info, solver.default_config(problem, gpu_info)).launches:
        assert launch.is_transformation == is_transformation_kernel(launch.kernel.entry)
        assert launch.is_transformation == (launch.kernel.file == "im2col.hip")


def test_a_plan_in_full(make_problem, gpu_info):
    problem = make_problem(n=2, c=6, k=8, groups=2, spatial=(10, 11), filter=(3, 2), stride=(2, 3))
    solution = FWD.solution(problem, gpu_info, GemmConfig(32, 32, 8, 4, 4))
    assert (solution.solver, solution.solver_id) == ("HipConvIm2colGemmFwd", 10041)
    assert problem.output == (5, 4)
    assert solution.workspace_bytes == 6 * 3 * 2 * 5 * 4 * 4
    im2col, gemm = solution.launches[2:]
    assert im2col.args == (Pointer("x", Slot.INPUT), Pointer("columns", Slot.WORKSPACE), Scalar("image", "i32", 1))
    assert (im2col.grid, im2col.block) == ((math.ceil(6 * 6 * 20 / 256), 1, 1), (256, 1, 1))
    assert gemm.args == (
        Pointer("w", Slot.WEIGHTS), Pointer("columns", Slot.WORKSPACE), Pointer("y", Slot.OUTPUT),
        Scalar("first_a", "i64", 0), Scalar("first_b", "i64", 0), Scalar("first_c", "i64", 8 * 5 * 4),
    )  # fmt: skip
    assert (gemm.grid, gemm.block) == ((2, 1, 1), (64, 1, 1))
    defines = dict(gemm.kernel.defines)
    assert defines.items() > dict(problem_macros(problem)).items()
    assert {name: value for name, value in defines.items() if not name.startswith("CONV_")} == {
        "ELEMENT": "FP32", "ACCUMULATOR": "float",
        "A_NAME": "w", "B_NAME": "columns", "C_NAME": "y",
        "GEMM_M": "4", "GEMM_N": "20", "GEMM_K": "18", "GEMM_BATCH": "2",
        "A_TYPE": "FP32", "A_STEP_BATCH": "72ll", "A_STEP_M": "18ll", "A_STEP_K": "1ll",
        "B_TYPE": "FP32", "B_STEP_BATCH": "360ll", "B_STEP_K": "20ll", "B_STEP_N": "1ll",
        "C_TYPE": "FP32", "C_STEP_BATCH": "80ll", "C_STEP_M": "20ll", "C_STEP_N": "1ll",
        "BLOCK_SIZE": "64", "M_PER_BLOCK": "32", "N_PER_BLOCK": "32", "K_PER_BLOCK": "8",
        "M_PER_THREAD": "4", "N_PER_THREAD": "4", "LANES": "4", "A_RUN": "4", "B_RUN": "4",
        "A_ALIGNED": "0", "B_ALIGNED": "1",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("direction", "dtype", "element_bytes"),
    [("F", "FP32", 4), ("F", "FP16", 2), ("B", "FP32", 4), ("B", "BF16", 4), ("W", "FP32", 4)],
)
def test_the_workspace_is_miopens_formula(make_problem, direction, dtype, element_bytes):
    """MIOpen's, for any number of images; sums of 16-bit products are kept in floats, which is twice its number."""
    problem = make_problem(
        direction=Direction(direction), dtype=DType(dtype), n=7, c=6, k=8, groups=2, spatial=(12, 10), filter=(3, 5)
    )
    of_a_group = 6 // 2 * 3 * 5 * math.prod(problem.output) * element_bytes
    assert SOLVER_OF[problem.direction].workspace_bytes(problem) == of_a_group * 2


def test_weights_of_sixteen_bits_add_their_sums_to_the_workspace(make_problem):
    def bytes_of(**changes):
        return WRW.workspace_bytes(make_problem(direction=Direction.BACKWARD_WEIGHTS, dtype=DType.FP16, **changes))

    assert bytes_of(n=1) == 4 * 9 * 7 * 9 * 2
    assert bytes_of(n=2) == math.ceil(4 * 9 * 7 * 9 * 2 / 256) * 256 + 6 * 4 * 9 * 4
    assert bytes_of(n=2, filter=(1, 1), pad=(0, 0)) == 6 * 4 * 4


@pytest.mark.parametrize("direction", Direction)
def test_an_image_that_is_a_matrix_needs_no_workspace_and_no_transformation(make_problem, gpu_info, direction):
    solver = SOLVER_OF[direction]
    problem = make_problem(direction=direction, n=2, filter=(1, 1), pad=(0, 0))
    assert image_is_matrix(problem)
    assert solver.workspace_bytes(problem) == 0
    launches = solver.solution(problem, gpu_info, solver.default_config(problem, gpu_info)).launches
    assert len(launches) == 2
    assert {argument.slot for launch in launches for argument in launch.args if isinstance(argument, Pointer)} <= {
        Slot.INPUT,
        Slot.WEIGHTS,
        Slot.OUTPUT,
    }
    for changes in ({"stride": (1, 2)}, {"pad": (0, 1)}, {"filter": (1, 2)}):
        assert not image_is_matrix(replace(problem, **changes))


@settings(deadline=None)
@given(problem=channels_first_problems())
def test_every_small_problem_has_valid_configs_the_default_among_them(cpu_info, gpu_info, problem):
    solver = SOLVER_OF[problem.direction]
    for info in (cpu_info, gpu_info):
        assert solver.refusal(problem, info) is None
        configs = list(solver.configs(problem, info))
        assert solver.default_config(problem, info) in configs
        assert len(set(configs)) == len(configs)
        for config in configs:
            assert solver.parse_config(config.serialize()) == config
            assert config.lds_bytes <= info.lds_bytes
            for launch in solver.solution(problem, info, config).launches:
                assert launch.grid[0] <= info.max_grid[0]
                assert launch.block[0] <= info.max_block


@settings(deadline=None)
@given(problem=channels_first_problems())
def test_every_matrix_lies_inside_of_its_buffer(gpu_info, problem):
    solver = SOLVER_OF[problem.direction]
    x, w, y = problem.tensor_bytes
    sizes = {Slot.INPUT: x, Slot.WEIGHTS: w, Slot.OUTPUT: y, Slot.WORKSPACE: solver.workspace_bytes(problem)}
    solution = solver.solution(problem, gpu_info, solver.default_config(problem, gpu_info))
    for launch in solution.launches:
        if launch.kernel.file == "gemm.hip":
            for name, end, slot in matrix_ends(launch):
                assert end <= sizes[slot], name


def matrix_ends(launch):
    """Of a, b and c: where in bytes of its buffer the last matrix of the batch ends."""
    defines = dict(launch.kernel.defines)
    pointers = [argument for argument in launch.args if isinstance(argument, Pointer)]
    firsts = {argument.name: argument.value for argument in launch.args if isinstance(argument, Scalar)}
    for letter, axes, pointer in zip("ABC", ("MK", "KN", "MN"), (*pointers[:2], pointers[-1]), strict=True):
        last = firsts[f"first_{letter.lower()}"]
        for axis, size in (*((axis, defines[f"GEMM_{axis}"]) for axis in axes), ("BATCH", defines["GEMM_BATCH"])):
            last += (int(size) - 1) * int(defines[f"{letter}_STEP_{axis}"].removesuffix("ll"))
        yield letter, pointer.offset_bytes + (last + 1) * DType(defines[f"{letter}_TYPE"]).bytes, pointer.slot


@pytest.mark.parametrize("direction", Direction)
def test_more_than_two_to_the_31_elements_of_a_matrix_are_planned(make_problem, gpu_info, direction):
    problem = make_problem(direction=direction, c=64, k=64, spatial=(2048, 2048))
    solver = SOLVER_OF[direction]
    assert solver.workspace_bytes(problem) // 4 > 2**31
    solution = solver.solution(problem, gpu_info, solver.default_config(problem, gpu_info))
    for launch in solution.launches:
        assert launch.grid[0] <= gpu_info.max_grid[0]
        assert launch.grid[0] * launch.block[0] < 2**32
        steps = {name: value for name, value in launch.kernel.defines if "_STEP_" in name}
        assert all(value.endswith("ll") for value in steps.values())


# refusals


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"dtype": DType.INT8}, "not INT8"),
        ({"spatial": (2**16, 2**15)}, "32 bits"),
        ({"c": 2**28, "k": 2}, "32 bits|more than a grid"),
        ({"c": 2**16, "spatial": (2**10, 2**10)}, "more than a grid"),
    ],
)
def test_what_cannot_be_computed_is_refused_in_words(make_problem, gpu_info, changes, words):
    reason = FWD.refusal(make_problem(**changes), gpu_info)
    assert any(word in reason for word in words.split("|"))


def test_the_plain_solver_takes_channels_first_alone(make_problem, gpu_info):
    """What `layout_transpose` brings to it; the wrapped solver refuses no layout."""
    problem = make_problem(out_layout=Layout.NHWC)
    assert "must all be NCHW" in FWD.plain.refusal(problem, gpu_info)
    assert FWD.refusal(problem, gpu_info) is None


def test_weights_over_large_images_are_refused_because_float_does_not_bear_the_sum(make_problem, gpu_info):
    """On an H200, 262,144 products in one chain were off by 1.6e-5 where MIOpen allows 3e-6."""
    small = make_problem(direction=Direction.BACKWARD_WEIGHTS, spatial=(128, 128))
    large = replace(small, spatial=(128, 129))
    assert WRW.refusal(small, gpu_info) is None
    assert "16512 products" in WRW.refusal(large, gpu_info)
    assert WRW.refusal(replace(large, dtype=DType.FP16), gpu_info) is None


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0,64,8,4,4", "at least 1"),
        ("64,64,8,5,4", "does not divide"),
        ("64,64,2,2,4", "evenly"),
        ("128,128,8,16,8", "too many for the registers"),
        ("32,32,256,4,4", "on their way to shared memory"),
        ("64,64,64,4,4", "bytes of shared memory"),
        ("128,32,8,8,4", "mostly beyond"),
        ("32,32,8,8,4", "waves"),
    ],
)
def test_what_a_config_breaks_is_said(make_problem, gpu_info, text, reason):
    problem = make_problem(k=40, spatial=(16, 16))
    config = GemmConfig.parse(text)
    assert config not in list(FWD.configs(problem, gpu_info))
    with pytest.raises(ConfigError, match=reason):
        FWD.solution(problem, gpu_info, config)


def test_a_config_of_another_solver_is_refused(make_problem, gpu_info):
    with pytest.raises(ConfigError, match="HipConvIm2colGemmFwd"):
        FWD.solution(make_problem(), gpu_info, PerformanceConfig())
    with pytest.raises(ConfigError, match="GemmConfig"):
        FWD.parse_config("64,64")


def test_default_tiles_leave_no_compute_unit_idle_if_they_can(make_problem, gpu_info):
    large = make_problem(c=64, k=256, spatial=(224, 224))
    small = make_problem(c=512, k=512, spatial=(7, 7))
    assert FWD.default_config(large, gpu_info).serialize() == "128,128,8,8,8"
    assert FWD.default_config(small, gpu_info).serialize() == "32,32,8,4,4"


def test_what_im2col_writes_is_the_matrix(cpu_device, make_problem):
    """One im2col alone, against the matrix written out in numpy."""
    problem = make_problem(c=2, k=1, spatial=(4, 5), filter=(2, 3), pad=(1, 0), stride=(1, 2))
    operands = make_operands(problem, seed=5)
    solution = FWD.solution(problem, cpu_device.info, SMALL)
    (im2col, _) = solution.launches
    with ConvBuffers(cpu_device, problem, operands, solution.workspace_bytes) as buffers:
        prepare(cpu_device, replace(solution, launches=(im2col,)), buffers).execute()
        columns = np.empty(solution.workspace_bytes // 4, np.float32)
        cpu_device.download(buffers.bind(im2col.args[1]).buffer, columns)
    padded = np.pad(operands.first[0], ((0, 0), (1, 1), (0, 0)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (2, 3), axis=(1, 2))[:, :, ::2]
    np.testing.assert_array_equal(columns.reshape(2, 2, 3, 5, 2), windows.transpose(0, 3, 4, 1, 2))
