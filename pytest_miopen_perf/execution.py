"""A solution on a device: its buffers, its compiled kernels, and one execution of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pytest_miopen_perf.devices import DevicePointer
from pytest_miopen_perf.kernel_identity import compile_key
from pytest_miopen_perf.launch import Pointer, Slot
from pytest_miopen_perf.tensors import operand_slots, pack, result_slot, tensor_spec

if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import TracebackType

    from numpy.typing import NDArray
    from typing_extensions import Self

    from pytest_miopen_perf.devices import Buffer, Device, Kernel
    from pytest_miopen_perf.launch import Argument, Dim3, KernelSource, Launch, Scalar
    from pytest_miopen_perf.measure import Execution
    from pytest_miopen_perf.problem import ConvProblem
    from pytest_miopen_perf.reference import Operands
    from pytest_miopen_perf.solvers import Solution

_NAN_BYTE = 0xFF


class ConvBuffers:
    """Device memory of one canonical problem: operands uploaded, result and workspace allocated. A context manager."""

    def __init__(self, device: Device, problem: ConvProblem, operands: Operands, workspace_bytes: int) -> None:
        self._device = device
        self._problem = problem
        self._operands = operands
        self._result = tensor_spec(problem, result_slot(problem))
        self._buffers: dict[Slot, Buffer] = {}
        try:
            for slot in operand_slots(problem):
                self._buffers[slot] = device.alloc(tensor_spec(problem, slot).nbytes)
            self.restore()
            self._buffers[self._result.slot] = device.alloc(self._result.nbytes)
            if workspace_bytes:
                self._buffers[Slot.WORKSPACE] = device.alloc(workspace_bytes)
        except BaseException:
            self.free()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.free()

    def bind(self, argument: Argument) -> Scalar | DevicePointer:
        """The run-time form of a launch's argument."""
        if isinstance(argument, Pointer):
            return DevicePointer(self._buffers[argument.slot], argument.offset_bytes)
        return argument

    def poison(self) -> None:
        """Fill result and workspace so that what nobody wrote shows in the check."""
        self._device.fill(self._buffers[self._result.slot], self._result.element.poison_byte)
        if Slot.WORKSPACE in self._buffers:
            self._device.fill(self._buffers[Slot.WORKSPACE], _NAN_BYTE)

    def restore(self) -> None:
        """Upload the operands again: a kernel that failed may have written anywhere."""
        for slot, values in zip(
            operand_slots(self._problem), (self._operands.first, self._operands.second), strict=True
        ):
            self._device.upload(self._buffers[slot], pack(values, tensor_spec(self._problem, slot)))

    def download_result(self) -> NDArray[np.generic]:
        """The flat result tensor as it lies in memory."""
        memory = np.empty(self._result.elements, self._result.element.numpy_type)
        self._device.download(self._buffers[self._result.slot], memory)
        return memory

    def free(self) -> None:
        """Give the memory back; a second call does nothing."""
        while self._buffers:
            self._buffers.popitem()[1].free()


@dataclass(frozen=True, slots=True, kw_only=True)
class Prepared:
    """A solution whose kernels are loaded and whose arguments are bound: ready to execute again and again."""

    device: Device
    solution: Solution
    kernels: tuple[Kernel, ...]
    arguments: tuple[tuple[Scalar | DevicePointer, ...], ...]

    @property
    def compile_key(self) -> str:
        """Identifies text, macros, options and compiler of all kernels."""
        return compile_key(_sources(self.solution.launches), self.device.info.compiler)

    def execute(self) -> Execution:
        """Launch every kernel in order, wait, and return the device's time of each.

        Raises:
            LaunchError: a kernel did not start or did not come to its end.
        """
        tickets = [self.device.launch(*call) for call in self._calls()]
        return tuple(ticket.seconds() for ticket in tickets)

    def execute_isolated(self, limit_seconds: float) -> Execution:
        """Execute kernels that nobody has seen end yet: on the CPU in child processes, each for a limited time.

        Raises:
            LaunchError: as `execute`; on the CPU also a crash or a hang.
        """
        return tuple(
            self.device.launch_isolated(*call, limit_seconds=limit_seconds).seconds() for call in self._calls()
        )

    def _calls(self) -> Iterator[tuple[Kernel, Dim3, Dim3, tuple[Scalar | DevicePointer, ...], int]]:
        """The arguments of `Device.launch`, kernel by kernel."""
        for kernel, launch, arguments in zip(self.kernels, self.solution.launches, self.arguments, strict=True):
            yield kernel, launch.grid, launch.block, arguments, launch.shared_bytes


def prepare(device: Device, solution: Solution, buffers: ConvBuffers) -> Prepared:
    """Compile what the solution needs, each kernel once, and bind its arguments.

    Raises:
        CompileError: with the compiler's log.
    """
    compiled = {source: device.compile(source) for source in dict.fromkeys(_sources(solution.launches))}
    return Prepared(
        device=device,
        solution=solution,
        kernels=tuple(compiled[source] for source in _sources(solution.launches)),
        arguments=tuple(tuple(buffers.bind(argument) for argument in launch.args) for launch in solution.launches),
    )


def _sources(launches: tuple[Launch, ...]) -> list[KernelSource]:
    return [launch.kernel for launch in launches]
