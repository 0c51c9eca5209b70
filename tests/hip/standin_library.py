"""The stand-in library as a folder that hip-python of either generation looks into, and children that run on it."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from pytest_miopen_perf.devices.host_compiler import wheel_zig

SOURCES = Path(__file__).parent / "standin"
ROOT = Path(__file__).parents[2]
_LANGUAGE = ("-std=c++17", "-fno-exceptions", "-fno-rtti", "-fvisibility=hidden", "-Wall", "-Wextra", "-Werror")
_FLAGS = (*_LANGUAGE, "-O2", "-fPIC", "-shared")


def library_compiler():
    """The words before the flags; None where no compiler is that has a C library to link with."""
    if zig := wheel_zig():
        return [zig, "c++", "-target", "x86_64-linux-gnu", "-nostdlib++"]
    program = shutil.which("c++")
    return [program] if program else None


def build_library(folder, *defines):
    """Both libraries are one file, as Debian's are: `libhiprtc.so` is a second name."""
    lib = folder / "lib"
    lib.mkdir(parents=True)
    output = lib / "libamdhip64.so"
    sources = sorted(str(path) for path in SOURCES.glob("*.cpp"))
    subprocess.run(
        [*library_compiler(), *_FLAGS, *defines, *sources, "-o", str(output), "-ldl", "-lpthread"], check=True
    )
    (lib / "libhiprtc.so").symlink_to(output.name)
    return folder


@dataclass(frozen=True)
class Standin:
    """A built stand-in.

    Attributes:
        home: Holds `lib`, as `ROCM_PATH` does.
        cache: Where its compiler keeps what it has compiled.
    """

    home: Path
    cache: Path

    def run(self, words, python=sys.executable, **environment):
        """Run a Python of either generation on the stand-in; the loader reads its path when a process starts."""
        ledger = self.cache / f"ledger-{os.getpid()}.json"
        ledger.unlink(missing_ok=True)
        own = {
            "LD_LIBRARY_PATH": str(self.home / "lib"),
            "ROCM_PATH": str(self.home),  # hip-python 10 looks there first
            "ROCM_HOME": str(self.home),
            "STANDIN_HIP_COMPILER": f"{sys.executable}:{SOURCES / 'compile_kernels.py'}",
            "STANDIN_HIP_CACHE": str(self.cache),
            "STANDIN_HIP_LEDGER": str(ledger),
        }
        done = subprocess.run(
            [python, *map(str, words)],
            cwd=ROOT,
            env={**os.environ, **own, **environment},
            check=False,
            capture_output=True,
            text=True,
            timeout=600,
        )
        return Run(
            done.returncode, done.stdout + done.stderr, json.loads(ledger.read_text()) if ledger.exists() else {}
        )


@dataclass(frozen=True)
class Run:
    """What a child printed, its exit status, and what the stand-in counted: kind to {"made": n, "live": n}."""

    status: int
    output: str
    ledger: dict

    def alive(self):
        return {kind: count["live"] for kind, count in self.ledger.items() if count["live"]}
