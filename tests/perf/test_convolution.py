"""The convolution performance suite: bundled problems, checked and timed on the device at hand.

Heavier lists are one option away: `--miopen-perf-problems=mlperf_resnet50_v1_5`.
"""

import pytest


@pytest.mark.miopen_perf(problems=["smoke"], tune="off")
def test_smoke(miopen_perf, conv_problem):
    """Every type, layout and direction, quickly: with default configs."""
    assert miopen_perf(conv_problem).check.passed


@pytest.mark.miopen_perf(problems=["resnet50_batch1"])
def test_resnet50(miopen_perf, conv_problem):
    """Layers of a network, tuned as the options say."""
    assert miopen_perf(conv_problem).check.passed
