"""Asking for a GPU of a vendor, and opening it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_miopen_perf.devices.gpu import GpuDevice
from pytest_miopen_perf.errors import DeviceError, DeviceUnavailableError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_miopen_perf.devices import DeviceOptions
    from pytest_miopen_perf.devices.gpu_driver import GpuDriver


class GpuBackend:
    """`probe` and `open_device` of a vendor's module.

    Args:
        choose: Finds the device that the options ask for and gives what makes its driver. It allocates nothing on the
            device, and raises DeviceUnavailableError with the reason where there is none.
    """

    def __init__(self, choose: Callable[[DeviceOptions], Callable[[], GpuDriver]]) -> None:
        self._choose = choose

    def probe(self, options: DeviceOptions) -> str:
        """Why no such GPU can be used here, in the runtime's words; "" when one can."""
        try:
            self._choose(options)
        except DeviceUnavailableError as error:
            return str(error)
        return ""

    def open_device(self, options: DeviceOptions) -> GpuDevice:
        """Open the GPU.

        Raises:
            DeviceUnavailableError: with the reason that `probe` gives, or the runtime's own for not opening it.
        """
        opener = self._choose(options)
        try:
            driver = opener()
        except DeviceError as error:
            raise DeviceUnavailableError(f"the GPU is there and cannot be opened: {error}") from error
        return GpuDevice(driver, options)


def chosen_ordinal(options: DeviceOptions, vendor: str, count: int, circumstances: Sequence[str] = ()) -> int:
    """The ordinal that was asked for, once it is known to exist.

    Raises:
        DeviceUnavailableError: it does not.
    """
    asked = options.device or "0"
    if asked.isdecimal() and int(asked) < count:
        return int(asked)
    reasons = "; ".join([f"there are {count}, counted from 0", *circumstances])
    raise DeviceUnavailableError(f"there is no {vendor} GPU {asked}: {reasons}")
