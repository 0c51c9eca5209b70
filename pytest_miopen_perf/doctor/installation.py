"""This installation: packages, back-ends, the compiler of the CPU back-end, kernels, and the compile cache."""

from __future__ import annotations

import os
from importlib import metadata
from typing import TYPE_CHECKING

from pytest_miopen_perf.doctor.findings import Finding
from pytest_miopen_perf.severity import Severity

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_DISTRIBUTION = "pytest-miopen-perf"


def examine() -> tuple[Finding, ...]:
    """What there is to say, worst first. Starts the compiler once, to ask for its version; opens no device."""
    findings = [*_packages(), *_back_ends(), _compiler(), _kernels(), _cache()]
    return tuple(sorted(findings, key=lambda finding: finding.severity.rank))


def _packages() -> Iterator[Finding]:
    """The packages that this one cannot work without, and those that are too old."""
    from packaging.requirements import Requirement

    for text in metadata.requires(_DISTRIBUTION) or ():
        requirement = Requirement(text)
        if requirement.marker is not None and not requirement.marker.evaluate({"extra": ""}):
            continue
        try:
            version = metadata.version(requirement.name)
        except metadata.PackageNotFoundError:
            version = ""
        if not requirement.specifier.contains(version or "0", prereleases=True):
            yield Finding(
                code="package",
                variable=requirement.name,
                value=version,
                severity=Severity.ERROR,
                sentence=f"{requirement} is needed; {f'{version} is too old' if version else 'it is not installed'}",
                advice=f"pip install '{requirement}'",
            )


def _back_ends() -> Iterator[Finding]:
    """One finding a back-end; that one has no device matters only where no other has one either."""
    from pytest_miopen_perf.devices import BACKENDS, DeviceOptions, load_backend

    reasons = {name: load_backend(name).probe(DeviceOptions()) for name in BACKENDS}
    has_device = any(not reason for name, reason in reasons.items() if name != "scripted")
    for name, reason in reasons.items():
        yield Finding(
            code="back-end",
            variable=name,
            effective="no device" if reason else "available",
            severity=Severity.INFO if has_device or not reason else Severity.WARNING,
            sentence=reason or f"the back-end {name} has a device",
        )


def _compiler() -> Finding:
    from pytest_miopen_perf.devices.host_compiler import compiler_version, find_host_compiler
    from pytest_miopen_perf.errors import DeviceUnavailableError

    try:
        version = compiler_version(find_host_compiler())
    except DeviceUnavailableError as error:
        return Finding(code="compiler", variable="cpu", severity=Severity.WARNING, sentence=str(error))
    return Finding(
        code="compiler", variable="cpu", effective=version, sentence=f"the CPU back-end compiles with {version}"
    )


def _kernels() -> Finding:
    from pytest_miopen_perf.kernel_source.files import kernels_dir

    folder = kernels_dir()
    count = len(list(folder.glob("*.hip")))
    if not count:
        return Finding(
            code="kernels",
            variable="kernels",
            value=str(folder),
            severity=Severity.ERROR,
            sentence=f"{folder} holds no .hip file, so that no solver can run",
            advice="install the package again",
        )
    return Finding(
        code="kernels",
        variable="kernels",
        value=str(folder),
        effective=f"{count} files",
        sentence=f"{count} kernel files are there",
    )


def _cache() -> Finding:
    from pytest_miopen_perf.devices.compile_cache import default_cache_dir

    folder = default_cache_dir("cpu")
    if is_writable(folder):
        return Finding(
            code="cache",
            variable="compile cache",
            value=str(folder),
            effective="writable",
            sentence="compiled kernels are kept from one session to the next",
        )
    return Finding(
        code="cache",
        variable="compile cache",
        value=str(folder),
        effective="not writable",
        severity=Severity.WARNING,
        sentence=f"{folder} cannot be written, so that every session compiles its kernels anew",
        advice="make it writable, or give --miopen-perf-cache",
    )


def is_writable(folder: Path) -> bool:
    """Whether a folder can be written, or made."""
    place = next(place for place in (folder, *folder.parents) if place.exists())
    return place.is_dir() and os.access(place, os.W_OK | os.X_OK)
