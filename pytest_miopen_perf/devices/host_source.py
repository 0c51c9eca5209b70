"""From a kernel's text to the translation unit that a C++ compiler turns into a shared object for this CPU.

The text is not changed. What the compiler must know in advance is read from it: whether work-items synchronise, which
arrays of dynamic shared memory it names, and which headers it includes. Such an array may be declared in any scope of
any function, but not inside a namespace, where its symbol has another name.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_miopen_perf.errors import CompileError
from pytest_miopen_perf.kernel_source.directives import without_comments
from pytest_miopen_perf.kernel_source.files import include_dirs, kernel_path
from pytest_miopen_perf.kernel_source.text import digest_of, kernel_texts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pytest_miopen_perf.launch import KernelSource

HOST_HEADERS = Path(__file__).resolve().parent / "host"
DYNAMIC_SHARED_BYTES = 65536
"""What every array of dynamic shared memory gets; a launch may ask for less."""

_SYNCHRONISES = re.compile(r"\b__(?:syncthreads|syncwarp|shfl|shfl_up|shfl_down|shfl_xor|ballot|any|all|lane_id)\b")
_DYNAMIC_SHARED = re.compile(
    r"\bextern\b[^;{}]*\b__shared__\b[^;{}]*?\b(\w+)\s*\[\s*\]|\bHIP_DYNAMIC_SHARED\s*\([^,()]+,\s*(\w+)\s*\)"
)
_KERNEL = re.compile(r"\b__global__\b([^;{}]*)[;{]")
_ATTRIBUTE = re.compile(r"\b__launch_bounds__\s*\([^()]*\)|\b__attribute__\s*\(\(.*?\)\)(?!\))", re.DOTALL)
_FUNCTION = re.compile(r"(\w+)\s*\(")


@dataclass(frozen=True, slots=True, kw_only=True)
class HostUnit:
    """One translation unit, and what its binary depends on.

    Attributes:
        text: What the compiler reads.
        defines: Macros of the host headers; the kernel's own stand in the text.
        options: The kernel's further compiler options.
        include_dirs: Where its headers lie.
        synchronises: The text names a barrier or a wave intrinsic, so that work-items need stacks.
        digest: SHA-256 of everything above that decides the binary: texts, not paths.
        entry: The kernel that is asked for.
        kernels: The kernels that the text holds, as far as their names stand there and come from no macro.
    """

    text: str
    defines: tuple[tuple[str, str], ...]
    options: tuple[str, ...]
    include_dirs: tuple[Path, ...]
    synchronises: bool
    digest: str
    entry: str
    kernels: tuple[str, ...]


def host_unit(source: KernelSource) -> HostUnit:
    """Read a kernel and its headers.

    Raises:
        CompileError: a file cannot be read or followed, or the entry is not the name of a function.
    """
    if not source.entry.isidentifier():
        raise CompileError(f'the entry {source.entry!r} of {source.file} is not the name of an extern "C" function')
    path = kernel_path(source.file)
    folders = include_dirs(path)
    texts = tuple(kernel_texts(path, folders, source.options))
    code = [without_comments(text) for text in texts]
    synchronises = any(_SYNCHRONISES.search(text) for text in code)
    arrays = sorted({match[1] or match[2] for text in code for match in _DYNAMIC_SHARED.finditer(text)})
    defines = (
        ("HIP_HOST_FIBERS", str(int(synchronises))),
        ("HIP_HOST_KERNEL", source.entry),
        ("HIP_HOST_DYNAMIC_SHARED_BYTES", str(DYNAMIC_SHARED_BYTES if arrays else 0)),
    )
    settings = [f"-D{name}={value}" for name, value in (*source.defines, *defines)] + list(source.options)
    return HostUnit(
        text=_unit_text(path, source.defines, arrays),
        defines=defines,
        options=source.options,
        include_dirs=(*folders, HOST_HEADERS),
        synchronises=synchronises,
        digest=digest_of([*settings, *texts, *_host_header_texts()]),
        entry=source.entry,
        kernels=tuple(dict.fromkeys(name for text in code for name in _kernels(text))),
    )


def _kernels(code: str) -> Iterator[str]:
    heads = (_ATTRIBUTE.sub(" ", head) for head in _KERNEL.findall(code))
    return (found[1] for head in heads if (found := _FUNCTION.search(head)))


def _host_header_texts() -> Iterator[str]:
    return (path.read_text() for path in sorted(HOST_HEADERS.rglob("*.h")))


def _unit_text(path: Path, defines: Iterable[tuple[str, str]], arrays: Iterable[str]) -> str:
    """The kernel between the host headers, with its macros around it alone: it may call one of them `N`."""
    macros = list(defines)
    return "\n".join(
        [
            '#include "hip_host.h"',
            *(f"#define {name} {value}" for name, value in macros),
            f'#include "{path}"',
            *(f"#undef {name.partition('(')[0]}" for name, _ in macros),
            '#include "hip_host_entry.h"',
            *_dynamic_shared_definition(list(arrays)),
            "",
        ]
    )


def _dynamic_shared_definition(arrays: list[str]) -> list[str]:
    """All arrays of dynamic shared memory name the same bytes, whatever their types: only assembly can say that."""
    if not arrays:
        return []
    labels = "".join(f".globl {name}\\n.hidden {name}\\n{name}:\\n" for name in [*arrays, "hip_host_dynamic_shared"])
    section = '.pushsection .tbss,\\"awT\\",@nobits\\n.p2align 6\\n'
    return [f'asm("{section}{labels}.zero {DYNAMIC_SHARED_BYTES}\\n.popsection\\n");']
