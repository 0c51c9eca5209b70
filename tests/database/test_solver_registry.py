import pytest

from pytest_miopen_perf.database.find_db import read_find_db
from pytest_miopen_perf.database.key_shape import find_key_shape, perf_key_type
from pytest_miopen_perf.database.perf_db import read_perf_db
from pytest_miopen_perf.database.solver_registry import (
    ANY,
    REGISTRY,
    B,
    F,
    W,
    config_fault,
    registered,
    served_directions,
)
from pytest_miopen_perf.problem import Direction, DType

CK = "DeviceGroupedConvFwdMultipleABD_Xdl_CShuffle_V3<256, 128, Default, BlkGemmPipelineScheduler: Intrawave, v3>"
GTC = "fwd,nhwc,fp16,0,1,256,128,32,32,32,8,2,1,2,2,0,0,0,0,0,1,8,4,1,1,4,1,64,1,8,2,1,1,4,1,64,73"


def fault(solver, config, direction=Direction.FORWARD, dtype=DType.FP16):
    return config_fault(solver, config, direction, dtype)


@pytest.mark.parametrize(
    ("solver", "directions"),
    [
        ("ConvBinWinogradRxSf2x3g1", F | B),
        ("ConvBinWinogradRxSf2x3", ANY),
        ("ConvOclDirectFwd", F | B),  # its name says forward alone
        ("ConvWinograd3x3MultipassWrW<7-2-1-1>", W),
        ("TransposedConvWinograd3x3MultipassWrW<7-2-1-1>", W),
        ("TransposedConvBinWinograd3x3U", F | B),
        ("ConvHipImplicitGemmBwdDataV4R1", B),
        ("SomeNewSolverWrw", W),
        ("SomeNewSolverBwdData", B),
        ("SomeNewSolverForward", F),
        ("SomeNewSolver", ANY),
    ],
)
def test_directions(solver, directions):
    assert served_directions(solver) == directions


def test_the_registry_says_what_the_names_say():
    """But for the few names that are known to mislead."""
    misleading = {"ConvOclDirectFwd", "ConvOclDirectFwd1x1", "ConvHipDirectFwd"}
    for name, solver in REGISTRY.items():
        named = next(
            (d for word, d in (("Wrw", W), ("WrW", W), ("Bwd", B), ("Fwd", F), ("Forward", F)) if word in name), None
        )
        assert named in (None, solver.directions) or name in misleading, name
        family = {
            "Gemm": {"GEMM", "ImplicitGEMM"},
            "Wino": {"Winograd"},
            "Igemm": {"ImplicitGEMM"},
            "Direct": {"Direct"},
        }
        for word, algorithms in family.items():
            assert word not in name or solver.algorithm in algorithms, name


def test_all_solvers_of_the_samples_are_registered_and_serve_their_keys(sample):
    for name in ("sample_v1.fdb.txt", "sample_v2.ufdb.txt"):
        for record in read_find_db(sample(name)):
            for entry in record.entries:
                assert registered(entry.solver)
                assert find_key_shape(record.key).direction in served_directions(entry.solver)


def test_all_configs_of_the_samples_fit(sample):
    for record in read_perf_db(sample("sample.udb.txt")):
        direction, dtype = perf_key_type(record.key)
        assert [config_fault(*entry, direction, dtype) for entry in record.entries] == [""] * len(record.entries)


@pytest.mark.parametrize(
    ("solver", "config"),
    [
        ("ConvAsm3x3U", "7,8,4"),
        ("ConvAsm1x1U", "4,8,4,16,1,4,1,8"),
        ("ConvOclDirectFwd", "8,8,16,32,2,4,8,1,1"),
        ("ConvBinWinogradRxSf2x3", "215"),
        ("ConvHipImplicitGemmV4R4Fwd", "256,128,128,8,4,4"),
        ("ConvHipImplicitGemmV4R1Fwd", "16,128,8,2,4,4,4,4,4,4,8,1,16,2,2,128"),
        ("ConvHipImplicitGemmGroupFwdXdlops", CK),
        ("ConvHipImplicitGemmGroupFwdXdlops", f"{CK}+16"),
        ("ConvAsmImplicitGemmGTCDynamicFwdXdlopsNHWC", GTC),
        ("ConvAsmImplicitGemmGTCDynamicFwdXdlopsNHWC", f"{GTC}[2]"),
        ("SomeNewSolver", "anything"),
    ],
)
def test_configs_that_fit(solver, config):
    assert fault(solver, config) == ""


@pytest.mark.parametrize(
    ("solver", "config", "words"),
    [
        ("ConvAsm3x3U", "7,8", "2 values where 3 belong"),
        ("ConvAsm3x3U", "7,8,four", "'four'"),
        ("ConvAsm3x3U", "", "1 values where 3 belong"),
        ("ConvMlirIgemmFwd", "256,32,64,16,2,2,1", "7 values where 6 belong"),
        ("ConvHipImplicitGemmGroupFwdXdlops", "256,128,128,8,4,4", "not the name of a kernel"),
        ("ConvHipImplicitGemmGroupFwdXdlops", f"{CK}+", "not the name of a kernel"),
        ("ConvAsmImplicitGemmGTCDynamicFwdXdlopsNHWC", GTC.removesuffix(",73"), "36 values where 37 belong"),
        ("ConvAsmImplicitGemmGTCDynamicFwdXdlopsNHWC", GTC.replace("fwd", "bwd"), "begins with 'bwd'"),
        ("ConvAsmImplicitGemmGTCDynamicFwdXdlopsNHWC", GTC.replace("fp16", "bf16"), "is of bf16"),
        ("GemmFwdRest", "1", "has no performance config"),
    ],
)
def test_configs_that_do_not_fit(solver, config, words):
    assert words in fault(solver, config)
