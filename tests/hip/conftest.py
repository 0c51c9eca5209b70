"""The stand-in library, and the Pythons whose hip-python runs on it."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from importlib import metadata

import pytest
from standin_library import Standin, build_library, library_compiler

OLD_PYTHON_VARIABLE = "MIOPEN_PERF_TEST_HIP7_PYTHON"
"""An interpreter with hip-python 7 and this project; the package is 300 MB, so CI has none."""


@pytest.fixture(scope="session")
def standin_parts(tmp_path_factory):
    """Where stand-ins may be built; skips where none can."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        pytest.skip("hip-python and the stand-in library are for x86-64 Linux")
    if library_compiler() is None:
        pytest.skip("no compiler for the stand-in library: install the cpu extra, or c++")
    return tmp_path_factory.mktemp("standin")


@pytest.fixture(scope="session")
def standin(standin_parts):
    return Standin(build_library(standin_parts / "home"), standin_parts)


@pytest.fixture(scope="session", params=["hip-python 10", "hip-python 7"])
def hip_python(request):
    """An interpreter with hip-python of a generation."""
    generation = request.param.split()[1]
    if generation == "10":
        return _this_python(generation)
    python = os.environ.get(OLD_PYTHON_VARIABLE)
    if not python:
        pytest.skip(f"{OLD_PYTHON_VARIABLE} names no interpreter that has hip-python 7 and this project")
    command = [python, "-c", "from importlib.metadata import version; print(version('hip-python'))"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    assert found.startswith("7."), f"{python} has hip-python {found}"
    return python


def _this_python(generation):
    try:
        found = metadata.version("hip-python")
    except metadata.PackageNotFoundError:
        pytest.skip("hip-python is not installed")
    if not found.startswith(f"{generation}."):
        pytest.skip(f"this Python has hip-python {found}")
    return sys.executable
