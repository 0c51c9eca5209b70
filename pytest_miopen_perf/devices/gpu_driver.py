"""What a vendor's runtime has to offer to be a GPU of this project."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pytest_miopen_perf.launch import DeviceInfo, Dim3, KernelSource, Scalar


class GpuDriver(Protocol):
    """A runtime of one vendor on one device; handles are whatever the runtime gives out.

    Every method makes its device current first, so that any thread may call it.
    """

    @property
    def info(self) -> DeviceInfo:
        """What the device is."""

    @property
    def target(self) -> str:
        """What the compiler is told to build for: the architecture, with every feature that decides a binary."""

    def compile(self, source: KernelSource) -> bytes:
        """The binary for this device.

        Raises:
            CompileError: with the compiler's log.
        """

    def load(self, binary: bytes, entry: str) -> tuple[Any, Any]:
        """The module, and in it the kernel."""

    def unload(self, module: Any) -> None:
        """Give a module back."""

    def malloc(self, nbytes: int) -> Any:
        """Device memory.

        Raises:
            OutOfMemoryError: naming the bytes asked for.
        """

    def free(self, memory: Any) -> None:
        """Give memory back."""

    def copy_in(self, memory: Any, array: NDArray[np.generic]) -> None:
        """Host to device, complete on return."""

    def copy_out(self, array: NDArray[np.generic], memory: Any) -> None:
        """Device to host, behind everything launched before."""

    def fill(self, memory: Any, byte: int, nbytes: int) -> None:
        """Set bytes."""

    def free_memory_bytes(self) -> int:
        """What an allocation can still get."""

    def pack(
        self, function: Any, grid: Dim3, block: Dim3, args: Sequence[Scalar | tuple[Any, int]], shared_bytes: int
    ) -> Any:
        """A launch as the runtime takes it; a pointer argument is memory and an offset in bytes.

        Raises:
            LaunchError: an argument does not fit its type.
        """

    def launch(self, packed: Any) -> None:
        """Start a kernel.

        Raises:
            LaunchError: it did not start; the message is the runtime's own.
        """

    def launch_between(self, events: tuple[Any, Any], packed: Sequence[Any]) -> None:
        """Start kernels between two events, with as little host time between them as can be.

        Raises:
            LaunchError: one did not start; the message is the runtime's own.
        """

    def make_event(self) -> Any:
        """An event that keeps time."""

    def elapsed_seconds(self, start: Any, end: Any) -> float:
        """Wait for `end` and tell the time between two events.

        Raises:
            LaunchError: the work between them did not come to its end.
        """

    def destroy_event(self, event: Any) -> None:
        """Give an event back."""

    def close(self) -> None:
        """Give the device back."""
