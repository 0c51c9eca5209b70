"""What the estimate thinks of configs, beside what an H200 measured."""

from dataclasses import replace

import pytest

from pytest_miopen_perf.problem import ConvProblem, Direction
from pytest_miopen_perf.solvers.gathered_gemm import GemmShape, gemm_shape
from pytest_miopen_perf.solvers.implicit_gemm_matrix import SOLVERS
from pytest_miopen_perf.solvers.implicit_gemm_matrix_config import MatrixConfig, search_space
from pytest_miopen_perf.solvers.implicit_gemm_matrix_cost import estimated_cycles

SOLVER_OF = dict(zip(Direction, SOLVERS, strict=True))

CONFIGS = (
    "128,256,64,1,8,4", "128,192,64,1,12,4", "128,128,64,1,8,3", "128,128,64,1,8,4", "256,128,64,1,8,4",
    "64,256,64,1,8,4", "128,64,64,1,4,4", "128,256,64,1,8,3", "64,64,64,1,4,4", "128,128,64,1,4,3",
    "64,128,64,1,4,3", "64,128,64,1,4,4",
)  # fmt: skip
_3X3 = "-y 3 -x 3 -p 1 -q 1"

MEASURED_US = {
    f"-n 64 -c 64 -H 56 -W 56 -k 64 {_3X3} -F 1": (76, 85, 77, 90, None, 59, 88, 80, 59, 76, 55, 53),
    "-n 64 -c 64 -H 56 -W 56 -k 256 -y 1 -x 1 -F 1": (64, 69, 59, 77, 61, 79, 72, 64, 79, 59, 66, 74),
    f"-n 64 -c 128 -H 28 -W 28 -k 128 {_3X3} -F 1": (45, 40, 40, 40, 59, 44, 41, 47, 50, 45, 43, 42),
    f"-n 64 -c 256 -H 14 -W 14 -k 256 {_3X3} -F 1": (41, 37, 45, 46, 39, 51, 48, 44, 47, 43, 41, 47),
    f"-n 64 -c 512 -H 7 -W 7 -k 512 {_3X3} -F 1": (68, 62, 54, 47, 66, 53, 47, 72, 44, 52, 54, 49),
    f"-n 1 -c 128 -H 512 -W 512 -k 128 {_3X3} -F 1": (163, 185, 176, 188, 284, 210, 185, 182, 224, 171, 201, 196),
    f"-n 64 -c 128 -H 28 -W 28 -k 128 {_3X3} -F 2": (46, 43, 42, 43, 61, 47, 43, 50, 52, 47, 44, 44),
    f"-n 1 -c 128 -H 512 -W 512 -k 128 {_3X3} -F 2": (170, 197, 175, 190, 288, 225, 196, 182, 239, 175, 209, 204),
    f"-n 64 -c 256 -H 14 -W 14 -k 256 {_3X3} -F 4": (75, 65, 65, 64, 65, 78, 66, 84, 72, 70, 71, 74),
    f"-n 1 -c 128 -H 512 -W 512 -k 128 {_3X3} -F 4": (218, 184, 232, 209, 286, 252, 212, 292, 262, 228, 239, 225),
}
"""Microseconds of each config in fp16 and NHWC on an H200, backward weights in 8 and 64 parts; None is no valid one."""

PARTS = {256: 8, 128: 64}


@pytest.fixture
def h200(gpu_info):
    return replace(gpu_info, backend="cuda", arch="sm_90a", compute_units=132, wavefront=32, lds_bytes=232448)


@pytest.fixture(params=["cpu_info", "gpu_info", "h200"])
def any_info(request):
    return request.getfixturevalue(request.param)


@pytest.mark.parametrize("line", MEASURED_US)
def test_what_looks_cheapest_is_as_fast_as_the_fastest(h200, line):
    layouts = "--in_layout NHWC --fil_layout NHWC --out_layout NHWC"
    (problem,) = ConvProblem.from_driver(f"MIOpenDriver convfp16 {line} {layouts}")
    ending = f",{PARTS[problem.c]}" if problem.direction is Direction.BACKWARD_WEIGHTS else ""
    measured = {text: us for text, us in zip(CONFIGS, MEASURED_US[line], strict=True) if us is not None}
    cycles = {
        text: estimated_cycles(
            SOLVER_OF[problem.direction].parse_config(text + ending),
            gemm_shape(problem),
            problem.direction,
            h200,
            together=8,
        )
        for text in measured
    }
    assert measured[min(cycles, key=cycles.get)] <= 1.04 * min(measured.values())


def test_the_estimate_prefers_less_waste_and_more_units_at_work(any_info):
    for config in search_space(any_info):
        costs = [
            estimated_cycles(config, GemmShape(64, 4096, k, 1), Direction.FORWARD, any_info, together=8)
            for k in (64, 256, 1024)
        ]
        assert costs == sorted(costs)


def test_copying_single_elements_costs_warpgroups_more_than_waves(h200):
    """They go through registers, between the products: a first layer of three channels is left to waves."""
    gemm = GemmShape(64, 64 * 112 * 112, 147, 1)

    def cycles(text, together):
        return estimated_cycles(MatrixConfig.parse(text), gemm, Direction.FORWARD, h200, together=together)

    assert cycles("64,256,64,1,8,3", 8) < cycles("64,256,32,1,4,3", 8)
    assert cycles("64,256,64,1,8,3", 1) > cycles("64,256,32,1,4,3", 1)


def test_a_tile_for_which_registers_do_not_suffice_has_an_estimate(h200):
    gemm = GemmShape(256, 12544, 2304, 1)
    assert estimated_cycles(MatrixConfig.parse("256,256,64,1,8,3"), gemm, Direction.FORWARD, h200, together=8) > 0
