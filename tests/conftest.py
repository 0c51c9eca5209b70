"""What tests of several layers build on."""

from __future__ import annotations

import signal

import pytest

from pytest_miopen_perf.problem import ConvProblem, Direction, DType, Layout


def _make_problem(**changes: object) -> ConvProblem:
    """A small forward problem in fp32, with the given fields changed."""
    rank = len(changes.get("spatial", (7, 9)))
    layout = Layout.default(rank)
    fields = {
        "direction": Direction.FORWARD,
        "dtype": DType.FP32,
        "n": 1,
        "c": 4,
        "k": 6,
        "spatial": (7, 9),
        "filter": (3,) * rank,
        "pad": (1,) * rank,
        "stride": (1,) * rank,
        "dilation": (1,) * rank,
        "in_layout": layout,
        "fil_layout": layout,
        "out_layout": layout,
    }
    return ConvProblem(**fields | changes)


@pytest.fixture(scope="session")
def make_problem():
    return _make_problem


@pytest.fixture
def heeds_interrupts():
    """Ctrl-C is heard here and in programs that are started, also in a background job, which a shell starts deaf."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
