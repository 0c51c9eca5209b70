"""The C++ compiler of the CPU back-end: which one, what it calls itself, and one translation unit through it.

Looked for in this order: the command in `MIOPEN_PERF_CXX`, clang of the `ziglang` wheel, `clang++`, `g++`. Finding is a
matter of paths; no process is started before something is to be compiled.
"""

from __future__ import annotations

import importlib.util
import os
import platform
import re
import shlex
import shutil
import subprocess
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_miopen_perf.devices.compiler_process import run_compiler
from pytest_miopen_perf.errors import CompileError, DeviceUnavailableError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_miopen_perf.devices.host_source import HostUnit

COMPILER_VARIABLE = "MIOPEN_PERF_CXX"

_FLAGS = (
    "-std=c++17",
    "-nostdinc",
    "-nostdinc++",
    "-O3",
    "-march=native",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fPIC",
    "-ffreestanding",
    "-fno-exceptions",
    "-fno-rtti",
    "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
    "-fvisibility=hidden",
)
_CLANG = re.compile(r"clang version (\d+)")
_GCC = re.compile(r"^\S*(?:g\+\+|gcc|c\+\+)\S* .*?(\d+)\.\d+\.\d+")

_ERROR = re.compile(r"\berror: ")
_ENTRY_PLACES = ("hip_host_entry.h:", "<command-line>:", "<command line>:")
"""Where compilers see the kernel's name in our own text."""

_FRAME_LIMIT_BYTES = 32768
"""Half of a work-item's stack: what one function may keep there when work-items are fibers."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HostCompiler:
    """How to call a compiler.

    Attributes:
        command: The words before the flags of a compilation.
        linker: The words before the flags of a link, or () when the compiler links by itself.
        version_command: What prints the version.
    """

    command: tuple[str, ...]
    linker: tuple[str, ...] = ()
    version_command: tuple[str, ...]


def find_host_compiler(environment: Mapping[str, str] | None = None) -> HostCompiler:
    """The first compiler that is there.

    Args:
        environment: Stands in for the process's environment.

    Raises:
        DeviceUnavailableError: none is; the message lists what was looked for.
    """
    environment = os.environ if environment is None else environment
    path = environment.get("PATH", "")
    if command := environment.get(COMPILER_VARIABLE, "").strip():
        return _asked_for(command, path)
    if zig := wheel_zig():
        return _zig(zig)
    for name in ("clang++", "g++"):
        if program := shutil.which(name, path=path):
            return _driver((program,))
    raise DeviceUnavailableError(
        "no C++ compiler for the CPU device: pip install 'ziglang>=0.15.2' "
        f"(looked for the variable {COMPILER_VARIABLE}, the ziglang package, and clang++ and g++ on PATH)"
    )


def _asked_for(command: str, path: str) -> HostCompiler:
    try:
        words = shlex.split(command)
    except ValueError as error:
        raise DeviceUnavailableError(f"{COMPILER_VARIABLE}={command!r} is not a command line: {error}") from error
    program = shutil.which(words[0], path=path)
    if not program:
        raise DeviceUnavailableError(f"{COMPILER_VARIABLE}={command!r} names {words[0]!r}, which is not a program here")
    if Path(program).name == "zig" and len(words) == 1:
        return _zig(program)
    return _driver((program, *words[1:]))


def wheel_zig() -> str | None:
    """The program of the `ziglang` wheel; None when it is not installed."""
    spec = importlib.util.find_spec("ziglang")
    for folder in (spec and spec.submodule_search_locations) or ():
        program = Path(folder) / "zig"
        if os.access(program, os.X_OK):
            return str(program)
    return None


def _zig(program: str) -> HostCompiler:
    """`zig clang` is the plain clang driver; its own link step needs programs that the wheel has under other names."""
    target = ("-target", f"{platform.machine()}-unknown-linux-gnu")
    return HostCompiler(
        command=(program, "clang", *target), linker=(program, "ld.lld"), version_command=(program, "clang", "--version")
    )


def _driver(words: tuple[str, ...]) -> HostCompiler:
    return HostCompiler(command=words, version_command=(*words, "--version"))


def compiler_version(compiler: HostCompiler, timeout_s: float = 60.0) -> str:
    """Name and version, for example "zig clang 22.1.8 (ziglang 0.17.1)".

    Raises:
        DeviceUnavailableError: the compiler does not start, prints no version, or has none of the 16-bit floats.
    """
    output = _words_of(compiler.version_command, timeout_s)
    first = next((line.strip() for line in output.splitlines() if line.strip()), "")
    _check_age(first)
    if not compiler.linker:
        return first
    found = re.search(r"clang version (\S+)", first)
    zig = _words_of((compiler.linker[0], "version"), timeout_s).strip()
    package = "ziglang" if Path(compiler.linker[0]).parent.name == "ziglang" else "zig"
    return f"zig clang {found[1] if found else first} ({package} {zig})"


def _check_age(version: str) -> None:
    """Compilers whose C++ has no `_Float16` on x86-64 would fail on every kernel, and not say why."""
    for pattern, oldest in ((_CLANG, 15), (_GCC, 12)):
        found = pattern.search(version)
        if found and int(found[1]) < oldest:
            raise DeviceUnavailableError(
                f"the compiler {version!r} is too old for the CPU device, which needs clang 15 or g++ 12: "
                f"pip install 'ziglang>=0.15.2', or name another one in {COMPILER_VARIABLE}"
            )


def suited_to(compiler: HostCompiler, version: str) -> HostCompiler:
    """The compiler with what only its kind needs: g++ alone calls initialisers of an extern thread-local array."""
    is_gcc = _GCC.search(version) and not _CLANG.search(version)
    return replace(compiler, command=(*compiler.command, "-fno-extern-tls-init")) if is_gcc else compiler


def _words_of(command: Sequence[str], timeout_s: float) -> str:
    try:
        output = run_compiler(command, Path(tempfile.gettempdir()), timeout_s)
    except (OSError, subprocess.SubprocessError) as error:
        raise DeviceUnavailableError(f"the compiler does not say its version: {error}") from error
    if not output.strip():
        raise DeviceUnavailableError(f"the compiler does not say its version: {shlex.join(command)} prints nothing")
    return output


def compile_unit(compiler: HostCompiler, unit: HostUnit, name: str, timeout_s: float) -> bytes:
    """The shared object of one translation unit.

    Args:
        compiler: Who compiles.
        unit: What.
        name: What messages call the kernel.
        timeout_s: Seconds for compilation and link together.

    Raises:
        CompileError: with the compiler's own words, or the seconds after which it was stopped.
    """
    deadline = time.monotonic() + timeout_s
    with tempfile.TemporaryDirectory(prefix="miopen-perf-cc-") as folder:
        place = Path(folder)
        (place / "unit.cpp").write_text(unit.text)
        for command in _commands(compiler, unit):
            try:
                log = run_compiler(command, place, deadline - time.monotonic())
            except subprocess.TimeoutExpired as error:
                raise CompileError(f"the compiler of {name} was stopped after {timeout_s:g} s") from error
            except subprocess.CalledProcessError as error:
                raise _refused(unit, name, error.output) from error
            except OSError as error:
                raise CompileError(f"the compiler of {name} does not start: {error}") from error
            if "[-Wframe-larger-than" in log:  # the two compilers spell the option that makes it an error differently
                raise CompileError(f"{name} needs more private memory than the stack of a work-item has", log)
        return _read_output(place / "kernel.so", name)


def _refused(unit: HostUnit, name: str, log: str) -> CompileError:
    """The compiler's words; where all that it misses is the entry, they would tell of our header alone."""
    errors = [line for line in log.splitlines() if _ERROR.search(line)]
    undeclared = re.compile(rf"undeclared identifier '{unit.entry}'|'{unit.entry}' was not declared")
    is_ours = all(any(place in line for place in _ENTRY_PLACES) for line in errors)
    if is_ours and any(undeclared.search(line) for line in errors):
        held = ", ".join(unit.kernels) or "none"
        return CompileError(f"{name} does not compile: the text holds no kernel {unit.entry!r}; it holds: {held}")
    return CompileError(f"{name} does not compile", log)


def _read_output(path: Path, name: str) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError as error:
        raise CompileError(f"the compiler of {name} reported success and wrote no shared object") from error


def _commands(compiler: HostCompiler, unit: HostUnit) -> list[tuple[str, ...]]:
    flags = (
        *_FLAGS,
        *((f"-Wframe-larger-than={_FRAME_LIMIT_BYTES}",) if unit.synchronises else ()),
        *(f"-I{folder}" for folder in unit.include_dirs),
        *(f"-D{name}={value}" for name, value in unit.defines),
        *unit.options,
    )
    if not compiler.linker:
        return [(*compiler.command, *flags, "-shared", "-nostdlib", "unit.cpp", "-o", "kernel.so")]
    return [
        (*compiler.command, "-x", "c++", *flags, "-c", "unit.cpp", "-o", "unit.o"),
        (*compiler.linker, "-shared", "unit.o", "-o", "kernel.so"),
    ]


def compiler_flags_text(compiler: HostCompiler) -> str:
    """What of the command line is the same for every kernel, as one text for the cache key."""
    return shlex.join((*compiler.command, *compiler.linker, *_FLAGS, str(_FRAME_LIMIT_BYTES)))
