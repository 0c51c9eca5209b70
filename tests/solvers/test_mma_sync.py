"""NVIDIA's matrix cores for waves that are alone, from sm_80 on: the kernel's text for them on the CPU device.

Its PTX is emulated by `ptx_emulation.h`. Which lane holds what is that of the PTX ISA, of ldmatrix and of mma.m16n8k16.
"""

import pytest
from emulated_ptx import ORDERS, are_right, emulated, emulating_devices
from kernel_mutants import barriers_of, edited, without_barrier

from pytest_miopen_perf.launch import DeviceInfo
from pytest_miopen_perf.problem import Direction, DType, Layout
from pytest_miopen_perf.solvers.implicit_gemm_matrix import SOLVERS
from pytest_miopen_perf.solvers.implicit_gemm_matrix_config import search_space
from pytest_miopen_perf.solvers.matrix_cores import MatrixCore

FILE = "conv_implicit_gemm_matrix.hip"
CORE = "include/matrix_core.h"
SOLVER_OF = dict(zip(Direction, SOLVERS, strict=True))
HALVES = (DType.FP16, DType.BF16)
NVIDIA = DeviceInfo(
    backend="cuda", name="any", arch="sm_90", compute_units=2, wavefront=32, lds_bytes=232448, memory_bytes=2**33
)
STAGES_AND_K = 6  # of each tile in the space
CONFIGS = list(search_space(NVIDIA))
EVERY_TILE = [CONFIGS[tile * STAGES_AND_K + tile % STAGES_AND_K] for tile in range(len(CONFIGS) // STAGES_AND_K)]
SMALL = "64,64,32,2,2,3"


@pytest.fixture(scope="module")
def devices(open_cpu):
    with emulating_devices(open_cpu, NVIDIA.lds_bytes) as devices:
        yield devices


@pytest.fixture
def problem_of(make_problem):
    """More than one tile of most sizes, whole ones and rests; several steps of k."""

    def make(direction, dtype=DType.FP16, **changes):
        c, k = (136, 40) if direction is Direction.BACKWARD_DATA else (40, 136)
        sizes = {"n": 2, "c": c, "k": k, "spatial": (10, 9), "filter": (2, 2), "pad": (1, 0)}
        layouts = dict.fromkeys(("in_layout", "fil_layout", "out_layout"), Layout.NHWC)
        return make_problem(direction=direction, dtype=dtype, **sizes | layouts | changes)

    return make


def planned(problem, text):
    solver = SOLVER_OF[problem.direction]
    is_split = problem.direction is Direction.BACKWARD_WEIGHTS
    config = solver.parse_config(f"{text},1" if is_split else text)
    assert config.core(NVIDIA) is MatrixCore.MMA_SYNC
    return solver, solver.solution(problem, NVIDIA, config)


def test_every_tile_is_there():
    assert {tile_of(config) for config in EVERY_TILE} == {tile_of(config) for config in CONFIGS}


def tile_of(config):
    return config.gemm_m_per_block, config.gemm_n_per_block, config.waves_m, config.waves_n


@pytest.mark.parametrize("number", range(len(EVERY_TILE)), ids=[config.serialize() for config in EVERY_TILE])
def test_every_tile_is_right(devices, execute, problem_of, tmp_path, number):
    problem = problem_of(list(Direction)[number % 3], HALVES[number % 2])
    solver, solution = planned(problem, EVERY_TILE[number].serialize())
    check = execute(devices[ORDERS[number // 3 % 3]], problem, solver, emulated(solution, FILE, tmp_path))
    assert check.passed, check.sentence


@pytest.mark.parametrize("direction", Direction)
def test_no_order_of_work_items_matters(devices, execute, problem_of, tmp_path, direction):
    problem = problem_of(direction, n=1, in_layout=Layout.NCHW, out_layout=Layout.NCHW)
    solver, solution = planned(problem, SMALL)
    whole = emulated(solution, FILE, tmp_path)
    assert all(are_right(devices, lambda device: execute(device, problem, solver, whole)))


OWN_BARRIERS = [barrier for barrier in barriers_of(FILE) if barrier.file == FILE]


@pytest.mark.parametrize("barrier", OWN_BARRIERS, ids=str)
def test_a_text_without_one_of_its_barriers_is_wrong_in_some_order(devices, execute, problem_of, tmp_path, barrier):
    problem = problem_of(Direction.FORWARD)
    solver, solution = planned(problem, SMALL)
    mutant = emulated(solution, FILE, tmp_path, without_barrier(barrier))
    assert not all(are_right(devices, lambda device: execute(device, problem, solver, mutant)))


LAST_TURN = "        next = next + 1 < STAGES ? next + 1 : 0;\n    }\n"
MUTANTS = {
    "products before their copies": (FILE, "wait_for_copies<STAGES - 2>();", ""),
    "copies over results": (FILE, f"{LAST_TURN}    wait_for_copies<0>();\n", LAST_TURN),
    "copies in no group": (FILE, "                close_group_of_copies();\n", ""),
    "copies over a stage that is multiplied": (FILE, "int next = STAGES - 1;", "int next = STAGES - 2;"),
    "halves of a product in each other's place": (CORE, '"r"(a_low), "r"(a_high)', '"r"(a_high), "r"(a_low)'),
    "columns that are read as rows": (CORE, "x4.trans", "x4"),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_what_the_hardware_does_not_forgive_is_noticed(devices, execute, problem_of, tmp_path, name):
    problem = problem_of(Direction.BACKWARD_DATA)
    solver, solution = planned(problem, SMALL)
    mutant = emulated(solution, FILE, tmp_path, edited(*MUTANTS[name]))
    assert not all(are_right(devices, lambda device: execute(device, problem, solver, mutant)))
