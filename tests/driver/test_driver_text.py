"""The driver's classic text: every wording, the arrangement of its rows, runs and what of them does not follow."""

import io
import re

import pytest
from hypothesis import given
from strategies import small_problems

from pytest_miopen_perf.driver.host_names import without_host_names
from pytest_miopen_perf.driver.stats_row import read_stats_row
from pytest_miopen_perf.driver.text_lines import (
    ChosenSolution,
    Complaint,
    KernelTime,
    LibraryMessage,
    ListedSolution,
    RunFailure,
    SearchProgress,
    SolutionCount,
    StatsDialect,
    StatsHeader,
    VerificationText,
    WallClock,
)
from pytest_miopen_perf.driver.text_reader import read_driver_text
from pytest_miopen_perf.driver.text_runs import text_runs
from pytest_miopen_perf.problem import Direction
from pytest_miopen_perf.problems.driver_stats import driver_stats
from pytest_miopen_perf.records.run_records import CommandLine, PrngSeed, SystemInfo
from pytest_miopen_perf.severity import Severity

F, B, W = Direction

OLD = """\
MIOpenDriver: conv -n 1 -c 3 -H 224 -W 224 -k 64 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -m conv -g 1 -F 1 -t 1
MIOpen Forward Conv. Algorithm: 0
GPU Kernel Time Forward Conv. Elapsed: 0.056871 ms (average)
stats: name, n, c, ho, wo, x, y, k, flopCnt, bytesRead, bytesWritten, GFLOPs, GB/s, timeMs
stats: fwd-conv3x3u1, 1, 3, 224, 224, 3, 3, 64,  173408256, 609024, 12845056, 3049, 237, 0.056871
Forward Convolution Verifies on CPU and GPU (2.19793e-08)
"""
NEW = """\
MIOpenDriver convfp16 -n 32 -c 64 -H 256 -W 256 -k 64 -y 3 -x 3 -p 1 -q 1 -u 1 -v 1 -l 1 -j 1 -m conv -g 1 -F 1 -t 1
Timestamp: 2026-04-01 12:00:00 UTC; Host Name: gpu-node-17; Operating System: Linux 6.8; ROCm: 7.1.25424; \
MIOpen Driver: 3.5.1; CPU Vendor: AMD; CPU Model: 2 x EPYC 9654; RAM Size: 1511 GB; GPU Model: 8 x MI300X; \
AMDGPU Driver: 6.14.15
PRNG seed: 12345678
MIOpen Forward Conv. Algorithm: 3, Solution: 139/ConvWinoFuryRxS<2-3>
GPU Kernel Time Forward Conv. Elapsed: 10.839644 ms (average)
stats: name, n, c, ho, wo, y, x, k, flopCnt, bytesRead, bytesWritten, GFLOPs, GB/s, timeMs
stats: fwd-conv3x3u1, 32, 64, 256, 256, 3, 3, 64, 154618822656, 268509184, 268435456, 14264, 50, 10.839644
Forward Convolution Verifies OK on GPU reference (0.000307883 < 0.0082)
"""
DATA_ROW = "bwdd-conv1x1u1, 128, 512, 1, 1, 1000, 13, 13,  22151168000, 132096000, 43264000, 12801, 101, 1.730399"
CONV = "MIOpenDriver conv -n 1 -c 8 -H 16 -W 16 -k 8 -p 1 -q 1"


def read(text):
    return list(read_driver_text(io.StringIO(text)))


def content(line):
    (item,) = read(line)
    return item.content


def run_of(text):
    (run,) = text_runs(read(text))
    return run


def codes(run):
    return [finding.code for finding in run.findings]


# --- Lines ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("PRNG seed: 12345678", PrngSeed(prng_seed=12345678)),
        ("MIOpenDriver conv -F 1", CommandLine(command="MIOpenDriver conv -F 1")),
        ("./bin/MIOpenDriver convfp16 -F 1 ", CommandLine(command="MIOpenDriver convfp16 -F 1")),
        (r"C:\rocm\MIOpenDriver.exe conv -F 1", CommandLine(command="MIOpenDriver.exe conv -F 1")),
        ("+ /opt/rocm/bin/MIOpenDriver conv", CommandLine(command="MIOpenDriver conv")),
        ("2026-01-01T12:00:00.123Z MIOpenDriver conv", CommandLine(command="MIOpenDriver conv")),
        (
            "MIOpen Backward Weights Conv. Algorithm: 1, Solution: 25/ConvOclBwdWrW1x1 ",
            ChosenSolution(direction=W, algorithm=1, solver_id=25, solver="ConvOclBwdWrW1x1"),
        ),
        (
            "MIOpen Backward Data Conv. Algorithm: -1, Solution: 0/UNKNOWN",
            ChosenSolution(direction=B, algorithm=-1, solver_id=0, solver="UNKNOWN"),
        ),
        ("MIOpen Forward Conv. Algorithm: 0", ChosenSolution(direction=F, algorithm=0, solver_id=None, solver="")),
        (
            "GPU Kernel Time Backward Data Conv. Elapsed: 1.730399 ms (average)",
            KernelTime(direction=B, time_ms=1.730399, is_bias=False),
        ),
        (
            "GPU Kernel Time Forward Conv. Bias Elapsed: 0.010000 ms",
            KernelTime(direction=F, time_ms=0.01, is_bias=True),
        ),
        (
            "Wall-clock Time Forward Conv. Elapsed: 1.5 ms, Auxiliary API calls: 0.25 ms (GWSS: 0.125)",
            WallClock(direction=F, elapsed_ms=1.5, auxiliary_ms=0.25),
        ),
        ("Wall-clock Time Forward Conv. Elapsed: 1.5 ms", WallClock(direction=F, elapsed_ms=1.5, auxiliary_ms=None)),
        ("Backward Data Conv solutions available: 12", SolutionCount(direction=B, count=12)),
        (
            "- id: 139 algo: 3, time: 0.1 ms, ws: 4096, name: ConvWinoFuryRxS<2-3>",
            ListedSolution(
                solver_id=139, algorithm=3, time_ms=0.1, workspace_bytes=4096, solver="ConvWinoFuryRxS<2-3>"
            ),
        ),
        ("RunForwardGPU() FAILED, rc = 0x7", RunFailure(call="RunForwardGPU", status=7)),
        ("RunBackwardGPU() FAILED, rc = 0x70000", RunFailure(call="RunBackwardGPU", status=0x70000)),
        ("ParseCmdLineArgs() FAILED, rc = 1", RunFailure(call="ParseCmdLineArgs", status=1)),
        ("Incorrect BaseArg", Complaint(text="Incorrect BaseArg")),
        ("Warning: Solution id (7) is not reported by the library. Trying it anyway...", None),
        (
            "stats: name, n, c, ho, wo, x, y, k",
            StatsHeader(columns=("name", "n", "c", "ho", "wo", "x", "y", "k")),
        ),
        (
            "44781 MIOpen(HIP): Info [Find] done",
            LibraryMessage(backend="HIP", level="Info", function="Find", text="done"),
        ),
        (
            "MIOpen(HIP)   0.011: Command [LogCmdConvolution] ./bin/MIOpenDriver conv -F 1",
            LibraryMessage(
                backend="HIP", level="Command", function="LogCmdConvolution", text="./bin/MIOpenDriver conv -F 1"
            ),
        ),
    ],
)
def test_one_line(line, expected):
    found = content(line)
    assert found == expected or (expected is None and isinstance(found, Complaint))


@pytest.mark.parametrize(
    ("line", "direction", "passed", "error", "tolerance", "reference"),
    [
        ("Forward Convolution Verifies OK on GPU reference (0.0003 < 0.0082)", "forward", True, 0.0003, 0.0082, "GPU"),
        ("Forward Convolution Verifies OK on CPU reference (2.2e-08)", "forward", True, 2.2e-8, None, "CPU"),
        ("Forward Convolution Verifies on CPU and GPU (2.2e-08)", "forward", True, 2.2e-8, None, "CPU and GPU"),
        ("Forward Convolution FAILED: 0.5 > 0.0082", "forward", False, 0.5, 0.0082, ""),
        ("Backward Convolution Data Verifies OK on CPU reference (0.01)", "backward_data", True, 0.01, None, "CPU"),
        ("Backward Convolution Weights Failed: 0.163441 > 0.0164 ", "backward_weights", False, 0.163441, 0.0164, ""),
        (
            "Backward Convolution Weights FAILED: 1.79769e+308 > 0.082",
            "backward_weights",
            False,
            1.79769e308,
            0.082,
            "",
        ),
        ("Backward Convolution Bias Verifies OK on CPU reference (0)", "backward_bias", True, 0.0, None, "CPU"),
        ("Forward Convolution Failed: 0.5", "forward", False, 0.5, None, ""),
    ],
)
def test_every_wording_of_a_verification(line, direction, passed, error, tolerance, reference):
    assert content(line) == VerificationText(
        direction=direction, passed=passed, error=error, tolerance=tolerance, reference=reference
    )


def test_a_verification_that_is_not_a_number():
    assert str(content("Forward Convolution FAILED: -nan > 0.0082").error) == "nan"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "102/0/390 0.0129282, best within recent 103: 0.0129282 #92 1,8,2,32,1,2,2,2, ETA:8.4816 sec.",
            (102, 0, 390, 0.0129282, "1,8,2,32,1,2,2,2", False),
        ),
        ("Done: 390/0/390, best #92 0.0129282 1,8,2,32,1,2,2,2", (390, 0, 390, 0.0129282, "1,8,2,32,1,2,2,2", True)),
        ("Done: 0/0/0, best #0 3.40282e+38 ", (0, 0, 0, None, "", True)),
        (
            "Runs left: 863, min time so far: 8.77174, curr time: 8.77174 16,16,16,16,1,1,1,1,1",
            (None, None, 863, 8.77174, "16,16,16,16,1,1,1,1,1", False),
        ),
    ],
)
def test_every_wording_of_search_progress(text, expected):
    found = content(f"MIOpen(HIP): Warning [Search] {text}")
    assert isinstance(found, SearchProgress)
    assert (found.done, found.failed, found.total, found.best_ms, found.best_config, found.is_end) == expected


@pytest.mark.parametrize(
    "line", ["", "hello", '{"solution":"A"}', "# stats: x", "Usage: ./bin/MIOpenDriver *base_arg*"]
)
def test_other_lines_have_no_content(line):
    assert read(f"{line}\n")[0].content is None


@pytest.mark.parametrize(
    "line",
    ["stats: fwd-conv3x3u1, 1, 2", "GPU Kernel Time Forward Conv. Elapsed:", "MIOpen Sideways Conv. Algorithm: x"],
)
def test_a_line_of_the_driver_that_cannot_be_read_is_told(line):
    (item,) = read(line)
    assert item.content is None
    assert item.doubt.code == "unreadable"


# --- Host names -------------------------------------------------------------------------------------------------------


def test_host_names_are_removed_before_anything_is_made_of_a_line():
    items = read(NEW)
    assert "gpu-node-17" not in repr(items)
    (machine,) = [item.content for item in items if isinstance(item.content, SystemInfo)]
    assert (machine.hostname, machine.rocm, machine.gpu_model) == ("", "7.1.25424", "8 x MI300X")
    assert machine.timestamp == "2026-04-01 12:00:00 UTC"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("a; Host Name: x y; b", "a; Host Name: removed; b"),
        ("Host Name: x", "Host Name: removed"),
        ('{"hostname":"x\\"y","os":"z"}', '{"hostname":"removed","os":"z"}'),
        ('{"hostname" : "x', '{"hostname" : "removed"'),
        ("no name", "no name"),
    ],
)
def test_host_name_fields(line, expected):
    assert without_host_names(line) == expected


# --- Stats rows -------------------------------------------------------------------------------------------------------


def test_old_and_new_rows():
    old, new = (next(item.content for item in read(text) if hasattr(item.content, "flops")) for text in (OLD, NEW))
    assert (old.dialect, new.dialect) == (StatsDialect.OLD, StatsDialect.NEW)
    assert (old.n, old.c, old.k, old.output, old.filter) == (1, 3, 64, (224, 224), (3, 3))
    assert (new.flops, new.bytes_read, new.time_ms) == (154618822656, 268509184, 10.839644)


def test_the_old_row_of_backward_data_has_another_order():
    row = read_stats_row(DATA_ROW)
    assert (row.n, row.c, row.k, row.output, row.filter) == (128, 512, 1000, (13, 13), (1, 1))


def test_the_order_is_seen_even_where_the_blanks_were_lost():
    row = read_stats_row(re.sub(r"\s+", " ", DATA_ROW))
    assert (row.k, row.output, row.dialect) == (1000, (13, 13), StatsDialect.OLD)


def test_the_old_3d_row_of_backward_data_lacks_a_comma():
    row = read_stats_row("bwdd-conv3x3x3u1, 2, 4, 3, 3, 3, 8, 5, 6, 7  725760, 1, 1, 0, 0, 1.0")
    assert (row.k, row.output, row.filter, row.flops) == (8, (5, 6, 7), (3, 3, 3), 725760)


@given(small_problems(transposed=(False,)))
def test_the_row_of_any_problem_has_no_findings(problem):
    stats = driver_stats(problem)
    sizes = (problem.n, problem.c, *problem.miopen_output, *problem.filter, problem.k)
    rates = f"{stats.gflops(0.125):.0f}, {stats.gb_per_s(0.125):.0f}, 0.125000"
    row = ", ".join(map(str, (stats.name, *sizes, stats.flops, stats.bytes_read, stats.bytes_written, rates)))
    blocks = {F: "Forward", B: "Backward Data", W: "Backward Weights"}
    name = blocks[problem.direction]
    run = run_of(
        f"{problem.to_driver()}\nMIOpen {name} Conv. Algorithm: 1, Solution: 1/S\n"
        f"GPU Kernel Time {name} Conv. Elapsed: 0.125000 ms (average)\nstats: {row}\n"
    )
    assert codes(run) == []
    (result,) = run.results
    assert (result.problem, result.stats.output) == (problem, problem.miopen_output)


# --- Runs -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", [OLD, NEW])
def test_a_whole_run_of_each_dialect_has_no_findings(text):
    run = run_of(text)
    (result,) = run.results
    assert run.findings == ()
    assert result.passed is True
    assert result.direction is F
    assert result.problem.c == result.stats.c
    assert result.time_ms == result.stats.time_ms


def test_two_runs_without_commands_are_told_apart_by_their_blocks():
    block = (
        "MIOpen Backward Data Conv. Algorithm: 1, Solution: 2/ConvAsm1x1U\n"
        "GPU Kernel Time Backward Data Conv. Elapsed: {time} ms (average)\nstats: {row}\n"
    )
    first = block.format(time="1.730399", row=DATA_ROW)
    second = block.format(time="244.816223", row=DATA_ROW.replace("12801, 101, 1.730399", "90, 1, 244.816223"))
    runs = list(text_runs(read(first + second)))
    assert [run.results[0].time_ms for run in runs] == [1.730399, 244.816223]
    assert [codes(run) for run in runs] == [[], []]


def test_three_directions_of_one_run():
    lines = [f"{CONV} -F 0"]
    for name in ("Forward", "Backward Data", "Backward Weights"):
        lines += [f"MIOpen {name} Conv. Algorithm: 1, Solution: 1/S", f"GPU Kernel Time {name} Conv. Elapsed: 0.5 ms"]
    lines += [
        "Backward Convolution Data Verifies OK on GPU reference (0 < 1)",
        "Backward Convolution Weights FAILED: 2 > 1",
    ]
    run = run_of("\n".join(lines))
    assert [(result.direction, result.passed) for result in run.results] == [(F, None), (B, True), (W, False)]
    assert codes(run) == ["verification-failed"]


def test_a_direction_of_which_nothing_is_said():
    assert codes(
        run_of(f"{CONV} -F 3\nMIOpen Forward Conv. Algorithm: 1\nGPU Kernel Time Forward Conv. Elapsed: 1 ms")
    ) == ["no-result"]


def test_a_failed_run_is_not_a_large_error():
    run = run_of("RunBackwardGPU() FAILED, rc = 0x70000\nBackward Convolution Weights FAILED: 1.79769e+308 > 0.082\n")
    (result,) = run.results
    assert (result.direction, result.passed, result.time_ms) == (W, False, None)
    assert codes(run) == ["run-failed", "run-failed"]


@pytest.mark.parametrize(("status", "directions"), [("0x3", [B]), ("0x30000", [W]), ("0x30003", [B, W]), ("0x0", [])])
def test_the_status_of_the_backward_call_is_of_two_directions(status, directions):
    runs = list(text_runs(read(f"RunBackwardGPU() FAILED, rc = {status}\n")))
    assert [result.direction for run in runs for result in run.results] == directions


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("0.056871 ms (average)", "0.056872 ms (average)", []),
        ("0.056871 ms (average)", "0.058 ms (average)", ["stats-time"]),
        ("0.056871 ms (average)", "nan ms (average)", ["no-time"]),
        ("173408256", "173408257", ["stats-count"]),
        ("12845056,", "12845057,", ["stats-count"]),
        ("609024", "609025", ["stats-count"]),
        (" 3049,", " 3051,", ["stats-rate"]),
        (" 237,", " 236,", ["stats-rate"]),
        ("224, 224, 3, 3, 64", "224, 224, 3, 3, 63", ["stats-mismatch"]),
        ("conv3x3u1", "conv3x3u2", ["stats-mismatch"]),
        ("conv3x3u1", "conv5x5u1", ["stats-mismatch", "stats-mismatch"]),
        ("Algorithm: 0", "Algorithm: 0, Solution: 0/UNKNOWN", ["unknown-solver"]),
        ("Verifies on", "Failed on", ["verification-failed"]),
        ("2.19793e-08", "1.79769e+308", ["run-failed"]),
        ("2.19793e-08", "nan", ["verdict-mismatch"]),
        ("2.19793e-08", "0.2 < 0.1", ["verdict-mismatch"]),
        ("stats: fwd", "stats: fwrd", ["unreadable"]),
        ("Forward Convolution Verifies", "Skipping backward bias: no\nForward Convolution Verifies", ["complaint"]),
    ],
)
def test_what_does_not_follow_is_found(old, new, expected):
    assert old in OLD
    assert codes(run_of(OLD.replace(old, new))) == expected


def test_a_row_without_its_command_is_held_against_its_own_sizes():
    row = OLD.splitlines()[4]
    assert codes(run_of(row)) == []
    assert codes(run_of(row.replace("173408256", "86704128"))) == [
        "stats-count",
        "stats-rate",
    ]  # 2 groups of 3 channels


def test_the_old_3d_forward_row_counts_the_depth_twice():
    command = "MIOpenDriver conv -n 1 -c 8 --in_d 4 -H 8 -W 8 -k 8 --fil_d 3 --pad_d 1 -p 1 -q 1 --spatial_dim 3 -F 1"
    flops = 2 * 8 * 8 * 27 * 4 * 8 * 8
    read_bytes, written = (8 * 4 * 8 * 8 + 8 * 8 * 27) * 4, 8 * 4 * 8 * 8 * 4
    row = f"fwd-conv3x3x3u1, 1, 8, 4, 8, 8, 3, 3, 3, 8,  {{}}, {read_bytes}, {written}, {{}}, 0, 1.0"
    assert codes(run_of(f"{command}\nstats: {row.format(flops, 1)}")) == []
    assert codes(run_of(f"{command}\nstats: {row.format(4 * flops, 4 * flops // 10**6)}"))[:1] == ["old-3d-flops"]


def test_a_command_that_is_no_convolution_still_begins_a_run():
    runs = list(text_runs(read("MIOpenDriver bnorm -n 1\nIncorrect BaseArg\nMIOpenDriver conv\n")))
    assert [run.command for run in runs] == ["MIOpenDriver bnorm -n 1", "MIOpenDriver conv"]
    assert codes(runs[0]) == ["complaint"]
    assert runs[0].findings[0].severity is Severity.WARNING


def test_a_failed_bias_is_told():
    assert codes(run_of("Backward Convolution Bias FAILED: 2 > 1")) == ["verification-failed"]


def test_no_text_has_no_runs():
    assert list(text_runs(read(""))) == []
