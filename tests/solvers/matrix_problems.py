"""What tests of the matrix-core solvers share: the solvers, small problems in 16 bits, and configs from texts."""

from strategies import small_problems

from pytest_miopen_perf.problem import Direction, DType
from pytest_miopen_perf.solvers.implicit_gemm_matrix import SOLVERS

FWD, BWD, WRW = SOLVERS
SOLVER_OF = dict(zip(Direction, SOLVERS, strict=True))
HALVES = (DType.FP16, DType.BF16)
FILE = "conv_implicit_gemm_matrix.hip"

half_problems = small_problems(dtypes=HALVES, transposed=[False])


def in_layout(layout):
    return dict.fromkeys(("in_layout", "fil_layout", "out_layout"), layout)


def config_of(solver, text, parts=1):
    """A config of the solver, whose sums are split where it can split them."""
    return solver.parse_config(f"{text},{parts}" if solver is WRW else text)
