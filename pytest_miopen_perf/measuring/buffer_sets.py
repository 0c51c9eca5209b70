"""Further copies of a problem's buffers, for executions that take turns."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from pytest_miopen_perf.devices import DevicePointer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from pytest_miopen_perf.devices import Buffer, Device
    from pytest_miopen_perf.launch import Slot

_ALIGNMENT_BYTES = 256
"""As strict as the allocators of GPUs are."""


def stride_of(nbytes: int) -> int:
    """How far the same tensor of two neighbouring sets is apart."""
    return -(-max(nbytes, 1) // _ALIGNMENT_BYTES) * _ALIGNMENT_BYTES


class BufferSets:
    """Sets 1 to `count` of every slot, one behind another in one allocation a slot.

    Args:
        device: Where they lie.
        sizes: Bytes of each slot.
        count: How many sets; 0 allocates nothing.
    """

    def __init__(self, device: Device, sizes: Mapping[Slot, int], count: int) -> None:
        self._device = device
        self._strides = {slot: stride_of(nbytes) for slot, nbytes in sizes.items()}
        self._count = count
        self._arenas: dict[Slot, Buffer] = {}
        if not count:
            return
        try:
            for slot, stride in self._strides.items():
                self._arenas[slot] = device.alloc(count * stride)
        except BaseException:
            self.free()
            raise

    def pointer(self, slot: Slot, number: int, offset_bytes: int) -> DevicePointer:
        """Into a slot of a set; `number` counts from 1, for the set 0 is the problem's own."""
        return DevicePointer(self._arenas[slot], (number - 1) * self._strides[slot] + offset_bytes)

    def upload(self, slot: Slot, array: NDArray[np.generic]) -> None:
        """Copy one tensor into every set."""
        if not self._count:
            return
        tiles = np.zeros((self._count, self._strides[slot]), np.uint8)
        tiles[:, : array.nbytes] = array.reshape(-1).view(np.uint8)
        self._device.upload(self._arenas[slot], tiles)

    def free(self) -> None:
        """Give the memory back; a second call does nothing."""
        while self._arenas:
            self._arenas.popitem()[1].free()
