"""A compiled kernel in this process: its shared object, what it takes, and the arguments of one launch."""

from __future__ import annotations

import contextlib
import ctypes
import functools
import math
import struct
import tempfile
import threading
import weakref
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from pytest_miopen_perf.devices import DevicePointer
from pytest_miopen_perf.devices.host_memory import HostBuffer
from pytest_miopen_perf.errors import CompileError, DeviceError, LaunchError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_miopen_perf.launch import Dim3, KernelSource, Scalar

WorkItemOrder: TypeAlias = Literal["forward", "reverse", "strided"]

_ORDERS: dict[WorkItemOrder, int] = {"forward": 0, "reverse": 1, "strided": 2}
_SCALARS: dict[str, Any] = {"i32": ctypes.c_int32, "i64": ctypes.c_int64, "f32": ctypes.c_float, "f64": ctypes.c_double}
_KINDS = {"i32": "i", "i64": "l", "f32": "f", "f64": "d"}
_KIND_NAMES = {
    "p": "a pointer",
    "i": "a 4-byte integer",
    "l": "an 8-byte integer",
    "f": "a float",
    "d": "a double",
}
_FAILURES = {
    1: "work-items of block {block} ended while others waited at __syncthreads(); "
    "every work-item of a block must reach the same barriers",
    2: "block {block} wrote dynamic shared memory beyond the bytes that the launch gives it",
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
        ("shared_bytes", ctypes.c_uint),
        ("watched", ctypes.c_int),
        ("failure", ctypes.c_int),
        ("failed_block", ctypes.c_uint * 3),
    ]


LOADER = threading.RLock()
"""Held while libraries are loaded or unloaded, and for a fork: a child that is forked in the middle of it inherits the
loader's lists half changed, and dies of that. A finalizer may come at any time, so its own thread may enter again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostKernel:
    """A kernel that is loaded into this process.

    Attributes:
        source: What it was compiled from.
        compile_seconds: What the compiler took; 0.0 when the binary came from the cache.
        shared_object: What was loaded.
        kinds: One letter an argument, as hip_host_entry.h has them.
        sizes: Bytes of each argument.
        static_shared_bytes: Shared memory that its text declares, padding included.
    """

    source: KernelSource
    compile_seconds: float
    shared_object: ctypes.CDLL
    kinds: str
    sizes: tuple[int, ...]
    static_shared_bytes: int

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
            with LOADER:
                _offer_math_library()
                library = ctypes.CDLL(str(path))
        except OSError as error:
            raise CompileError(f"{source.entry} of {source.file} does not load", str(error)) from error
    handle = library._handle  # noqa: SLF001  the only way to what dlclose takes
    weakref.finalize(library, _unload, ctypes.c_void_p(handle)).atexit = False
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
        shared_object=library,
        kinds=kinds.decode(),
        sizes=tuple(sizes[:count]),
        static_shared_bytes=_tls_bytes(binary) - ctypes.c_uint.in_dll(library, "hip_host_own_tls_bytes").value,
    )


def _unload(handle: ctypes.c_void_p) -> None:
    with LOADER:
        ctypes.CDLL(None).dlclose(handle)


@functools.cache
def _offer_math_library() -> None:
    """Kernels link nothing; a function such as expf they find among what the process has loaded for everybody."""
    with contextlib.suppress(OSError):  # musl has it in libc
        ctypes.CDLL("libm.so.6", mode=ctypes.RTLD_GLOBAL)


def _tls_bytes(binary: bytes) -> int:
    """Thread-local storage of a 64-bit ELF file: the memory size of its segment of type PT_TLS, 7."""
    (table,) = struct.unpack_from("<Q", binary, 32)
    size, count = struct.unpack_from("<HH", binary, 54)
    headers = (struct.unpack_from("<II6Q", binary, table + index * size) for index in range(count))
    return sum(memory for kind, _, _, _, _, _, memory, _ in headers if kind == 7)


def _bind_all(kernel: HostKernel, args: Sequence[Scalar | DevicePointer]) -> list[Any]:
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
    assert isinstance(buffer, HostBuffer), "the device has looked at whose buffer it is"
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
        raise LaunchError(
            f"argument {number} ({scalar.name}) of {kernel.name} is {value}, which does not fit {scalar.type}"
        )
    return bound


@dataclass(frozen=True, slots=True, kw_only=True)
class HostLaunch:
    """One launch, ready to run.

    Attributes:
        kernel: What runs.
        job: What the shared object reads and writes; it points into `keep_alive`.
        buffers: The buffer behind each argument, None behind a scalar.
        keep_alive: The arguments as C values, and the array of their addresses.
    """

    kernel: HostKernel
    job: Job
    buffers: tuple[HostBuffer | None, ...]
    keep_alive: tuple[Any, ...]

    @property
    def work_items(self) -> int:
        """Work-items of one block."""
        return math.prod(self.job.block)

    def scratch_bytes(self) -> int:
        """Stacks that one thread needs for its block."""
        return int(self.kernel.shared_object.hip_host_work_bytes(self.work_items))

    def check(self, job: Job) -> None:
        """Say what a block found wrong with itself.

        Raises:
            LaunchError: naming the kernel and the block.
        """
        if job.failure:
            raise LaunchError(
                f"{self.kernel.name}: {_FAILURES[job.failure].format(block=place_text(job.failed_block))}"
            )


def make_launch(
    kernel: HostKernel,
    grid: Dim3,
    block: Dim3,
    args: Sequence[Scalar | DevicePointer],
    *,
    shared_bytes: int,
    order: WorkItemOrder,
) -> HostLaunch:
    """Put a launch together.

    Raises:
        LaunchError: the number, kinds or values of the arguments are not the kernel's.
    """
    values = _bind_all(kernel, args)
    params = (ctypes.c_void_p * max(len(values), 1))(*(ctypes.addressof(value) for value in values))
    job = Job(
        params=ctypes.addressof(params),
        grid=grid,
        block=block,
        blocks=math.prod(grid),
        chunk=1,
        order=_ORDERS[order],
        shared_bytes=shared_bytes,
    )
    return HostLaunch(
        kernel=kernel, job=job, buffers=tuple(_buffer_of(argument) for argument in args), keep_alive=(params, *values)
    )


def _buffer_of(argument: Scalar | DevicePointer) -> HostBuffer | None:
    buffer = argument.buffer if isinstance(argument, DevicePointer) else None
    return buffer if isinstance(buffer, HostBuffer) else None


def place_text(place: Sequence[int]) -> str:
    """A block or a work-item by its three indices, for messages."""
    return f"({place[0]}, {place[1]}, {place[2]})"
