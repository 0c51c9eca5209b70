"""Workspaces where memory is short: the neediest go without, and the reason names sizes or the device's words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_miopen_perf.checking.reference import Distribution, make_operands
from pytest_miopen_perf.devices.script import Script
from pytest_miopen_perf.devices.scripted import ScriptedDevice
from pytest_miopen_perf.errors import NotApplicableError
from pytest_miopen_perf.measuring.cache_state import WARM
from pytest_miopen_perf.problem import ConvProblem
from pytest_miopen_perf.running.workspace_funding import Funding, funded_buffers

(PROBLEM,) = ConvProblem.from_driver("conv -n 1 -c 4 -H 6 -W 6 -k 4 -y 3 -x 3 -p 1 -q 1 -F 1")
OPERANDS = make_operands(PROBLEM, seed=1, distribution=Distribution.INTEGERS)
TENSORS = sum(PROBLEM.tensor_bytes)


def test_who_needs_more_than_may_be_used_goes_without():
    funding = Funding(nbytes={"A": 3 << 20, "B": 1 << 20, "C": 0}).within(2 << 20)
    assert (dict(funding.nbytes), funding.workspace_bytes) == ({"B": 1 << 20, "C": 0}, 1 << 20)
    assert funding.lacking == {"A": "needs a workspace of 3.0 MiB, and 2.0 MiB may be used for one"}


@given(st.dictionaries(st.text(min_size=1), st.integers(0, 1 << 40)), st.integers(0, 1 << 40))
def test_everybody_has_either_a_workspace_or_a_reason(nbytes, most_bytes):
    funding = Funding(nbytes=nbytes).within(most_bytes)
    assert set(funding.nbytes) | set(funding.lacking) == set(nbytes)
    assert not set(funding.nbytes) & set(funding.lacking)
    assert funding.workspace_bytes <= most_bytes
    assert {name for name, need in nbytes.items() if need <= most_bytes} == set(funding.nbytes)


def opened(spare_bytes, **nbytes):
    device = ScriptedDevice(Script(memory_bytes=TENSORS + spare_bytes))
    try:
        buffers, funding = funded_buffers(device, PROBLEM, OPERANDS, Funding(nbytes=nbytes))
        free = device.free_memory_bytes()
        buffers.free()
        return funding, free
    finally:
        device.close()


def test_what_the_device_refuses_goes_to_the_next():
    funding, free = opened(1000, A=3000, B=2000, C=1000, D=0)
    assert (set(funding.nbytes), free) == ({"C", "D"}, 0)
    assert "needs a workspace of 2.9 KiB, which the device refused: " in funding.lacking["A"]
    assert "2000" in funding.lacking["B"], "the device's own words name the bytes"


def test_a_workspace_beside_which_caches_cannot_be_made_goes_to_nobody():
    def rotating(workspace_bytes):
        if workspace_bytes > 1000:
            raise NotApplicableError("buffers cannot rotate")
        return WARM

    device = ScriptedDevice(Script(memory_bytes=TENSORS + 10_000))
    buffers, funding = funded_buffers(device, PROBLEM, OPERANDS, Funding(nbytes={"A": 3000, "B": 1000}), rotating)
    buffers.free()
    device.close()
    assert dict(funding.nbytes) == {"B": 1000}
    assert funding.lacking == {"A": "needs a workspace of 2.9 KiB, and beside it buffers cannot rotate"}


def test_caches_that_can_never_be_made_are_a_skip():
    def cold(workspace_bytes):
        raise NotApplicableError("caches cannot be made cold")

    device = ScriptedDevice(Script(memory_bytes=TENSORS + 10_000))
    with pytest.raises(NotApplicableError, match="cannot be made cold"):
        funded_buffers(device, PROBLEM, OPERANDS, Funding(nbytes={"A": 3000, "B": 0}), cold)
    device.close()


def test_nobody_needs_a_workspace():
    funding, _ = opened(0, D=0)
    assert (funding.workspace_bytes, dict(funding.lacking)) == (0, {})


def test_tensors_that_do_not_fit_are_a_skip_with_the_device_s_words():
    with pytest.raises(NotApplicableError, match=r"fp32-F-.* is too big: .*bytes"):
        opened(-1, A=100, D=0)
