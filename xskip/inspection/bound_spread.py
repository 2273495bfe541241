"""How far the bounds of files are apart: the share of files that conditions on a column rule out."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["RuledOut", "ruled_out_by_bounds", "ruled_out_for_keys"]

Numbers = npt.NDArray[np.float64]

#: The bytes of a text, after those that all bounds share, that decide its place between the bounds.
_BYTES = 7


class RuledOut(NamedTuple):
    """The mean shares of the files that conditions rule out, for values at random from the least to the greatest."""

    #: The share for conditions such as ``x > value``: the files whose greatest value is less.
    above: float
    #: The share for conditions such as ``x < value``: the files whose least value is greater.
    below: float

    @property
    def equal(self) -> float:
        """Return the share for conditions such as ``x = value``, which is the sum of both others."""
        return self.above + self.below


def ruled_out_by_bounds(low: pa.Array, high: pa.Array) -> RuledOut | None:
    """Return the shares of the files that conditions rule out, or None if the bounds are not known as numbers.

    ``low`` and ``high`` have the least and the greatest value of each file, ``low`` without nulls.
    """
    ends = _ends(low, high)
    if ends is None:
        return None
    least, greatest = ends
    first, last = least.min(), greatest.max()
    width = last - first
    if width <= 0:
        return RuledOut(0.0, 0.0)
    # The values are at random in the range of the data, not in its rows: a condition above v rules out a file if v lies
    # between its greatest value and the last one. So a column with few values far outside of the others counts as one
    # whose files differ, as queries look for such values.
    return RuledOut(float((last - greatest).mean() / width), float((least - first).mean() / width))


def ruled_out_for_keys(low: pa.Array, high: pa.Array, keys: int) -> float | None:
    """Return the mean share of the files between whose bounds no key is, for a number of keys at random in the range.

    >>> ruled_out_for_keys(pa.array([0, 5]), pa.array([5, 10]), 2)
    0.25
    """
    ends = _ends(low, high)
    if ends is None:
        return None
    least, greatest = ends
    width = greatest.max() - least.min()
    # A key is between the bounds of a file with the probability w, so that none of n keys is with (1 - w) ** n.
    return float(((1 - (greatest - least) / width) ** keys).mean()) if width > 0 else 0.0


def _ends(low: pa.Array, high: pa.Array) -> tuple[Numbers, Numbers] | None:
    """Return both bounds of files as numbers, whose greatest difference is finite; None if they are not known so."""
    places = _numbers(pa.concat_arrays([low, high]))
    if places is None or not len(places) or not np.isfinite(places).all():
        return None
    with np.errstate(over="ignore"):
        is_finite = np.isfinite(places.max() - places.min())
    return (places[: len(low)], places[len(low) :]) if is_finite else None


def _numbers(values: pa.Array) -> Numbers | None:
    """Return values as numbers in the same order, or None for other types."""
    kind = values.type
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    elif pa.types.is_date32(kind):
        values = values.view(pa.int32())
    elif pa.types.is_timestamp(kind):
        values = values.view(pa.int64())
    elif pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind):
        return _text_numbers([bytes(v, "utf-8") if isinstance(v, str) else v for v in values.to_pylist()])
    elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)):
        return None
    return np.asarray(pc.cast(values, pa.float64(), safe=False).to_numpy(zero_copy_only=False), np.float64)


def _text_numbers(values: list[bytes]) -> Numbers:
    """Return texts as the numbers that their first bytes are, after the bytes that all of them share."""
    least, greatest = min(values), max(values)
    shared = next((i for i, (a, b) in enumerate(zip(least, greatest, strict=False)) if a != b), len(least))
    parts = (value[shared : shared + _BYTES].ljust(_BYTES, b"\0") for value in values)
    return np.array([int.from_bytes(part, "big") for part in parts], np.float64)
