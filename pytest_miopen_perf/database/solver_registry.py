"""What MIOpen's registry says of its convolution solvers: algorithm, directions and form of the performance config.

Names are the durable identity of a solver; ids differ between releases and are not kept. Of a name that is not
registered, only what it says itself is known: its direction.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from pytest_miopen_perf.database.own_solvers import own_config_fault, own_solver
from pytest_miopen_perf.problem import Direction, DType

F = frozenset((Direction.FORWARD,))
B = frozenset((Direction.BACKWARD_DATA,))
W = frozenset((Direction.BACKWARD_WEIGHTS,))
ANY = F | B | W


class ConfigForm(NamedTuple):
    """The text of a solver's performance config: fields between commas, first words, then integers."""

    words: int
    integers: int

    @property
    def fields(self) -> int:
        """How many values it has."""
        return self.words + self.integers


class Registered(NamedTuple):
    """One solver.

    Attributes:
        algorithm: GEMM, Direct, FFT, Winograd or ImplicitGEMM.
        directions: Those that it serves.
        form: Of its config; None when it has none.
    """

    algorithm: str
    directions: frozenset[Direction]
    form: ConfigForm | None


KERNEL_NAME = ConfigForm(1, 0)
"""A composable-kernel instance, `Name<256, 128, ..., v3>` and `+k` for a split of the reduction: commas and blanks."""

FREE = ConfigForm(0, 0)
"""A config of unknown form."""

_DIRECT, _GEMM, _WINOGRAD, _IMPLICIT_GEMM = "Direct", "GEMM", "Winograd", "ImplicitGEMM"
_GTC_NHWC = ConfigForm(3, 34)
_XDLOPS_8, _XDLOPS_9 = ConfigForm(0, 8), ConfigForm(0, 9)
_GEMM_TILES = ConfigForm(0, 6)
_V4R1 = ConfigForm(0, 16)
_WRW_TILES = "<3-2> <3-3> <3-4> <3-5> <3-6> <5-3> <5-4> <7-2> <7-3> <7-2-1-1> <7-3-1-1> <1-1-7-2> <1-1-7-3>"
_MP_TILES = "<2-3> <3-3> <4-3> <5-3> <6-3>"


def _with_tiles(name: str, tiles: str) -> str:
    return " ".join(name + tile for tile in tiles.split())


_ROWS: tuple[tuple[str, frozenset[Direction], ConfigForm | None, str], ...] = (
    (_DIRECT, F | B, ConfigForm(0, 3), "ConvAsm3x3U"),
    (_DIRECT, F | B, ConfigForm(0, 8), "ConvAsm1x1U"),
    (_DIRECT, F | B, ConfigForm(0, 10), "ConvAsm1x1UV2"),
    (_DIRECT, F, None, "ConvAsm5x10u2v2f1 ConvAsm7x7c3h224w224k64u2v2p3q3f1 ConvDirectNaiveConvFwd"),
    (_DIRECT, F, None, "ConvOclDirectFwd11x11 ConvOclDirectFwdGen ConvHipDirectFwd11x11"),
    (_DIRECT, B, None, "ConvAsm5x10u2v2b1 ConvDirectNaiveConvBwd"),
    (_DIRECT, F | B, ConfigForm(0, 9), "ConvOclDirectFwd ConvOclDirectFwd1x1"),
    (_DIRECT, W, ConfigForm(0, 6), "ConvAsmBwdWrW3x3"),
    (_DIRECT, W, ConfigForm(0, 10), "ConvAsmBwdWrW1x1"),
    (_DIRECT, W, ConfigForm(0, 5), _with_tiles("ConvOclBwdWrW2", "<1> <2> <4> <8> <16>")),
    (_DIRECT, W, None, "ConvOclBwdWrW2NonTunable ConvOclBwdWrW53 ConvHipBwdWrW53 ConvOclBwdWrW1x1"),
    (_DIRECT, W, None, "ConvDirectNaiveConvWrw"),
    (_DIRECT, F | B, FREE, "ConvHipDirectFwd"),
    (_DIRECT, F, FREE, "ConvDepthwiseFwd2D ConvDepthwiseFwd3D"),
    (_DIRECT, B, FREE, "ConvDepthwiseBwdData2D"),
    ("FFT", F | B, None, "fft"),
    (_GEMM, F, None, "GemmFwd1x1_0_1 GemmFwd1x1_0_1_int8 GemmFwd1x1_0_2 GemmFwdRest"),
    (_GEMM, B, None, "GemmBwd1x1_stride1 GemmBwd1x1_stride2 GemmBwdRest"),
    (_GEMM, W, None, "GemmWrw1x1_stride1 GemmWrwUniversal"),
    (_GEMM, ANY, None, "gemm rocBlas MIOpenGEMM"),  # of the legacy form
    (_WINOGRAD, F | B, None, "ConvBinWinograd3x3U"),
    (_WINOGRAD, F | B, None, "ConvBinWinogradRxSf2x3g1"),  # wrong for weights: ROCm/MIOpen issue 1681
    (_WINOGRAD, ANY, None, "ConvBinWinogradRxS ConvWinoFuryRxS<2-3> ConvWinoRageRxS<2-3>"),
    (_WINOGRAD, ANY, ConfigForm(0, 1), "ConvBinWinogradRxSf2x3 ConvBinWinogradRxSf3x2"),
    (_WINOGRAD, W, None, _with_tiles("ConvWinograd3x3MultipassWrW", _WRW_TILES)),
    (_WINOGRAD, F | B, None, _with_tiles("ConvMPBidirectWinograd", _MP_TILES)),
    (_WINOGRAD, F | B, _XDLOPS_9, _with_tiles("ConvMPBidirectWinograd_xdlops", _MP_TILES)),
    (_IMPLICIT_GEMM, F, _V4R1, "ConvHipImplicitGemmV4R1Fwd"),
    (_IMPLICIT_GEMM, W, _V4R1, "ConvHipImplicitGemmV4R1WrW"),
    (_IMPLICIT_GEMM, F, _GEMM_TILES, "ConvHipImplicitGemmV4R4Fwd ConvMlirIgemmFwd"),
    (_IMPLICIT_GEMM, B, _GEMM_TILES, "ConvHipImplicitGemmBwdDataV1R1 ConvHipImplicitGemmBwdDataV4R1 ConvMlirIgemmBwd"),
    (_IMPLICIT_GEMM, W, _GEMM_TILES, "ConvHipImplicitGemmV4R4WrW ConvMlirIgemmWrW"),
    (_IMPLICIT_GEMM, F, _XDLOPS_9, "ConvHipImplicitGemmForwardV4R4Xdlops ConvHipImplicitGemmForwardV4R5Xdlops"),
    (_IMPLICIT_GEMM, F, ConfigForm(0, 12), "ConvHipImplicitGemmForwardV4R4Xdlops_Padded_Gemm"),
    (_IMPLICIT_GEMM, W, ConfigForm(0, 11), "ConvHipImplicitGemmWrwV4R4Xdlops_Padded_Gemm"),
    (_IMPLICIT_GEMM, W, _XDLOPS_8, "ConvHipImplicitGemmWrwV4R4Xdlops ConvMlirIgemmWrWXdlops"),
    (_IMPLICIT_GEMM, F, _XDLOPS_8, "ConvMlirIgemmFwdXdlops"),
    (_IMPLICIT_GEMM, B, _XDLOPS_8, "ConvHipImplicitGemmBwdDataV1R1Xdlops ConvHipImplicitGemmBwdDataV4R1Xdlops"),
    (_IMPLICIT_GEMM, B, _XDLOPS_8, "ConvMlirIgemmBwdXdlops"),
    (_IMPLICIT_GEMM, F, None, "ConvAsmImplicitGemmV4R1DynamicFwd ConvAsmImplicitGemmV4R1DynamicFwd_1x1"),
    (_IMPLICIT_GEMM, F, None, "ConvAsmImplicitGemmGTCDynamicFwdXdlops"),
    (_IMPLICIT_GEMM, B, None, "ConvAsmImplicitGemmV4R1DynamicBwd ConvAsmImplicitGemmGTCDynamicBwdXdlops"),
    (_IMPLICIT_GEMM, W, None, "ConvAsmImplicitGemmV4R1DynamicWrw ConvAsmImplicitGemmGTCDynamicWrwXdlops"),
    (_IMPLICIT_GEMM, F, _GTC_NHWC, "ConvAsmImplicitGemmGTCDynamicFwdXdlopsNHWC"),
    (_IMPLICIT_GEMM, B, _GTC_NHWC, "ConvAsmImplicitGemmGTCDynamicBwdXdlopsNHWC"),
    (_IMPLICIT_GEMM, W, _GTC_NHWC, "ConvAsmImplicitGemmGTCDynamicWrwXdlopsNHWC"),
    (_IMPLICIT_GEMM, F, FREE, "ConvAsmImplicitGemmGTCDynamicFwdDlopsNCHWC"),
    (_IMPLICIT_GEMM, F, ConfigForm(0, 1), "ConvCkIgemmFwdV6r1DlopsNchw"),
    (_IMPLICIT_GEMM, F, KERNEL_NAME, "ConvHipImplicitGemmFwdXdlops ConvHipImplicitGemmGroupFwdXdlops"),
    (_IMPLICIT_GEMM, F, KERNEL_NAME, "ConvHipImplicitGemm3DGroupFwdXdlops ConvHipImplicitGemmF16F8F16FwdXdlops"),
    (_IMPLICIT_GEMM, B, KERNEL_NAME, "ConvHipImplicitGemmBwdXdlops ConvHipImplicitGemmGroupBwdXdlops"),
    (_IMPLICIT_GEMM, B, KERNEL_NAME, "ConvHipImplicitGemm3DGroupBwdXdlops ConvHipImplicitGemmF16F8F16BwdXdlops"),
    (_IMPLICIT_GEMM, W, KERNEL_NAME, "ConvHipImplicitGemmGroupWrwXdlops ConvHipImplicitGemm3DGroupWrwXdlops"),
    (_IMPLICIT_GEMM, W, KERNEL_NAME, "ConvHipImplicitGemmF16F8F16WrwXdlops"),
)

REGISTRY: dict[str, Registered] = {
    name: Registered(algorithm, directions, form)
    for algorithm, directions, form, names in _ROWS
    for name in names.split()
}
"""MIOpen's convolution solvers by name."""

_NAMED_DIRECTIONS = ((re.compile("WrW|Wrw"), W), (re.compile("Bwd|Backward"), B), (re.compile("Fwd|Forward"), F))
_INTEGER = re.compile(r"-?[0-9]+")
_SPLIT = re.compile(r"\[[0-9]+\]$")
_KERNEL = re.compile(r"[A-Za-z_]\w*<.*>(\+[0-9]+)?")
_GTC_DIRECTIONS = {"fwd": Direction.FORWARD, "bwd": Direction.BACKWARD_DATA, "wrw": Direction.BACKWARD_WEIGHTS}


def registered(solver: str) -> Registered | None:
    """What the registry says of a solver; of one that transposes layouts around another, what it says of that one."""
    return REGISTRY.get(solver) or REGISTRY.get(solver.removeprefix("Transposed"))


def served_directions(solver: str) -> frozenset[Direction]:
    """The directions in which records of a solver make sense: by what is known of it, else by its name, else all."""
    if known := registered(solver) or own_solver(solver):
        return known.directions
    return next((directions for word, directions in _NAMED_DIRECTIONS if word.search(solver)), ANY)


def config_fault(solver: str, config: str, direction: Direction, dtype: DType) -> str:
    """Why a config text cannot be one of the solver for such a problem, in words; "" when nothing speaks against it."""
    known = registered(solver)
    if known is None:
        own = own_solver(solver)
        return own_config_fault(own, config) if own else ""
    if known.form == FREE:
        return ""
    if known.form is None:
        return f"{solver} has no performance config"
    if known.form == KERNEL_NAME:
        return (
            "" if _KERNEL.fullmatch(config) else f"{config[:80]!r} is not the name of a kernel, such as Name<256, 128>"
        )
    return _fields_fault(config, known.form) or _gtc_fault(config, known.form, direction, dtype)


def _fields_fault(config: str, form: ConfigForm) -> str:
    fields = _SPLIT.sub("", config).split(",") if form == _GTC_NHWC else config.split(",")
    if len(fields) != form.fields:
        return f"{config[:80]!r} has {len(fields)} values where {form.fields} belong"
    wrong = next((field for field in fields[form.words :] if not _INTEGER.fullmatch(field)), None)
    return "" if wrong is None else f"{config[:80]!r} holds {wrong!r}, which is not an integer"


def _gtc_fault(config: str, form: ConfigForm, direction: Direction, dtype: DType) -> str:
    """These configs begin with direction, layout and precision, and say them once more."""
    if form != _GTC_NHWC:
        return ""
    way, _, precision, *_ = config.split(",")
    if _GTC_DIRECTIONS.get(way) is not direction:
        return f"the config begins with {way!r}, but the key ends with {direction.value}"
    if precision != dtype.value.lower():
        return f"the config is of {precision}, but the key of {dtype.value}"
    return ""
