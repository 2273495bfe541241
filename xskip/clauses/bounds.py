"""What a leaf can be TRUE of between two bounds. Rules: specs/pruning.rst, [PRU-MM], [PRU-FN]."""

from __future__ import annotations

import weakref
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.interval_search import any_between
from xskip.clauses.monotone import bounds_of
from xskip.expressions.evaluate import (
    cast_type,
    compare,
    from_mask,
    in_type,
    literal_key,
    literal_keys,
    matches,
    prefix_end,
    same,
    sort_key,
    to_mask,
)
from xskip.expressions.operands import Computed, Operand
from xskip.expressions.predicate import Comparison, In, IsNotNull, IsNull, Leaf, NotIn, NotStartsWith, Op, StartsWith

__all__ = ["Bounds", "possible"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of many objects or ranges, which need not occur, as a leaf's operand sees them.

    Attributes
    ----------
    low, high : pyarrow.Array
        Null where one is missing.
    lo, hi : pyarrow.Array
        Their sort keys.
    """

    low: pa.Array
    high: pa.Array
    lo: pa.Array
    hi: pa.Array

    @staticmethod
    def of(operand: Operand, low: pa.Array, high: pa.Array, *, within: pa.Array | None = None) -> Bounds:
        """Return the bounds of an operand from those of its column, none where the lower is above the upper.

        Parameters
        ----------
        operand : Operand
        low, high : pyarrow.Array
        within : pyarrow.Array, optional
            The array that holds both: as long as it lives its bounds are looked at once.
        """
        low, high = (in_type(values, cast_type(operand)) for values in (low, high))
        lo, hi = sort_key(low), sort_key(high)
        known = None if within is None else _in_order.get(id(within))
        if known is not None and known() is within:
            return Bounds(low, high, lo, hi)
        contradictory = compare(Op.GT, lo, hi)
        if contradictory.true_count:
            low, high, lo, hi = (_without(values, contradictory) for values in (low, high, lo, hi))
        elif within is not None:
            _remember(within)
        return Bounds(low, high, lo, hi)


#: Arrays of bounds of which no lower one is above its upper one, by their addresses.
_in_order: dict[int, weakref.ref[pa.Array]] = {}


def _remember(bounds: pa.Array) -> None:
    key = id(bounds)

    def forget(gone: weakref.ref[pa.Array]) -> None:
        if _in_order.get(key) is gone:  # another array can have the address by now
            del _in_order[key]

    _in_order[key] = weakref.ref(bounds, forget)


def _without(values: pa.Array, where: pa.BooleanArray) -> pa.Array:
    """Return values with null in some places."""
    return pc.if_else(where.fill_null(False), pa.scalar(None, values.type), values)


def possible(leaf: Leaf, bounds: Bounds) -> pa.BooleanArray:
    """Can a leaf be TRUE of a value between two bounds, null where a bound that decides it is missing.

    >>> from xskip.expressions.operands import (Column)
    >>> a = Column(("a",), "int")
    >>> bounds = Bounds.of(a, pa.array([1, 1, 7], pa.int32()), pa.array([3, 9, None], pa.int32()))
    >>> possible(Comparison(Op.GT, a, 5), bounds).to_pylist()
    [False, True, None]
    """
    if isinstance(leaf.operand, Computed):
        return _computed(leaf, leaf.operand, bounds)
    return _between(leaf, bounds.lo, bounds.hi)


def _computed(leaf: Leaf, operand: Computed, bounds: Bounds) -> pa.BooleanArray:
    """Of one value alone a function is asked of that value; of a range where it follows the order."""
    least, greatest = bounds_of(operand, bounds.low, bounds.high)
    between = _between(leaf, sort_key(least), sort_key(greatest))
    kind = bounds.low.type
    if pa.types.is_floating(kind):  # -0.0 and 0.0 are one value by order, and two for a function
        return between
    single = compare(Op.EQ, bounds.lo, bounds.hi).fill_null(False)
    return pc.if_else(single, matches(leaf, pc.if_else(single, bounds.low, pa.scalar(None, kind))), between)


def _between(leaf: Leaf, lo: pa.Array, hi: pa.Array) -> pa.BooleanArray:
    """Can a value v of the operand with lo <= v <= hi match, by keys."""
    match leaf:
        case IsNotNull() | IsNull():
            return same(len(lo), truth=True)
        case Comparison(op, operand, value):
            return _compared(op, lo, hi, literal_key(value, operand.type))
        case In(operand, wanted):
            return any_between(lo, hi, literal_keys(wanted, operand.type))
        case NotIn(operand, wanted, has_null):
            if has_null:  # x NOT IN (…, NULL) is FALSE or NULL, never TRUE
                return same(len(lo), truth=False)
            return pc.invert(_one_of(lo, hi, literal_keys(wanted, operand.type)))
        case StartsWith(_, prefix):
            return _prefixed(lo, hi, prefix)
        case NotStartsWith(_, prefix):
            # lo and hi both in [prefix, end) <=> every value starts with the prefix
            end = prefix_end(prefix)
            inside = compare(Op.GE, lo, pa.scalar(prefix, lo.type))
            if end is not None:
                inside = pc.and_kleene(inside, compare(Op.LT, hi, pa.scalar(end, hi.type)))
            return pc.invert(inside)


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


def _one_of(lo: pa.Array, hi: pa.Array, wanted: pa.Array) -> pa.BooleanArray:
    """Is every value the same and wanted: lo = hi, and lo is wanted; only of few objects the second is in question."""
    single = compare(Op.EQ, lo, hi)
    rows = np.flatnonzero(to_mask(single.fill_null(True)))
    found = np.full(len(lo), False)
    found[rows] = to_mask(pc.is_in(lo.take(pa.array(rows)), wanted))
    return pc.and_kleene(single, from_mask(found))


def _prefixed(lo: pa.Array, hi: pa.Array, prefix: bytes) -> pa.BooleanArray:
    """Can a value start with the prefix: [lo, hi] meets [prefix, prefix_end)."""
    reaches = compare(Op.GE, hi, pa.scalar(prefix, hi.type))
    end = prefix_end(prefix)
    return reaches if end is None else pc.and_kleene(reaches, compare(Op.LT, lo, pa.scalar(end, lo.type)))
