"""Our packed arguments against what a kernel's code object says that it reads.

A launch packs its arguments as hip-python and the drivers do: one behind the other, each at a multiple of its own size.
The code object lists where the kernel looks. Types are compared as far as the list tells them: size, and pointer or
value; an `int` that is passed for a `float` has the same size, and shows in the numbers only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_miopen_perf.codeobject.metadata import KernelArgument
from pytest_miopen_perf.launch import Pointer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pytest_miopen_perf.codeobject.metadata import KernelResources
    from pytest_miopen_perf.launch import Argument, ScalarType

_POINTER_BYTES = 8
_SCALAR_BYTES: dict[ScalarType, int] = {"i32": 4, "i64": 8, "f32": 4, "f64": 8}
_BUFFER = "global_buffer"
_VALUE = "by_value"


def packed_arguments(args: Sequence[Argument]) -> tuple[KernelArgument, ...]:
    """Where each argument of a launch lies in the packed buffer: naturally aligned, in order."""
    packed = []
    end = 0
    for arg in args:
        size = _POINTER_BYTES if isinstance(arg, Pointer) else _SCALAR_BYTES[arg.type]
        offset = -(-end // size) * size
        packed.append(KernelArgument(offset=offset, size=size, kind=_BUFFER if isinstance(arg, Pointer) else _VALUE))
        end = offset + size
    return tuple(packed)


def argument_faults(args: Sequence[Argument], resources: KernelResources) -> Iterator[str]:
    """What does not fit between the arguments of a launch and those that its kernel reads, a sentence each."""
    packed = packed_arguments(args)
    read = [argument for argument in resources.args if not argument.is_hidden]
    if len(packed) != len(read):
        yield f"{resources.name} reads {len(read)} arguments, the launch passes {len(packed)}"
    for number, (ours, theirs) in enumerate(zip(packed, read, strict=False)):
        if ours != theirs:
            yield (
                f"argument {number} ({args[number].name}) of {resources.name} is passed as {_words(ours)}, "
                f"and the kernel reads {_words(theirs)}"
            )


def block_faults(work_items: int, resources: KernelResources) -> Iterator[str]:
    """Why a work-group is larger than its kernel can be launched with, if it is."""
    if work_items > resources.most_work_items:
        yield (
            f"the launch makes work-groups of {work_items} work-items, and {resources.name} was compiled for "
            f"{resources.most_work_items} at most"
        )


def _words(argument: KernelArgument) -> str:
    kind = {_BUFFER: "a pointer", _VALUE: "a value"}.get(argument.kind, argument.kind)
    return f"{kind} of {argument.size} bytes at offset {argument.offset}"
