"""The convolution performance suite: bundled problems, checked, tuned and timed on the device at hand.

Heavier lists are one option away: `--miopen-perf-problems=mlperf_resnet50_v1_5`.
"""

import pytest


@pytest.mark.miopen_perf(problems=["smoke", "resnet50_batch1"])
def test_convolution(miopen_perf, conv_problem):
    result = miopen_perf(conv_problem)
    assert result.check.passed
