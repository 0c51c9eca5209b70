"""Variables below MIOpen: HIP, the ROCm runtime, rocBLAS, and CUDA's that HIP reads too."""

from __future__ import annotations

from pytest_miopen_perf.doctor.readings import read_mask
from pytest_miopen_perf.doctor.variables import (
    Group,
    Variable,
    is_on,
    is_set,
    number,
    text,
    unlike_normal_use_when,
    worthless_when,
)

_DEVICE, _RUNTIME, _LIBRARIES = Group.DEVICE, Group.RUNTIME, Group.LIBRARIES
_UNSET = "unset it while measuring"
_SERIAL = unlike_normal_use_when(
    is_on, "every launch waits for the one before, so that wall times are not those of an application", _UNSET
)
_PROFILED = worthless_when(is_set, "what it loads sits between every launch and the device", _UNSET)

RUNTIME_VARIABLES = (
    text("HIP_VISIBLE_DEVICES", _DEVICE, "is which of the devices that ROCR_VISIBLE_DEVICES leaves HIP may use"),
    text("ROCR_VISIBLE_DEVICES", _DEVICE, "is which devices the ROCm runtime may use, as indices or UUIDs"),
    text("CUDA_VISIBLE_DEVICES", _DEVICE, "is which devices CUDA may use; HIP takes it where its own lacks"),
    text("CUDA_DEVICE_ORDER", _DEVICE, "is how CUDA counts devices: FASTEST_FIRST or PCI_BUS_ID"),
    text(
        "HSA_OVERRIDE_GFX_VERSION",
        _DEVICE,
        "makes the runtime take the GPU for another one",
        worthless_when(
            is_set,
            "kernels and data-base entries are those of another GPU; page faults during a search were reported",
            "unset it, and use a ROCm that supports the GPU",
        ),
    ),
    text(
        "HSA_CU_MASK",
        _DEVICE,
        "hides compute units",
        unlike_normal_use_when(is_set, "only a part of the GPU computes", _UNSET),
    ),
    number("HSA_XNACK", _DEVICE, "lets page faults be retried, which selects other code objects"),
    number("HIP_LAUNCH_BLOCKING", _RUNTIME, "makes every launch wait for its end", _SERIAL),
    number("CUDA_LAUNCH_BLOCKING", _RUNTIME, "makes every CUDA launch wait for its end", _SERIAL),
    number(
        "HIP_FORCE_QUEUE_PROFILING",
        _RUNTIME,
        "measures every command, as under a profiler",
        unlike_normal_use_when(is_on, "launches cost more than without it", _UNSET),
    ),
    number("HIP_FORCE_DEV_KERNARG", _RUNTIME, "keeps kernel arguments in device memory, 2 to 3 us faster a launch"),
    number("HIP_HOST_COHERENT", _RUNTIME, "makes pinned host memory coherent"),
    number("HIP_HIDDEN_FREE_MEM", _RUNTIME, "hides so many MiB of free memory"),
    number("HIP_ENABLE_DEFERRED_LOADING", _RUNTIME, "loads code objects at their first use"),
    text("HIP_PLATFORM", _RUNTIME, "is amd or nvidia for the compiler; an nvcc on PATH decides where it lacks"),
    text("HIP_PATH", _RUNTIME, "is where HIP is installed"),
    text("HIP_CLANG_PATH", _RUNTIME, "is where HIP's clang is"),
    text("HIP_DEVICE_LIB_PATH", _RUNTIME, "is where the device libraries are"),
    text("HIP_LIB_PATH", _RUNTIME, "is where HIP's libraries are"),
    number(
        "HSA_ENABLE_SDMA",
        _RUNTIME,
        "copies with the DMA engines; on by default",
        unlike_normal_use_when(lambda reading: reading.value == 0, "copies take compute units from kernels", _UNSET),
    ),
    number("HSA_ENABLE_PEER_SDMA", _RUNTIME, "copies between devices with the DMA engines; on by default"),
    number("HSA_ENABLE_INTERRUPT", _RUNTIME, "waits for signals by interrupt (1) or by polling (0)"),
    number("HSA_NO_SCRATCH_RECLAIM", _RUNTIME, "never takes scratch memory back from a queue"),
    number("HSA_SCRATCH_SINGLE_LIMIT", _RUNTIME, "is the scratch memory above which it is given once"),
    number(
        "HSA_ENABLE_DEBUG",
        _RUNTIME,
        "makes the runtime check more",
        unlike_normal_use_when(is_on, "its checks cost time", _UNSET),
    ),
    number(
        "HSA_DISABLE_CACHE",
        _RUNTIME,
        "turns the GPU's second-level cache off",
        worthless_when(is_on, "every access goes to memory", _UNSET),
    ),
    text("HSA_TOOLS_LIB", _RUNTIME, "loads a profiler into the runtime", _PROFILED),
    text("CUDA_INJECTION64_PATH", _RUNTIME, "loads a profiler into CUDA", _PROFILED),
    text("CUDA_MODULE_LOADING", _RUNTIME, "is LAZY or EAGER: whether code is loaded at its first use"),
    number("CUDA_CACHE_DISABLE", _RUNTIME, "keeps no code that was compiled at load time"),
    text("CUDA_CACHE_PATH", _RUNTIME, "is where such code is kept"),
    text("CUDA_PATH", _RUNTIME, "is where CUDA is installed"),
    text("CUDA_HOME", _RUNTIME, "is where CUDA is installed"),
    text("CUDA_VERSION", _RUNTIME, "is a container's note of its CUDA version; nothing reads it"),
    number("CUDA_DEVICE_MAX_CONNECTIONS", _RUNTIME, "is how many hardware queues CUDA uses"),
    Variable(
        name="ROCBLAS_LAYER",
        group=_LIBRARIES,
        read=read_mask({1: "trace", 2: "bench", 4: "profile"}),
        meaning="makes rocBLAS write every call",
        concern=unlike_normal_use_when(is_on, "the GEMM solvers write a line a call", _UNSET),
    ),
    text("ROCBLAS_LOG_PATH", _LIBRARIES, "is where rocBLAS writes what ROCBLAS_LAYER asks for"),
    text("ROCBLAS_LOG_TRACE_PATH", _LIBRARIES, "is where rocBLAS writes its trace"),
    text("ROCBLAS_LOG_BENCH_PATH", _LIBRARIES, "is where rocBLAS writes its bench lines"),
    text("ROCBLAS_LOG_PROFILE_PATH", _LIBRARIES, "is where rocBLAS writes its profile"),
    number(
        "ROCBLAS_CHECK_NUMERICS",
        _LIBRARIES,
        "makes rocBLAS scan its operands for infinities and NaN",
        worthless_when(is_on, "its scans run between the kernels", _UNSET),
    ),
    number("ROCBLAS_USE_HIPBLASLT", _LIBRARIES, "lets rocBLAS hand its work to hipBLASLt"),
    text(
        "ROCBLAS_TENSILE_LIBPATH",
        _LIBRARIES,
        "is where rocBLAS finds its kernels",
        unlike_normal_use_when(is_set, "the GEMM solvers run kernels of another library", _UNSET),
    ),
    number("ROCBLAS_DEVICE_MEMORY_SIZE", _LIBRARIES, "is rocBLAS's own workspace in bytes"),
    number("ROCBLAS_STREAM_ORDER_ALLOC", _LIBRARIES, "lets rocBLAS allocate in stream order"),
    number("ROCBLAS_VERBOSE_TENSILE_ERROR", _LIBRARIES, "makes rocBLAS say more when a kernel lacks"),
)
