"""A solution on a device: its buffers, its compiled kernels, and one execution of them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from pytest_miopen_perf.checking.tensors import operand_slots, pack, result_slot, tensor_spec
from pytest_miopen_perf.devices import Call, DevicePointer
from pytest_miopen_perf.kernel_source.identity import compile_key
from pytest_miopen_perf.launch import Pointer, Slot
from pytest_miopen_perf.measuring.buffer_sets import BufferSets, stride_of
from pytest_miopen_perf.measuring.cache_state import WARM

if TYPE_CHECKING:
    from types import TracebackType

    from numpy.typing import NDArray
    from typing_extensions import Self

    from pytest_miopen_perf.checking.reference import Operands
    from pytest_miopen_perf.devices import Buffer, Device, Kernel
    from pytest_miopen_perf.launch import Argument, KernelSource, Launch, Scalar
    from pytest_miopen_perf.measuring.cache_state import CachePlan
    from pytest_miopen_perf.measuring.measure import Execution
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.solvers import Solution

_NAN_BYTE = 0xFF
_FLUSH_BYTE = 0


class ConvBuffers:
    """Device memory of one canonical problem: operands uploaded, result and workspace allocated. A context manager.

    Executions take turns on its sets where caches rotate. The first set is the one that is checked: `poison` makes it
    the next one, and `download_result` reads it.

    Args:
        device: Where it lies.
        problem: The canonical problem.
        operands: Its data.
        workspace_bytes: Of the workspace; 0 is none.
        caches: How many sets, and what is filled before each execution.
    """

    def __init__(
        self,
        device: Device,
        problem: ConvProblem,
        operands: Operands,
        workspace_bytes: int,
        caches: CachePlan = WARM,
    ) -> None:
        self._device = device
        self._problem = problem
        self._operands = operands
        self._result = tensor_spec(problem, result_slot(problem))
        self.caches = caches
        self._turn = 0
        self._buffers: dict[Slot, Buffer] = {}
        self._further: BufferSets | None = None
        self._flush: Buffer | None = None
        sizes = _slot_bytes(problem, workspace_bytes)
        try:
            for slot, nbytes in sizes.items():
                self._buffers[slot] = device.alloc(nbytes)
            self._further = BufferSets(device, sizes, caches.sets - 1)
            if caches.flush_bytes:
                self._flush = device.alloc(caches.flush_bytes)
            self.restore()
        except BaseException:
            self.free()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.free()

    def bind(self, argument: Argument, number: int = 0) -> Scalar | DevicePointer:
        """The run-time form of a launch's argument, in a set."""
        if not isinstance(argument, Pointer):
            return argument
        if number and self._further is not None:
            return self._further.pointer(argument.slot, number, argument.offset_bytes)
        return DevicePointer(self._buffers[argument.slot], argument.offset_bytes)

    def next_set(self) -> int:
        """The set whose turn it is, with the caches in their state."""
        if self._flush is not None:
            self._device.fill(self._flush, _FLUSH_BYTE)
        number, self._turn = self._turn, (self._turn + 1) % self.caches.sets
        return number

    def poison(self) -> None:
        """Fill result and workspace of the first set, so that what nobody wrote shows in the check; it is next."""
        self._turn = 0
        self._device.fill(self._buffers[self._result.slot], self._result.element.poison_byte)
        if Slot.WORKSPACE in self._buffers:
            self._device.fill(self._buffers[Slot.WORKSPACE], _NAN_BYTE)

    def restore(self) -> None:
        """Upload the operands again: a kernel that failed may have written anywhere."""
        for slot, values in zip(
            operand_slots(self._problem), (self._operands.first, self._operands.second), strict=True
        ):
            packed = pack(values, tensor_spec(self._problem, slot))
            self._device.upload(self._buffers[slot], packed)
            if self._further is not None:
                self._further.upload(slot, packed)

    def download_result(self) -> NDArray[np.generic]:
        """The flat result tensor of the first set as it lies in memory."""
        memory = np.empty(self._result.elements, self._result.element.numpy_type)
        self._device.download(self._buffers[self._result.slot], memory)
        return memory

    def free(self) -> None:
        """Give the memory back; a second call does nothing."""
        while self._buffers:
            self._buffers.popitem()[1].free()
        if self._further is not None:
            self._further.free()
        if self._flush is not None:
            self._flush.free()


def set_bytes(problem: ConvProblem, workspace_bytes: int) -> int:
    """What one set of buffers of a canonical problem takes, with what lies between it and the next one."""
    return sum(map(stride_of, _slot_bytes(problem, workspace_bytes).values()))


def _slot_bytes(problem: ConvProblem, workspace_bytes: int) -> dict[Slot, int]:
    slots = (*operand_slots(problem), result_slot(problem))
    sizes = {slot: tensor_spec(problem, slot).nbytes for slot in slots}
    return sizes | ({Slot.WORKSPACE: workspace_bytes} if workspace_bytes else {})


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A solution whose kernels are loaded: ready to execute again and again.

    Attributes:
        device: Where it runs.
        solution: What runs.
        kernels: One a launch.
        buffers: What it runs on.
        bound: The launches of each set of buffers that has had its turn.
    """

    device: Device
    solution: Solution
    kernels: tuple[Kernel, ...]
    buffers: ConvBuffers
    bound: dict[int, tuple[Call, ...]] = field(default_factory=dict)

    @property
    def compile_seconds(self) -> float:
        """What the compiler took for all kernels; 0 when every binary came from the cache."""
        return sum(kernel.compile_seconds for kernel in self.kernels)

    @property
    def compile_key(self) -> str:
        """Identifies text, macros, options and compiler of all kernels."""
        return compile_key(_sources(self.solution.launches), self.device.info.compiler)

    def execute(self) -> Execution:
        """Launch every kernel in order, wait, and return the device's time of each.

        Raises:
            LaunchError: a kernel did not start or did not come to its end.
        """
        tickets = [
            self.device.launch(call.kernel, call.grid, call.block, call.args, call.shared_bytes)
            for call in self.next_calls()
        ]
        return tuple(ticket.seconds() for ticket in tickets)

    def execute_batch(self, length: int, and_then: tuple[Call, ...] = ()) -> float:
        """Execute several times with nothing in between, and return the device's time of one of them.

        Args:
            length: How many times.
            and_then: Launches that follow each execution as if they were part of it.

        Raises:
            LaunchError: a kernel did not start or did not come to its end.
        """
        calls = [call for _ in range(length) for call in (*self.next_calls(), *and_then)]
        return self.device.launch_batch(calls).seconds() / length

    def execute_isolated(self, limit_seconds: float) -> Execution:
        """Execute kernels that nobody has seen end yet: first, or only, in another process and for a limited time.

        Raises:
            LaunchError: as `execute`; also a crash or a hang.
        """
        return tuple(
            self.device.launch_isolated(
                call.kernel, call.grid, call.block, call.args, call.shared_bytes, limit_seconds=limit_seconds
            ).seconds()
            for call in self.next_calls()
        )

    def next_calls(self) -> tuple[Call, ...]:
        """The launches on the set of buffers whose turn it is, kernel by kernel."""
        number = self.buffers.next_set()
        if number not in self.bound:
            self.bound[number] = tuple(
                Call(
                    kernel,
                    launch.grid,
                    launch.block,
                    tuple(self.buffers.bind(argument, number) for argument in launch.args),
                    launch.shared_bytes,
                )
                for kernel, launch in zip(self.kernels, self.solution.launches, strict=True)
            )
        return self.bound[number]


def prepare(device: Device, solution: Solution, buffers: ConvBuffers) -> Prepared:
    """Compile what the solution needs, each kernel once.

    Raises:
        CompileError: with the compiler's log.
    """
    compiled = {source: device.compile(source) for source in dict.fromkeys(_sources(solution.launches))}
    kernels = tuple(compiled[source] for source in _sources(solution.launches))
    return Prepared(device=device, solution=solution, kernels=kernels, buffers=buffers)


def _sources(launches: tuple[Launch, ...]) -> list[KernelSource]:
    return [launch.kernel for launch in launches]
