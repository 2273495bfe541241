"""What a leaf can be TRUE of between two bounds. Rules: specs/pruning.rst, [PRU-MM], [PRU-FN]."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.expressions import Comparison, In, IsNotNull, IsNull, Leaf, NotIn, NotStartsWith, Op, StartsWith
from xskip.monotone import bounds_of
from xskip.operands import Computed
from xskip.ordering import as_operand, compare, literal_key, literal_keys, matches, prefix_end, sort_key

__all__ = ["possible"]


def possible(leaf: Leaf, low: pa.Array, high: pa.Array) -> pa.BooleanArray:
    """Can a leaf be TRUE of a value between two bounds, null where a bound that decides it is missing.

    Parameters
    ----------
    leaf : Leaf
    low, high : pyarrow.Array
        Bounds of the leaf's column, of its type, each pair of its own; they need not occur.

    Examples
    --------
    >>> from xskip.operands import (Column)
    >>> possible(Comparison(Op.GT, Column(("a",), "int"), 5), pa.array([1, 1, 7]), pa.array([3, 9, None])).to_pylist()
    [False, True, None]
    """
    if isinstance(leaf.operand, Computed):
        return _computed(leaf, leaf.operand, low, high)
    return _between(leaf, *(sort_key(as_operand(leaf, bound)) for bound in (low, high)))


def _computed(leaf: Leaf, operand: Computed, low: pa.Array, high: pa.Array) -> pa.BooleanArray:
    """Of one value alone a function is asked of that value; of a range where it follows the order."""
    least, greatest = bounds_of(operand, low, high)
    between = _between(leaf, sort_key(least), sort_key(greatest))
    if pa.types.is_floating(low.type):  # -0.0 and 0.0 are one value by order, and two for a function
        return between
    single = compare(Op.EQ, sort_key(low), sort_key(high)).fill_null(False)
    return pc.if_else(single, matches(leaf, pc.if_else(single, low, pa.scalar(None, low.type))), between)


def _between(leaf: Leaf, lo: pa.Array, hi: pa.Array) -> pa.BooleanArray:
    """Can a value v of the operand with lo <= v <= hi match, by keys."""
    match leaf:
        case IsNotNull() | IsNull():
            return pa.array(np.full(len(lo), True))
        case Comparison(op, operand, value):
            return _compared(op, lo, hi, literal_key(value, operand.type))
        case In(operand, wanted):
            return _any_between(lo, hi, literal_keys(wanted, operand.type))
        case NotIn(operand, wanted, has_null):
            if has_null:  # x NOT IN (…, NULL) is FALSE or NULL, never TRUE
                return pa.array(np.full(len(lo), False))
            # every value is lo: lo = hi, and lo is excluded
            excluded = pc.is_in(lo, literal_keys(wanted, operand.type))
            return pc.invert(pc.and_kleene(compare(Op.EQ, lo, hi), excluded))
        case StartsWith(_, prefix):
            return _prefixed(lo, hi, prefix)
        case NotStartsWith(_, prefix):
            # lo and hi both in [prefix, end) <=> every value starts with the prefix
            end = prefix_end(prefix)
            inside = compare(Op.GE, lo, pa.scalar(prefix, lo.type))
            below = pa.array(np.full(len(lo), True)) if end is None else compare(Op.LT, hi, pa.scalar(end, hi.type))
            return pc.invert(pc.and_kleene(inside, below))


def _compared(op: Op, lo: pa.Array, hi: pa.Array, value: pa.Scalar) -> pa.BooleanArray:
    match op:
        case Op.EQ:  # some v = value  <=>  lo <= value <= hi
            return pc.and_kleene(compare(Op.LE, lo, value), compare(Op.GE, hi, value))
        case Op.NE:  # no v != value  <=>  lo = value = hi
            return pc.or_kleene(compare(Op.NE, lo, value), compare(Op.NE, hi, value))
        case Op.LT | Op.LE:  # some v < value  <=>  lo < value
            return compare(op, lo, value)
        case Op.GT | Op.GE:  # some v > value  <=>  hi > value
            return compare(op, hi, value)


def _any_between(lo: pa.Array, hi: pa.Array, wanted: pa.Array) -> pa.BooleanArray:
    """Does any wanted value lie in [lo, hi]: the least wanted value that is >= lo is <= hi.

    Values and bounds are replaced by their ranks among all of them, so that one search serves every type.
    """
    ranks = pc.rank(pa.concat_arrays([wanted, lo, hi]), tiebreaker="dense").to_numpy(zero_copy_only=False)
    values, lows, highs = np.split(ranks.astype(np.int64), [len(wanted), len(wanted) + len(lo)])
    values.sort()
    at = np.searchsorted(values, lows)
    least = np.append(values, np.iinfo(np.int64).max)[at]
    missing = pc.or_(lo.is_null(), hi.is_null()).to_numpy(zero_copy_only=False)
    return pa.array(least <= highs, mask=missing)


def _prefixed(lo: pa.Array, hi: pa.Array, prefix: bytes) -> pa.BooleanArray:
    """Can a value start with the prefix: [lo, hi] meets [prefix, prefix_end)."""
    reaches = compare(Op.GE, hi, pa.scalar(prefix, hi.type))
    end = prefix_end(prefix)
    return reaches if end is None else pc.and_kleene(reaches, compare(Op.LT, lo, pa.scalar(end, lo.type)))
