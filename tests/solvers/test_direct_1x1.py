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
from pytest_miopen_perf.solvers.direct_1x1 import SOLVERS, Direct1x1Config

FWD, BWD = SOLVERS
DATA_DIRECTIONS = (Direction.FORWARD, Direction.BACKWARD_DATA)
SOLVER_OF = dict(zip(DATA_DIRECTIONS, SOLVERS, strict=True))
FLOATS = (DType.FP32, DType.FP16, DType.BF16)


def in_layout(layout):
    return {"in_layout": layout, "fil_layout": layout, "out_layout": layout}


@st.composite
def pointwise_problems(draw):
    """Small problems with one tap, in one layout, with a few more channels than others have."""
    problem = draw(small_problems(directions=DATA_DIRECTIONS, dtypes=FLOATS, transposed=[False]))
    one, zero = (1,) * problem.rank, (0,) * problem.rank
    layout = draw(st.sampled_from([Layout.NCHW, Layout.NHWC] if problem.rank == 2 else [Layout.NCDHW, Layout.NDHWC]))
    times = draw(st.sampled_from([1, 4]))
    return replace(
        problem, c=times * problem.c, k=times * problem.k, filter=one, pad=zero, dilation=one, **in_layout(layout)
    )


def pointwise(make_problem, **changes):
    rank = len(changes.get("spatial", (6, 8)))
    plain = {"n": 2, "c": 8, "k": 12, "spatial": (6, 8), "filter": (1,) * rank, "pad": (0,) * rank}
    return make_problem(**plain | changes)


# numbers


@settings(deadline=None, max_examples=20, derandomize=True, phases=[Phase.generate])
@given(problem=pointwise_problems(), data=st.data())
def test_small_problems_are_right(cpu_device, solve, problem, data):
    solver = SOLVER_OF[problem.direction]
    config = data.draw(st.sampled_from(list(solver.configs(problem, cpu_device.info))))
    check = solve(cpu_device, problem, solver, config)
    assert check.passed, check.sentence


EDGES = {
    "vectors of pixels": ({}, "16,4,8,4"),
    "vectors of channels": (in_layout(Layout.NHWC), "16,4,8,4"),
    "tails": ({"c": 10, "k": 14, "groups": 2, "spatial": (5, 7)}, "16,4,16,1"),
    "strided": ({"spatial": (9, 12), "stride": (2, 3)}, "16,4,8,1"),
    "strided, channels last": ({"spatial": (9, 12), "stride": (3, 2), **in_layout(Layout.NHWC)}, "16,4,1,4"),
    "volume": ({"spatial": (3, 4, 5), "stride": (2, 1, 2)}, "64,4,8,1"),
    "half": ({"dtype": DType.FP16}, "16,8,8,4"),
    "bfloat, channels last": ({"dtype": DType.BF16, "groups": 2, **in_layout(Layout.NHWC)}, "16,4,8,2"),
}


@pytest.mark.parametrize("direction", DATA_DIRECTIONS)
@pytest.mark.parametrize(("changes", "text"), EDGES.values(), ids=EDGES)
def test_edges_are_right(cpu_device, solve, make_problem, direction, changes, text):
    problem = pointwise(make_problem, direction=direction, **changes)
    check = solve(cpu_device, problem, SOLVER_OF[direction], Direct1x1Config.parse(text))
    assert check.passed, check.sentence


@pytest.mark.parametrize("layout", [Layout.NCHW, Layout.NHWC])
def test_int8_is_exact(cpu_device, solve, make_problem, layout):
    check = solve(cpu_device, pointwise(make_problem, dtype=DType.INT8, **in_layout(layout)), FWD)
    assert check.passed, check.sentence


# plans


def test_a_plan_in_full(make_problem, gpu_info):
    problem = pointwise(make_problem, groups=2, k=20)
    solution = FWD.solution(problem, gpu_info, Direct1x1Config(64, 4, 4, 2))
    (launch,) = solution.launches
    assert (solution.solver, solution.solver_id, solution.workspace_bytes) == ("HipConvDirect1x1Fwd", 10021, 0)
    assert (launch.kernel.file, launch.kernel.entry) == ("conv_direct_1x1.hip", "direct_conv_1x1_fwd")
    assert launch.args == (Pointer("x", Slot.INPUT), Pointer("w", Slot.WEIGHTS), Pointer("y", Slot.OUTPUT))
    assert launch.grid == (math.ceil(2 * 2 * math.ceil(10 / 4) * (48 / 4) / 64), 1, 1)
    assert (launch.block, launch.is_transformation) == ((64, 1, 1), False)
    tuned = {"BLOCK_SIZE": "64", "CHANNELS_PER_THREAD": "4", "PIXELS_PER_THREAD": "4", "VECTOR_WIDTH": "2"}
    assert tuned.items() <= dict(launch.kernel.defines).items()


@settings(deadline=None)
@given(problem=pointwise_problems())
def test_every_small_problem_has_valid_configs_the_default_among_them(cpu_info, gpu_info, problem):
    solver = SOLVER_OF[problem.direction]
    for info in (cpu_info, gpu_info):
        assert solver.refusal(problem, info) is None
        configs = list(solver.configs(problem, info))
        assert solver.default_config(problem, info) in configs
        assert len(set(configs)) == len(configs)
        for config in configs:
            assert solver.parse_config(config.serialize()) == config
            (launch,) = solver.solution(problem, info, config).launches
            assert launch.grid[0] <= info.max_grid[0]


@pytest.mark.parametrize("direction", DATA_DIRECTIONS)
def test_more_than_two_to_the_31_elements_are_planned_in_a_legal_grid(make_problem, gpu_info, direction):
    problem = pointwise(make_problem, direction=direction, n=100_000, c=64, k=64, spatial=(56, 56))
    solver = SOLVER_OF[direction]
    configs = list(solver.configs(problem, gpu_info))
    assert solver.default_config(problem, gpu_info) in configs
    for config in configs:
        (launch,) = solver.solution(problem, gpu_info, config).launches
        assert launch.grid[0] * launch.block[0] < 2**32


def test_more_than_two_to_the_31_work_items_compile(cpu_device, make_problem):
    problem = pointwise(make_problem, n=2**26, c=8, k=8, spatial=(2, 2))
    (launch,) = FWD.solution(problem, cpu_device.info, Direct1x1Config(64, 1, 1, 1)).launches
    assert launch.grid[0] * launch.block[0] >= 2**31
    cpu_device.compile(launch.kernel)


def test_vectors_are_tried_where_memory_is_contiguous(make_problem, gpu_info):
    def widths(**changes):
        return {config.vector_width for config in FWD.configs(pointwise(make_problem, **changes), gpu_info)}

    assert widths() == {1, 2, 4}
    assert widths(spatial=(5, 6)) == {1, 2}
    assert widths(stride=(1, 2)) == {1}
    assert widths(c=6, **in_layout(Layout.NHWC)) == {1, 2}
    assert widths(stride=(1, 2), **in_layout(Layout.NHWC)) == {1, 2, 4}


# refusals


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"filter": (3, 1)}, "one tap"),
        ({"pad": (0, 1)}, "no pads"),
        ({"fil_layout": Layout.NHWC}, "NCHW or NHWC; here they are NCHW, NHWC"),
        ({"spatial": (2**16, 2**15)}, "pixels in 32 bits"),
        ({"n": 2**31}, "32 bits"),
    ],
)
def test_what_cannot_be_computed_is_refused_in_words(make_problem, gpu_info, changes, words):
    for direction, solver in SOLVER_OF.items():
        assert words in solver.refusal(pointwise(make_problem, direction=direction, **changes), gpu_info)


def test_int8_goes_forward_only(make_problem, gpu_info):
    problem = pointwise(make_problem, dtype=DType.INT8, direction=Direction.BACKWARD_DATA)
    assert "int8 only for forward" in BWD.refusal(problem, gpu_info)


@pytest.mark.parametrize(
    ("changes", "text", "reason"),
    [
        ({}, "64,0,1,1", "at least 1"),
        ({}, "96,1,1,1", "does not suit waves"),
        ({}, "64,1,4,3", "no vector"),
        ({}, "64,1,8,8", "no vector of at most 16 bytes"),
        ({}, "64,1,1,2", "not read 2 at a time"),
        ({"spatial": (5, 7)}, "64,1,2,2", "not read 2 at a time"),
        ({"stride": (2, 2)}, "64,1,2,2", "with a stride"),
        ({"c": 7, **in_layout(Layout.NHWC)}, "64,1,1,2", "7 channels a group"),
        ({}, "64,8,8,4", "registers"),
        ({"k": 2}, "64,4,1,1", "mostly beyond"),
    ],
)
def test_what_a_config_breaks_is_said(make_problem, gpu_info, changes, text, reason):
    problem = pointwise(make_problem, **changes)
    config = Direct1x1Config.parse(text)
    assert config not in list(FWD.configs(problem, gpu_info))
    with pytest.raises(ConfigError, match=reason):
        FWD.solution(problem, gpu_info, config)


def test_a_config_of_another_solver_is_refused(make_problem, gpu_info):
    with pytest.raises(ConfigError, match="HipConvDirect1x1Fwd"):
        FWD.solution(pointwise(make_problem), gpu_info, PerformanceConfig())
    with pytest.raises(ConfigError, match="Direct1x1Config"):
        FWD.parse_config("64,1,1")


def test_a_device_too_small_is_refused(make_problem, gpu_info):
    assert "waves" in FWD.refusal(pointwise(make_problem), replace(gpu_info, max_block=32))
