"""The switches that leave single solvers of MIOpen out, and what pins the configs of some."""

from __future__ import annotations

from pytest_miopen_perf.doctor.variables import Group, Variable, is_off, is_set, switch, text, unlike_normal_use_when

_GEMM = "MIOPEN_DEBUG_CONV_IMPLICIT_GEMM_"
_DIRECT = "MIOPEN_DEBUG_CONV_DIRECT_"
_WINOGRAD = "MIOPEN_DEBUG_AMD_WINOGRAD_"
_BOTH_DATA = "MIOPEN_DEBUG_AMD_MP_BD_"
_MLIR = "MIOPEN_DEBUG_CONV_MLIR_IGEMM_"

_SOLVERS: dict[str, str] = {
    f"{_DIRECT}ASM_3X3U": "ConvAsm3x3U",
    f"{_DIRECT}ASM_1X1U": "ConvAsm1x1U",
    f"{_DIRECT}ASM_1X1UV2": "ConvAsm1x1UV2",
    f"{_DIRECT}ASM_5X10U2V2": "ConvAsm5x10u2v2f1 and ConvAsm5x10u2v2b1",
    f"{_DIRECT}ASM_7X7C3H224W224": "ConvAsm7x7c3h224w224k64u2v2p3q3f1",
    f"{_DIRECT}ASM_WRW3X3": "ConvAsmBwdWrW3x3",
    f"{_DIRECT}ASM_WRW1X1": "ConvAsmBwdWrW1x1",
    f"{_DIRECT}HIP_FWD11X11": "ConvHipDirectFwd11x11",
    f"{_DIRECT}HIP_FWD": "ConvHipDirectFwd",
    f"{_DIRECT}HIP_WRW53": "ConvHipBwdWrW53",
    f"{_DIRECT}OCL_FWD11X11": "ConvOclDirectFwd11x11",
    f"{_DIRECT}OCL_FWDGEN": "ConvOclDirectFwdGen",
    f"{_DIRECT}OCL_FWD": "ConvOclDirectFwd",
    f"{_DIRECT}OCL_FWD1X1": "ConvOclDirectFwd1x1",
    f"{_DIRECT}OCL_WRW2": "ConvOclBwdWrW2<n>",
    f"{_DIRECT}OCL_WRW53": "ConvOclBwdWrW53",
    f"{_DIRECT}OCL_WRW1X1": "ConvOclBwdWrW1x1",
    f"{_DIRECT}NAIVE_CONV_FWD": "ConvDirectNaiveConvFwd",
    f"{_DIRECT}NAIVE_CONV_BWD": "ConvDirectNaiveConvBwd",
    f"{_DIRECT}NAIVE_CONV_WRW": "ConvDirectNaiveConvWrw",
    f"{_WINOGRAD}3X3": "ConvBinWinograd3x3U",
    f"{_WINOGRAD}RXS": "ConvBinWinogradRxS",
    f"{_WINOGRAD}RXS_WRW": "ConvBinWinogradRxS for weights",
    f"{_WINOGRAD}RXS_FWD_BWD": "ConvBinWinogradRxS for data",
    f"{_WINOGRAD}RXS_F3X2": "ConvBinWinogradRxSf3x2",
    f"{_WINOGRAD}RXS_F2X3": "ConvBinWinogradRxSf2x3",
    f"{_WINOGRAD}RXS_F2X3_G1": "ConvBinWinogradRxSf2x3g1",
    f"{_WINOGRAD}FURY_RXS_F2X3": "ConvWinoFuryRxS<2-3>",
    f"{_WINOGRAD}FURY_RXS_F3X2": "ConvWinoFuryRxS<3-2>",
    f"{_WINOGRAD}RAGE_RXS_F2X3": "ConvWinoRageRxS<2-3>",
    **{
        f"{_WINOGRAD}MPASS_F{a}X{b}": f"ConvWinograd3x3MultipassWrW<{a}-{b}>"
        for a, b in ((3, 2), (3, 3), (3, 4), (3, 5), (3, 6), (5, 3), (5, 4), (7, 2), (7, 3))
    },
    **{f"{_BOTH_DATA}WINOGRAD_F{a}X3": f"ConvMPBidirectWinograd<{a}-3>" for a in range(2, 7)},
    **{f"{_BOTH_DATA}XDLOPS_WINOGRAD_F{a}X3": f"ConvMPBidirectWinograd_xdlops<{a}-3>" for a in range(2, 7)},
    "MIOPEN_DEBUG_AMD_FUSED_WINOGRAD": "the fused Winograd solver",
    f"{_GEMM}ASM_FWD_V4R1": "ConvAsmImplicitGemmV4R1DynamicFwd",
    f"{_GEMM}ASM_FWD_V4R1_1X1": "ConvAsmImplicitGemmV4R1DynamicFwd_1x1",
    f"{_GEMM}ASM_BWD_V4R1": "ConvAsmImplicitGemmV4R1DynamicBwd",
    f"{_GEMM}ASM_WRW_V4R1": "ConvAsmImplicitGemmV4R1DynamicWrw",
    f"{_GEMM}ASM_FWD_GTC_XDLOPS": "ConvAsmImplicitGemmGTCDynamicFwdXdlops",
    f"{_GEMM}ASM_BWD_GTC_XDLOPS": "ConvAsmImplicitGemmGTCDynamicBwdXdlops",
    f"{_GEMM}ASM_WRW_GTC_XDLOPS": "ConvAsmImplicitGemmGTCDynamicWrwXdlops",
    f"{_GEMM}ASM_FWD_GTC_XDLOPS_NHWC": "ConvAsmImplicitGemmGTCDynamicFwdXdlopsNHWC",
    f"{_GEMM}ASM_BWD_GTC_XDLOPS_NHWC": "ConvAsmImplicitGemmGTCDynamicBwdXdlopsNHWC",
    f"{_GEMM}ASM_WRW_GTC_XDLOPS_NHWC": "ConvAsmImplicitGemmGTCDynamicWrwXdlopsNHWC",
    f"{_GEMM}ASM_FWD_GTC_DLOPS_NCHWC": "ConvAsmImplicitGemmGTCDynamicFwdDlopsNCHWC",
    f"{_GEMM}HIP_FWD_V4R1": "ConvHipImplicitGemmV4R1Fwd",
    f"{_GEMM}HIP_FWD_V4R4": "ConvHipImplicitGemmV4R4Fwd",
    f"{_GEMM}HIP_BWD_V1R1": "ConvHipImplicitGemmBwdDataV1R1",
    f"{_GEMM}HIP_BWD_V4R1": "ConvHipImplicitGemmBwdDataV4R1",
    f"{_GEMM}HIP_WRW_V4R1": "ConvHipImplicitGemmV4R1WrW",
    f"{_GEMM}HIP_WRW_V4R4": "ConvHipImplicitGemmV4R4WrW",
    f"{_GEMM}HIP_FWD_V4R4_XDLOPS": "ConvHipImplicitGemmForwardV4R4Xdlops",
    f"{_GEMM}HIP_FWD_V4R5_XDLOPS": "ConvHipImplicitGemmForwardV4R5Xdlops",
    f"{_GEMM}HIP_BWD_V1R1_XDLOPS": "ConvHipImplicitGemmBwdDataV1R1Xdlops",
    f"{_GEMM}HIP_BWD_V4R1_XDLOPS": "ConvHipImplicitGemmBwdDataV4R1Xdlops",
    f"{_GEMM}HIP_WRW_V4R4_XDLOPS": "ConvHipImplicitGemmWrwV4R4Xdlops",
    f"{_GEMM}HIP_FWD_V4R4_PADDED_GEMM_XDLOPS": "ConvHipImplicitGemmForwardV4R4Xdlops_Padded_Gemm",
    f"{_GEMM}HIP_WRW_V4R4_PADDED_GEMM_XDLOPS": "ConvHipImplicitGemmWrwV4R4Xdlops_Padded_Gemm",
    f"{_GEMM}HIP_FWD_XDLOPS": "ConvHipImplicitGemmFwdXdlops",
    f"{_GEMM}HIP_BWD_XDLOPS": "ConvHipImplicitGemmBwdXdlops",
    f"{_GEMM}HIP_WRW_XDLOPS": "ConvHipImplicitGemmWrwXdlops",
    f"{_GEMM}HIP_GROUP_FWD_XDLOPS": "ConvHipImplicitGemmGroupFwdXdlops",
    f"{_GEMM}HIP_GROUP_BWD_XDLOPS": "ConvHipImplicitGemmGroupBwdXdlops",
    f"{_GEMM}HIP_GROUP_WRW_XDLOPS": "ConvHipImplicitGemmGroupWrwXdlops",
    f"{_GEMM}XDLOPS": "every implicit GEMM solver with matrix instructions",
    "MIOPEN_DEBUG_3D_CONV_IMPLICIT_GEMM_HIP_FWD_XDLOPS": "ConvHipImplicitGemm3DGroupFwdXdlops",
    "MIOPEN_DEBUG_3D_CONV_IMPLICIT_GEMM_HIP_BWD_XDLOPS": "ConvHipImplicitGemm3DGroupBwdXdlops",
    "MIOPEN_DEBUG_3D_CONV_IMPLICIT_GEMM_HIP_WRW_XDLOPS": "ConvHipImplicitGemm3DGroupWrwXdlops",
    "MIOPEN_DEBUG_CONV_CK_IGEMM_FWD_V6R1_DLOPS_NCHW": "ConvCkIgemmFwdV6r1DlopsNchw",
    "MIOPEN_DEBUG_CONV_CK_IGEMM_FWD_BIAS_ACTIV": "the fused solver with bias and activation",
    "MIOPEN_DEBUG_CONV_CK_IGEMM_GRP_FWD_BIAS_ACTIV": "the fused grouped solver with bias and activation",
    "MIOPEN_DEBUG_CONV_CK_IGEMM_FWD_BIAS_RES_ADD_ACTIV": "the fused solver with bias, addition and activation",
    f"{_MLIR}FWD": "ConvMlirIgemmFwd",
    f"{_MLIR}BWD": "ConvMlirIgemmBwd",
    f"{_MLIR}WRW": "ConvMlirIgemmWrW",
    f"{_MLIR}FWD_XDLOPS": "ConvMlirIgemmFwdXdlops",
    f"{_MLIR}BWD_XDLOPS": "ConvMlirIgemmBwdXdlops",
    f"{_MLIR}WRW_XDLOPS": "ConvMlirIgemmWrWXdlops",
    "MIOPEN_DEBUG_ATTN_SOFTMAX": "the softmax solver of attention",
}

_OTHER_SWITCHES: dict[str, str] = {
    f"{_BOTH_DATA}WINOGRAD_EXPEREMENTAL_FP16_TRANSFORM": "lets multi-pass Winograd transform in fp16; experimental",
    f"{_GEMM}ASM_PK_ATOMIC_ADD_FP16": "lets assembly implicit GEMM add fp16 pairs atomically",
    f"{_GEMM}XDLOPS_EMULATE": "computes matrix instructions without them",
    f"{_GEMM}FWD_V4R4_XDLOPS_ADD_VECTOR_LOAD_GEMMN_TUNE_PARAM": "widens the search of one implicit GEMM solver",
    "MIOPEN_DEBUG_IMPLICIT_GEMM_XDLOPS_INLINE_ASM": "writes matrix instructions as inline assembly",
    "MIOPEN_DEBUG_GROUP_CONV_IMPLICIT_GEMM_HIP_BWD_XDLOPS_AI_HEUR": "lets a model choose the config of one solver",
    f"{_DIRECT}ASM_1X1U_AI_HEUR": "lets a model choose the config of ConvAsm1x1U",
    f"{_DIRECT}ASM_1X1U_SEARCH_OPTIMIZED": "searches fewer configs of ConvAsm1x1U",
}

_PINNED: dict[str, str] = {
    f"{_DIRECT}ASM_3X3U_PERF_VALS": "ConvAsm3x3U",
    f"{_DIRECT}ASM_1X1U_PERF_VALS": "ConvAsm1x1U",
    f"{_DIRECT}ASM_WRW3X3_PERF_VALS": "ConvAsmBwdWrW3x3",
    f"{_DIRECT}ASM_WRW1X1_PERF_VALS": "ConvAsmBwdWrW1x1",
    f"{_WINOGRAD}RXS_F2X3_PERF_VALS": "ConvBinWinogradRxSf2x3",
    f"{_WINOGRAD}RXS_F3X2_PERF_VALS": "ConvBinWinogradRxSf3x2",
}

_UNSET = "unset it, unless that is what you measure"


def _solver_switch(name: str, solvers: str) -> Variable:
    concern = unlike_normal_use_when(is_off, f"{solvers} cannot be chosen", _UNSET)
    return switch(name, Group.SOLVERS, f"leaves out {solvers} when it is off", concern)


def _pinned(name: str, solver: str) -> Variable:
    concern = unlike_normal_use_when(is_set, f"{solver} runs this config instead of its tuned one", _UNSET)
    return text(name, Group.SOLVERS, f"pins the config of {solver}", concern)


SOLVER_SWITCHES = (
    *(_solver_switch(name, solvers) for name, solvers in _SOLVERS.items()),
    *(switch(name, Group.SOLVERS, meaning) for name, meaning in _OTHER_SWITCHES.items()),
    *(_pinned(name, solver) for name, solver in _PINNED.items()),
)
