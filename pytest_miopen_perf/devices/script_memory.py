"""The memory of a scripted device: host arrays with a limit, whose changes are counted."""

from __future__ import annotations

import hashlib
import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from pytest_miopen_perf.errors import DeviceError, OutOfMemoryError

if TYPE_CHECKING:
    from numpy.typing import NDArray

_FRESH_BYTE = 0x7F
"""What fresh memory holds: large as fp32, NaN as fp16, so that reading what nobody wrote shows."""


class ScriptedBuffer:
    """Device memory that lies in a host array.

    `version` is another number after every change, so that equal versions mean equal contents.
    """

    _versions = itertools.count()

    def __init__(self, memory: Memory, nbytes: int) -> None:
        self._memory = memory
        self._bytes: NDArray[np.uint8] | None = np.full(nbytes, _FRESH_BYTE, np.uint8)
        self._nbytes = nbytes
        self._digest: tuple[int, bytes] = (-1, b"")
        self.version = next(self._versions)

    @property
    def nbytes(self) -> int:
        """Size in bytes."""
        return self._nbytes

    @property
    def is_freed(self) -> bool:
        """Whether the memory has been given back."""
        return self._bytes is None

    def free(self) -> None:
        """Give the memory back; a second call does nothing."""
        if self._bytes is not None:
            self._bytes = None
            self._memory.release(self)

    def belongs_to(self, memory: Memory) -> bool:
        """Whether it was allocated from this memory."""
        return self._memory is memory

    def read(self) -> NDArray[np.uint8]:
        """The contents, not to be written.

        Raises:
            DeviceError: the buffer was freed.
        """
        if self._bytes is None:
            raise DeviceError(f"a buffer of {self._nbytes} bytes is used after it was freed; free it later")
        return self._bytes

    def write(self) -> NDArray[np.uint8]:
        """The contents, to be written now.

        Raises:
            DeviceError: the buffer was freed.
        """
        contents = self.read()
        self.version = next(self._versions)
        return contents

    def digest(self) -> bytes:
        """A hash of the contents, taken once a version."""
        if self._digest[0] != self.version:
            self._digest = (self.version, hashlib.blake2b(self.read().data, digest_size=16).digest())
        return self._digest[1]


class Memory:
    """All buffers of one device."""

    def __init__(self, limit_bytes: int) -> None:
        self._limit_bytes = limit_bytes
        self._buffers: set[ScriptedBuffer] = set()

    @property
    def free_bytes(self) -> int:
        """What an allocation can still get."""
        return self._limit_bytes - sum(buffer.nbytes for buffer in self._buffers)

    def alloc(self, nbytes: int) -> ScriptedBuffer:
        """Allocate.

        Raises:
            OutOfMemoryError: beyond the limit, or more than the host has; the message names the bytes.
            DeviceError: the size is negative.
        """
        if nbytes < 0:
            raise DeviceError(f"an allocation of {nbytes} bytes makes no sense; ask for 0 or more")
        if nbytes > self.free_bytes:
            raise OutOfMemoryError(
                f"{nbytes} bytes were asked for and {self.free_bytes} of the device's {self._limit_bytes} are free; "
                "free some, or take a smaller problem"
            )
        try:
            buffer = ScriptedBuffer(self, nbytes)
        except MemoryError as error:
            raise OutOfMemoryError(f"the host has no {nbytes} bytes for a scripted buffer") from error
        self._buffers.add(buffer)
        return buffer

    def release(self, buffer: ScriptedBuffer) -> None:
        """Count a buffer as free."""
        self._buffers.discard(buffer)

    def free_all(self) -> None:
        """Free every buffer."""
        for buffer in tuple(self._buffers):
            buffer.free()


@dataclass(frozen=True, slots=True, eq=False)
class MemoryPlace:
    """Where a pointer argument points: a buffer, and an offset that lies inside of it."""

    buffer: ScriptedBuffer
    offset_bytes: int

    @property
    def nbytes(self) -> int:
        """How many bytes lie behind the pointer."""
        return self.buffer.nbytes - self.offset_bytes


def raw_bytes(array: NDArray[np.generic], buffer: ScriptedBuffer) -> NDArray[np.uint8]:
    """The bytes of a contiguous array, sharing its memory, that fit the buffer.

    Raises:
        DeviceError: they do not, or the array is not contiguous.
    """
    if not array.flags.c_contiguous:
        raise DeviceError("an array that is not contiguous cannot be copied; pass numpy.ascontiguousarray of it")
    if array.nbytes > buffer.nbytes:
        raise DeviceError(f"an array of {array.nbytes} bytes does not fit a buffer of {buffer.nbytes} bytes")
    return array.reshape(-1).view("u1")
