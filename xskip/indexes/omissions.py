"""Comparisons of stored statistics with statistics that were collected again. Rules: specs/pruning.rst, [PRU-VA].

A function returns for each file whether the stored statistics leave out a row: true if a row is certainly left out,
false if the statistics admit every row, null if the comparison cannot decide. Unknown statistics (null) admit all rows.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.index_clause import Lists
from xskip.types import bloom_bits
from xskip.types.masks import from_mask, to_mask
from xskip.types.sort_keys import sort_key

__all__ = ["bounds_omit", "differ", "filters_omit", "groups_omit", "lists_omit", "values_pass"]

_HEADER = 12  # bytes of a filter before its bits


def bounds_omit(stored: pa.StructArray, actual: pa.StructArray) -> pa.BooleanArray:
    """Compare bounds; a struct of two nulls states that there are no values.

    >>> kind = pa.struct([("min", pa.int32()), ("max", pa.int32())])
    >>> stored = pa.array([{"min": 1, "max": 5}, {"min": None, "max": None}, None, {"min": 1, "max": None}], kind)
    >>> bounds_omit(stored, pa.array([{"min": 1, "max": 6}] * 4, kind)).to_pylist()
    [True, True, False, False]
    """
    low, high, least, greatest = (
        sort_key(pc.struct_field(each, side)) for each in (stored, actual) for side in (0, 1)
    )  # fmt: skip
    # a side without a stored bound admits all values
    outside = pc.or_(pc.less(least, low).fill_null(False), pc.greater(greatest, high).fill_null(False))
    # two nulls state that there are no values
    is_empty = pc.and_(low.is_null(), high.is_null())
    without = pc.and_(is_empty, pc.or_(least.is_valid(), greatest.is_valid()))
    return pc.and_(stored.is_valid(), pc.or_(outside, without))


def lists_omit(stored: pa.ListArray, actual: pa.ListArray, cap: int) -> pa.BooleanArray:
    """Compare lists of values; a null list of ``actual`` has more than ``cap`` values.

    >>> stored, kind = [[1, 2], [1], None, [1]], pa.list_(pa.int32())
    >>> lists_omit(pa.array(stored, kind), pa.array([[2], [1, 3], [4], None], kind), 2).to_pylist()
    [False, True, False, True]
    """
    lengths = pc.list_value_length(stored).fill_null(0)
    # a null actual list has more than ``cap`` values, so a stored list of at most ``cap`` values lacks one of them
    missing = to_mask(pc.and_(actual.is_null(), pc.less_equal(lengths, cap)))
    missing |= _lacks(stored, actual)
    # a longer stored list may have all of them
    undecided = pc.and_(actual.is_null(), pc.greater(lengths, cap))
    found = pc.if_else(undecided, pa.scalar(None, pa.bool_()), from_mask(missing))
    return pc.if_else(stored.is_valid(), found, pa.scalar(False))


def _lacks(stored: pa.ListArray, actual: pa.ListArray) -> npt.NDArray[np.bool_]:
    """Return for each file whether a value of its actual list is not in its stored list."""
    lists = [Lists.of(each) for each in (stored, actual)]
    owners, keys = [], []
    for each in lists:
        lengths = each.ends - each.starts
        owners.append(np.repeat(np.arange(len(lengths)), lengths))
        before = np.cumsum(lengths) - lengths
        rows = np.repeat(each.starts - before, lengths) + np.arange(lengths.sum())
        keys.append(sort_key(each.values.take(pa.array(rows, pa.int64()))))
    codes = pa.concat_arrays([keys[0].cast(keys[1].type), keys[1]]).dictionary_encode()
    numbers = codes.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
    # one number for each pair of a file and a value, so that one search compares the lists of all files
    pairs = np.concatenate(owners) * (len(codes.dictionary) + 1) + numbers
    listed, wanted = pairs[: len(owners[0])], pairs[len(owners[0]) :]
    lost = ~np.isin(wanted, listed) & (numbers[len(owners[0]) :] >= 0)
    found = np.zeros(len(actual), np.bool_)
    found[owners[1][lost]] = True
    return found


def filters_omit(stored: pa.BinaryArray, actual: pa.BinaryArray) -> pa.BooleanArray:
    """Compare Bloom filters; only filters of one size and one number of hash functions can be compared.

    >>> one, two = (bloom_bits.build(np.array(pairs), 3, 1) for pairs in ([7 << 32], [7 << 32, 9 << 32]))
    >>> wide = bloom_bits.build(np.array([7 << 32]), 3, 2)
    >>> filters_omit(pa.array([one, two, None, wide]), pa.array([two, one, one, one])).to_pylist()
    [True, False, False, None]
    """
    return pa.array(map(_filter_omits, stored.to_pylist(), actual.to_pylist()), pa.bool_())


def _filter_omits(stored: bytes | None, actual: bytes | None) -> bool | None:
    if stored is None or stored == actual:
        return False
    if actual is None or stored[:_HEADER] != actual[:_HEADER] or len(stored) != len(actual):
        return None
    bits, wanted = (np.frombuffer(each, np.uint8, offset=_HEADER) for each in (stored, actual))
    # equal sizes give a value the same bits: a stored filter without one of them lacks a value
    return bool((wanted & ~bits).any())


def values_pass(filters: pa.BinaryArray, lists: pa.ListArray) -> pa.BooleanArray:
    """Compare Bloom filters with lists of all values of the files; a null list is not complete.

    >>> filters = pa.array([bloom_bits.build(np.array([], np.int64), 3, 1), None])
    >>> values_pass(filters, pa.array([[1], [1]])).to_pylist()
    [True, False]
    """
    found: list[bool | None] = []
    for row, values in enumerate(_hashable(lists)):
        own = filters.slice(row, 1)
        hashes = map(bloom_bits.hash_value, values or ())
        tests = (bloom_bits.might_contain(own, [each], np.ones(1, np.bool_)) for each in hashes)
        lacks = any(each[0].as_py() is False for each in tests)
        found.append(False if own.null_count else None if values is None else lacks)
    return pa.array(found, pa.bool_())


def _hashable(lists: pa.ListArray) -> list[list[bytes | int] | None]:
    """Return the values as Spark hashes them: bytes, and numbers of days or microseconds."""
    kind = lists.type.value_type
    if pa.types.is_string(kind):
        lists = lists.cast(pa.list_(pa.binary()))
    elif pa.types.is_date32(kind):
        lists = lists.cast(pa.list_(pa.int32()))
    elif pa.types.is_timestamp(kind):
        lists = lists.cast(pa.list_(pa.int64()))
    found: list[list[bytes | int] | None] = lists.to_pylist()
    return found


def groups_omit(stored: pa.ListArray, actual: pa.ListArray, size: int) -> pa.BooleanArray:
    """Compare lists of ranges (``size`` 2: lower and upper end) or of boxes (``size`` 4: the ends of both sides).

    >>> stored, kind = [[1, 2, 5, 9], [1, 2, 5, 9], [1, 2], None], pa.list_(pa.int32())
    >>> groups_omit(pa.array(stored, kind), pa.array([[1, 1, 5, 6], [1, 6], [4, 4], [4, 4]], kind), 2).to_pylist()
    [False, None, True, False]
    >>> groups_omit(pa.array([[1, 2, 3, 9]], kind), pa.array([[1, 9]], kind), 2).to_pylist()
    [False]
    """
    split = [Lists.of_groups(each, size) for each in (stored, actual)]
    if split[0] is None or split[1] is None:
        return pa.array([None if valid else False for valid in stored.is_valid().to_pylist()], pa.bool_())
    (outer, sides), (inner, points) = split[0], split[1]
    known, wanted = (np.array([_order(side) for side in each]).reshape(size, -1) for each in (sides, points))
    found = [
        _group_omits(known[:, outer.starts[row] : outer.ends[row]], wanted[:, inner.starts[row] : inner.ends[row]])
        if valid
        else False
        for row, valid in enumerate(stored.is_valid().to_pylist())
    ]
    return pa.array(found, pa.bool_())


def _order(side: pa.Array) -> npt.NDArray[np.int64]:
    """Return numbers in the order of the values; all served types have 64-bit sort keys."""
    return np.asarray(sort_key(side).cast(pa.int64()).to_numpy(zero_copy_only=False), np.int64)


def _group_omits(known: npt.NDArray[np.int64], wanted: npt.NDArray[np.int64]) -> bool | None:
    """Compare the ranges or boxes of one file; the rows are the sides, and the columns the ranges or boxes."""
    known, is_open = _joined(known) if len(known) == 2 else known, False
    for group in wanted.T:
        low, high = group[0::2, None], group[1::2, None]
        if ((known[0::2] <= low) & (known[1::2] >= high)).all(axis=0).any():
            continue
        # a range or box that no stored one covers is decided only if it is a single point: a wider one can span a gap
        # of the stored statistics in which the file has no values
        if (low == high).all():
            return True
        is_open = True
    return None if is_open else False


def _joined(ranges: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return ranges of which those without a value in between are one, as of a file that several tasks have read."""
    low, high = ranges[:, np.argsort(ranges[0], kind="stable")]
    reach = np.maximum.accumulate(high)
    begins = np.ones(len(low), np.bool_)
    # the least number has no predecessor, but no range begins behind another one there
    begins[1:] = (low[1:] > reach[:-1]) & (low[1:] - 1 > reach[:-1])
    firsts = np.flatnonzero(begins)
    return np.array([low[firsts], reach[np.append(firsts[1:], len(low)) - 1] if len(low) else high])


def differ(stored: pa.Array, actual: pa.Array) -> pa.BooleanArray:
    """Compare values for equality, and lists as sets.

    >>> differ(pa.array([[1, 2], [1], None]), pa.array([[2, 1], [2], [3]])).to_pylist()
    [False, True, False]
    """
    if pa.types.is_list(stored.type) and not pa.types.is_nested(stored.type.value_type):
        found = from_mask(_lacks(stored, actual) | _lacks(actual, stored))
    else:
        pairs = zip(stored.to_pylist(), actual.to_pylist(), strict=True)
        found = pa.array([now != before for before, now in pairs], pa.bool_())
    return pc.and_(stored.is_valid(), found)
