"""Memory of the CPU device: plain and aligned, or guarded by pages that nobody may touch."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pytest_miopen_perf.errors import DeviceError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ALIGNMENT_BYTES = 64


class HostBuffer:
    """Bytes at an address, as long as nobody frees them."""

    def __init__(self, nbytes: int, storage: NDArray[np.uint8]) -> None:
        self.nbytes = nbytes
        self._bytes: NDArray[np.uint8] | None = storage

    @property
    def bytes(self) -> NDArray[np.uint8]:
        """The memory itself.

        Raises:
            DeviceError: it has been freed.
        """
        if self._bytes is None:
            raise DeviceError(f"a buffer of {self.nbytes} bytes is used after it was freed")
        return self._bytes

    @property
    def address(self) -> int:
        """Where the first byte lies."""
        return int(self.bytes.ctypes.data)

    def free(self) -> None:
        """Give the memory back; a second call does nothing."""
        self._bytes = None


def plain_buffer(nbytes: int) -> HostBuffer:
    """A buffer that starts at a cache line."""
    raw = np.empty(nbytes + _ALIGNMENT_BYTES, np.uint8)
    start = -raw.ctypes.data % _ALIGNMENT_BYTES
    return HostBuffer(nbytes, raw[start : start + nbytes])
