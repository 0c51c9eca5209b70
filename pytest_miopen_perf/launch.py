"""Plain data between solvers and devices: what a device is, what a kernel is made of, and one launch of it.

A solver writes these, a device reads them, and neither sees the other.
"""

from __future__ import annotations

import enum
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

Dim3: TypeAlias = tuple[int, int, int]
"""Sizes in x, y and z."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DeviceInfo:
    """What a solver may know of a device, and what a result says of it.

    Attributes:
        backend: The back-end's name: "cpu", "scripted", "hip", "cuda".
        ordinal: Which device of the back-end.
        uid: A text that tells this device from its sisters on the machine.
        name: The device's own name, for example "AMD EPYC 9654".
        arch: The compiler's target: "x86_64", "gfx942", "sm_90".
        compute_units: Compute units, or hardware threads on a CPU.
        wavefront: Work-items that run in lock step; 1 on a CPU.
        lds_bytes: Shared memory of one work-group.
        memory_bytes: Memory of the device.
        max_block: Most work-items of one work-group.
        max_grid: Most work-groups in x, y and z.
        compiler: Name and version of the compiler that builds the kernels.
        driver: Version of the driver, "" where there is none.
        runtime: Version of the runtime, "" where there is none.
        cache_bytes: The largest cache that the device tells of, over all its instances; 0 where it tells of none.
        bus: Its place on the PCI bus as "0000:83:00", "" where it has none.
    """

    backend: str
    ordinal: int = 0
    uid: str = ""
    name: str
    arch: str
    compute_units: int
    wavefront: int
    lds_bytes: int
    memory_bytes: int
    max_block: int = 1024
    max_grid: Dim3 = (2**31 - 1, 65535, 65535)
    compiler: str = ""
    driver: str = ""
    runtime: str = ""
    cache_bytes: int = 0
    bus: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelSource:
    """One kernel to compile: a file of the `kernels` folder, its entry point, and the `-D` macros that specialise it.

    Attributes:
        file: The file's name below `kernels/`, or an absolute path.
        entry: The name of the `extern "C" __global__` function.
        defines: Macro names and values, in the order in which they are passed.
        options: Further compiler options, understood by every back-end's compiler; places by absolute path.
    """

    file: str
    entry: str
    defines: tuple[tuple[str, str], ...] = ()
    options: tuple[str, ...] = ()


class Slot(enum.Enum):
    """The buffers of a convolution that a launch can name; a device array stands in for it at run time.

    INPUT, WEIGHTS and OUTPUT are x, w and y whatever the direction: backward data writes INPUT.
    """

    INPUT = "x"
    WEIGHTS = "w"
    OUTPUT = "y"
    WORKSPACE = "workspace"


ScalarType: TypeAlias = Literal["i32", "i64", "f32", "f64"]


@dataclass(frozen=True, slots=True)
class Scalar:
    """One by-value argument: its name in the kernel, its C type, its value."""

    name: str
    type: ScalarType
    value: int | float


@dataclass(frozen=True, slots=True)
class Pointer:
    """One buffer argument: its name in the kernel, the buffer, and an offset into it."""

    name: str
    slot: Slot
    offset_bytes: int = 0


Argument: TypeAlias = Scalar | Pointer


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """One kernel launch as plain data; `grid` counts work-groups, as HIP does.

    Attributes:
        kernel: What to compile and start.
        grid: Work-groups in x, y and z.
        block: Work-items of a work-group in x, y and z.
        args: The arguments in the kernel's order.
        shared_bytes: Dynamic shared memory.
        is_transformation: A layout change or an im2col, not the convolution itself.
    """

    kernel: KernelSource
    grid: Dim3
    block: Dim3
    args: tuple[Argument, ...]
    shared_bytes: int = 0
    is_transformation: bool = field(default=False)
