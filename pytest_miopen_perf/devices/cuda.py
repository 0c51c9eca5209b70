"""NVIDIA GPUs: the HIP text through NVRTC and the CUDA driver API, by way of cuda-bindings.

Only `cuda_dialect/hip_on_cuda.h` stands between the dialects. It proves the kernels under truly parallel execution
and event timing; a time taken here says nothing about an AMD GPU.
"""

from __future__ import annotations

import ctypes
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_miopen_perf.devices.gpu import named_headers
from pytest_miopen_perf.devices.gpu_backend import GpuBackend, chosen_ordinal
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
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from pytest_miopen_perf.devices import DeviceOptions
    from pytest_miopen_perf.launch import Dim3, KernelSource

_DIALECT = Path(__file__).resolve().parent / "cuda_dialect" / "hip_on_cuda.h"
_ADVICE = "pip install 'cuda-bindings>=12.8' 'nvidia-cuda-nvrtc>=13' 'nvidia-ml-py>=12'"
_SCALARS: dict[str, type] = {
    "i32": ctypes.c_int,
    "i64": ctypes.c_longlong,
    "f32": ctypes.c_float,
    "f64": ctypes.c_double,
}


def _choose(options: DeviceOptions) -> Callable[[], CudaDriver]:
    """What opens the device that was asked for, once it and a compiler for it are known to exist."""
    try:
        from cuda.bindings import driver, nvrtc
    except ImportError as error:
        raise DeviceUnavailableError(f"the CUDA bindings are not installed ({error}); {_ADVICE}") from error
    try:
        _check(driver, driver.cuInit(0))
        count = _check(driver, driver.cuDeviceGetCount())
    except (DeviceError, RuntimeError) as error:
        raise DeviceUnavailableError(f"no NVIDIA GPU can be used: {error}") from error
    ordinal = chosen_ordinal(options, "NVIDIA", count)
    try:
        nvrtc.nvrtcVersion()
    except (RuntimeError, OSError) as error:
        raise DeviceUnavailableError(
            f"there is no compiler for the NVIDIA GPU {ordinal}: {error}; {_ADVICE}"
        ) from error
    return partial(CudaDriver, ordinal)


_BACKEND = GpuBackend(_choose)
probe = _BACKEND.probe
open_device = _BACKEND.open_device


def _check(driver: Any, answer: tuple[Any, ...], kind: type[DeviceError] = DeviceError) -> Any:
    """The value of a driver call, or its failure in the driver's own words."""
    status, *values = answer
    if status != driver.CUresult.CUDA_SUCCESS:
        _, text = driver.cuGetErrorString(status)
        words = text.decode() if text else "unknown error"
        raise kind(f"{words} ({status.name})")
    return values[0] if len(values) == 1 else values


class CudaDriver:
    """The driver API on one device."""

    def __init__(self, ordinal: int) -> None:
        from cuda.bindings import driver, nvrtc

        self._cuda = driver
        self._nvrtc = nvrtc
        self._device = _check(driver, driver.cuDeviceGet(ordinal))
        self._context = _check(driver, driver.cuDevicePrimaryCtxRetain(self._device))
        try:
            self._enter()
            self._info = self._describe(ordinal)
        except BaseException:
            self.close()
            raise

    @property
    def info(self) -> DeviceInfo:
        """What the device is."""
        return self._info

    @property
    def target(self) -> str:
        """The architecture; NVRTC knows no features beside it."""
        return self._info.arch

    def compile(self, source: KernelSource) -> bytes:
        """A cubin for exactly this device.

        Raises:
            CompileError: with NVRTC's log.
        """
        try:
            text = kernel_path(source.file).read_text()
        except OSError as error:
            raise CompileError(f"cannot read the kernel text {source.file}: {error}") from error
        headers = named_headers(source) | {_DIALECT.name: _DIALECT.read_text()}
        unit = f'#include "{_DIALECT.name}"\n#line 1 "{source.file}"\n{text}'
        options = [
            f"--gpu-architecture={self._info.arch}",
            "--std=c++17",
            *(f"-D{name}={value}" for name, value in source.defines),
            *source.options,
        ]
        return self._compiled(source, unit, headers, options)

    def _compiled(self, source: KernelSource, unit: str, headers: dict[str, str], options: list[str]) -> bytes:
        nvrtc = self._nvrtc
        texts = [text.encode() for text in headers.values()]
        names = [name.encode() for name in headers]
        status, program = nvrtc.nvrtcCreateProgram(unit.encode(), source.file.encode(), len(names), texts, names)
        if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
            raise CompileError(f"{source.entry} of {source.file} does not compile: {status.name}")
        try:
            (status,) = nvrtc.nvrtcCompileProgram(program, len(options), [option.encode() for option in options])
            if status != nvrtc.nvrtcResult.NVRTC_SUCCESS:
                _, size = nvrtc.nvrtcGetProgramLogSize(program)
                log = bytearray(size)
                nvrtc.nvrtcGetProgramLog(program, log)
                words = bytes(log).rstrip(b"\0").decode(errors="replace")
                raise CompileError(f"{source.entry} of {source.file} does not compile", words)
            _, size = nvrtc.nvrtcGetCUBINSize(program)
            binary = bytearray(size)
            nvrtc.nvrtcGetCUBIN(program, binary)
            return bytes(binary)
        finally:
            nvrtc.nvrtcDestroyProgram(program)

    def load(self, binary: bytes, entry: str) -> tuple[Any, Any]:
        """The module, and in it the kernel, which may use all shared memory that a block can have."""
        cuda = self._enter()
        module = _check(cuda, cuda.cuModuleLoadData(binary))
        try:
            function = _check(cuda, cuda.cuModuleGetFunction(module, entry.encode()))
        except DeviceError as error:
            cuda.cuModuleUnload(module)
            raise CompileError(f"the binary holds no kernel called {entry}: {error}") from error
        attribute = cuda.CUfunction_attribute
        static = _check(cuda, cuda.cuFuncGetAttribute(attribute.CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function))
        most = self._info.lds_bytes - static
        dynamic = attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        _check(cuda, cuda.cuFuncSetAttribute(function, dynamic, most))
        return module, function

    def unload(self, module: Any) -> None:
        """Give a module back."""
        self._give_back(self._cuda.cuModuleUnload, module)

    def malloc(self, nbytes: int) -> Any:
        """Device memory."""
        cuda = self._enter()
        status, memory = cuda.cuMemAlloc(nbytes)
        if status == cuda.CUresult.CUDA_ERROR_OUT_OF_MEMORY:
            raise OutOfMemoryError(f"cannot allocate {nbytes} bytes on {self._info.name}: out of memory")
        return _check(cuda, (status, memory))

    def free(self, memory: Any) -> None:
        """Give memory back."""
        self._give_back(self._cuda.cuMemFree, memory)

    def copy_in(self, memory: Any, array: NDArray[np.generic]) -> None:
        """Host to device, complete on return."""
        cuda = self._enter()
        _check(cuda, cuda.cuMemcpyHtoD(memory, array.ctypes.data, array.nbytes))

    def copy_out(self, array: NDArray[np.generic], memory: Any) -> None:
        """Device to host, behind everything launched before."""
        cuda = self._enter()
        _check(cuda, cuda.cuMemcpyDtoH(array.ctypes.data, memory, array.nbytes))

    def fill(self, memory: Any, byte: int, nbytes: int) -> None:
        """Set bytes."""
        cuda = self._enter()
        _check(cuda, cuda.cuMemsetD8(memory, byte, nbytes))

    def free_memory_bytes(self) -> int:
        """What an allocation can still get."""
        cuda = self._enter()
        free, _ = _check(cuda, cuda.cuMemGetInfo())
        return int(free)

    def pack(
        self, function: Any, grid: Dim3, block: Dim3, args: Sequence[Scalar | tuple[Any, int]], shared_bytes: int
    ) -> tuple[Any, ...]:
        """The arguments of a launch on the default stream."""
        values = (tuple(_value(argument) for argument in args), tuple(_type(argument) for argument in args))
        return (function, *grid, *block, shared_bytes, 0, values, 0)

    def launch(self, packed: tuple[Any, ...]) -> None:
        """Start a kernel."""
        cuda = self._enter()
        _check(cuda, cuda.cuLaunchKernel(*packed), LaunchError)

    def launch_between(self, events: tuple[Any, Any], packed: Sequence[tuple[Any, ...]]) -> None:
        """Start kernels on the default stream, between two events."""
        cuda = self._enter()
        first = cuda.cuEventRecord(events[0], 0)
        started = [cuda.cuLaunchKernel(*launch) for launch in packed]
        last = cuda.cuEventRecord(events[1], 0)
        for answer in (first, *started, last):
            _check(cuda, answer, LaunchError)

    def make_event(self) -> Any:
        """An event that keeps time."""
        cuda = self._enter()
        return _check(cuda, cuda.cuEventCreate(cuda.CUevent_flags.CU_EVENT_DEFAULT))

    def elapsed_seconds(self, start: Any, end: Any) -> float:
        """Wait for `end`; the driver tells milliseconds."""
        cuda = self._enter()
        _check(cuda, cuda.cuEventSynchronize(end), LaunchError)
        return float(_check(cuda, cuda.cuEventElapsedTime(start, end), LaunchError)) * 1e-3

    def destroy_event(self, event: Any) -> None:
        """Give an event back."""
        self._give_back(self._cuda.cuEventDestroy, event)

    def close(self) -> None:
        """Give the device's context back."""
        self._cuda.cuDevicePrimaryCtxRelease(self._device)

    def _enter(self) -> Any:
        """The API, with this device current in the calling thread."""
        _check(self._cuda, self._cuda.cuCtxSetCurrent(self._context))
        return self._cuda

    def _give_back(self, function: Callable[[Any], Any], handle: Any) -> None:
        """Statuses are not looked at: what a lost device refuses to take back is gone, and the loss has been told."""
        self._cuda.cuCtxSetCurrent(self._context)
        function(handle)

    def _describe(self, ordinal: int) -> DeviceInfo:
        cuda, names = self._cuda, self._cuda.CUdevice_attribute

        def attribute(name: str) -> int:
            key = getattr(names, f"CU_DEVICE_ATTRIBUTE_{name}")
            return int(_check(cuda, cuda.cuDeviceGetAttribute(key, self._device)))

        name = _check(cuda, cuda.cuDeviceGetName(128, self._device)).partition(b"\0")[0].decode()
        uuid = _check(cuda, cuda.cuDeviceGetUuid(self._device))
        driver_version = _check(cuda, cuda.cuDriverGetVersion())
        _, major, minor = self._nvrtc.nvrtcVersion()
        capability = (attribute("COMPUTE_CAPABILITY_MAJOR"), attribute("COMPUTE_CAPABILITY_MINOR"))
        return DeviceInfo(
            backend="cuda",
            ordinal=ordinal,
            uid=bytes(uuid.bytes).hex(),
            name=name,
            arch="sm_{}{}{}".format(*capability, "a" if capability[0] >= 9 else ""),
            compute_units=attribute("MULTIPROCESSOR_COUNT"),
            wavefront=attribute("WARP_SIZE"),
            lds_bytes=attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"),
            memory_bytes=int(_check(cuda, cuda.cuDeviceTotalMem(self._device))),
            max_block=attribute("MAX_THREADS_PER_BLOCK"),
            max_grid=(attribute("MAX_GRID_DIM_X"), attribute("MAX_GRID_DIM_Y"), attribute("MAX_GRID_DIM_Z")),
            compiler=f"NVRTC {major}.{minor}",
            driver=f"{driver_version // 1000}.{driver_version % 1000 // 10}",
            runtime=f"{driver_version // 1000}.{driver_version % 1000 // 10}",
            cache_bytes=attribute("L2_CACHE_SIZE"),
            bus="{:04x}:{:02x}:{:02x}".format(*map(attribute, ("PCI_DOMAIN_ID", "PCI_BUS_ID", "PCI_DEVICE_ID"))),
        )


def _value(argument: Scalar | tuple[Any, int]) -> Any:
    if isinstance(argument, Scalar):
        return argument.value
    memory, offset_bytes = argument
    return int(memory) + offset_bytes


def _type(argument: Scalar | tuple[Any, int]) -> type:
    return _SCALARS[argument.type] if isinstance(argument, Scalar) else ctypes.c_void_p
