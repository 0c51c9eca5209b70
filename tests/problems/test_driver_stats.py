import pytest
from hypothesis import given
from strategies import small_problems

from pytest_miopen_perf.problem import ConvProblem, Direction
from pytest_miopen_perf.problems.driver_stats import driver_stats, row_name

PRINTED = [
    # command, flopCnt, bytesRead, bytesWritten, GFLOPs, GB/s, timeMs: rows that the driver printed on real machines
    ("conv -n 1 -c 3 -H 224 -W 224 -k 64 -p 1 -q 1 -F 1", 173408256, 609024, 12845056, 3049, 237, 0.056871),
    ("convfp16 -n 1 -c 512 -H 128 -W 128 -k 512 -p 1 -q 1 -F 1", 77309411328, 21495808, 16777216, 69177, 34, 1.117565),
    (
        "convfp16 -n 1 -c 256 -H 512 -W 512 -k 256 -p 1 -q 1 -F 1",
        309237645312,
        135397376,
        134217728,
        121792,
        106,
        2.539060,
    ),
    (
        "convbfp16 -n 1 -c 256 -H 256 -W 256 -k 512 -y 1 -x 1 -F 1",
        17179869184,
        33816576,
        67108864,
        30842,
        181,
        0.557020,
    ),
    (
        "convfp16 -n 256 -c 3 -H 224 -W 224 -k 64 -y 7 -x 7 -p 3 -q 3 -u 2 -v 2 -F 1",
        60423143424,
        77089152,
        411041792,
        13354,
        108,
        4.524811,
    ),
    ("conv -n 1 -c 1 -H 7 -W 7 -k 1 -y 1 -x 1 -F 1", 98, 200, 196, 0, 0, 0.006373),
    ("conv -n 32 -c 3 -H 8 -W 8 -k 32 -F 1", 1990656, 28032, 147456, 5, 0, 0.384800),
    (
        "convbfp16 -n 1 -c 512 -H 512 -W 512 -k 512 -p 1 -q 1 -F 1",
        1236950581248,
        273154048,
        268435456,
        66858,
        29,
        18.501274,
    ),
    ("conv -n 1 -c 64 -H 130 -W 130 -k 3 -F 4", 56623104, 0, 0, 11319, 0, 0.005003),
    (
        "convfp16 -n 128 -c 512 -H 13 -W 13 -k 1000 -y 1 -x 1 -F 2",
        22151168000,
        132096000,
        43264000,
        12801,
        101,
        1.730399,
    ),
]


@pytest.mark.parametrize(("command", "flops", "read", "written", "gflops", "gb_per_s", "time_ms"), PRINTED)
def test_rows_that_the_driver_printed(command, flops, read, written, gflops, gb_per_s, time_ms):
    (problem,) = ConvProblem.from_driver(command)
    stats = driver_stats(problem)
    assert (stats.flops, stats.bytes_read, stats.bytes_written) == (flops, read, written)
    # The time was printed in steps of 1 ns, so that a rate is only known to the time's half step.
    assert stats.gflops(time_ms) == pytest.approx(gflops, abs=0.5 + gflops * 0.0000005 / time_ms)
    assert stats.gb_per_s(time_ms) == pytest.approx(gb_per_s, abs=0.5 + gb_per_s * 0.0000005 / time_ms)


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("conv -u 2 -v 3 -F 1", "fwd-conv3x3u2"),
        ("conv -y 1 -x 7 -F 2", "bwdd-conv1x7u1"),
        ("conv --spatial_dim 3 --fil_d 5 --conv_stride_d 4 -u 2 -F 4", "bwdw-conv5x3x3u4"),
    ],
)
def test_rows_are_named_by_direction_filter_and_first_stride(command, name):
    (problem,) = ConvProblem.from_driver(command)
    assert row_name(problem) == name
    assert driver_stats(problem).name == name


@given(small_problems(directions=[Direction.FORWARD]))
def test_forward_bytes_are_the_true_ones(problem):
    stats = driver_stats(problem)
    assert (stats.bytes_read, stats.bytes_written) == (problem.bytes_read, problem.bytes_written)
