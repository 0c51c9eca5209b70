"""Names and numbers by which logs and data bases know a solver."""

import pytest

from pytest_miopen_perf.problem import Direction, DType
from pytest_miopen_perf.solvers import Solver, builtin_solvers

SOLVERS = builtin_solvers()

# Every convolution solver that MIOpen has or had; a template's arguments are left out with their brackets.
_MIOPEN_NAMES = """
    ConvAsm1x1U ConvAsm1x1UV2 ConvAsm3x3U ConvAsm5x10u2v2b1 ConvAsm5x10u2v2f1 ConvAsm7x7c3h224w224k64u2v2p3q3f1
    ConvAsmBwdWrW1x1 ConvAsmBwdWrW3x3 ConvAsmImplicitGemmGTCDynamicBwdXdlops
    ConvAsmImplicitGemmGTCDynamicBwdXdlopsNHWC ConvAsmImplicitGemmGTCDynamicFwdDlopsNCHWC
    ConvAsmImplicitGemmGTCDynamicFwdXdlops ConvAsmImplicitGemmGTCDynamicFwdXdlopsNHWC
    ConvAsmImplicitGemmGTCDynamicWrwXdlops ConvAsmImplicitGemmGTCDynamicWrwXdlopsNHWC ConvAsmImplicitGemmV4R1DynamicBwd
    ConvAsmImplicitGemmV4R1DynamicFwd ConvAsmImplicitGemmV4R1DynamicFwd_1x1 ConvAsmImplicitGemmV4R1DynamicWrw
    ConvBinWinograd3x3U ConvBinWinogradRxS ConvBinWinogradRxSf2x3 ConvBinWinogradRxSf2x3g1 ConvBinWinogradRxSf3x2
    ConvCkIgemmFwdV6r1DlopsNchw ConvDepthwiseBwdData2D ConvDepthwiseFwd2D ConvDepthwiseFwd3D ConvDirectNaiveConvBwd
    ConvDirectNaiveConvFwd ConvDirectNaiveConvWrw ConvHipConv ConvHipBwdWrW53 ConvHipDirectFwd ConvHipDirectFwd11x11
    ConvHipImplicitGemm3DGroupBwdXdlops ConvHipImplicitGemm3DGroupFwdXdlops ConvHipImplicitGemm3DGroupWrwXdlops
    ConvHipImplicitGemmBwdDataV1R1 ConvHipImplicitGemmBwdDataV1R1Xdlops ConvHipImplicitGemmBwdDataV4R1
    ConvHipImplicitGemmBwdDataV4R1Xdlops ConvHipImplicitGemmBwdXdlops ConvHipImplicitGemmF16F8F16BwdXdlops
    ConvHipImplicitGemmF16F8F16FwdXdlops ConvHipImplicitGemmF16F8F16WrwXdlops ConvHipImplicitGemmForwardV4R4Xdlops
    ConvHipImplicitGemmForwardV4R4Xdlops_Padded_Gemm ConvHipImplicitGemmForwardV4R5Xdlops ConvHipImplicitGemmFwdXdlops
    ConvHipImplicitGemmGroupBwdXdlops ConvHipImplicitGemmGroupFwdXdlops ConvHipImplicitGemmGroupWrwXdlops
    ConvHipImplicitGemmV4R1Fwd ConvHipImplicitGemmV4R1WrW ConvHipImplicitGemmV4R4Fwd ConvHipImplicitGemmV4R4WrW
    ConvHipImplicitGemmWrwV4R4Xdlops ConvHipImplicitGemmWrwV4R4Xdlops_Padded_Gemm ConvMPBidirectWinograd
    ConvMPBidirectWinograd_xdlops ConvMlirIgemmBwd ConvMlirIgemmBwdXdlops ConvMlirIgemmFwd ConvMlirIgemmFwdXdlops
    ConvMlirIgemmWrW ConvMlirIgemmWrWXdlops ConvOclBwdWrW1x1 ConvOclBwdWrW2 ConvOclBwdWrW2NonTunable ConvOclBwdWrW53
    ConvOclDirectFwd ConvOclDirectFwd11x11 ConvOclDirectFwd1x1 ConvOclDirectFwdGen ConvWinoFuryRxS ConvWinoRageRxS
    ConvWinograd3x3MultipassWrW GemmBwd1x1_stride1 GemmBwd1x1_stride2 GemmBwdRest GemmFwd1x1_0_1 GemmFwd1x1_0_1_int8
    GemmFwd1x1_0_2 GemmFwdRest GemmWrw1x1_stride1 GemmWrwUniversal TransposedConvBinWinograd3x3U
    TransposedConvBinWinogradRxS TransposedConvBinWinogradRxSf2x3 TransposedConvBinWinogradRxSf2x3g1
    TransposedConvBinWinogradRxSf3x2 TransposedConvMPBidirectWinograd TransposedConvMPBidirectWinograd_xdlops
    TransposedConvWinoFuryRxS TransposedConvWinograd3x3MultipassWrW fft
"""
MIOPEN_NAMES = set(_MIOPEN_NAMES.split())

KINDS = ({}, {"c": 6, "groups": 6}, {"filter": (1, 1), "pad": (0, 0)}, {"dtype": DType.FP16})
"""Changes of a plain 3x3 problem, one of which suits every solver."""


def test_solvers_come_in_the_order_of_their_numbers():
    numbers = [solver.solver_id for solver in SOLVERS]
    assert numbers == sorted(set(numbers))


def test_no_number_is_or_will_be_miopens():
    assert min(solver.solver_id for solver in SOLVERS) > 10_000


def test_no_name_is_miopens():
    names = {solver.name for solver in SOLVERS}
    assert len(names) == len(SOLVERS)
    assert not names & MIOPEN_NAMES


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
def test_names_pass_through_data_bases(solver):
    """A perf-db line is cut at `=`, `;` and `:`."""
    assert solver.name.isidentifier()


@pytest.mark.parametrize("direction", Direction)
def test_every_direction_is_served(direction):
    assert any(direction in solver.directions for solver in SOLVERS)


@pytest.mark.parametrize("solver", SOLVERS, ids=lambda solver: solver.name)
def test_the_contract_is_kept(solver, make_problem, cpu_info, gpu_info):
    for info in (cpu_info, gpu_info):
        for direction in solver.directions:
            several = (make_problem(direction=direction, **changes) for changes in KINDS)
            problem = next(problem for problem in several if solver.refusal(problem, info) is None)
            default = solver.default_config(problem, info)
            assert default in list(solver.configs(problem, info))
            assert solver.parse_config(default.serialize()) == default
            solution = solver.solution(problem, info, default)
            assert (solution.solver, solution.solver_id) == (solver.name, solver.solver_id)
            assert solution.workspace_bytes == solver.workspace_bytes(problem)
            assert hash(solver) == hash(solver)


def test_solvers_are_solvers():
    several: tuple[Solver, ...] = SOLVERS
    assert [solver.name for solver in several if not solver.is_deterministic] == ["HipConvImplicitGemmWrwAtomic"]
