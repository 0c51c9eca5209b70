"""A convolution on a device, without the runner: what the tests of every back-end launch and compare."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pytest

from pytest_miopen_perf.checking.reference import Distribution, compute_reference, make_operands
from pytest_miopen_perf.checking.tensors import operand_slots, pack, result_slot, tensor_spec, unpack
from pytest_miopen_perf.devices import BACKENDS, DeviceOptions, DevicePointer, load_backend
from pytest_miopen_perf.launch import Scalar, Slot
from pytest_miopen_perf.problem import ConvProblem, Direction, DType, Layout
from pytest_miopen_perf.solvers import naive

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from pytest_miopen_perf.checking.reference import Operands
    from pytest_miopen_perf.devices import Buffer, Device, Kernel, Ticket
    from pytest_miopen_perf.launch import Launch
    from pytest_miopen_perf.solvers import Solver

SLOTS = (Slot.INPUT, Slot.WEIGHTS, Slot.OUTPUT)


def _small_problem(
    direction: str = "F", dtype: str = "FP32", layout: str = "NCHW", *, groups: int = 2, **changes: object
) -> ConvProblem:
    """A problem with an odd value on every axis, so that no two sizes can be taken for one another."""
    fields = {
        "direction": Direction(direction),
        "dtype": DType(dtype),
        "n": 2,
        "c": 4 * groups,
        "k": 3 * groups,
        "spatial": (9, 7),
        "filter": (3, 2),
        "pad": (1, 0),
        "stride": (2, 1),
        "dilation": (1, 2),
        "groups": groups,
        "in_layout": Layout(layout),
        "fil_layout": Layout(layout),
        "out_layout": Layout(layout),
    }
    return ConvProblem(**fields | changes)


@dataclass(frozen=True, kw_only=True)
class Prepared:
    """A launch whose kernel is compiled, whose operands are uploaded and whose result is poisoned."""

    device: Device
    problem: ConvProblem
    kernel: Kernel
    plan: Launch
    args: tuple[Scalar | DevicePointer, ...]
    buffers: dict[Slot, Buffer]
    offset_bytes: int
    operands: Operands

    def launch(self) -> Ticket:
        return self.device.launch(self.kernel, self.plan.grid, self.plan.block, self.args, self.plan.shared_bytes)

    def poison(self) -> None:
        slot = result_slot(self.problem)
        self.device.fill(self.buffers[slot], tensor_spec(self.problem, slot).element.poison_byte)

    def memory(self) -> NDArray[np.generic]:
        """The result's flat elements."""
        spec = tensor_spec(self.problem, result_slot(self.problem))
        whole = np.empty(self.offset_bytes + spec.nbytes, np.uint8)
        self.device.download(self.buffers[spec.slot], whole)
        return whole[self.offset_bytes :].view(spec.element.numpy_type)

    def result(self) -> NDArray[np.float64]:
        return unpack(self.memory(), tensor_spec(self.problem, result_slot(self.problem)))

    def reference(self) -> NDArray[np.float64]:
        return compute_reference(self.problem, self.operands).values

    def assert_right(self) -> None:
        """The operands are small integers, so that every type holds the result exactly."""
        np.testing.assert_array_equal(self.result(), self.reference())


def _prepare(
    device: Device, problem: ConvProblem, *, offset_bytes: int = 0, solvers: Sequence[Solver] = naive.SOLVERS
) -> Prepared:
    """Make a solver's launch of a problem ready; tensors begin at an offset into their buffers."""
    solver = next(each for each in solvers if each.refusal(problem, device.info) is None)
    (plan,) = solver.solution(problem, device.info, solver.default_config(problem, device.info)).launches
    specs = {slot: tensor_spec(problem, slot) for slot in SLOTS}
    buffers = {slot: device.alloc(offset_bytes + spec.nbytes) for slot, spec in specs.items()}
    operands = make_operands(problem, seed=5, distribution=Distribution.INTEGERS)
    for slot, values in zip(operand_slots(problem), (operands.first, operands.second), strict=True):
        shifted = np.concatenate([np.zeros(offset_bytes, np.uint8), pack(values, specs[slot]).view(np.uint8)])
        device.upload(buffers[slot], shifted)
    args = tuple(
        arg if isinstance(arg, Scalar) else DevicePointer(buffers[arg.slot], offset_bytes + arg.offset_bytes)
        for arg in plan.args
    )
    prepared = Prepared(
        device=device,
        problem=problem,
        kernel=device.compile(plan.kernel),
        plan=plan,
        args=args,
        buffers=buffers,
        offset_bytes=offset_bytes,
        operands=operands,
    )
    prepared.poison()
    return prepared


@pytest.fixture(scope="session")
def small_problem() -> Callable[..., ConvProblem]:
    return _small_problem


@pytest.fixture(scope="session")
def prepare() -> Callable[..., Prepared]:
    return _prepare


@pytest.fixture
def closing() -> Iterator[Callable[[Device], Device]]:
    """Close devices when the test ends."""
    devices: list[Device] = []

    def remember(device: Device) -> Device:
        devices.append(device)
        return device

    yield remember
    for device in devices:
        device.close()


@pytest.fixture(scope="module", params=BACKENDS)
def backend_name(request: pytest.FixtureRequest) -> str:
    """Every back-end; those that are not available here are skipped with their reason."""
    return request.param


@pytest.fixture(scope="module")
def options(backend_name: str, tmp_path_factory: pytest.TempPathFactory) -> DeviceOptions:
    """Options for the back-end; the scripted one has no compiler, so its script knows which text is bad."""
    folder = tmp_path_factory.mktemp(backend_name)
    script = folder / "script.json"
    script.write_text(json.dumps({"rules": [{"kernel": "broken_*", "compile_error": "this_name_is_unknown"}]}))
    chosen = DeviceOptions(device=str(script) if backend_name == "scripted" else "", cache_dir=folder / "cache")
    if reason := load_backend(backend_name).probe(chosen):
        pytest.skip(f"{backend_name}: {reason}")
    return chosen


@pytest.fixture
def device(backend_name: str, options: DeviceOptions, closing: Callable[[Device], Device]) -> Device:
    """A device of the back-end; a file that tests one back-end alone has a fixture of its own in its place."""
    return closing(load_backend(backend_name).open_device(options))
