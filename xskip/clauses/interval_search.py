"""Search for the intervals that hold at least one of many values, where ends and values are sort keys.

An interval holds a value if and only if the least value at or above the lower end is at or below the upper end. Integer
keys are searched directly. Binary keys and wide decimals need a search only in the intervals strictly between the least
and the greatest value. Of these, eight bytes of a binary key decide nearly all, and ranks decide the rest.
"""

from __future__ import annotations

from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.expressions.evaluate import compare, from_mask, same, to_mask
from xskip.expressions.predicate import Op

__all__ = ["any_between"]

Mask = npt.NDArray[np.bool_]
Numbers = npt.NDArray[np.int64] | npt.NDArray[np.uint64]
_FEW, _FEW_NUMBERS = 8, 24  # the most values that are compared one by one: any keys, and integers
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_LEFT = ~(_ALL >> np.arange(0, 72, 8, dtype=np.uint64))


def any_between(lo: pa.Array, hi: pa.Array, wanted: pa.Array) -> pa.BooleanArray:
    """Return whether at least one wanted value lies in [lo, hi].

    Parameters
    ----------
    lo, hi : pyarrow.Array
        The lower and upper ends of the intervals, as sort keys of one Arrow type.
    wanted : pyarrow.Array
        The wanted values, as sort keys of the same type, without nulls.

    Returns
    -------
    pyarrow.BooleanArray
        An entry for each interval. Null where an end is missing.

    Examples
    --------
    >>> any_between(pa.array([1, 4, 1]), pa.array([2, 5, None]), pa.array([3, 5])).to_pylist()
    [False, True, None]
    """
    if pa.types.is_integer(lo.type):
        found = _of_numbers(*map(_numbers, (lo, hi, wanted)))
    else:
        found = _of_others(lo, hi, wanted.take(pc.array_sort_indices(wanted)))
    return pc.if_else(pc.and_(lo.is_valid(), hi.is_valid()), from_mask(found), pa.scalar(None, pa.bool_()))


def _numbers(keys: pa.Array) -> npt.NDArray[np.int64]:
    """Return the keys as numbers without a copy; the numbers at the positions of nulls are arbitrary."""
    return np.frombuffer(keys.buffers()[1] or b"", keys.type.to_pandas_dtype())[keys.offset :][: len(keys)]


def _of_numbers(lo: Numbers, hi: Numbers, wanted: Numbers) -> Mask:
    found: Mask = np.full(len(lo), False)
    if len(wanted) <= _FEW_NUMBERS:
        starts, ends = np.empty_like(found), np.empty_like(found)
        for value in wanted:
            np.less_equal(lo, value, out=starts)
            np.greater_equal(hi, value, out=ends)
            starts &= ends
            found |= starts
        return found
    ordered = np.sort(wanted)
    at = np.searchsorted(ordered, lo)
    np.less_equal(ordered[np.minimum(at, len(ordered) - 1)], hi, out=found)
    found &= at < len(ordered)
    return found


def _of_others(lo: pa.Array, hi: pa.Array, ordered: pa.Array) -> Mask:
    """Return which intervals hold a value, for keys that are not integers.

    Few values are compared one by one. With many values, an interval that meets [first, last] and contains neither of
    the two lies strictly between them, and only such an interval needs a search.
    """
    if len(ordered) <= _FEW:
        each = [pc.and_(compare(Op.LE, lo, value), compare(Op.GE, hi, value)) for value in ordered]
        return to_mask(reduce(pc.or_, each, same(len(lo), truth=False)))
    first, last = ordered[0], ordered[-1]
    inside = pc.and_(compare(Op.GE, hi, first), compare(Op.LE, lo, last))
    at_end = pc.or_(compare(Op.LE, lo, first), compare(Op.GE, hi, last))
    found = to_mask(pc.and_(inside, at_end))
    rows = np.flatnonzero(to_mask(pc.and_not(inside, at_end)))
    search = _of_bytes if pa.types.is_binary(lo.type) else _of_ranks
    found[rows] = search(lo.take(pa.array(rows)), hi.take(pa.array(rows)), ordered)
    return found


def _of_bytes(lo: pa.Array, hi: pa.Array, ordered: pa.Array) -> Mask:
    """Return which intervals hold a value, for binary keys strictly between the least and the greatest value.

    All keys share the common prefix of the least and the greatest value. The eight bytes after this prefix, read as a
    number, never fall as the key rises.
    """
    least, greatest = ordered[0].as_py(), ordered[-1].as_py()
    skip = next((i for i, (a, b) in enumerate(zip(least, greatest, strict=False)) if a != b), len(least))
    lows, highs, heads = (_heads(keys, skip) for keys in (lo, hi, ordered))
    heads = np.append(np.unique(heads), _ALL)
    at = np.searchsorted(heads[:-1], lows)
    above = np.minimum(at + (heads[at] == lows), len(heads) - 1)
    found: Mask = heads[above] < highs
    # a wanted value with the same eight bytes as an end may lie on either side of that end
    rows = np.flatnonzero(~found & (heads[at] <= highs))
    found[rows] = _of_ranks(lo.take(pa.array(rows)), hi.take(pa.array(rows)), ordered)
    return found


def _heads(keys: pa.Array, skip: int) -> npt.NDArray[np.uint64]:
    """Return the eight bytes after the first ``skip`` bytes of each key as a big-endian number.

    Zeros replace the bytes after the end of a key.
    """
    _, offsets, data = keys.buffers()
    ends = np.frombuffer(offsets or bytes(4), np.int32)[keys.offset :][: len(keys) + 1]
    padded = np.append(np.frombuffer(data or b"", np.uint8), np.zeros(8, np.uint8))
    words = np.ndarray(len(padded) - 7, ">u8", padded, strides=(1,))
    starts = np.minimum(ends[:-1].astype(np.int64) + skip, len(words) - 1)
    heads: npt.NDArray[np.uint64] = words[starts].astype(np.uint64) & _LEFT[np.clip(np.diff(ends) - skip, 0, 8)]
    return heads


def _of_ranks(lo: pa.Array, hi: pa.Array, wanted: pa.Array) -> Mask:
    """Return which intervals hold a value by ranking all keys, which is exact for every type, and slow."""
    ranks = pc.rank(pa.concat_arrays([lo, hi, wanted]), tiebreaker="dense").to_numpy(zero_copy_only=False)
    return _of_numbers(*np.split(ranks.astype(np.int64), [len(lo), 2 * len(lo)]))
