"""Sums as NVIDIA's matrix cores have them: what does not fit is cut off, not rounded."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_AT_ONCE = 16
_SPARE_BITS = 2
_SIGNIFICAND_BITS = 24
_NOTHING = -1000


def truncated_sums(x: NDArray[np.float64], y: NDArray[np.float64]) -> NDArray[np.float64]:
    """Sums of x * y over the last axis, whose length is a multiple of 16, bit for bit as an H200 adds them up.

    16 products at a time are added to a sum, each of the 17 numbers cut off two bits below the last place of the
    largest, and the new sum is cut off to a float. A product counts as large as its factors' exponents make it.
    """
    sums = np.zeros(np.broadcast_shapes(x.shape, y.shape)[:-1])
    for first in range(0, max(x.shape[-1], y.shape[-1]), _AT_ONCE):
        own_x, own_y = (factor[..., first : first + _AT_ONCE] for factor in (x, y))
        products = own_x * own_y
        exponents = np.where(products == 0, _NOTHING, np.frexp(own_x)[1] + np.frexp(own_y)[1] - 2)
        largest = np.maximum(exponents.max(axis=-1), np.where(sums == 0, _NOTHING, np.frexp(sums)[1] - 1))
        quantum = np.ldexp(1.0, largest - (_SIGNIFICAND_BITS - 1) - _SPARE_BITS)
        quanta = np.trunc(sums / quantum) + np.trunc(products / quantum[..., None]).sum(axis=-1)
        place = np.ldexp(1.0, np.frexp(quanta * quantum)[1] - _SIGNIFICAND_BITS)
        sums = np.trunc(quanta * quantum / place) * place
    return sums
