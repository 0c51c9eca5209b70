"""Cases as a session leaves them, with the times that a test wants."""

from __future__ import annotations

import pytest

from pytest_miopen_perf.cases import Case
from pytest_miopen_perf.checking.check import Check, Reason
from pytest_miopen_perf.gate.baseline import Run
from pytest_miopen_perf.launch import DeviceInfo
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.results import KernelTimes, Result, Sample

DEVICE = DeviceInfo(
    backend="scripted",
    name="A device",
    arch="gfx000",
    compute_units=8,
    wavefront=64,
    lds_bytes=65536,
    memory_bytes=2**30,
    compiler="cc 1.0",
    driver="6.1",
)
CHECK = Check(
    reason=Reason.RIGHT, rms_error=0.0, rms_tolerance=1e-6, worst=(0,), got=1.0, want=1.0, bound=0.1, sentence="right"
)
ENDED = "2026-03-01T12:00:00+00:00"


def _make_result(seconds=(1e-3, 1.01e-3, 0.99e-3), *, channels=4, **changes):
    (problem,) = ConvProblem.from_driver(f"conv -n 1 -c {channels} -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1")
    fields = {
        "problem": problem,
        "device": DEVICE,
        "solver": "ConvFast",
        "solver_id": 7,
        "algorithm": 1,
        "config": "16,16",
        "config_origin": "default",
        "workspace_bytes": 0,
        "check": CHECK,
        "sample": None if seconds is None else Sample(seconds=tuple(seconds)),
        "kernels": () if seconds is None else (KernelTimes(name="conv_fast", seconds=tuple(seconds)),),
        "seed": 1,
        "data": "miopen",
    }
    return Result(**fields | changes)


def _make_case(seconds=(1e-3, 1.01e-3, 0.99e-3), *, nodeid="test.py::test", outcome="passed", message="", **changes):
    result = _make_result(seconds, **changes)
    return Case(nodeid=nodeid, problem=str(result.problem), outcome=outcome, message=message, result=result)


def _make_run(*processes, **changes):
    return Run(**{"processes": tuple(map(tuple, processes)), "ended": ENDED} | changes)


@pytest.fixture(scope="session")
def make_result():
    return _make_result


@pytest.fixture(scope="session")
def make_case():
    return _make_case


@pytest.fixture(scope="session")
def make_run():
    return _make_run
