"""What a run leaves behind survives the way through JSON, and its figures are those of an independent model."""

import json
import statistics

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import small_problems

from pytest_miopen_perf.cases import Case
from pytest_miopen_perf.checking.check import Check, Reason
from pytest_miopen_perf.launch import DeviceInfo
from pytest_miopen_perf.results import KernelTimes, Result, Sample, Trial, TrialStatus, Tuning

SECONDS = st.floats(1e-7, 10.0)
SAMPLES = st.builds(
    lambda warm, counted: Sample(seconds=tuple(warm + counted), warmups=len(warm), invalid=1, stopped_by="noise"),
    st.lists(SECONDS, max_size=2),
    st.lists(SECONDS, min_size=1, max_size=30),
)
TRIALS = st.builds(
    Trial,
    solver=st.text(),
    config=st.text(),
    status=st.sampled_from(TrialStatus),
    reason=st.text(),
    samples=st.integers(0, 9),
    noise=st.none() | st.floats(0, 9),
)
TUNINGS = st.builds(
    Tuning,
    solver=st.text(),
    default_config=st.text(),
    best_config=st.text(),
    trials=st.lists(TRIALS, max_size=3).map(tuple),
    valid_configs=st.integers(0, 99),
    seconds=SECONDS,
    stopped_by=st.sampled_from(["exhausted", "budget", "count", "patience"]),
    ties=st.lists(st.text(), max_size=2).map(tuple),
    seed=st.integers(0, 2**32 - 1),
)
DEVICE = DeviceInfo(
    backend="cpu", name="A CPU", arch="x86_64", compute_units=2, wavefront=1, lds_bytes=1, memory_bytes=2
)
CHECK = Check(
    reason=Reason.RIGHT, rms_error=1e-8, rms_tolerance=1e-6, worst=(0, 1), got=1.0, want=1.0, bound=0.1, sentence="ok"
)
RESULTS = st.builds(
    Result,
    problem=small_problems(),
    device=st.just(DEVICE),
    solver=st.text(),
    solver_id=st.integers(1, 2**31),
    algorithm=st.integers(0, 5),
    config=st.text(),
    config_origin=st.sampled_from(["default", "tuned", "given"]),
    workspace_bytes=st.integers(0, 2**40),
    check=st.just(CHECK),
    sample=st.none() | SAMPLES,
    kernels=st.lists(
        st.builds(KernelTimes, name=st.text(), seconds=st.lists(SECONDS, min_size=1, max_size=3).map(tuple)), max_size=2
    ).map(tuple),
    tuning=st.lists(TUNINGS, max_size=2).map(tuple),
    find=st.lists(TRIALS, max_size=2).map(tuple),
    seed=st.none() | st.integers(0, 2**32 - 1),
    data=st.sampled_from([None, "miopen", "integers"]),
    cache_mode=st.sampled_from([None, "warm", "cold"]),
    tune=st.sampled_from([None, "off", "force"]),
)


@given(RESULTS)
def test_a_result_survives_json(result):
    assert Result.from_json(json.loads(json.dumps(result.to_json()))) == result


@given(RESULTS)
def test_a_case_survives_json(result):
    case = Case(nodeid="a::b", problem=str(result.problem), outcome="failed", message="m", result=result, log=("x\n",))
    assert Case.from_json(json.loads(json.dumps(case.to_json()))) == case


@given(SAMPLES)
def test_the_figures_of_a_sample_are_those_of_an_independent_model(sample):
    counted = sample.seconds[sample.warmups :]
    data = sample.to_json()
    assert sample.median_seconds == pytest.approx(statistics.median(counted))
    assert data["mean_seconds"] == pytest.approx(np.mean(counted))
    assert (data["min_seconds"], data["max_seconds"], data["count"]) == (min(counted), max(counted), len(counted))


@given(SAMPLES, st.floats(1e-3, 1e3))
def test_noise_does_not_depend_on_the_unit(sample, factor):
    scaled = Sample(seconds=tuple(second * factor for second in sample.seconds), warmups=sample.warmups)
    assert scaled.noise == pytest.approx(sample.noise, abs=1e-9)


def test_gflops_count_what_a_transposed_convolution_computes():
    from pytest_miopen_perf.problem import ConvProblem

    (problem,) = ConvProblem.from_driver("conv -n 1 -c 8 -H 4 -W 4 -k 8 -y 2 -x 2 -u 2 -v 2 -m trans -F 1")
    result = Result(
        problem=problem,
        device=DEVICE,
        solver="S",
        solver_id=1,
        algorithm=1,
        config="",
        config_origin="default",
        workspace_bytes=0,
        check=CHECK,
        sample=Sample(seconds=(1e-6,)),
    )
    products = 8 * 8 * 4 * 4 * 2 * 2
    assert result.gflops_per_second == pytest.approx(2 * products / 1e-6 / 1e9)
