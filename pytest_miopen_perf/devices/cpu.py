"""The CPU as a device: plain HIP text, compiled for this machine and run on its cores.

It is the reference device of the harness: it needs no GPU, and it finds what a GPU hides. Work-items run in an order of
the user's choice, so that a missing barrier gives a wrong result; a barrier that some work-items do not reach is an
error; guarded buffers turn a stray access into an error that names the argument.

Work-items do not run in lock step, so `DeviceInfo.wavefront` is 1; the wave intrinsics work on waves of 64, as on a
CDNA GPU.
"""

from __future__ import annotations

import math
import os
import platform
import sys
import threading
import time
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pytest_miopen_perf.devices import DevicePointer
from pytest_miopen_perf.devices.compile_cache import CompileCache, default_cache_dir
from pytest_miopen_perf.devices.host_cache import host_cache_bytes
from pytest_miopen_perf.devices.host_compiler import (
    HostCompiler,
    compile_unit,
    compiler_flags_text,
    compiler_version,
    find_host_compiler,
    suited_to,
)
from pytest_miopen_perf.devices.host_guard import GuardedExecution
from pytest_miopen_perf.devices.host_kernel import HostKernel, load_kernel, make_launch
from pytest_miopen_perf.devices.host_memory import HostBuffer
from pytest_miopen_perf.devices.host_source import HostUnit, host_unit
from pytest_miopen_perf.devices.host_threads import ThreadTeam
from pytest_miopen_perf.errors import DeviceError, DeviceUnavailableError, LaunchError, OutOfMemoryError
from pytest_miopen_perf.kernel_source.text import digest_of
from pytest_miopen_perf.launch import DeviceInfo

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from pytest_miopen_perf.devices import Buffer, Call, DeviceOptions, Kernel
    from pytest_miopen_perf.devices.host_kernel import HostLaunch
    from pytest_miopen_perf.launch import Dim3, KernelSource, Scalar

_LDS_BYTES = 65536


def probe(options: DeviceOptions) -> str:
    """Why the CPU cannot be a device here, in words; "" when it can. Starts no process."""
    try:
        _requirements(options)
    except DeviceUnavailableError as error:
        return str(error)
    return ""


def open_device(options: DeviceOptions) -> CpuDevice:
    """Open the CPU.

    Raises:
        DeviceUnavailableError: with the reason that `probe` gives.
    """
    compiler = _requirements(options)
    version = compiler_version(compiler)
    return CpuDevice(options, suited_to(compiler, version), version)


def _requirements(options: DeviceOptions) -> HostCompiler:
    if sys.platform != "linux":
        raise DeviceUnavailableError(f"the CPU device needs Linux; this is {sys.platform}")
    if platform.machine() != "x86_64":
        raise DeviceUnavailableError(
            f"the CPU device needs an x86-64 processor: its context switch is not written for {platform.machine()}"
        )
    if options.device not in {"", "0"}:
        raise DeviceUnavailableError(f"there is one CPU device, 0; {options.device!r} was asked for")
    return find_host_compiler()


@dataclass(frozen=True, slots=True)
class CpuTicket:
    """A launch that has already come to its end."""

    elapsed_seconds: float

    def seconds(self) -> float:
        """Wall time from the first block's start to the last one's end."""
        return self.elapsed_seconds


class CpuDevice:
    """The usable cores of this machine as one device."""

    def __init__(
        self, options: DeviceOptions, compiler: HostCompiler, version: str, guard_limit_s: float = 60.0
    ) -> None:
        self._options = options
        self._compiler = compiler
        self._info = _cpu_info(version)
        self._toolchain = digest_of([version, compiler_flags_text(compiler), _cpu_identity()])
        self._cache = CompileCache(options.cache_dir or default_cache_dir("cpu"))
        self._isolation = GuardedExecution(guard_limit_s)
        self._execution = self._isolation if options.guard else ThreadTeam(self._info.compute_units)
        self._compiling = _KeyedLocks()
        self._buffers: weakref.WeakSet[HostBuffer] = weakref.WeakSet()
        self._is_open = True

    @property
    def info(self) -> DeviceInfo:
        """What it is."""
        return self._info

    def compile(self, source: KernelSource) -> HostKernel:
        """Compile, or load from the cache on disk; any thread may call.

        Raises:
            CompileError: with the compiler's log.
        """
        self._check_open()
        unit = host_unit(source)
        key = digest_of([self._toolchain, unit.digest])
        with self._compiling.of(key):
            binary, seconds = self._binary(key, unit, f"{source.entry} of {source.file}")
        return load_kernel(binary, source, seconds)

    def _binary(self, key: str, unit: HostUnit, name: str) -> tuple[bytes, float]:
        if (cached := self._cache.get(key)) is not None:
            return cached, 0.0
        start = time.perf_counter()
        binary = compile_unit(self._compiler, unit, name, self._options.compile_timeout_s)
        seconds = time.perf_counter() - start
        self._cache.put(key, binary)
        return binary, seconds

    def alloc(self, nbytes: int) -> HostBuffer:
        """Allocate; contents are undefined.

        Raises:
            OutOfMemoryError: naming the bytes asked for and the bytes available.
        """
        available = self.free_memory_bytes()
        if nbytes < 0:
            raise DeviceError(f"cannot allocate {nbytes} bytes")
        if nbytes > available:
            raise OutOfMemoryError(f"cannot allocate {nbytes} bytes on the CPU: {available} bytes are available")
        buffer = self._execution.alloc(nbytes)
        self._buffers.add(buffer)
        return buffer

    def upload(self, buffer: Buffer, array: NDArray[np.generic]) -> None:
        """Copy a contiguous array to the start of the buffer."""
        source = _flat_bytes(array)
        self._bytes_of(buffer, source.nbytes)[:] = source

    def download(self, buffer: Buffer, array: NDArray[np.generic]) -> None:
        """Copy the start of the buffer into a contiguous array."""
        target = _flat_bytes(array)
        target[:] = self._bytes_of(buffer, target.nbytes)

    def fill(self, buffer: Buffer, byte: int) -> None:
        """Set every byte."""
        self._bytes_of(buffer, buffer.nbytes).fill(byte)

    def launch(
        self, kernel: Kernel, grid: Dim3, block: Dim3, args: Sequence[Scalar | DevicePointer], shared_bytes: int = 0
    ) -> CpuTicket:
        """Run one kernel to its end.

        Raises:
            LaunchError: sizes or arguments do not fit the kernel, or work-items left others waiting at a barrier.
        """
        return CpuTicket(self._execution.run(self._checked_launch(kernel, grid, block, args, shared_bytes)))

    def launch_batch(self, calls: Sequence[Call]) -> CpuTicket:
        """Run launches to their ends, one after another; what lies between them is Python's, and not in the time.

        Raises:
            LaunchError: as `launch`.
        """
        launches = [
            self._checked_launch(call.kernel, call.grid, call.block, call.args, call.shared_bytes) for call in calls
        ]
        return CpuTicket(math.fsum(map(self._execution.run, launches)))

    def launch_isolated(
        self,
        kernel: Kernel,
        grid: Dim3,
        block: Dim3,
        args: Sequence[Scalar | DevicePointer],
        shared_bytes: int = 0,
        *,
        limit_seconds: float,
    ) -> CpuTicket:
        """Run one kernel to its end in a forked child on one thread, which shares the buffers.

        Raises:
            LaunchError: as `launch`; also a stray access outside this process's memory, and the limit.
        """
        launch = self._checked_launch(kernel, grid, block, args, shared_bytes)
        return CpuTicket(self._isolation.run(launch, limit_seconds))

    def _checked_launch(
        self, kernel: Kernel, grid: Dim3, block: Dim3, args: Sequence[Scalar | DevicePointer], shared_bytes: int
    ) -> HostLaunch:
        if not isinstance(kernel, HostKernel):
            raise LaunchError(f"kernel {kernel.source.entry} was compiled for another device")
        if not self._is_open:
            raise LaunchError(f"{kernel.name}: the device is closed")
        self._check_sizes(kernel, grid, block, shared_bytes)
        self._check_owner(kernel, args)
        return make_launch(kernel, grid, block, args, shared_bytes=shared_bytes, order=self._options.work_item_order)

    def _check_sizes(self, kernel: HostKernel, grid: Dim3, block: Dim3, shared_bytes: int) -> None:
        info = self._info
        if min(*grid, *block) < 1:
            raise LaunchError(f"{kernel.name}: grid {grid} and block {block} must be at least 1 in every direction")
        if math.prod(block) > info.max_block:
            raise LaunchError(
                f"{kernel.name}: block {block} has {math.prod(block)} work-items, the device takes {info.max_block}"
            )
        if any(size > limit for size, limit in zip(grid, info.max_grid, strict=True)):
            raise LaunchError(f"{kernel.name}: grid {grid} is larger than the device's {info.max_grid}")
        if shared_bytes < 0 or kernel.static_shared_bytes + shared_bytes > info.lds_bytes:
            raise LaunchError(
                f"{kernel.name}: {kernel.static_shared_bytes} bytes of static and {shared_bytes} bytes of dynamic "
                f"shared memory, the device has {info.lds_bytes}"
            )

    def _check_owner(self, kernel: HostKernel, args: Sequence[Scalar | DevicePointer]) -> None:
        for number, argument in enumerate(args, start=1):
            if isinstance(argument, DevicePointer) and argument.buffer not in self._buffers:
                raise LaunchError(f"argument {number} of {kernel.name} is a buffer of another device")

    def _bytes_of(self, buffer: Buffer, nbytes: int) -> NDArray[np.uint8]:
        self._check_open()
        if not isinstance(buffer, HostBuffer) or buffer not in self._buffers:
            raise DeviceError("this is a buffer of another device")
        if nbytes > buffer.nbytes:
            raise DeviceError(f"{nbytes} bytes do not fit a buffer of {buffer.nbytes} bytes")
        return buffer.bytes[:nbytes]

    def _check_open(self) -> None:
        if not self._is_open:
            raise DeviceError("the CPU device is closed")

    def free_memory_bytes(self) -> int:
        """Memory that an allocation can still get: the operating system's own estimate."""
        self._check_open()
        return _meminfo_bytes("MemAvailable")

    def close(self) -> None:
        """Free the buffers, end the threads and remove what the session kept on disk for itself."""
        self._is_open = False
        for buffer in list(self._buffers):
            buffer.free()
        self._execution.close()
        self._cache.close()


class _KeyedLocks:
    """One lock a key: two threads that want the same kernel compile it once."""

    def __init__(self) -> None:
        self._locks: dict[str, threading.Lock] = {}
        self._guard = threading.Lock()

    def of(self, key: str) -> threading.Lock:
        with self._guard:
            return self._locks.setdefault(key, threading.Lock())


def _flat_bytes(array: NDArray[np.generic]) -> NDArray[np.uint8]:
    if not array.flags.c_contiguous:
        raise DeviceError(f"only a contiguous array is copied; this one of shape {array.shape} is not")
    return array.reshape(-1).view(np.uint8)


def _cpu_info(compiler_name: str) -> DeviceInfo:
    fields = _cpuinfo_fields()
    return DeviceInfo(
        backend="cpu",
        uid="cpu-0",
        name=fields.get("model name", platform.machine()),
        arch=platform.machine(),
        compute_units=len(os.sched_getaffinity(0)),
        wavefront=1,
        lds_bytes=_LDS_BYTES,
        memory_bytes=_meminfo_bytes("MemTotal"),
        compiler=compiler_name,
        cache_bytes=host_cache_bytes(),
    )


def _cpu_identity() -> str:
    """What `-march=native` looks at."""
    fields = _cpuinfo_fields()
    return "\n".join(fields.get(name, "") for name in ("vendor_id", "cpu family", "model", "model name", "flags"))


def _cpuinfo_fields() -> dict[str, str]:
    """The first processor of /proc/cpuinfo."""
    first = Path("/proc/cpuinfo").read_text().split("\n\n", 1)[0]
    pairs = (line.partition(":") for line in first.splitlines())
    return {name.strip(): value.strip() for name, _, value in pairs}


def _meminfo_bytes(field: str) -> int:
    for line in Path("/proc/meminfo").read_text().splitlines():
        name, _, value = line.partition(":")
        if name == field:
            return int(value.split()[0]) * 1024
    raise DeviceError(f"/proc/meminfo has no {field}")
