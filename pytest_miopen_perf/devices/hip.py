"""AMD GPUs: the HIP text through hiprtc and the HIP runtime, by way of hip-python.

The runtime decides which GPUs there are, `HIP_VISIBLE_DEVICES` and `ROCR_VISIBLE_DEVICES` included; ordinals count
within what it shows. All goes through the default stream, so that fills, copies, events and kernels are in one order.
"""

from __future__ import annotations

import ctypes
import os
import struct
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_miopen_perf.devices.gpu import named_headers
from pytest_miopen_perf.devices.gpu_backend import GpuBackend, chosen_ordinal
from pytest_miopen_perf.devices.hip_bindings import ABSENT, HipBindings, load_bindings, text_of
from pytest_miopen_perf.errors import (
    CompileError,
    DeviceError,
    DeviceUnavailableError,
    LaunchError,
    OutOfMemoryError,
)
from pytest_miopen_perf.kernel_source.files import kernel_path
from pytest_miopen_perf.launch import DeviceInfo, Scalar

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pytest_miopen_perf.devices import DeviceOptions
    from pytest_miopen_perf.launch import Dim3, KernelSource

_OPTIONS = ("-std=c++17", "-O3")
_FORMATS = {"i32": "i", "i64": "q", "f32": "f", "f64": "d"}
_DRIVER_NODE = Path("/dev/kfd")
_HIDING_VARIABLES = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
"""What the runtime lets hide devices from a process; CUDA's is read on AMD GPUs too."""


def _choose(options: DeviceOptions) -> Callable[[], HipDriver]:
    """What opens the device that was asked for, once its runtime has told all about it."""
    bindings = load_bindings()
    circumstances = _circumstances(os.environ, _DRIVER_NODE)
    try:
        count = bindings.ask("hipGetDeviceCount")
    except DeviceError as error:
        reasons = "; ".join([str(error), *circumstances])
        raise DeviceUnavailableError(f"no AMD GPU can be used: {reasons}") from error
    ordinal = chosen_ordinal(options, "AMD", count, circumstances)
    try:
        driver = HipDriver(bindings, ordinal)
    except DeviceError as error:
        raise DeviceUnavailableError(f"the AMD GPU {ordinal} cannot be used: {error}") from error
    return lambda: driver


def _circumstances(variables: Mapping[str, str], node: Path) -> list[str]:
    """What on this machine may hide a GPU from the runtime, in words."""
    found = [f"{name}={variables[name]!r} is set" for name in _HIDING_VARIABLES if name in variables]
    if not node.exists():
        found.append(f"there is no {node}, so the amdgpu driver is not loaded or not passed to this container")
    elif not os.access(node, os.R_OK | os.W_OK):
        found.append(f"this user may not open {node}; on most systems the groups render and video may")
    return found


_BACKEND = GpuBackend(_choose)
probe = _BACKEND.probe
open_device = _BACKEND.open_device


def build_code_object(bindings: HipBindings, source: KernelSource, target: str) -> bytes:
    """Compile with hiprtc, which needs no device.

    Args:
        bindings: To the compiler.
        source: Its headers are handed over as texts.
        target: What `--offload-arch` takes: an architecture, with features or without.

    Raises:
        CompileError: with hiprtc's log.
    """
    try:
        text = kernel_path(source.file).read_text()
    except OSError as error:
        raise CompileError(f"cannot read the kernel text {source.file}: {error}") from error
    macros = [f"-D{name}={value}" for name, value in source.defines]
    options = [f"--offload-arch={target}", *_OPTIONS, *macros, *source.options]
    try:
        return bindings.build(text, source.file, named_headers(source), options)
    except CompileError as error:
        raise CompileError(f"{source.entry} of {source.file} does not compile", error.log) from error
    except DeviceError as error:
        raise CompileError(f"{source.entry} of {source.file} cannot be compiled: {error}") from error


class HipDriver:
    """The HIP runtime on one device."""

    def __init__(self, bindings: HipBindings, ordinal: int) -> None:
        self._bindings = bindings
        self._hip = bindings.runtime
        self._ordinal = ordinal
        properties = bindings.properties(ordinal)
        self._target = text_of(properties.gcnArchName)
        self._info = _describe(bindings, ordinal, properties, self._target)

    @property
    def info(self) -> DeviceInfo:
        """What the device is."""
        return self._info

    @property
    def target(self) -> str:
        """The architecture with its features, for example "gfx90a:sramecc+:xnack-"."""
        return self._target

    def compile(self, source: KernelSource) -> bytes:
        """A code object for exactly this device.

        Raises:
            CompileError: with hiprtc's log.
        """
        return build_code_object(self._bindings, source, self._target)

    def load(self, binary: bytes, entry: str) -> tuple[Any, Any]:
        """The module, and in it the kernel."""
        ask = self._enter().ask
        module = ask("hipModuleLoadData", binary)
        try:
            return module, ask("hipModuleGetFunction", module, entry.encode())
        except DeviceError as error:
            self._give_back("hipModuleUnload", module)
            raise CompileError(f"the binary holds no kernel called {entry}: {error}") from error

    def unload(self, module: Any) -> None:
        """Give a module back."""
        self._give_back("hipModuleUnload", module)

    def malloc(self, nbytes: int) -> int:
        """The address of device memory."""
        bindings = self._enter()
        status, memory = bindings.answer("hipMalloc", nbytes)
        if status == self._hip.hipError_t.hipErrorOutOfMemory:
            words = bindings.words(status)
            raise OutOfMemoryError(f"cannot allocate {nbytes} bytes on {self._info.name}: {words}")
        return int(bindings.value((status, memory)))

    def free(self, memory: int) -> None:
        """Give memory back."""
        self._give_back("hipFree", ctypes.c_void_p(memory))

    def copy_in(self, memory: int, array: NDArray[np.generic]) -> None:
        """Host to device, complete on return."""
        kind = self._hip.hipMemcpyKind.hipMemcpyHostToDevice
        host = ctypes.c_void_p(array.ctypes.data)
        self._enter().ask("hipMemcpy", ctypes.c_void_p(memory), host, array.nbytes, kind)

    def copy_out(self, array: NDArray[np.generic], memory: int) -> None:
        """Device to host, behind everything launched before."""
        kind = self._hip.hipMemcpyKind.hipMemcpyDeviceToHost
        host = ctypes.c_void_p(array.ctypes.data)
        self._enter().ask("hipMemcpy", host, ctypes.c_void_p(memory), array.nbytes, kind)

    def fill(self, memory: int, byte: int, nbytes: int) -> None:
        """Set bytes."""
        self._enter().ask("hipMemset", ctypes.c_void_p(memory), byte, nbytes)

    def free_memory_bytes(self) -> int:
        """What an allocation can still get."""
        free, _ = self._enter().ask("hipMemGetInfo")
        return int(free)

    def pack(
        self, function: Any, grid: Dim3, block: Dim3, args: Sequence[Scalar | tuple[int, int]], shared_bytes: int
    ) -> PackedLaunch:
        """The arguments of a launch on the default stream."""
        packed = PackedArguments(args)
        return PackedLaunch((function, *grid, *block, shared_bytes, None, None, packed.extra), packed)

    def launch(self, packed: PackedLaunch) -> None:
        """Start a kernel."""
        self._enter(LaunchError).ask("hipModuleLaunchKernel", *packed.words, failure=LaunchError)

    def launch_between(self, events: tuple[Any, Any], packed: Sequence[PackedLaunch]) -> None:
        """Start kernels on the default stream, between two events."""
        bindings, hip = self._enter(LaunchError), self._hip
        try:
            first = hip.hipEventRecord(events[0], None)
            started = [hip.hipModuleLaunchKernel(*launch.words) for launch in packed]
            last = hip.hipEventRecord(events[1], None)
        except ABSENT as error:
            raise LaunchError(str(error)) from error
        for answer in (first, *started, last):
            bindings.value(answer, LaunchError)

    def make_event(self) -> Any:
        """An event that keeps time."""
        return self._enter().ask("hipEventCreate")

    def elapsed_seconds(self, start: Any, end: Any) -> float:
        """Wait for `end`; the runtime tells milliseconds."""
        bindings = self._enter(LaunchError)
        bindings.ask("hipEventSynchronize", end, failure=LaunchError)
        return float(bindings.ask("hipEventElapsedTime", start, end, failure=LaunchError)) * 1e-3

    def destroy_event(self, event: Any) -> None:
        """Give an event back."""
        self._give_back("hipEventDestroy", event)

    def close(self) -> None:
        """There is nothing to give back: the runtime keeps a device's context for the whole process."""

    def _enter(self, failure: type[DeviceError] = DeviceError) -> HipBindings:
        """The API, with this device current in the calling thread."""
        self._bindings.ask("hipSetDevice", self._ordinal, failure=failure)
        return self._bindings

    def _give_back(self, function: str, handle: Any) -> None:
        """Statuses are not looked at: what a lost device refuses to take back is gone, and the loss has been told."""
        with suppress(*ABSENT):
            self._hip.hipSetDevice(self._ordinal)
        with suppress(*ABSENT):
            getattr(self._hip, function)(handle)


class PackedLaunch(NamedTuple):
    """The words of `hipModuleLaunchKernel`, and the memory that the last of them points into."""

    words: tuple[Any, ...]
    keep_alive: PackedArguments


class PackedArguments:
    """The arguments of a launch as the runtime takes them in `extra`: one buffer, each value at its natural alignment.

    hip-python packs a tuple alike, but in the launch call itself, which is between the two events, and for 40 arguments
    that takes longer than a short kernel.

    Args:
        args: Scalars, and pointers as an address and an offset in bytes.

    Raises:
        LaunchError: a value does not fit its type.
    """

    def __init__(self, args: Sequence[Scalar | tuple[int, int]]) -> None:
        layout = "@" + "".join(_FORMATS[arg.type] if isinstance(arg, Scalar) else "P" for arg in args)
        values = [arg.value if isinstance(arg, Scalar) else sum(arg) for arg in args]
        try:
            data = struct.pack(layout, *values)
        except (struct.error, OverflowError) as error:
            raise LaunchError(f"the arguments {values} do not fit their types: {error}") from error
        self._buffer = ctypes.create_string_buffer(data, len(data))
        self._size = ctypes.c_size_t(len(data))
        begin, size, end = 1, 2, 3  # HIP_LAUNCH_PARAM_BUFFER_POINTER, _BUFFER_SIZE and _END of hip_runtime_api.h
        self._configuration = (ctypes.c_void_p * 5)(
            begin, ctypes.addressof(self._buffer), size, ctypes.addressof(self._size), end
        )
        self.extra = ctypes.c_void_p(ctypes.addressof(self._configuration))


def _describe(bindings: HipBindings, ordinal: int, properties: Any, target: str) -> DeviceInfo:
    runtime = _version_text(bindings.ask("hipRuntimeGetVersion"))
    return DeviceInfo(
        backend="hip",
        ordinal=ordinal,
        uid=_identity(properties),
        name=text_of(properties.name),
        arch=target.partition(":")[0],
        compute_units=int(properties.multiProcessorCount),
        wavefront=int(properties.warpSize),
        lds_bytes=int(properties.sharedMemPerBlock),
        memory_bytes=int(properties.totalGlobalMem),
        max_block=int(properties.maxThreadsPerBlock),
        max_grid=_three(properties.maxGridSize),
        compiler=f"HIPRTC {bindings.compiler_version()} of HIP {runtime}",
        driver=_version_text(bindings.ask("hipDriverGetVersion")),
        runtime=runtime,
        cache_bytes=int(properties.l2CacheSize),
        bus=_bus(properties),
    )


def _three(sizes: Sequence[int]) -> Dim3:
    x, y, z = (int(size) for size in sizes)
    return x, y, z


def _version_text(number: int) -> str:
    """HIP counts a version as major * 10^7 + minor * 10^5 + patch."""
    return f"{number // 10**7}.{number // 10**5 % 100}.{number % 10**5}"


def _bus(properties: Any) -> str:
    return f"{properties.pciDomainID:04x}:{properties.pciBusID:02x}:{properties.pciDeviceID:02x}"


def _identity(properties: Any) -> str:
    """The serial number that the runtime tells as a UUID, or the place on the bus where it tells none."""
    number = bytes(properties.uuid.bytes)
    if not any(number):
        return _bus(properties)
    return number.decode("ascii") if number.isalnum() else number.hex()
