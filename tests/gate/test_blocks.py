"""Two versions in blocks: the order of the launches, what invalid times do, and the way through JSON."""

import json
import math

import pytest

from pytest_miopen_perf.errors import LaunchError
from pytest_miopen_perf.gate.blocks import PairedTimes, measure_blocks


def arms(calls, a=1.0, b=1.1):
    def execute(arm, seconds):
        def run():
            calls.append(arm)
            return (seconds / 2, seconds / 2)

        return run

    return {"A": execute("A", a), "B": execute("B", b)}


def test_launches_run_in_the_order_of_the_blocks():
    calls = []
    measured = measure_blocks(arms(calls), ("ABBA", "BAAB"), 2)
    assert "".join(calls) == "AABB" + "AABBBBAA" + "BBAAAABB"
    assert [block.log_ratio for block in measured.blocks] == pytest.approx([math.log(1.1)] * 2)
    assert measured.arms["A"].sample.counted == (1.0,) * 8
    assert (measured.arms["B"].sample.warmups, measured.arms["B"].sample.stopped_by) == (2, "plan")
    assert len(measured.arms["B"].executions) == 10


def test_an_invalid_time_is_counted_and_left_out_of_the_sample():
    times = iter([1.0, 1.0, math.nan, 2.0, 0.0, 2.0])
    measured = measure_blocks({"A": lambda: (next(times),), "B": lambda: (1.0,)}, ("ABBA",), 2)
    assert measured.arms["A"].sample.counted == (2.0, 2.0)
    assert measured.arms["A"].sample.invalid == 2
    assert measured.blocks[0].log_ratio == pytest.approx(-math.log(2))


def test_an_arm_without_times_is_an_error():
    with pytest.raises(LaunchError, match="arm B has no valid time in 6 launches"):
        measure_blocks({"A": lambda: (1.0,), "B": lambda: (-1.0,)}, ("ABBA",), 2)


def test_it_crosses_processes(make_result):
    times = iter([1.0, 1.0, math.inf, 2.0, 2.0, 2.0])
    measured = measure_blocks({"A": lambda: (next(times),), "B": lambda: (1.0,)}, ("BAAB",), 2)
    paired = PairedTimes(base=make_result(), blocks=measured.blocks)
    back = PairedTimes.from_json(json.loads(json.dumps(paired.to_json(), allow_nan=False)))
    assert (back.base, back.log_ratio) == (paired.base, paired.log_ratio)
    assert back.blocks[0].slots_seconds[1] == (0.0, 2.0)
