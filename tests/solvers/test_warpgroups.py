"""Hopper's warpgroups, which are not here: the kernel's text for them on the CPU device, its PTX emulated.

`ptx_operations.h` says what the emulation does with copies, products and fences that end later. Descriptors, the order
of registers and the swizzle are those of the PTX ISA, sections on wgmma.
"""

import pytest
from emulated_ptx import ORDERS, are_right, emulated, emulating_devices
from kernel_mutants import Barrier, barriers_of, edited, without_barrier

from pytest_miopen_perf.launch import DeviceInfo
from pytest_miopen_perf.problem import Direction, DType, Layout
from pytest_miopen_perf.solvers.implicit_gemm_matrix import SOLVERS
from pytest_miopen_perf.solvers.implicit_gemm_matrix_config import search_space
from pytest_miopen_perf.solvers.matrix_cores import MatrixCore

FILE = "conv_implicit_gemm_matrix.hip"
STEPS = "include/warpgroup_steps.h"
CORE = "include/warpgroup_core.h"
SOLVER_OF = dict(zip(Direction, SOLVERS, strict=True))
HALVES = (DType.FP16, DType.BF16)
HOPPER = DeviceInfo(
    backend="cuda",
    name="any",
    arch="sm_90a",
    compute_units=2,
    wavefront=32,
    lds_bytes=232448,
    memory_bytes=2**33,
)
CONFIGS = [config for config in search_space(HOPPER) if config.core(HOPPER) is MatrixCore.WGMMA]


@pytest.fixture(scope="module")
def devices(open_cpu):
    with emulating_devices(open_cpu, HOPPER.lds_bytes) as devices:
        yield devices


@pytest.fixture
def problem_of(make_problem):
    def make(direction, dtype=DType.FP16, layout=Layout.NHWC, **changes):
        layouts = dict.fromkeys(("in_layout", "fil_layout", "out_layout"), layout)
        return make_problem(direction=direction, dtype=dtype, **layouts | changes)

    return make


def planned(problem, text, parts=1):
    solver = SOLVER_OF[problem.direction]
    is_split = problem.direction is Direction.BACKWARD_WEIGHTS
    config = solver.parse_config(f"{text},{parts}" if is_split else text)
    assert config.core(HOPPER) is MatrixCore.WGMMA
    return solver, solver.solution(problem, HOPPER, config)


# numbers


KINDS = (
    {"n": 3, "c": 136, "k": 144, "spatial": (10, 9), "filter": (1, 2), "pad": (0, 1)},
    {"n": 3, "c": 130, "k": 134, "spatial": (16, 22), "filter": (1, 2), "stride": (2, 3), "pad": (1, 0)},
    {"n": 2, "c": 264, "k": 280, "groups": 2, "spatial": (9, 8), "filter": (2, 1), "dilation": (2, 1)},
    {"n": 2, "c": 129, "k": 131, "spatial": (9, 8), "filter": (2, 1), "layout": Layout.NCHW},
    {"n": 1, "c": 192, "k": 192, "spatial": (17, 16), "filter": (1, 1), "pad": (0, 0)},
)
"""Three steps of k or more. Channels are copied in pieces of 8, 2, 4 and 1, and a step of the last has a single tap."""


@pytest.mark.parametrize("number", range(len(CONFIGS)), ids=[config.serialize() for config in CONFIGS])
def test_every_tile_is_right(devices, execute, problem_of, tmp_path, number):
    """In one of the directions, for a problem of one of the kinds: all pairs of them have their turn."""
    problem = problem_of(list(Direction)[number % 3], HALVES[number % 2], **KINDS[number % len(KINDS)])
    solver, solution = planned(problem, CONFIGS[number].serialize())
    check = execute(devices[ORDERS[number // 3 % 3]], problem, solver, emulated(solution, FILE, tmp_path))
    assert check.passed, check.sentence


def test_all_pairs_of_directions_and_kinds_have_their_turn():
    pairs = {(number % 3, number % len(KINDS)) for number in range(len(CONFIGS))}
    assert len(pairs) == 3 * len(KINDS)


def test_split_sums_are_right(devices, execute, problem_of, tmp_path):
    problem = problem_of(Direction.BACKWARD_WEIGHTS, **SEVERAL_STEPS)
    solver, solution = planned(problem, SMALL, parts=2)
    check = execute(devices["reverse"], problem, solver, emulated(solution, FILE, tmp_path))
    assert check.passed, check.sentence


# what ends later

SMALL = "64,64,64,1,4,3"
SEVERAL_STEPS = {"n": 2, "c": 56, "k": 40, "spatial": (9, 12), "filter": (2, 2), "pad": (1, 0)}
"""Four blocks or more. Of three stages, that in which results are put down is, in backward data, the one that the last
copies fill, after three steps of k; in the other directions, the one that is multiplied last, after four."""


@pytest.mark.parametrize(("direction", "stages"), list(zip(Direction, (3, 4, 3), strict=True)))
def test_no_order_of_work_items_matters(devices, execute, problem_of, tmp_path, direction, stages):
    problem = problem_of(direction, **SEVERAL_STEPS)
    solver, solution = planned(problem, f"64,64,64,1,4,{stages}")
    whole = emulated(solution, FILE, tmp_path)
    assert all(are_right(devices, lambda device: execute(device, problem, solver, whole)))


WHERE_WAVES_ARE_ALONE = Barrier(file=FILE, number=0)
BARRIERS = [barrier for barrier in barriers_of(FILE) if barrier != WHERE_WAVES_ARE_ALONE]


@pytest.mark.parametrize("barrier", BARRIERS, ids=str)
def test_a_text_without_one_of_its_barriers_is_wrong_in_some_order(devices, execute, problem_of, tmp_path, barrier):
    problem = problem_of(Direction.FORWARD, **SEVERAL_STEPS)
    solver, solution = planned(problem, SMALL)
    mutant = emulated(solution, FILE, tmp_path, without_barrier(barrier))
    assert not all(are_right(devices, lambda device: execute(device, problem, solver, mutant)))


MUTANTS = {
    "products before their copies": (STEPS, "wait_for_copies<STEPS_AHEAD - 1>();", ""),
    "copies that the cores do not see": (STEPS, "show_copies();", ""),
    "sums that the cores do not see": (STEPS, "begin_products();", ""),
    "copies over a stage that is multiplied": (STEPS, "wait_for_products<1>();", ""),
    "copies a step too early": (STEPS, "#define STEPS_AHEAD (STAGES - 2)", "#define STEPS_AHEAD (STAGES - 1)"),
    "sums without the last products": (STEPS, "    wait_for_products<0>();\n", ""),
    "copies over results": (STEPS, "    wait_for_copies<0>();\n", ""),
    "products in no group": (STEPS, "close_group_of_products();", ""),
    "copies in no group": (STEPS, "        close_group_of_copies();\n        end_a(next", "        end_a(next"),
    "copies by registers that do not end": (STEPS, "end_b(next_stage + A_ELEMENTS, b_pieces);", ""),
    "chunks in their own order": (CORE, "(at / 8 ^ line)", "(at / 8)"),
    "offsets in each other's place": (CORE, "next_rows << 16 | next_lines << 32", "next_lines << 16 | next_rows << 32"),
    "orders in each other's place": (
        CORE,
        '"n"(!IS_B_ALONG_K), "n"(!IS_A_ALONG_K)',
        '"n"(!IS_A_ALONG_K), "n"(!IS_B_ALONG_K)',
    ),
    "two registers in each other's place": (CORE, '"%" #tens "0, %" #tens "1, ', '"%" #tens "1, %" #tens "0, '),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_what_the_hardware_does_not_forgive_is_noticed(devices, execute, problem_of, tmp_path, name):
    """Backward data, whose factors lie in different orders. One of them is copied past registers, one through them."""
    problem = problem_of(Direction.BACKWARD_DATA, **SEVERAL_STEPS, out_layout=Layout.NCHW)
    solver, solution = planned(problem, SMALL)
    mutant = emulated(solution, FILE, tmp_path, edited(*MUTANTS[name]))
    assert not all(are_right(devices, lambda device: execute(device, problem, solver, mutant)))
