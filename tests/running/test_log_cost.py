"""What the log costs, on a clock that the test turns."""

import pytest

from pytest_miopen_perf.measuring.measure import Measurement
from pytest_miopen_perf.results import Sample
from pytest_miopen_perf.running.log_cost import measure_log_cost

KERNEL_SECONDS = 1e-3


class Machine:
    """Runs of two warm-ups and three executions, which take the host what an arm takes, and a drift."""

    def __init__(self, cost, drift=0.0):
        self.cost = cost
        self.drift = drift
        self.now = 0.0
        self.ran = ""

    def run(self, arm):
        def timed_run():
            self.ran += arm
            executions = ((KERNEL_SECONDS,),) * 5
            self.now += 5 * KERNEL_SECONDS + self.cost[arm] + self.drift * len(self.ran)
            sample = Sample(seconds=(KERNEL_SECONDS,) * 5, warmups=2)
            return Measurement(sample=sample, executions=executions)

        return timed_run

    def measure(self, *orders):
        return measure_log_cost({arm: self.run(arm) for arm in "AB"}, orders, lambda: self.now)


def test_a_record_costs_the_difference_and_a_drift_cancels():
    machine = Machine({"A": 1e-5, "B": 7e-5}, drift=1e-6)
    cost = machine.measure("ABBA", "BAAB")
    assert machine.ran == "AB" + "ABBABAAB"
    assert cost.record_seconds == pytest.approx((6e-5, 6e-5))
    assert [block.order for block in cost.blocks] == ["ABBA", "BAAB"]
    assert [block.log_ratio for block in cost.blocks] == [0.0, 0.0]


def test_the_arms_have_the_executions_that_count():
    cost = Machine({"A": 0.0, "B": 0.0}).measure("ABBA")
    for arm in "AB":
        assert cost.arms[arm].sample.counted == (KERNEL_SECONDS,) * 6
        assert len(cost.arms[arm].executions) == 6


def test_a_batch_takes_the_device_as_long_as_all_its_executions():
    now = 0.0

    def timed_run():
        nonlocal now
        now += 3e-5 + 10 * 4 * KERNEL_SECONDS + 2 * KERNEL_SECONDS
        sample = Sample(seconds=(KERNEL_SECONDS,) * 4, warmups=1, batch=10)
        return Measurement(sample=sample, executions=((KERNEL_SECONDS,),) * 2)

    cost = measure_log_cost({"A": timed_run, "B": timed_run}, ["ABBA"], lambda: now)
    assert cost.record_seconds == pytest.approx((0.0,), abs=1e-12)
    assert cost.arms["B"].sample.counted == (KERNEL_SECONDS,) * 6
    assert (cost.arms["B"].sample.batch, len(cost.arms["B"].counted_executions)) == (10, 4)
