"""Implicit GEMM's numbers, and that its barriers are where they must be."""

from dataclasses import replace

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from kernel_mutants import BARRIER, barriers_of, with_texts, without_barrier
from strategies import small_problems

from pytest_miopen_perf.checking.check import Reason
from pytest_miopen_perf.kernel_source.files import kernels_dir
from pytest_miopen_perf.problem import Direction, DType, Layout
from pytest_miopen_perf.solvers.implicit_gemm import SOLVERS

FWD, BWD, WRW, ATOMIC = SOLVERS
SOLVER_OF = dict(zip(Direction, (FWD, BWD, WRW), strict=True))
FLOATS = (DType.FP32, DType.FP16, DType.BF16)
ORDERS = ("forward", "reverse", "strided")
FILE = "conv_implicit_gemm.hip"

float_problems = small_problems(dtypes=FLOATS, transposed=[False])


def config_of(solver, text, parts=1):
    """A config of the solver, whose sums are split where it can split them."""
    return solver.parse_config(f"{text},{parts}" if solver in (WRW, ATOMIC) else text)


# numbers


# Each example is compiled: the same ones every time come from the cache from the second run on.
@settings(deadline=None, max_examples=20, derandomize=True, phases=[Phase.generate])
@given(problem=float_problems, data=st.data())
def test_small_problems_are_right(cpu_device, solve, problem, data):
    solvers = [solver for solver in SOLVERS if solver.refusal(problem, cpu_device.info) is None]
    solver = data.draw(st.sampled_from(solvers))
    configs = list(solver.configs(problem, cpu_device.info))
    check = solve(cpu_device, problem, solver, data.draw(st.sampled_from(configs)))
    assert check.passed, check.sentence


SPREAD = ["1,64,48,32,4,24,8", "1,6,16,32,6,16,8", "256,64,64,16,4,4,1", "64,32,32,8,2,4,4"]
EDGES = {
    "grouped": {
        "n": 3,
        "c": 80,
        "k": 84,
        "groups": 2,
        "spatial": (11, 9),
        "pad": (2, 1),
        "stride": (1, 2),
        "dilation": (2, 1),
    },
    "strided matrix": {
        "n": 2,
        "c": 33,
        "k": 70,
        "spatial": (19, 17),
        "filter": (1, 1),
        "pad": (0, 0),
        "stride": (2, 2),
    },
}


@pytest.mark.parametrize("text", SPREAD)
@pytest.mark.parametrize("changes", EDGES.values(), ids=EDGES)
@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
def test_a_spread_of_tiles_is_right_at_their_edges(cpu_device, solve, make_problem, solver, changes, text):
    problem = make_problem(direction=next(iter(solver.directions)), **changes)
    check = solve(cpu_device, problem, solver, config_of(solver, text, parts=4))
    assert check.passed, check.sentence


@pytest.mark.parametrize("text", ["64,8,128,8,4,4,1", "64,16,64,16,2,4,4"])
@pytest.mark.parametrize("direction", Direction)
def test_tiles_for_groups_of_few_channels_are_right(cpu_device, solve, make_problem, direction, text):
    problem = make_problem(direction=direction, n=2, c=20, k=20, groups=2, spatial=(9, 7), stride=(1, 2))
    solver = SOLVER_OF[direction]
    check = solve(cpu_device, problem, solver, config_of(solver, text, parts=2))
    assert check.passed, check.sentence


@pytest.mark.parametrize("layout", [Layout.NCHW, Layout.NHWC])
@pytest.mark.parametrize("width", [1, 4])
def test_backward_weights_gathers_along_whatever_lies_together(cpu_device, solve, make_problem, layout, width):
    layouts = dict.fromkeys(("in_layout", "fil_layout", "out_layout"), layout)
    problem = make_problem(direction=Direction.BACKWARD_WEIGHTS, n=3, c=12, k=20, spatial=(7, 10), **layouts)
    check = solve(cpu_device, problem, WRW, config_of(WRW, f"64,32,32,8,4,4,{width}", parts=4))
    assert check.passed, check.sentence


KINDS = {
    "half, channels last": {"dtype": DType.FP16, "layout": Layout.NHWC, "n": 2, "c": 18, "k": 20},
    "bfloat, matrix": {"dtype": DType.BF16, "layout": Layout.NCHW, "c": 20, "k": 9, "filter": (1, 1), "pad": (0, 0)},
    "volume": {
        "dtype": DType.FP32,
        "layout": Layout.NCDHW,
        "spatial": (4, 5, 6),
        "filter": (2, 3, 1),
        "pad": (1, 1, 0),
    },
    "depthwise volume, channels last": {
        "dtype": DType.FP32,
        "layout": Layout.NDHWC,
        "c": 8,
        "k": 8,
        "groups": 8,
        "spatial": (3, 6, 5),
        "stride": (1, 2, 1),
    },
}


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
@pytest.mark.parametrize("direction", Direction)
def test_every_kind_is_right(cpu_device, solve, make_problem, direction, kind):
    changes = {**kind, **dict.fromkeys(("in_layout", "fil_layout", "out_layout"), kind["layout"])}
    del changes["layout"]
    check = solve(cpu_device, make_problem(direction=direction, **changes), SOLVER_OF[direction])
    assert check.passed, check.sentence


@pytest.mark.parametrize("layout", [Layout.NCHW, Layout.NHWC])
def test_int8_is_exact(cpu_device, solve, make_problem, layout):
    layouts = dict.fromkeys(("in_layout", "fil_layout", "out_layout"), layout)
    check = solve(cpu_device, make_problem(dtype=DType.INT8, n=2, c=70, k=9, **layouts), FWD)
    assert check.passed, check.sentence


@pytest.mark.parametrize("parts", [1, 2, 8])
@pytest.mark.parametrize("solver", [WRW, ATOMIC], ids=lambda solver: solver.name)
def test_split_sums_are_right_whether_all_parts_have_something_to_add_or_not(
    cpu_device, solve, make_problem, solver, parts
):
    problem = make_problem(direction=Direction.BACKWARD_WEIGHTS, n=1, c=5, k=7, spatial=(16, 16))
    check = solve(cpu_device, problem, solver, config_of(solver, "1,6,16,32,6,16,8", parts))
    assert check.passed, check.sentence


def test_sixteen_bit_weights_are_rounded_once_whatever_the_parts(cpu_device, solve, make_problem):
    problem = make_problem(direction=Direction.BACKWARD_WEIGHTS, dtype=DType.BF16, n=40, c=2, k=2, spatial=(4, 4))
    check = solve(cpu_device, problem, WRW, config_of(WRW, "1,4,24,32,4,24,8", 16))
    assert check.passed, check.sentence


@pytest.mark.parametrize("solver", [FWD, BWD, WRW], ids=lambda solver: solver.name)
def test_ten_runs_give_the_same_bits(cpu_device, make_problem, repeat, solver):
    problem = make_problem(direction=solver.direction, n=3, c=20, k=20, dtype=DType.FP16)
    solution = solver.solution(problem, cpu_device.info, config_of(solver, "1,16,24,32,4,24,8", 4))
    assert len(set(repeat(cpu_device, problem, solution))) == 1


def test_only_atomic_sums_say_that_they_differ_from_run_to_run():
    assert [solver.is_deterministic for solver in SOLVERS] == [True, True, True, False]


# barriers


def reasons(open_cpu, execute, problem, solver, solution):
    return [execute(open_cpu(work_item_order=order), problem, solver, solution).reason for order in ORDERS]


@pytest.fixture
def several_stages(make_problem):
    """A product of more than three stages, and of more than one block in m and n."""
    return make_problem(n=2, c=36, k=40, spatial=(12, 11))


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
def test_no_order_of_work_items_matters(open_cpu, cpu_info, execute, several_stages, solver):
    problem = replace(several_stages, direction=solver.direction)
    solution = solver.solution(problem, cpu_info, config_of(solver, "64,32,32,8,4,4,1", 2))
    assert reasons(open_cpu, execute, problem, solver, solution) == [Reason.RIGHT] * 3


TEXT = (kernels_dir() / FILE).read_text()
MUTANTS = {f"without barrier {barrier}": without_barrier(barrier) for barrier in barriers_of(FILE)} | {
    "with one stage": {FILE: TEXT.replace("stage ^= 1;", "")},
    "with the barrier before the copy": {
        FILE: TEXT.replace(BARRIER, "").replace("stage ^= 1;\n        }", f"stage ^= 1;\n        }}\n        {BARRIER}")
    },
}


@pytest.mark.parametrize("solver", [FWD, WRW], ids=lambda solver: solver.name)
@pytest.mark.parametrize("name", MUTANTS)
def test_a_text_with_a_race_is_wrong_in_some_order(open_cpu, cpu_info, execute, several_stages, tmp_path, name, solver):
    ((file, text),) = MUTANTS[name].items()
    original = (kernels_dir() / file).read_text()
    assert original.count(BARRIER) - text.count(BARRIER) == name.startswith("without")
    assert text != original
    problem = replace(several_stages, direction=solver.direction)
    solution = solver.solution(problem, cpu_info, config_of(solver, "64,32,32,8,4,4,1"))
    mutant = with_texts(solution, FILE, MUTANTS[name], tmp_path)
    assert set(reasons(open_cpu, execute, problem, solver, mutant)) - {Reason.RIGHT}
