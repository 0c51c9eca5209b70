"""The compiler of AMD code objects: clang and lld of the `ziglang` wheel, and the targets that they know."""

from __future__ import annotations

import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from pytest_miopen_perf.codeobject.architectures import ARCHITECTURES, architecture_of
from pytest_miopen_perf.devices.compiler_process import run_compiler
from pytest_miopen_perf.devices.host_compiler import HostCompiler, compiler_version, wheel_zig
from pytest_miopen_perf.errors import DeviceUnavailableError, SettingsError

TRIPLE = "amdgcn-amd-amdhsa"
ENVIRONMENT = {"PATH": "/nonexistent"}
"""All that a compiler gets to see of an environment: nothing of this machine shall find its way into a code object."""

_TARGET = re.compile(r"gfx(?:[0-9]+[0-9a-f]{2}|[0-9]+(?:-[0-9]+)*-generic)(?::(?:sramecc|xnack)[+-])*")
_PROCESSOR = re.compile(r"^\s+(gfx[0-9a-z-]+)\s*$", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class AmdCompiler:
    """clang and lld in one program.

    Attributes:
        program: The path of `zig`.
        version: Name and version, for example "zig clang 22.1.8 (ziglang 0.17.1)".
        processors: The processors that it names as its targets, for example "gfx942".
    """

    program: str
    version: str
    processors: frozenset[str]


def find_amd_compiler(timeout_s: float = 60.0) -> AmdCompiler:
    """The compiler of the `ziglang` wheel.

    Raises:
        DeviceUnavailableError: it is not installed, does not start, or knows no AMD GPU; the message says what to do.
    """
    if not (program := wheel_zig()):
        raise DeviceUnavailableError(
            "no compiler for AMD code objects: pip install 'ziglang>=0.15.2' (looked for the ziglang package)"
        )
    return amd_compiler(program, timeout_s)


def amd_compiler(program: str, timeout_s: float = 60.0) -> AmdCompiler:
    """The compiler in a `zig` of the caller's choice.

    Raises:
        DeviceUnavailableError: it does not start, or knows no AMD GPU.
    """
    version_command = (program, "clang", "--version")
    version = compiler_version(HostCompiler(command=(), linker=(program,), version_command=version_command), timeout_s)
    command = (program, "clang", "-target", TRIPLE, "-print-supported-cpus")
    try:
        listing = run_compiler(command, Path(tempfile.gettempdir()), timeout_s, ENVIRONMENT)
    except (OSError, subprocess.SubprocessError) as error:
        raise DeviceUnavailableError(f"{version} does not list its AMD targets: {error}") from error
    processors = frozenset(_PROCESSOR.findall(listing))
    if not processors:
        raise DeviceUnavailableError(f"{version} knows no AMD GPU")
    return AmdCompiler(program=program, version=version, processors=processors)


def processor_of(target: str) -> str:
    """The processor of a target ID such as `gfx90a:sramecc+:xnack-`, which is what hip-python calls `gcnArchName`.

    Raises:
        SettingsError: it is not a target ID.
    """
    if not _TARGET.fullmatch(target):
        raise SettingsError(
            f"{target!r} is no AMD GPU target; write it as gfx942 or gfx90a:sramecc+:xnack-; "
            f"known: {', '.join(ARCHITECTURES)}"
        )
    return target.partition(":")[0]


def parse_targets(text: str) -> tuple[str, ...]:
    """Targets from a text such as `gfx942,gfx1201`; `all` is every architecture of the table.

    Raises:
        SettingsError: one is no target ID, or of an architecture that is not in the table; the message lists what is.
    """
    if text.strip() == "all":
        return tuple(ARCHITECTURES)
    targets = tuple(dict.fromkeys(target.strip() for target in text.split(",")))
    for target in targets:
        processor_of(target)
        architecture_of(target)
    return targets


def target_refusal(compiler: AmdCompiler, target: str) -> str:
    """Why the compiler cannot build for a target, in words; "" when it names its processor.

    Raises:
        SettingsError: it is not a target ID.
    """
    processor = processor_of(target)
    return "" if processor in compiler.processors else f"{compiler.version} does not know {processor}"
