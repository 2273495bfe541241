"""Truth values of files as masks of NumPy and as arrays of Arrow."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["Mask", "from_mask", "same", "to_mask"]

Mask: TypeAlias = npt.NDArray[np.bool_]


def to_mask(found: pa.BooleanArray) -> Mask:
    """Return a NumPy mask that is True where an Arrow array is true.

    >>> to_mask(pa.array([True, False, None])).tolist()
    [True, False, False]
    """
    known = found.fill_null(False)
    bits = np.frombuffer(known.buffers()[1] or b"", np.uint8)
    mask: Mask = np.unpackbits(bits, count=known.offset + len(known), bitorder="little")[known.offset :].view(np.bool_)
    return mask


def from_mask(mask: Mask) -> pa.BooleanArray:
    """Return an Arrow array without nulls that holds the values of a NumPy mask."""
    bits = pa.py_buffer(np.packbits(mask, bitorder="little"))
    return pa.BooleanArray.from_buffers(pa.bool_(), len(mask), [None, bits])


def same(size: int, *, truth: bool) -> pa.BooleanArray:
    """Return an Arrow array of ``size`` equal truth values."""
    bits = np.full(size // 8 + 1, 0xFF if truth else 0, np.uint8)
    return pa.BooleanArray.from_buffers(pa.bool_(), size, [None, pa.py_buffer(bits)])
