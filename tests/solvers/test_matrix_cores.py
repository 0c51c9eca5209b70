"""Matrix cores that are not here: the text for each of AMD's, run on the CPU device with the instruction emulated.

The published layouts are those of AMD's Matrix Instruction Calculator and of the ISA guides of CDNA 1 to 4, RDNA 3 and
RDNA 4. Those of NVIDIA are in test_mma_sync.py and test_warpgroups.py.
"""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from kernel_mutants import with_text

from pytest_miopen_perf.checking.check import Reason
from pytest_miopen_perf.kernel_source.files import include_dir, kernel_path
from pytest_miopen_perf.launch import DeviceInfo
from pytest_miopen_perf.problem import Direction, DType, Layout
from pytest_miopen_perf.solvers.implicit_gemm_matrix import SOLVERS
from pytest_miopen_perf.solvers.matrix_cores import MatrixCore, matrix_core_of, matrix_core_refusal

FILE = "conv_implicit_gemm_matrix.hip"
EMULATION = Path(__file__).with_name("matrix_emulation.h").read_text()
SOLVER_OF = dict(zip(Direction, SOLVERS, strict=True))


@dataclass(frozen=True, kw_only=True)
class Instruction:
    """What is published of one: expressions of `lane` and `i`, the number of an element or of a sum in a lane.

    Factors are rows of m, or of n, times k. `copies` is how many lanes hold the same elements.
    """

    arch: str
    dtype: DType
    wave: int
    row: str = "lane % 16"
    k: str
    m: str
    n: str = "lane % 16"
    copies: int = 1


INSTRUCTIONS = (
    Instruction(arch="gfx908", dtype=DType.BF16, wave=64, k="2 * (lane / 16) + i", m="4 * (lane / 16) + i"),
    Instruction(arch="gfx908", dtype=DType.FP16, wave=64, k="4 * (lane / 16) + i", m="4 * (lane / 16) + i"),
    Instruction(arch="gfx90a", dtype=DType.FP16, wave=64, k="4 * (lane / 16) + i", m="4 * (lane / 16) + i"),
    Instruction(arch="gfx942", dtype=DType.BF16, wave=64, k="4 * (lane / 16) + i", m="4 * (lane / 16) + i"),
    Instruction(arch="gfx950", dtype=DType.FP16, wave=64, k="8 * (lane / 16) + i", m="4 * (lane / 16) + i"),
    Instruction(arch="gfx950", dtype=DType.BF16, wave=64, k="8 * (lane / 16) + i", m="4 * (lane / 16) + i"),
    Instruction(arch="gfx1100", dtype=DType.FP16, wave=32, k="i", m="2 * i + lane / 16", copies=2),
    Instruction(arch="gfx1100", dtype=DType.BF16, wave=32, k="i", m="2 * i + lane / 16", copies=2),
    Instruction(arch="gfx1201", dtype=DType.FP16, wave=32, k="8 * (lane / 16) + i", m="8 * (lane / 16) + i"),
    Instruction(arch="gfx1201", dtype=DType.BF16, wave=32, k="8 * (lane / 16) + i", m="8 * (lane / 16) + i"),
)


def emulated(instruction, text):
    """A kernel's text for an architecture, with its matrix instruction replaced."""
    expressions = {"ROW": instruction.row, "K": instruction.k, "M": instruction.m, "N": instruction.n}
    counts = {"WAVE": instruction.wave, "WAVES": 4, "COPIES": instruction.copies}
    macros = {f"EMULATED_{name}": f"({value})" for name, value in (expressions | counts).items()}
    macros[f"__{instruction.arch}__"] = "1"
    lines = [f"#define {name} {value}" for name, value in macros.items()]
    return "\n".join([*lines, EMULATION.replace("#pragma once", ""), text])


def device_of(instruction):
    return DeviceInfo(
        backend="hip",
        name="any",
        arch=instruction.arch,
        compute_units=4,
        wavefront=instruction.wave,
        lds_bytes=65536,
        memory_bytes=2**33,
    )


@pytest.fixture
def problem_of(make_problem):
    """More than one step of k and than one tile, whole ones and rests."""

    def make(direction, dtype):
        layouts = dict.fromkeys(("in_layout", "fil_layout", "out_layout"), Layout.NHWC)
        return make_problem(direction=direction, dtype=dtype, n=2, c=40, k=72, spatial=(5, 7), **layouts)

    return make


def planned(instruction, problem):
    solver = SOLVER_OF[problem.direction]
    text = "64,64,32,2,2,2,1" if problem.direction is Direction.BACKWARD_WEIGHTS else "64,64,32,2,2,2"
    return solver, solver.solution(problem, device_of(instruction), solver.parse_config(text))


@pytest.mark.parametrize("number", range(len(INSTRUCTIONS)), ids=[f"{i.arch}-{i.dtype.value}" for i in INSTRUCTIONS])
def test_the_text_for_an_architecture_is_right_if_its_instruction_does_what_is_published(
    cpu_device, execute, problem_of, tmp_path, number
):
    instruction = INSTRUCTIONS[number]
    problem = problem_of(list(Direction)[number % 3], instruction.dtype)
    solver, solution = planned(instruction, problem)
    text = emulated(instruction, kernel_path(FILE).read_text())
    check = execute(cpu_device, problem, solver, with_text(solution, FILE, text, tmp_path))
    assert check.passed, check.sentence


@pytest.mark.parametrize("changes", [{"k": "15 - i"}, {"m": "i + 8 * (lane / 16)"}, {"n": "15 - lane % 16"}])
def test_an_instruction_with_another_layout_is_noticed(cpu_device, execute, problem_of, tmp_path, changes):
    """Another order of k is none: both factors would have it. A sum elsewhere, or a lane that disagrees, is wrong."""
    instruction = replace(INSTRUCTIONS[6], **changes)
    problem = problem_of(Direction.FORWARD, instruction.dtype)
    solver, solution = planned(instruction, problem)
    text = emulated(instruction, kernel_path(FILE).read_text())
    check = execute(cpu_device, problem, solver, with_text(solution, FILE, text, tmp_path))
    assert (check.reason is Reason.RIGHT) == ("k" in changes)


def test_a_kernel_whose_copies_take_time_needs_their_end(cpu_device, execute, problem_of, tmp_path):
    """Where copies go through registers, what is never put down is never multiplied."""
    instruction = INSTRUCTIONS[2]
    problem = problem_of(Direction.FORWARD, instruction.dtype)
    solver, solution = planned(instruction, problem)
    text = kernel_path(FILE).read_text()
    without = text.replace("        end_a(next_stage, a_pieces);\n", "")
    assert without != text
    check = execute(cpu_device, problem, solver, with_text(solution, FILE, emulated(instruction, without), tmp_path))
    assert not check.passed


# which devices


@pytest.mark.parametrize(
    ("arch", "wavefront", "core"),
    [
        ("x86_64", 1, MatrixCore.LOOPS),
        ("gfx90a:sramecc+:xnack-", 64, MatrixCore.MFMA),
        ("gfx950", 64, MatrixCore.MFMA),
        ("gfx1100", 32, MatrixCore.WMMA),
        ("gfx1201", 32, MatrixCore.WMMA),
        ("sm_80", 32, MatrixCore.MMA_SYNC),
        ("sm_90a", 32, MatrixCore.WGMMA),
        ("sm_120a", 32, MatrixCore.MMA_SYNC),
        ("gfx906", 64, None),
        ("gfx1100", 64, None),
        ("gfx1250", 32, None),
        ("sm_75", 32, None),
    ],
)
def test_matrix_cores_are_told_by_architecture_and_wave(gpu_info, arch, wavefront, core):
    info = replace(gpu_info, arch=arch, wavefront=wavefront)
    assert matrix_core_of(info) is core
    reason = matrix_core_refusal("Solver", info)
    assert reason is None if core else f"no matrix cores of {arch} in waves of {wavefront}" in reason


def test_every_architecture_that_solvers_know_is_known_to_the_header(gpu_info):
    """The header stops the compiler at an AMD GPU that it does not know."""
    text = (include_dir() / "matrix_layout.h").read_text()
    known = [arch for arch in text.split("__") if arch.startswith("gfx")]
    assert known
    for arch in known:
        wave = 32 if arch.startswith("gfx1") else 64
        assert matrix_core_of(replace(gpu_info, arch=arch, wavefront=wave)) in (MatrixCore.MFMA, MatrixCore.WMMA)
