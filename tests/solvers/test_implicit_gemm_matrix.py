"""The matrix-core solvers: numbers on the CPU device, where plain loops stand in for the instructions."""

from dataclasses import replace

import pytest
from hypothesis import Phase, assume, given, settings
from hypothesis import strategies as st
from kernel_mutants import barriers_of, with_texts, without_barrier
from matrix_problems import FILE, FWD, HALVES, SOLVER_OF, WRW, config_of, half_problems, in_layout

from pytest_miopen_perf.checking.check import Reason
from pytest_miopen_perf.problem import Direction, DType, Layout
from pytest_miopen_perf.solvers.implicit_gemm_matrix import SOLVERS

ORDERS = ("forward", "reverse", "strided")


# Each example is compiled: the same ones every time come from the cache from the second run on.
@settings(deadline=None, max_examples=8, derandomize=True, phases=[Phase.generate])
@given(problem=half_problems, data=st.data())
def test_small_problems_are_right(cpu_device, solve, problem, data):
    solver = SOLVER_OF[problem.direction]
    assume(solver.refusal(problem, cpu_device.info) is None)
    configs = list(solver.configs(problem, cpu_device.info))
    check = solve(cpu_device, problem, solver, data.draw(st.sampled_from(configs)))
    assert check.passed, check.sentence


KINDS = {
    "in chunks of eight": {"layout": Layout.NHWC, "n": 3, "c": 40, "k": 72, "spatial": (7, 6)},
    "strided, in chunks of two": {
        "layout": Layout.NHWC, "c": 6, "k": 34, "spatial": (12, 11), "stride": (2, 3), "pad": (1, 0),
    },
    "grouped and dilated, in chunks of four": {
        "layout": Layout.NHWC, "c": 24, "k": 40, "groups": 2, "spatial": (9, 8), "dilation": (2, 1), "pad": (2, 1),
    },
    "channels first": {"layout": Layout.NCHW, "c": 9, "k": 20},
    "matrix": {"layout": Layout.NHWC, "n": 2, "c": 64, "k": 48, "filter": (1, 1), "pad": (0, 0), "spatial": (6, 8)},
    "more taps than bits": {"layout": Layout.NHWC, "c": 8, "k": 8, "filter": (7, 5), "pad": (3, 2)},
    "volume": {
        "layout": Layout.NDHWC, "c": 16, "k": 8, "spatial": (4, 5, 6), "filter": (2, 3, 1), "pad": (1, 1, 0),
    },
}  # fmt: skip


@pytest.mark.parametrize("number", range(len(KINDS)), ids=list(KINDS))
@pytest.mark.parametrize("direction", Direction)
def test_every_kind_is_right(cpu_device, solve, make_problem, direction, number):
    changes = list(KINDS.values())[number]
    changes = {**changes, **in_layout(changes["layout"]), "dtype": HALVES[number % 2]}
    del changes["layout"]
    solver = SOLVER_OF[direction]
    problem = make_problem(direction=direction, **changes)
    check = solve(cpu_device, problem, solver)
    assert check.passed, check.sentence


@pytest.mark.parametrize(
    ("x_layout", "w_layout"),
    [(Layout.NCHW, Layout.NHWC), (Layout.NHWC, Layout.NCHW), (Layout.NHWC, Layout.CHWN)],
)
def test_mixed_layouts_are_right(cpu_device, solve, make_problem, x_layout, w_layout):
    problem = make_problem(dtype=DType.FP16, c=8, k=8, in_layout=x_layout, fil_layout=w_layout)
    check = solve(cpu_device, problem, FWD)
    assert check.passed, check.sentence


@pytest.mark.parametrize("parts", [1, 2, 4])
def test_split_sums_are_right_whether_all_parts_have_something_to_add_or_not(cpu_device, solve, make_problem, parts):
    problem = make_problem(
        direction=Direction.BACKWARD_WEIGHTS,
        dtype=DType.BF16,
        n=1,
        c=8,
        k=16,
        spatial=(16, 9),
        **in_layout(Layout.NHWC),
    )
    check = solve(cpu_device, problem, WRW, config_of(WRW, "16,16,32,1,1,2", parts))
    assert check.passed, check.sentence


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
def test_ten_runs_give_the_same_bits(cpu_device, make_problem, repeat, solver):
    problem = make_problem(direction=solver.direction, dtype=DType.FP16, n=3, c=24, k=24, **in_layout(Layout.NHWC))
    solution = solver.solution(problem, cpu_device.info, config_of(solver, "32,32,32,2,2,2", 4))
    assert len(set(repeat(cpu_device, problem, solution))) == 1


# barriers


def reasons(open_cpu, execute, problem, solver, solution):
    return [execute(open_cpu(work_item_order=order), problem, solver, solution).reason for order in ORDERS]


@pytest.fixture
def several_steps(make_problem):
    """A product of more than two stages, and of more than one block in m and n."""
    return make_problem(dtype=DType.FP16, n=2, c=24, k=48, spatial=(7, 6), **in_layout(Layout.NHWC))


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
def test_no_order_of_work_items_matters(open_cpu, cpu_info, execute, several_steps, solver):
    problem = replace(several_steps, direction=solver.direction)
    solution = solver.solution(problem, cpu_info, config_of(solver, "32,32,32,2,2,2", 2))
    assert reasons(open_cpu, execute, problem, solver, solution) == [Reason.RIGHT] * 3


OWN_BARRIERS = [barrier for barrier in barriers_of(FILE) if barrier.file == FILE]
"""Those of the headers stand where warpgroups multiply: test_warpgroups.py."""


@pytest.mark.parametrize("barrier", OWN_BARRIERS, ids=str)
def test_a_text_without_one_of_its_barriers_is_wrong_in_some_order(
    open_cpu, cpu_info, execute, several_steps, tmp_path, barrier
):
    solution = FWD.solution(several_steps, cpu_info, FWD.parse_config("32,32,32,2,2,2"))
    mutant = with_texts(solution, FILE, without_barrier(barrier), tmp_path)
    assert set(reasons(open_cpu, execute, several_steps, FWD, mutant)) - {Reason.RIGHT}
