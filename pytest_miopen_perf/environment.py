"""What a record must say of the world it was measured in; host and user names are never part of it."""

from __future__ import annotations

import os
import platform
from importlib import metadata
from typing import TYPE_CHECKING

from pytest_miopen_perf import __version__

if TYPE_CHECKING:
    from collections.abc import Mapping

PREFIXES = ("MIOPEN_", "HIP_", "ROCR_", "HSA_", "ROCBLAS_", "CUDA_")
"""Variables that change what a kernel does or how fast it is: many public regressions are a difference here."""

_PACKAGES = (
    "pytest",
    "numpy",
    "jsonschema",
    "rich",
    "hypothesis",
    "ziglang",
    "hip-python",
    "cuda-bindings",
    "nvidia-ml-py",
)


def performance_variables(variables: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Every set variable with one of `PREFIXES`, sorted."""
    return {name: value for name, value in sorted(variables.items()) if name.startswith(PREFIXES)}


def versions() -> dict[str, str]:
    """Versions of this package, Python, the system and the packages that carry weight; absent ones are left out."""
    found = {
        "pytest-miopen-perf": __version__,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
    }
    for name in _PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
