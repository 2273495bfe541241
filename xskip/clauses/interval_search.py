"""Search for the intervals that hold at least one of many values, where ends and values are sort keys."""

from __future__ import annotations

from functools import reduce

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.expressions.evaluate import compare
from xskip.expressions.predicate import Op
from xskip.types.masks import Mask, from_mask, same, to_mask

__all__ = ["any_between"]

Numbers = npt.NDArray[np.int64] | npt.NDArray[np.uint64]
_FEW, _FEW_NUMBERS = 8, 24  # the most values that are compared one by one: any keys, and integers
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
_LEFT = ~(_ALL >> np.arange(0, 72, 8, dtype=np.uint64))


def any_between(lo: pa.Array, hi: pa.Array, wanted: pa.Array) -> pa.BooleanArray:
    """Return whether a wanted value (none is null) lies in [lo, hi]; null where an end is missing."""
    if pa.types.is_integer(lo.type):
        found = _of_numbers(*map(_numbers, (lo, hi, wanted)))
    else:
        found = _of_others(lo, hi, wanted.take(pc.array_sort_indices(wanted)))
    return pc.if_else(pc.and_(lo.is_valid(), hi.is_valid()), from_mask(found), pa.scalar(None, pa.bool_()))


def _numbers(keys: pa.Array) -> npt.NDArray[np.int64]:
    # no copy; the numbers at the positions of nulls are arbitrary, and the caller makes their results null
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
    # [lo, hi] holds a value <=> the least value >= lo is <= hi
    at = np.searchsorted(ordered, lo)
    np.less_equal(ordered[np.minimum(at, len(ordered) - 1)], hi, out=found)
    found &= at < len(ordered)
    return found


def _of_others(lo: pa.Array, hi: pa.Array, ordered: pa.Array) -> Mask:
    """Return which intervals hold a value, for keys that are not integers: binary keys and wide decimals."""
    if len(ordered) <= _FEW:
        each = [pc.and_(compare(Op.LE, lo, value), compare(Op.GE, hi, value)) for value in ordered]
        return to_mask(reduce(pc.or_, each, same(len(lo), truth=False)))
    # an interval that meets [first, last] and contains neither of the two lies strictly between them, and only such an
    # interval needs a search
    first, last = ordered[0], ordered[-1]
    inside = pc.and_(compare(Op.GE, hi, first), compare(Op.LE, lo, last))
    at_end = pc.or_(compare(Op.LE, lo, first), compare(Op.GE, hi, last))
    found = to_mask(pc.and_(inside, at_end))
    rows = np.flatnonzero(to_mask(pc.and_not(inside, at_end)))
    search = _of_bytes if pa.types.is_binary(lo.type) else _of_ranks
    found[rows] = search(lo.take(pa.array(rows)), hi.take(pa.array(rows)), ordered)
    return found


def _of_bytes(lo: pa.Array, hi: pa.Array, ordered: pa.Array) -> Mask:
    """Return which intervals hold a value, for binary keys strictly between the least and the greatest value."""
    # all keys here share the common prefix of the least and the greatest value, and the eight bytes after this prefix,
    # read as a number, never fall as the key rises
    least, greatest = ordered[0].as_py(), ordered[-1].as_py()
    skip = next((i for i, (a, b) in enumerate(zip(least, greatest, strict=False)) if a != b), len(least))
    lows, highs, heads = (_heads(keys, skip) for keys in (lo, hi, ordered))
    heads = np.append(np.unique(heads), _ALL)
    at = np.searchsorted(heads[:-1], lows)
    # a wanted value whose number is above that of lo and below that of hi lies between both
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
