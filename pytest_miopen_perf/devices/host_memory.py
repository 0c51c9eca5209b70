"""Memory of the CPU device: plain, or guarded by pages that nobody may touch; a forked child shares either."""

from __future__ import annotations

import mmap
from typing import TYPE_CHECKING

import numpy as np

from pytest_miopen_perf.errors import DeviceError, OutOfMemoryError

if TYPE_CHECKING:
    from numpy.typing import NDArray


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


def shared_pages(nbytes: int) -> NDArray[np.uint8]:
    """Whole pages that this process and the children that it forks see alike.

    Raises:
        OutOfMemoryError: naming the bytes asked for.
    """
    pages = max(1, -(-nbytes // mmap.PAGESIZE)) * mmap.PAGESIZE
    try:
        memory = mmap.mmap(-1, pages, flags=mmap.MAP_SHARED | mmap.MAP_ANONYMOUS)
    except (OSError, OverflowError) as error:
        raise OutOfMemoryError(f"cannot map {nbytes} bytes on the CPU: {error}") from error
    return np.frombuffer(memory, np.uint8)


def plain_buffer(nbytes: int) -> HostBuffer:
    """A buffer that starts at a page.

    Raises:
        OutOfMemoryError: naming the bytes asked for.
    """
    return HostBuffer(nbytes, shared_pages(nbytes)[:nbytes])
