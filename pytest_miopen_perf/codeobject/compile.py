"""Kernel text to AMD code objects, with nothing but the compiler of a wheel: no GPU, no ROCm, an empty PATH.

Three steps, because the driver's own link step wants programs under names that the wheel does not have: text to
assembly, assembly to object, object to code object. Code objects are kept on disk.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_miopen_perf.codeobject.toolchain import ENVIRONMENT, TRIPLE, AmdCompiler, target_refusal
from pytest_miopen_perf.devices.compile_cache import CompileCache, default_cache_dir
from pytest_miopen_perf.devices.compiler_process import run_compiler
from pytest_miopen_perf.errors import CompileError
from pytest_miopen_perf.kernel_source.files import include_dirs, kernel_path
from pytest_miopen_perf.kernel_source.text import digest_of, kernel_texts
from pytest_miopen_perf.launch import KernelSource

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

DEVICE_HEADERS = Path(__file__).resolve().parent / "device"
PROBE = KernelSource(file=str(DEVICE_HEADERS / "probe.hip"), entry="probe")
"""A kernel that a compiler which names a target must manage before it is believed."""

_FLAGS = (
    "-x",
    "hip",
    "--cuda-device-only",
    "-nogpulib",
    "-nogpuinc",
    "-nostdinc",
    "-nostdinc++",
    "-std=c++17",
    "-O3",
    "-mcode-object-version=5",
    "-include",
    "hip_device.h",
)


class CodeObjectBuilder:
    """A compiler, its cache on disk and its time limit. Any thread may call any method.

    Args:
        compiler: Who compiles.
        cache_dir: Where code objects are kept; None is the user's cache directory.
        timeout_s: Seconds after which the compilation of one kernel is stopped.
        threads: Compilers at once; None is one a usable core.
    """

    def __init__(
        self,
        compiler: AmdCompiler,
        cache_dir: Path | None = None,
        timeout_s: float = 120.0,
        threads: int | None = None,
    ) -> None:
        self._compiler = compiler
        self._cache = CompileCache(cache_dir or default_cache_dir("codeobject"))
        self._timeout_s = timeout_s
        self._threads = threads or len(os.sched_getaffinity(0))
        headers = [path.read_text() for path in sorted(DEVICE_HEADERS.rglob("*.h"))]
        self._toolchain = digest_of([compiler.version, *_FLAGS, *headers])

    @property
    def threads(self) -> int:
        """Compilers at once."""
        return self._threads

    @property
    def compiler(self) -> AmdCompiler:
        """Who compiles."""
        return self._compiler

    def refusal(self, target: str) -> str:
        """Why code objects for a target cannot be built, in words; "" when they can.

        The compiler is asked whether it knows the target, and then made to show it on a small kernel.

        Raises:
            SettingsError: it is not a target ID.
        """
        if reason := target_refusal(self._compiler, target):
            return reason
        try:
            self.build(PROBE, target)
        except CompileError as error:
            return f"{self._compiler.version} names {target} and cannot compile for it: {error}"
        return ""

    def build(self, source: KernelSource, target: str) -> bytes:
        """The code object of a kernel, compiled or from the cache; it holds every kernel of the file.

        Raises:
            CompileError: with the compiler's own words, or the seconds after which it was stopped.
        """
        name = f"{f'{source.entry} of ' if source.entry else ''}{source.file} for {target}"
        key = self._key(source, target)
        if (cached := self._cache.get(key)) is not None:
            return cached
        code_object = _compiled(self._compiler, source, target, name, self._timeout_s)
        self._cache.put(key, code_object)
        return code_object

    def build_all(
        self, wanted: Iterable[tuple[KernelSource, str]], on_built: Callable[[], None] | None = None
    ) -> list[bytes | CompileError]:
        """Many code objects, several at once, each kind once; a kernel that does not compile stands as its error.

        An interrupt waits for the compilers that run, starts no further one, and leaves on disk what was compiled.

        Args:
            wanted: Kernels and their targets.
            on_built: Called when one of the distinct ones has been built, by any thread.
        """

        def attempt(pair: tuple[KernelSource, str]) -> bytes | CompileError:
            built = self._attempt(pair)
            if on_built is not None:
                on_built()
            return built

        pairs = list(wanted)
        with ThreadPoolExecutor(self._threads, "miopen-perf-amd") as pool:
            results = dict(zip(unique := list(dict.fromkeys(pairs)), pool.map(attempt, unique), strict=True))
        return [results[pair] for pair in pairs]

    def close(self) -> None:
        """Remove what was kept on disk for this builder alone."""
        self._cache.close()

    def _attempt(self, pair: tuple[KernelSource, str]) -> bytes | CompileError:
        try:
            return self.build(*pair)
        except CompileError as error:
            return error

    def _key(self, source: KernelSource, target: str) -> str:
        path = kernel_path(source.file)
        texts = kernel_texts(path, include_dirs(path), source.options)
        return digest_of([self._toolchain, target, *_settings(source), *texts])


def _settings(source: KernelSource) -> list[str]:
    return [f"-D{name}={value}" for name, value in source.defines] + list(source.options)


def _compiled(compiler: AmdCompiler, source: KernelSource, target: str, name: str, timeout_s: float) -> bytes:
    deadline = time.monotonic() + timeout_s
    with tempfile.TemporaryDirectory(prefix="miopen-perf-amd-") as folder:
        place = Path(folder)
        for command in _commands(compiler.program, source, target):
            try:
                # A compiler that crashes leaves files where TMPDIR says: in the folder that goes.
                run_compiler(command, place, deadline - time.monotonic(), {**ENVIRONMENT, "TMPDIR": folder})
            except subprocess.TimeoutExpired as error:
                raise CompileError(f"the compiler of {name} was stopped after {timeout_s:g} s") from error
            except subprocess.CalledProcessError as error:
                raise CompileError(f"{name} does not compile", error.output) from error
            except OSError as error:
                raise CompileError(f"the compiler of {name} does not start: {error}") from error
        return _read_output(place / "kernel.hsaco", name)


def _read_output(path: Path, name: str) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise CompileError(f"the compiler of {name} reported success and wrote no code object") from error


def _commands(program: str, source: KernelSource, target: str) -> tuple[tuple[str, ...], ...]:
    path = kernel_path(source.file)
    folders = (f"-I{folder}" for folder in (*include_dirs(path), DEVICE_HEADERS))
    settings = (*folders, *_settings(source))
    return (
        (program, "clang", f"--offload-arch={target}", *_FLAGS, *settings, "-S", str(path), "-o", "kernel.s"),
        (program, "clang", "-target", TRIPLE, f"-mcpu={target}", "-c", "kernel.s", "-o", "kernel.o"),
        (program, "ld.lld", "-shared", "--no-undefined", "kernel.o", "-o", "kernel.hsaco"),
    )
