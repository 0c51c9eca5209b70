"""A compiled kernel in this process: its shared object, its arguments, and one launch of it over OS threads."""

from __future__ import annotations

import ctypes
import itertools
import math
import mmap
import tempfile
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.devices import DevicePointer
from pytest_miopen_perf.devices.host_memory import HostBuffer
from pytest_miopen_perf.errors import CompileError, DeviceError, LaunchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_miopen_perf.launch import Dim3, KernelSource, Scalar

ORDERS = {"forward": 0, "reverse": 1, "strided": 2}
_WORK_ITEMS_FOR_THREADS = 2048
"""Below this a launch is over before a second thread has woken up."""

_SCALARS: dict[str, Any] = {"i32": ctypes.c_int32, "i64": ctypes.c_int64, "f32": ctypes.c_float, "f64": ctypes.c_double}
_KINDS = {"i32": "i", "i64": "l", "f32": "f", "f64": "d"}
_KIND_NAMES = {
    "p": "a pointer",
    "i": "a 4-byte integer",
    "l": "an 8-byte integer",
    "f": "a float",
    "d": "a double",
}


class Job(ctypes.Structure):
    """`hip_host_job` of hip_host.h: one launch, shared by the threads that run it."""

    _fields_ = [
        ("params", ctypes.c_void_p),
        ("grid", ctypes.c_uint * 3),
        ("block", ctypes.c_uint * 3),
        ("blocks", ctypes.c_ulonglong),
        ("next", ctypes.c_ulonglong),
        ("chunk", ctypes.c_ulonglong),
        ("order", ctypes.c_int),
        ("failure", ctypes.c_int),
        ("failed_block", ctypes.c_uint * 3),
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class HostKernel:
    """A kernel that is loaded into this process.

    Attributes:
        source: What it was compiled from.
        compile_seconds: What the compiler took; 0.0 when the binary came from the cache.
        library: The loaded shared object.
        kinds: One letter an argument, as hip_host_entry.h has them.
        sizes: Bytes of each argument.
    """

    source: KernelSource
    compile_seconds: float
    library: ctypes.CDLL
    kinds: str
    sizes: tuple[int, ...]

    @property
    def name(self) -> str:
        """The kernel and its file, for messages."""
        return f"kernel {self.source.entry} of {self.source.file}"


def load_kernel(binary: bytes, source: KernelSource, compile_seconds: float) -> HostKernel:
    """Load a shared object under a path name of its own: the loader takes equal names for equal libraries.

    Raises:
        CompileError: the loader refuses it, in the loader's words.
    """
    with tempfile.TemporaryDirectory(prefix="miopen-perf-so-") as folder:
        path = Path(folder) / "kernel.so"
        path.write_bytes(binary)
        try:
            library = ctypes.CDLL(str(path))
        except OSError as error:
            raise CompileError(f"{source.entry} of {source.file} does not load", str(error)) from error
    library.hip_host_run.argtypes = [ctypes.POINTER(Job), ctypes.c_void_p]
    library.hip_host_run.restype = None
    library.hip_host_work_bytes.argtypes = [ctypes.c_uint]
    library.hip_host_work_bytes.restype = ctypes.c_size_t
    count = ctypes.c_uint.in_dll(library, "hip_host_argument_count").value
    kinds = ctypes.c_char_p.in_dll(library, "hip_host_argument_kinds").value or b""
    sizes = ctypes.POINTER(ctypes.c_uint).in_dll(library, "hip_host_argument_sizes")
    return HostKernel(
        source=source,
        compile_seconds=compile_seconds,
        library=library,
        kinds=kinds.decode(),
        sizes=tuple(sizes[:count]),
    )


def bind_arguments(kernel: HostKernel, args: Sequence[Scalar | DevicePointer]) -> list[Any]:
    """The arguments as C values.

    Raises:
        LaunchError: their number, kinds or values are not the kernel's.
    """
    if len(args) != len(kernel.kinds):
        raise LaunchError(f"{kernel.name} takes {len(kernel.kinds)} arguments, the launch gives {len(args)}")
    return [_bind(kernel, number, argument) for number, argument in enumerate(args, start=1)]


def _bind(kernel: HostKernel, number: int, argument: Scalar | DevicePointer) -> Any:
    kind, size = kernel.kinds[number - 1], kernel.sizes[number - 1]
    given = "p" if isinstance(argument, DevicePointer) else _KINDS[argument.type]
    if given != kind:
        wanted = _KIND_NAMES.get(kind, f"a value of {size} bytes that no launch can pass")
        raise LaunchError(
            f"argument {number} of {kernel.name} is {wanted} in its text ({size} bytes), "
            f"the launch gives {_KIND_NAMES[given]}"
        )
    if isinstance(argument, DevicePointer):
        return _bind_pointer(kernel, number, argument)
    return _bind_scalar(kernel, number, argument)


def _bind_pointer(kernel: HostKernel, number: int, pointer: DevicePointer) -> Any:
    buffer, offset = pointer.buffer, pointer.offset_bytes
    if not isinstance(buffer, HostBuffer):
        raise LaunchError(f"argument {number} of {kernel.name} is a buffer of another device")
    if not 0 <= offset <= buffer.nbytes:
        raise LaunchError(
            f"argument {number} of {kernel.name} points at byte {offset} of a buffer of {buffer.nbytes} bytes"
        )
    try:
        return ctypes.c_void_p(buffer.address + offset)
    except DeviceError as error:
        raise LaunchError(f"argument {number} of {kernel.name}: {error}") from error


def _bind_scalar(kernel: HostKernel, number: int, scalar: Scalar) -> Any:
    value = scalar.value
    try:
        bound = _SCALARS[scalar.type](value)
    except TypeError as error:
        raise LaunchError(
            f"argument {number} ({scalar.name}) of {kernel.name} is {value!r}, which is no {scalar.type}"
        ) from error
    if scalar.type in {"i32", "i64"} and bound.value != value:
        raise LaunchError(f"argument {number} ({scalar.name}) of {kernel.name} is {value}, too large for {scalar.type}")
    return bound


def make_job(values: Sequence[Any], grid: Dim3, block: Dim3, order: int) -> tuple[Job, Any]:
    """The job of a launch, and the array of parameters that must live as long as it."""
    params = (ctypes.c_void_p * max(len(values), 1))(*(ctypes.addressof(value) for value in values))
    job = Job(params=ctypes.addressof(params), grid=grid, block=block, blocks=math.prod(grid), chunk=1, order=order)
    return job, params


class ThreadTeam:
    """The OS threads of a device, and the scratch memory of each."""

    def __init__(self, size: int) -> None:
        self._size = size
        self._pool: ThreadPoolExecutor | None = None
        self._scratch = threading.local()

    def run(self, kernel: HostKernel, job: Job) -> float:
        """Run all blocks of a job; seconds from the first C call's start to the last one's end."""
        workers = min(self._size, job.blocks) if job.blocks * math.prod(job.block) >= _WORK_ITEMS_FOR_THREADS else 1
        job.chunk = max(1, job.blocks // (workers * 16))
        helpers = [self._threads().submit(self.run_here, kernel, job) for _ in range(workers - 1)]
        spans = [self.run_here(kernel, job)]
        spans += [helper.result() for helper in helpers if not helper.cancel()]
        return max(end for _, end in spans) - min(start for start, _ in spans)

    def run_here(self, kernel: HostKernel, job: Job) -> tuple[float, float]:
        """Run blocks on the calling thread until none is left; when the C call started and ended."""
        scratch = self._scratch_address(kernel.library.hip_host_work_bytes(math.prod(job.block)))
        start = time.perf_counter()
        kernel.library.hip_host_run(job, scratch)
        return start, time.perf_counter()

    def close(self) -> None:
        """End the threads; the next launch would start them anew."""
        if self._pool:
            self._pool.shutdown()
            self._pool = None

    def _threads(self) -> ThreadPoolExecutor:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self._size - 1, thread_name_prefix="miopen-perf-cpu")
        return self._pool

    def _scratch_address(self, nbytes: int) -> int:
        """Untouched pages cost nothing, so that the stacks of a block may be large."""
        memory: mmap.mmap | None = getattr(self._scratch, "memory", None)
        if nbytes and (memory is None or len(memory) < nbytes):
            memory = mmap.mmap(-1, nbytes, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
            self._scratch.memory = memory
            self._scratch.address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        return getattr(self._scratch, "address", 0)


def blocks_text(block: Sequence[int]) -> str:
    """The block's place in the grid, for messages."""
    return f"({', '.join(map(str, itertools.islice(block, 3)))})"
