"""What a kernel's binary is made from: the same identity and compiler give the same binary, wherever the files lie."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_miopen_perf.kernel_source.files import include_dirs, kernel_path
from pytest_miopen_perf.kernel_source.text import digest_of, kernel_texts

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pytest_miopen_perf.launch import KernelSource


def identity_of(source: KernelSource) -> list[str]:
    """What decides a binary beside the compiler: entry, macros, options, and the texts of file and headers.

    Raises:
        CompileError: a file cannot be read, or names a header in a way that cannot be followed, or an option does.
    """
    path = kernel_path(source.file)
    macros = [f"-D{name}={value}" for name, value in source.defines]
    return [source.entry, *macros, *source.options, *kernel_texts(path, include_dirs(path), source.options)]


def compile_key(sources: Iterable[KernelSource], compiler: str) -> str:
    """One short digest of several kernels and their compiler: another key means that other binaries ran."""
    identities = (digest_of(identity_of(source)) for source in dict.fromkeys(sources))
    return digest_of([compiler, *identities])[:16]
