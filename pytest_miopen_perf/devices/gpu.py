"""What all GPUs behind a driver have in common: buffers, cached binaries, event-timed launches, everything closed.

A back-end gives a `GpuDriver`, a thin layer over its runtime that turns statuses into typed errors; the life of
buffers, modules and events is here, once.
"""

from __future__ import annotations

import math
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.devices import Call, DevicePointer
from pytest_miopen_perf.devices.compile_cache import CompileCache, default_cache_dir
from pytest_miopen_perf.devices.head_start import HeadStart
from pytest_miopen_perf.devices.probe_kernels import DELAY
from pytest_miopen_perf.devices.signature import Parameter, mismatch, read_signature
from pytest_miopen_perf.devices.understudy import Memory, Rehearsal, Understudy
from pytest_miopen_perf.errors import CompileError, DeviceError, LaunchError, OutOfMemoryError
from pytest_miopen_perf.kernel_source.files import include_dirs, kernel_path
from pytest_miopen_perf.kernel_source.identity import identity_of
from pytest_miopen_perf.kernel_source.text import digest_of
from pytest_miopen_perf.launch import Scalar

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pytest_miopen_perf.devices import Buffer, DeviceOptions, Kernel
    from pytest_miopen_perf.devices.gpu_driver import GpuDriver
    from pytest_miopen_perf.launch import DeviceInfo, Dim3, KernelSource

_ONE = (1, 1, 1)


class GpuBuffer:
    """Device memory of a fixed size."""

    def __init__(self, driver: GpuDriver, nbytes: int) -> None:
        self._driver = driver
        self._nbytes = nbytes
        self._memory = driver.malloc(max(nbytes, 1))

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self._nbytes

    @property
    def memory(self) -> Any:
        """The runtime's handle.

        Raises:
            DeviceError: it has been freed.
        """
        if self._memory is None:
            raise DeviceError(f"a buffer of {self._nbytes} bytes is used after it was freed")
        return self._memory

    def free(self) -> None:
        """Give the memory back; a second call does nothing."""
        if self._memory is not None:
            memory, self._memory = self._memory, None
            self._driver.free(memory)


@dataclass(frozen=True, slots=True, eq=False)
class GpuKernel:
    """A kernel in a loaded module."""

    source: KernelSource
    compile_seconds: float
    module: Any
    function: Any
    parameters: tuple[Parameter, ...]

    @property
    def name(self) -> str:
        """For messages."""
        return f"{self.source.entry} of {self.source.file}"


class GpuTicket:
    """Launches between two events, which go back to their device once the time is told.

    Args:
        device: Where they run.
        name: Of the kernel, for messages.
        events: Around them.
        host_seconds: What the host took to queue them, where the device may have waited for it; else 0.
    """

    def __init__(self, device: GpuDevice, name: str, events: tuple[Any, Any], host_seconds: float = 0.0) -> None:
        self._device = device
        self._name = name
        self._events: tuple[Any, Any] | None = events
        self._host_seconds = host_seconds
        self._seconds = math.nan

    def seconds(self) -> float:
        """Wait for the end and return the time between the events, as the device tells it.

        Raises:
            LaunchError: the kernel did not come to its end.
        """
        if self._events is not None:
            events, self._events = self._events, None
            seconds = self._device.collect(self._name, events)
            # Kernels that take twice as long as it takes to queue them never wait for the host.
            is_of_the_host = self._host_seconds > 0 and seconds < 2 * self._host_seconds
            self._seconds = math.nan if is_of_the_host else seconds
        return self._seconds


class GpuDevice:
    """A device behind a driver."""

    def __init__(self, driver: GpuDriver, options: DeviceOptions) -> None:
        self._driver = driver
        self._info = driver.info
        self._cache = CompileCache(options.cache_dir or default_cache_dir(self._info.backend))
        self._toolchain = digest_of([self._info.compiler, driver.target])
        self._kernels: dict[str, GpuKernel] = {}
        self._buffers: list[GpuBuffer] = []
        self._events: list[Any] = []
        self._idle_events: list[Any] = []
        self._lock = threading.Lock()
        self._head_start = HeadStart(self._delay_seconds)
        self._delay: GpuKernel | None = None
        self._understudy = Understudy(self._info.backend, options)
        self._is_open = True

    @property
    def info(self) -> DeviceInfo:
        """What it is."""
        return self._info

    def compile(self, source: KernelSource) -> GpuKernel:
        """Compile, or load from the cache on disk, what is not loaded yet; any thread may call.

        Raises:
            CompileError: with the compiler's log.
        """
        self._require_open()
        key = digest_of([self._toolchain, *identity_of(source)])
        if (loaded := self._kernels.get(key)) is not None:
            return replace(loaded, source=source, compile_seconds=0.0)
        binary = self._cache.get(key)
        seconds = 0.0
        if binary is None:
            start = time.perf_counter()
            binary = self._driver.compile(source)
            seconds = time.perf_counter() - start
            self._cache.put(key, binary)
        parameters = read_signature(kernel_path(source.file), source)
        if parameters is None:
            raise CompileError(f"{source.file} defines no kernel called {source.entry}")
        with self._lock:
            if key not in self._kernels:
                with _failing(f"{source.entry} of {source.file} could not be loaded on {self._info.name}"):
                    module, function = self._driver.load(binary, source.entry)
                self._kernels[key] = GpuKernel(source, seconds, module, function, parameters)
            return replace(self._kernels[key], source=source, compile_seconds=seconds)

    def alloc(self, nbytes: int) -> GpuBuffer:
        """Allocate; contents are undefined.

        Raises:
            OutOfMemoryError: naming the bytes asked for.
        """
        self._require_open()
        if nbytes < 0:
            raise DeviceError(f"cannot allocate {nbytes} bytes")
        if nbytes > self._info.memory_bytes:
            raise OutOfMemoryError(
                f"cannot allocate {nbytes} bytes on {self._info.name}, which has {self._info.memory_bytes}"
            )
        buffer = GpuBuffer(self._driver, nbytes)
        self._buffers.append(buffer)
        return buffer

    def upload(self, buffer: Buffer, array: NDArray[np.generic]) -> None:
        """Copy a contiguous array to the start of the buffer."""
        memory = self._memory_for(buffer, array)
        with _failing(f"{array.nbytes} bytes could not be copied to {self._info.name}"):
            self._driver.copy_in(memory, array)

    def download(self, buffer: Buffer, array: NDArray[np.generic]) -> None:
        """Copy the start of the buffer into a contiguous array."""
        memory = self._memory_for(buffer, array)
        with _failing(f"{array.nbytes} bytes could not be copied from {self._info.name}"):
            self._driver.copy_out(array, memory)

    def fill(self, buffer: Buffer, byte: int) -> None:
        """Set every byte."""
        memory = self._own(buffer).memory
        with _failing(f"{buffer.nbytes} bytes could not be filled on {self._info.name}"):
            self._driver.fill(memory, byte, buffer.nbytes)

    def launch(
        self, kernel: Kernel, grid: Dim3, block: Dim3, args: Sequence[Scalar | DevicePointer], shared_bytes: int = 0
    ) -> GpuTicket:
        """Start one kernel between two events.

        Raises:
            LaunchError: it did not start; the message names the kernel.
        """
        name, packed = self._ready(Call(kernel, grid, block, tuple(args), shared_bytes))
        events = self._event_pair(name)
        self._launch_between(name, events, (packed,))
        return GpuTicket(self, name, events)

    def launch_batch(self, calls: Sequence[Call]) -> GpuTicket:
        """Start launches between two events, behind a delay that lasts until the host has queued them all.

        Where it did not last, the ticket's time is not a number unless the kernels were the longer part all the same.

        Raises:
            LaunchError: as `launch`.
        """
        ready = {call: self._ready(call) for call in dict.fromkeys(calls)}
        names = dict.fromkeys(name for name, _ in ready.values())
        name, packed = ", ".join(names), [ready[call][1] for call in calls]
        granted = self._head_start.seconds_for(len(packed))
        _, delay = self._ready(self._delay_call(self._head_start.turns_for(granted)))
        events = self._event_pair(name)
        took = self._launch_between(name, events, packed, delay)
        self._head_start.learn(len(packed), took)
        return GpuTicket(self, name, events, took if took > granted else 0.0)

    def collect(self, name: str, events: tuple[Any, Any]) -> float:
        """The seconds between two events; the events may be used again."""
        try:
            return self._driver.elapsed_seconds(*events)
        except LaunchError as error:
            raise LaunchError(f"{name} did not come to its end: {error}") from error
        finally:
            self._idle_events += events

    def _ready(self, call: Call) -> tuple[str, Any]:
        """The kernel's name, and the launch as the driver takes it, once nothing speaks against it."""
        kernel = call.kernel
        assert isinstance(kernel, GpuKernel), "a kernel of this device"
        self._check_shape(kernel, call.grid, call.block)
        # A driver takes what it is given: too few arguments would be read from beyond their array.
        if complaint := mismatch(kernel.parameters, call.args):
            raise LaunchError(f"{kernel.name}: {complaint}")
        try:
            self._require_open()
            arguments = [self._packed(argument) for argument in call.args]
            return kernel.name, self._driver.pack(kernel.function, call.grid, call.block, arguments, call.shared_bytes)
        except DeviceError as error:
            raise LaunchError(f"{kernel.name}: {error}") from error

    def _launch_between(
        self, name: str, events: tuple[Any, Any], packed: Sequence[Any], delay: Any | None = None
    ) -> float:
        """Start launches; the host's seconds for them, the delay in front left out."""
        try:
            if delay is not None:
                self._driver.launch(delay)
            start = time.perf_counter()
            self._driver.launch_between(events, packed)
            return time.perf_counter() - start
        except LaunchError as error:
            self._idle_events += events
            raise LaunchError(f"{name} did not start: {error}") from error

    def _delay_call(self, turns: int) -> Call:
        if self._delay is None:
            try:
                self._delay = self.compile(DELAY)
            except CompileError as error:
                raise LaunchError(f"the delay in front of a batch does not compile: {error}") from error
        return Call(self._delay, _ONE, _ONE, (Scalar("iterations", "i64", turns),))

    def _delay_seconds(self, turns: int) -> float:
        call = self._delay_call(turns)
        return self.launch(call.kernel, call.grid, call.block, call.args).seconds()

    def launch_isolated(
        self,
        kernel: Kernel,
        grid: Dim3,
        block: Dim3,
        args: Sequence[Scalar | DevicePointer],
        shared_bytes: int = 0,
        *,
        limit_seconds: float,
    ) -> GpuTicket:
        """Start one kernel here once it has come to its end in a process of its own.

        Raises:
            LaunchError: as `launch`; also a crash, and the limit.
        """
        assert isinstance(kernel, GpuKernel), "a kernel of this device"
        self._ready(Call(kernel, grid, block, tuple(args), shared_bytes))
        places = (
            Memory(arg.buffer.nbytes, arg.offset_bytes) if isinstance(arg, DevicePointer) else arg for arg in args
        )
        self._understudy.rehearse(
            Rehearsal(source=kernel.source, grid=grid, block=block, args=tuple(places), shared_bytes=shared_bytes),
            limit_seconds,
        )
        return self.launch(kernel, grid, block, args, shared_bytes)

    def free_memory_bytes(self) -> int:
        """Memory that an allocation can still get."""
        self._require_open()
        with _failing(f"{self._info.name} does not tell how much memory is free"):
            return self._driver.free_memory_bytes()

    def close(self) -> None:
        """Give everything back; a second call does nothing."""
        if not self._is_open:
            return
        self._is_open = False
        self._understudy.close()
        for buffer in self._buffers:
            buffer.free()
        for event in self._events:
            self._driver.destroy_event(event)
        for kernel in self._kernels.values():
            self._driver.unload(kernel.module)
        self._cache.close()
        self._driver.close()

    def _require_open(self) -> None:
        if not self._is_open:
            raise DeviceError(f"{self._info.name} is used after it was closed")

    def _own(self, buffer: Buffer) -> GpuBuffer:
        self._require_open()
        assert isinstance(buffer, GpuBuffer), "a buffer of this device"
        return buffer

    def _memory_for(self, buffer: Buffer, array: NDArray[np.generic]) -> Any:
        if array.nbytes > buffer.nbytes:
            raise DeviceError(f"{array.nbytes} bytes do not fit a buffer of {buffer.nbytes} bytes")
        if not array.flags.c_contiguous:
            raise DeviceError("only contiguous arrays are copied; use numpy.ascontiguousarray")
        return self._own(buffer).memory

    def _packed(self, argument: Scalar | DevicePointer) -> Scalar | tuple[Any, int]:
        if isinstance(argument, DevicePointer):
            return self._own(argument.buffer).memory, argument.offset_bytes
        return argument

    def _check_shape(self, kernel: GpuKernel, grid: Dim3, block: Dim3) -> None:
        work_items = math.prod(block)
        if min(*grid, *block) < 1 or work_items > self._info.max_block:
            raise LaunchError(
                f"{kernel.name}: a block of {block} on a grid of {grid} is not possible; "
                f"a block has 1 to {self._info.max_block} work-items"
            )
        if any(size > most for size, most in zip(grid, self._info.max_grid, strict=True)):
            raise LaunchError(f"{kernel.name}: the grid {grid} is beyond the device's {self._info.max_grid}")

    def _event_pair(self, name: str) -> tuple[Any, Any]:
        try:
            return self._event(), self._event()
        except DeviceError as error:
            raise LaunchError(f"{name}: {error}") from error

    def _event(self) -> Any:
        if not self._idle_events:
            event = self._driver.make_event()
            self._events.append(event)
            return event
        return self._idle_events.pop()


@contextmanager
def _failing(what: str) -> Iterator[None]:
    """Say what failed, and on which device, in front of the runtime's words.

    Raises:
        DeviceError: in place of one; that a kernel does not compile says so by itself.
    """
    try:
        yield
    except CompileError:
        raise
    except DeviceError as error:
        raise DeviceError(f"{what}: {error}") from error


def named_headers(source: KernelSource) -> dict[str, str]:
    """The headers of `kernels/include` by name, for compilers that are given headers as text."""
    folders = include_dirs(kernel_path(source.file))
    return {path.name: path.read_text() for folder in folders for path in sorted(folder.glob("*.h"))}
