import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf.database.find_db import find_records
from pytest_miopen_perf.database.findings import SEVERITIES, Code
from pytest_miopen_perf.database.lint import lint_database, lint_records
from pytest_miopen_perf.database.perf_db import perf_records
from pytest_miopen_perf.database.record_lines import FaultKind
from pytest_miopen_perf.severity import Severity

K = "64-56-56-3x3-64-56-56-32-1x1-1x1-1x1-0-NCHW-FP32-"
PERF = "2x64x56x56x1x3x3x1x64x32x1x1x0x1x1x0x1x1x0x0x1xNCHWxFP32x"
GEMM = f"GemmFwdRest:1,{64 * 9 * 56 * 56 * 4},miopenConvolutionFwdAlgoGEMM"
SOUND = f"{K}F={GEMM};ConvDirectNaiveConvFwd:2,0,miopenConvolutionFwdAlgoDirect"


def lint_find(*lines, examples=20):
    return lint_records(find_records([line.encode() for line in lines], "db"), "db", examples)


def lint_perf(*lines):
    return lint_records(perf_records([line.encode() for line in lines], "db"), "db")


def test_a_sound_data_base_has_no_finding():
    report = lint_find(SOUND)
    assert (report.records, report.entries, report.lost, report.counts, report.findings) == (1, 2, 0, {}, ())


@pytest.mark.parametrize(
    ("line", "code", "severity", "words"),
    [
        ("no record", FaultKind.NO_KEY, Severity.ERROR, "no ="),
        (f"{K}F=GemmFwdRest", FaultKind.NO_ID, Severity.ERROR, "no solver name"),
        (f"{K}F=A:x,0,b", FaultKind.BAD_VALUE, Severity.ERROR, "is not time,workspace,algorithm"),
        (f"{K}F={GEMM};{GEMM}", FaultKind.DUPLICATE_ID, Severity.ERROR, "twice"),
        (f"x{K}F={GEMM}", Code.KEY, Severity.ERROR, "is no key"),
        (
            "1-1-1-4x4-512-1-1-128-0x0-1x1-1x1-0-NCHW-FP32-W=fft:1,0,miopenConvolutionBwdWeightsAlgoFFT",
            Code.EMPTY_OUTPUT,
            Severity.WARNING,
            "is empty",
        ),
        (
            f"{K}W=ConvBinWinogradRxSf2x3g1:1,0,miopenConvolutionBwdWeightsAlgoWinograd",
            Code.DIRECTION,
            Severity.ERROR,
            "ConvBinWinogradRxSf2x3g1 serves F/B, but the key ends with W",
        ),
        (f"{K}B=GemmFwdRest:1,0,miopenConvolutionBwdDataAlgoGEMM", Code.DIRECTION, Severity.ERROR, "serves F"),
        (
            f"{K}B=ConvDirectNaiveConvBwd:1,0,miopenConvolutionFwdAlgoDirect",
            Code.ALGORITHM,
            Severity.WARNING,
            "MIOpen writes miopenConvolutionBwdDataAlgoDirect",
        ),
        (f"{K}F={GEMM.replace(':1,', ':0.0,')}", Code.NO_MEASUREMENT, Severity.ERROR, "a time of 0 ms"),
        (f"{K}F={GEMM.replace(':1,', ':3.40282e+38,')}", Code.NO_MEASUREMENT, Severity.ERROR, "3.40282e+38 ms"),
        (f"{K}F={GEMM.replace(':1,', ':nan,')}", Code.NO_MEASUREMENT, Severity.ERROR, "nan ms"),
        (
            f"{K}F=GemmFwdRest:1,72,miopenConvolutionFwdAlgoGEMM",
            Code.WORKSPACE,
            Severity.WARNING,
            "needs 7225344 bytes of workspace here, not 72",
        ),
        (
            f"{K}F=MySolver:1,0,miopenConvolutionFwdAlgoGEMM",
            Code.UNKNOWN_SOLVER,
            Severity.INFO,
            "MySolver is no convolution solver",
        ),
    ],
)
def test_one_fault_is_one_finding(line, code, severity, words):
    report = lint_find(line)
    assert [count for found, count in report.counts.items() if found is code] == [1]
    (finding,) = [finding for finding in report.findings if finding.code is code]
    assert (finding.file, finding.line, finding.severity) == ("db", 1, severity)
    assert words in finding.sentence
    assert report.total(severity) >= 1


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (f"{PERF}F=ConvAsm3x3U:7,8", Code.PARAMETERS, "2 values where 3 belong"),
        (f"{PERF}F=GemmFwdRest:1", Code.PARAMETERS, "no performance config"),
        (f"{PERF}W=ConvAsm3x3U:7,8,4", Code.DIRECTION, "serves F/B"),
        (f"{PERF}F".replace("x64x", "x0x") + "=ConvAsm3x3U:7,8,4", Code.KEY, "is no key"),
    ],
)
def test_one_fault_of_a_perf_db_is_one_finding(line, code, words):
    (finding,) = lint_perf(line).findings
    assert finding.code is code
    assert words in finding.sentence
    assert lint_perf(f"{PERF}F=ConvAsm3x3U:7,8,4").findings == ()


def test_a_key_that_repeats_is_told_with_its_first_line():
    report = lint_find(SOUND, "", SOUND.replace("GemmFwdRest:1", "GemmFwdRest:3"), SOUND)
    assert [(finding.code, finding.line) for finding in report.findings] == [
        (Code.DUPLICATE_KEY, 3),
        (Code.DUPLICATE_KEY, 4),
    ]
    assert "in line 1 already" in report.findings[0].sentence


def test_an_unknown_solver_is_told_once():
    lines = [f"{n}-{K.partition('-')[2]}F=Mine:1,0,a" for n in (64, 128)]
    assert lint_find(*lines).counts[Code.UNKNOWN_SOLVER] == 1


def test_all_findings_are_counted_and_the_first_are_kept():
    lines = [f"broken {number}" for number in range(50)]
    report = lint_find(*lines, examples=3)
    assert report.counts == {FaultKind.NO_KEY: 50}
    assert [finding.line for finding in report.findings] == [1, 2, 3]
    assert report.lost == 50


def test_the_samples(sample):
    for name in ("sample_v1.fdb.txt", "sample_v2.ufdb.txt", "sample.udb.txt"):
        assert lint_database(sample(name)).findings == ()
    assert lint_database(sample("sample_v1.fdb.txt")).legacy_records == 5
    broken = lint_database(sample("sample_broken.ufdb.txt"))
    assert (broken.records, broken.lost) == (7, 2)
    assert {finding.line: finding.code for finding in reversed(broken.findings)} == {
        1: Code.KEY,
        2: FaultKind.NO_KEY,
        3: FaultKind.NO_KEY,
        4: FaultKind.NO_ID,
        5: Code.DUPLICATE_KEY,
        6: Code.EMPTY_OUTPUT,
        7: Code.KEY,
        8: Code.NO_MEASUREMENT,
        9: FaultKind.DUPLICATE_ID,
    }


def test_every_code_has_a_severity():
    assert set(SEVERITIES) == {*Code, *FaultKind}


@given(st.lists(st.tuples(st.integers(0, len(SOUND) - 1), st.binary(min_size=1, max_size=1)), max_size=6))
def test_a_damaged_line_is_a_record_or_lost(changes):
    data = bytearray(SOUND.encode())
    for where, byte in changes:
        data[where : where + 1] = byte
    lines = bytes(data).split(b"\n")
    for read in (find_records, perf_records):
        report = lint_records(read(lines, "db"), "db")
        assert report.records + report.lost == sum(not line.isspace() and line != b"" for line in lines)
        assert sum(report.counts.values()) >= len(report.findings)


# --- What this project writes -----------------------------------------------------------------------------------------

OWN = "HipConvImplicitGemmFwd"
CONFIG = "1,16,48,128,4,24,8"


def test_own_solvers_are_known():
    assert lint_find(f"{K}F={OWN}:1,0,miopenConvolutionFwdAlgoImplicitGEMM").counts == {}
    assert lint_perf(f"{PERF}F={OWN}:{CONFIG}").counts == {}


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        (f"{K}B={OWN}:1,{CONFIG}", Code.DIRECTION, "serves F, but the key ends with B"),
        (f"{K}F={OWN}:1,7", Code.PARAMETERS, "7"),
        (f"{K}F={OWN}:0,{CONFIG}", Code.NO_MEASUREMENT, "0 ms"),
        (f"x{K}F={OWN}:1,{CONFIG}", Code.KEY, "is no key"),
        (f"{K}F={OWN}:fast,{CONFIG}", FaultKind.BAD_VALUE, "is not time,config"),
    ],
)
def test_times_of_tuned_configs_are_checked_like_a_perf_db(database, line, code, words):
    sound = f"{K.replace('-32-', '-16-', 1)}F={OWN}:0.5,{CONFIG}"
    assert lint_database(database(sound, name="a.times.txt")).counts == {}
    report = lint_database(database(line, name="a.times.txt"))
    assert code in report.counts
    assert any(words in finding.sentence for finding in report.findings if finding.code is code)


def test_a_workspace_that_an_own_solver_does_not_ask_for():
    report = lint_find(f"{K}F={OWN}:1,64,miopenConvolutionFwdAlgoImplicitGEMM")
    assert report.counts == {Code.WORKSPACE: 1}
