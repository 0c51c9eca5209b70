"""Buffers of a problem whose executions take turns, and caches that are flushed, on every device that is here."""

import contextlib
from itertools import pairwise

import numpy as np
import pytest

from pytest_miopen_perf.checking.reference import Distribution, compute_reference, make_operands
from pytest_miopen_perf.checking.tensors import result_slot, tensor_spec, unpack
from pytest_miopen_perf.devices import DeviceOptions, cpu
from pytest_miopen_perf.devices.script import Script
from pytest_miopen_perf.devices.scripted import ScriptedDevice
from pytest_miopen_perf.errors import OutOfMemoryError
from pytest_miopen_perf.launch import Pointer, Slot
from pytest_miopen_perf.measuring.cache_state import CachePlan
from pytest_miopen_perf.measuring.execution import ConvBuffers, prepare, set_bytes
from pytest_miopen_perf.solvers import naive

THREE_SETS = CachePlan(state="rotating", sets=3)


@pytest.fixture(scope="module", params=["cpu", "scripted"])
def device(request, tmp_path_factory):
    if request.param == "scripted":
        opened = ScriptedDevice(Script())
    else:
        options = DeviceOptions(cache_dir=tmp_path_factory.mktemp("cache"))
        if reason := cpu.probe(options):
            pytest.skip(reason)
        opened = cpu.open_device(options)
    with contextlib.closing(opened):
        yield opened


@pytest.fixture(scope="module")
def operands(make_problem):
    return make_operands(make_problem(), seed=3, distribution=Distribution.INTEGERS)


@pytest.fixture
def problem(make_problem):
    return make_problem()


def prepared_on(device, problem, buffers):
    solver = next(solver for solver in naive.SOLVERS if solver.refusal(problem, device.info) is None)
    return prepare(device, solver.solution(problem, device.info, solver.default_config(problem, device.info)), buffers)


def result_of(device, problem, pointer):
    """A result tensor wherever it lies; a set's neighbours lie in one allocation."""
    spec = tensor_spec(problem, result_slot(problem))
    memory = np.empty(pointer.offset_bytes + spec.nbytes, np.uint8)
    device.download(pointer.buffer, memory)
    return unpack(memory[pointer.offset_bytes :].view(spec.element.numpy_type), spec)


def test_every_set_computes_the_same(device, problem, operands):
    right = compute_reference(problem, operands).values
    with ConvBuffers(device, problem, operands, 0, THREE_SETS) as buffers:
        prepared = prepared_on(device, problem, buffers)
        for _ in range(3):
            prepared.execute()
        for number in range(3):
            pointer = buffers.bind(Pointer("y", result_slot(problem)), number)
            np.testing.assert_array_equal(result_of(device, problem, pointer), right)


def test_executions_take_turns_and_a_check_begins_with_the_first_set(device, problem, operands):
    with ConvBuffers(device, problem, operands, 0, THREE_SETS) as buffers:
        assert [buffers.next_set() for _ in range(5)] == [0, 1, 2, 0, 1]
        buffers.poison()
        prepared = prepared_on(device, problem, buffers)
        prepared.execute()
        assert set(prepared.bound) == {0}
        spec = tensor_spec(problem, result_slot(problem))
        found = unpack(buffers.download_result(), spec)
        np.testing.assert_array_equal(found, compute_reference(problem, operands).values)


def test_a_batch_goes_on_with_the_turns(device, problem, operands):
    with ConvBuffers(device, problem, operands, 0, THREE_SETS) as buffers:
        prepared = prepared_on(device, problem, buffers)
        assert prepared.execute_batch(4) > 0
        assert set(prepared.bound) == {0, 1, 2}
        assert buffers.next_set() == 1


def test_no_set_lies_on_another(device, problem, operands):
    with ConvBuffers(device, problem, operands, 1000, CachePlan(state="rotating", sets=4)) as buffers:
        for slot in (Slot.INPUT, Slot.WEIGHTS, Slot.OUTPUT, Slot.WORKSPACE):
            size = 1000 if slot is Slot.WORKSPACE else tensor_spec(problem, slot).nbytes
            pointers = [buffers.bind(Pointer("p", slot), number) for number in range(4)]
            assert len({(id(pointer.buffer), pointer.offset_bytes) for pointer in pointers}) == 4
            offsets = [pointer.offset_bytes for pointer in pointers[1:]]
            assert all(later - earlier >= size for earlier, later in pairwise(offsets))
            assert all(offset % 256 == 0 for offset in offsets)
            assert offsets[-1] + size <= pointers[-1].buffer.nbytes


def test_a_set_is_as_large_as_it_says(problem, operands):
    device = ScriptedDevice(Script())
    before = device.free_memory_bytes()
    with ConvBuffers(device, problem, operands, 1000, CachePlan(state="rotating", sets=5)):
        taken = before - device.free_memory_bytes()
    size = set_bytes(problem, 1000)
    assert 4 * size < taken <= 5 * size
    assert device.free_memory_bytes() == before


def test_cold_caches_fill_memory_before_each_execution_and_outside_of_its_time(problem, operands, monkeypatch):
    device = ScriptedDevice(Script())
    order = []
    fill, launch = device.fill, device.launch
    monkeypatch.setattr(device, "fill", lambda buffer, byte: (order.append(buffer.nbytes), fill(buffer, byte)))
    monkeypatch.setattr(device, "launch", lambda *call: (order.append("launch"), launch(*call))[1])
    with ConvBuffers(device, problem, operands, 0, CachePlan(state="cold", flush_bytes=4096)) as buffers:
        prepared = prepared_on(device, problem, buffers)
        times = [prepared.execute() for _ in range(2)]
    assert order == [4096, "launch", 4096, "launch"]
    assert times == [(1e-5,)] * 2


@pytest.mark.parametrize("caches", [CachePlan(state="rotating", sets=50), CachePlan(state="cold", flush_bytes=2**20)])
def test_memory_that_runs_out_leaves_nothing_behind(problem, operands, caches):
    device = ScriptedDevice(Script(memory_bytes=20_000))
    with pytest.raises(OutOfMemoryError):
        ConvBuffers(device, problem, operands, 0, caches)
    assert device.free_memory_bytes() == 20_000
