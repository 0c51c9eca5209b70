"""The estimate covers what a run allocates, and a shortage names both numbers."""

import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from strategies import small_problems

from pytest_miopen_perf.checking.reference import compute_reference, make_operands
from pytest_miopen_perf.checking.tensors import result_slot, tensor_spec
from pytest_miopen_perf.checking.verification import check_result
from pytest_miopen_perf.measuring.memory import MemoryEstimate, byte_size, estimate_memory
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.solvers import Algorithm


def test_a_shortage_names_what_is_needed_and_what_there_is():
    estimate = MemoryEstimate(device_bytes=3 * 2**30, host_bytes=2**30)
    assert estimate.shortage(free_bytes=3 * 2**30, shares_host=False) == ""
    assert estimate.shortage(free_bytes=3 * 2**30, shares_host=True) == (
        "it needs 4.0 GiB of memory and 3.0 GiB may be used"
    )
    tiny = MemoryEstimate(device_bytes=2000, host_bytes=0)
    assert tiny.shortage(free_bytes=100, shares_host=False) == "it needs 2.0 KiB of memory and 100 bytes may be used"


@given(small_problems())
def test_the_device_holds_the_three_tensors_and_the_workspace(problem):
    plain = problem.canonical()
    assert estimate_memory(plain, 123).device_bytes == sum(plain.tensor_bytes) + 123


@pytest.mark.parametrize("direction", [1, 2, 4])
def test_the_host_estimate_is_near_the_true_peak(direction):
    (problem,) = ConvProblem.from_driver(f"conv -n 4 -c 64 -H 56 -W 56 -k 64 -y 3 -x 3 -p 1 -q 1 -F {direction}")
    spec = tensor_spec(problem, result_slot(problem))
    tracemalloc.start()
    operands = make_operands(problem, seed=1)
    reference = compute_reference(problem, operands)
    check_result(problem, Algorithm.DIRECT, reference, np.zeros(spec.elements, np.float32))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    estimate = estimate_memory(problem, 0).host_bytes
    assert peak < 1.5 * estimate + 300 * 2**20, (peak, estimate)


@pytest.mark.parametrize(
    ("nbytes", "words"), [(0, "0 bytes"), (1, "1 byte"), (1023, "1023 bytes"), (1536, "1.5 KiB"), (2**30, "1.0 GiB")]
)
def test_sizes_as_people_read_them(nbytes, words):
    assert byte_size(nbytes) == words
