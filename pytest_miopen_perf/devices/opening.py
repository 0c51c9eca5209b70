"""Opening a device by the name of its back-end, or the first that there is."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_miopen_perf.devices import BACKENDS, load_backend
from pytest_miopen_perf.errors import DeviceUnavailableError

if TYPE_CHECKING:
    from pytest_miopen_perf.devices import Device, DeviceOptions


def open_first(backend: str, options: DeviceOptions) -> Device:
    """Open a device.

    Args:
        backend: A name of `BACKENDS`, or "auto" for the first one that has a device, the scripted one left out.
        options: What the user chose.

    Raises:
        DeviceUnavailableError: none can be opened; with the reason of each back-end that was asked.
        SettingsError: a file that the options name is wrong.
    """
    names = [name for name in BACKENDS if name != "scripted"] if backend == "auto" else [backend]
    reasons = []
    for name in names:
        module = load_backend(name)
        reason = module.probe(options)
        if not reason:
            return module.open_device(options)
        reasons.append(f"{name}: {reason}")
    raise DeviceUnavailableError("no device for HIP kernels: " + "; ".join(reasons))
