"""The contract of a device back-end, and the table of back-ends.

A back-end is a module of this package, imported at first use. Times are seconds, grids count work-groups, and every
failure is a typed error of `pytest_miopen_perf.errors` that names the kernel. `tests/devices/test_contract*.py` hold
every back-end to what stands here.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol, cast

from pytest_miopen_perf.errors import DeviceUnavailableError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import numpy as np
    from numpy.typing import NDArray

    from pytest_miopen_perf.launch import DeviceInfo, Dim3, KernelSource, Scalar


class Buffer(Protocol):
    """Device memory of a fixed size."""

    @property
    def nbytes(self) -> int:
        """Size in bytes."""

    def free(self) -> None:
        """Give the memory back; a second call does nothing."""


@dataclass(frozen=True, slots=True)
class DevicePointer:
    """A buffer argument at run time: the buffer and where in it the kernel's pointer points."""

    buffer: Buffer
    offset_bytes: int = 0


class Kernel(Protocol):
    """A compiled and loaded kernel."""

    @property
    def source(self) -> KernelSource:
        """What it was compiled from."""

    @property
    def compile_seconds(self) -> float:
        """What the compiler took; 0.0 when the binary came from the cache."""


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """One launch, bound to its kernel and its memory; one object may stand in a batch many times.

    Attributes:
        kernel: What runs.
        grid: Work-groups.
        block: Work-items of each.
        args: Arguments.
        shared_bytes: Dynamic shared memory.
    """

    kernel: Kernel
    grid: Dim3
    block: Dim3
    args: tuple[Scalar | DevicePointer, ...]
    shared_bytes: int = 0


class Ticket(Protocol):
    """A launch, or a batch of them, that has been submitted."""

    def seconds(self) -> float:
        """Wait for the end and return the device's own time, of a batch from its first start to its last end.

        The number is the device's word, as it came: zero, negative or not finite is for the caller to judge.

        Raises:
            LaunchError: the kernel did not come to its end.
        """


class Device(Protocol):
    """One opened device. Use from one thread, except `compile`, which any thread may call.

    A failed call leaves the device as usable as it was. After `close`, `info` still answers, freeing a buffer does
    nothing, and every other call raises a `DeviceError`; so does a buffer that was freed or belongs to another device.
    """

    @property
    def info(self) -> DeviceInfo:
        """What it is."""

    def compile(self, source: KernelSource) -> Kernel:
        """Compile, or load from the cache on disk.

        Raises:
            CompileError: the compiler refuses the text, with its log, or file or entry are missing; the message names
                what is missing, or the entry.
        """

    def alloc(self, nbytes: int) -> Buffer:
        """Allocate; contents are undefined.

        Raises:
            OutOfMemoryError: naming the bytes asked for.
        """

    def upload(self, buffer: Buffer, array: NDArray[np.generic]) -> None:
        """Copy a contiguous array to the start of the buffer, and leave the rest of the buffer.

        Raises:
            DeviceError: the array is larger than the buffer, or not contiguous.
        """

    def download(self, buffer: Buffer, array: NDArray[np.generic]) -> None:
        """Copy the start of the buffer into a contiguous array.

        Raises:
            DeviceError: the array is larger than the buffer, or not contiguous.
        """

    def fill(self, buffer: Buffer, byte: int) -> None:
        """Set every byte: 0xFF makes every float a NaN, so that an element nobody wrote shows."""

    def launch(
        self, kernel: Kernel, grid: Dim3, block: Dim3, args: Sequence[Scalar | DevicePointer], shared_bytes: int = 0
    ) -> Ticket:
        """Start one kernel.

        Raises:
            LaunchError: it did not start: the arguments are not as many as the kernel has parameters, a size is below
                1 or beyond the limits of `info`, a buffer was freed, the device is closed, or the driver refuses. The
                message names the kernel.
        """

    def launch_batch(self, calls: Sequence[Call]) -> Ticket:
        """Start launches in order, each right behind the one before, with one time for them all.

        Nothing of it is the host's: a GPU is kept busy until all are queued, and a time that it knows to be the host's
        is not finite; a CPU, whose interpreter is between any two, tells the sum of their times.

        Args:
            calls: At least one.

        Raises:
            LaunchError: as `launch`, of the first that does not start.
        """

    def launch_isolated(
        self,
        kernel: Kernel,
        grid: Dim3,
        block: Dim3,
        args: Sequence[Scalar | DevicePointer],
        shared_bytes: int = 0,
        *,
        limit_seconds: float,
    ) -> Ticket:
        """Start one kernel that nobody has seen end yet, as apart from this process as the device can keep it.

        A crash or a hang costs this launch alone. On the CPU its time says little, for it runs on one thread. No GPU
        runtime ends a kernel: there another process launches it first.

        Args:
            kernel: As for `launch`, and so on for what follows.
            grid: Work-groups.
            block: Work-items of each.
            args: Arguments.
            shared_bytes: Dynamic shared memory.
            limit_seconds: When a launch that hangs is given up.

        Raises:
            LaunchError: as `launch`.
        """

    def free_memory_bytes(self) -> int:
        """Memory that an allocation can still get."""

    def close(self) -> None:
        """Give everything back; a second call does nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceOptions:
    """What the user may choose about a device; a back-end ignores what it has no use for.

    Attributes:
        device: Which one: an ordinal, or the path of a script for the scripted device; "" is the first.
        cache_dir: Where compiled kernels are kept; None is the user's cache directory.
        compile_timeout_s: Seconds after which a compiler is stopped.
        work_item_order: CPU: the order in which the work-items of a block run between two barriers.
        guard: CPU: run each launch in a child process whose buffers end at an unmapped page.
    """

    device: str = ""
    cache_dir: Path | None = None
    compile_timeout_s: float = 120.0
    work_item_order: Literal["forward", "reverse", "strided"] = "forward"
    guard: bool = False


class Backend(Protocol):
    """What a module of `BACKENDS` offers."""

    def probe(self, options: DeviceOptions) -> str:
        """Why no device can be opened here, in words; "" when one can. Never raises.

        The reason turns tests into skips. It is a lack of the machine, or a device that does not exist; a mistake in
        a file that the options name is none, and `open_device` raises it.
        """

    def open_device(self, options: DeviceOptions) -> Device:
        """Open the device.

        Raises:
            DeviceUnavailableError: with the reason that `probe` gives.
            SettingsError: a file that the options name is wrong, which must never pass as a skip.
        """


BACKENDS: dict[str, str] = {
    "hip": "pytest_miopen_perf.devices.hip",
    "cuda": "pytest_miopen_perf.devices.cuda",
    "cpu": "pytest_miopen_perf.devices.cpu",
    "scripted": "pytest_miopen_perf.devices.scripted",
}
"""Name to module; "auto" tries them in this order, without the scripted one."""


def load_backend(name: str) -> Backend:
    """Import the module of a back-end.

    Raises:
        DeviceUnavailableError: no back-end has that name.
    """
    if name not in BACKENDS:
        raise DeviceUnavailableError(f"no back-end is called {name!r}; there are: {', '.join(BACKENDS)}")
    return cast("Backend", importlib.import_module(BACKENDS[name]))
