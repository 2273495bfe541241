"""Evaluation of leaves against lower and upper bounds. Rules: specs/pruning.rst, [PRU-MM], [PRU-FN]."""

from __future__ import annotations

import weakref
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.function_bounds import bounds_of
from xskip.clauses.interval_search import any_between
from xskip.expressions.evaluate import cast_type, compare, in_type, matches, prefix_end
from xskip.expressions.operands import Computed, Operand
from xskip.expressions.predicate import Comparison, In, IsNotNull, IsNull, Leaf, NotIn, NotStartsWith, Op, StartsWith
from xskip.types.masks import from_mask, same, to_mask
from xskip.types.sort_keys import literal_key, literal_keys, sort_key

__all__ = ["Bounds", "possible"]


@dataclass(frozen=True, slots=True)
class Bounds:
    """Bounds of many files or value ranges, in the type of a leaf's operand.

    A bound need not occur among the values that it bounds.

    Attributes
    ----------
    low, high : pyarrow.Array
        The lower and upper bounds as values, of equal length. Null where a bound is missing.
    lo, hi : pyarrow.Array
        The sort keys of ``low`` and ``high``.

    Examples
    --------
    The bounds of the second file contradict each other.

    >>> from xskip.expressions import Column
    >>> bounds = Bounds.of(Column(("a",), "int"), pa.array([1, 9], pa.int32()), pa.array([3, 2], pa.int32()))
    >>> bounds.low.to_pylist(), bounds.high.to_pylist()
    ([1, None], [3, None])
    """

    low: pa.Array
    high: pa.Array
    lo: pa.Array
    hi: pa.Array

    @staticmethod
    def of(operand: Operand, low: pa.Array, high: pa.Array, *, within: pa.Array | None = None) -> Bounds:
        """Return the bounds of an operand, computed from the bounds of its column.

        Where a lower bound is above its upper bound, both become null, because such a pair proves nothing.

        Parameters
        ----------
        operand : Operand
            The operand of a leaf. The bounds of a function's operand are those of its column.
        low, high : pyarrow.Array
            The lower and upper bounds of the operand's column, of equal length. Null where a bound is missing.
        within : pyarrow.Array, optional
            The array that holds ``low`` and ``high`` as its fields. If this array passes the order check, later calls
            with the same array skip the check. None checks at every call.

        Returns
        -------
        Bounds
            The bounds in the operand's type, with as many entries as ``low``.
        """
        low, high = (in_type(values, cast_type(operand)) for values in (low, high))
        lo, hi = sort_key(low), sort_key(high)
        # casts are widening and keep the order, so one check of the stored bounds holds for every type of an operand
        known = None if within is None else _in_order.get(id(within))
        if known is not None and known() is within:
            return Bounds(low, high, lo, hi)
        contradictory = compare(Op.GT, lo, hi)
        if contradictory.true_count:
            low, high, lo, hi = (_without(values, contradictory) for values in (low, high, lo, hi))
        elif within is not None:
            _remember(within)
        return Bounds(low, high, lo, hi)


#: Arrays in which no lower bound is above its upper bound, by the ``id`` of the array.
_in_order: dict[int, weakref.ref[pa.Array]] = {}


def _remember(bounds: pa.Array) -> None:
    key = id(bounds)

    def forget(gone: weakref.ref[pa.Array]) -> None:
        if _in_order.get(key) is gone:  # a newer array may have the same id
            del _in_order[key]

    _in_order[key] = weakref.ref(bounds, forget)


def _without(values: pa.Array, where: pa.BooleanArray) -> pa.Array:
    return pc.if_else(where.fill_null(False), pa.scalar(None, values.type), values)


def possible(leaf: Leaf, bounds: Bounds) -> pa.BooleanArray:
    """Return whether a leaf can be TRUE of a value between two bounds.

    Parameters
    ----------
    leaf : Leaf
        The leaf to evaluate.
    bounds : Bounds
        The bounds of the leaf's operand.

    Returns
    -------
    pyarrow.BooleanArray
        An entry for each pair of bounds. Null where a bound that decides the leaf is missing.

    Examples
    --------
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
    """Return whether a leaf over a function can be TRUE of a column value between two bounds."""
    # a monotonic function has bounds between those of its column; every other function has null bounds, which decide
    # nothing
    least, greatest = bounds_of(operand, bounds.low, bounds.high)
    between = _between(leaf, sort_key(least), sort_key(greatest))
    kind = bounds.low.type
    if pa.types.is_floating(kind):  # a function can differ on -0.0 and 0.0, which have one sort key
        return between
    # equal bounds leave one value: the function of this value decides, also without monotonicity
    single = compare(Op.EQ, bounds.lo, bounds.hi).fill_null(False)
    return pc.if_else(single, matches(leaf, pc.if_else(single, bounds.low, pa.scalar(None, kind))), between)


def _between(leaf: Leaf, lo: pa.Array, hi: pa.Array) -> pa.BooleanArray:
    """Return whether a value v of the operand with lo <= v <= hi can match; ``lo`` and ``hi`` are sort keys."""
    match leaf:
        case IsNotNull() | IsNull():
            # IS NOT NULL is TRUE of every value, and bounds say nothing about the NULL results of a function
            return same(len(lo), truth=True)
        case Comparison(op, operand, value):
            return _compared(op, lo, hi, literal_key(value, operand.type))
        case In(operand, wanted):
            return any_between(lo, hi, literal_keys(wanted, operand.type))
        case NotIn(operand, wanted, has_null):
            if has_null:  # x NOT IN (…, NULL) is FALSE or NULL, never TRUE
                return same(len(lo), truth=False)
            # no v outside of the list is possible <=> lo = hi, and the list has this value: if lo < hi, an order
            # without gaps has more values between both than any list [PRU-MM-1]
            return pc.invert(_one_of(lo, hi, literal_keys(wanted, operand.type)))
        case StartsWith(_, prefix):
            return _prefixed(lo, hi, prefix)
        case NotStartsWith(_, prefix):
            # lo and hi both lie in [prefix, end)  <=>  every value between them starts with the prefix
            end = prefix_end(prefix)
            inside = compare(Op.GE, lo, pa.scalar(prefix, lo.type))
            if end is not None:
                inside = pc.and_kleene(inside, compare(Op.LT, hi, pa.scalar(end, hi.type)))
            return pc.invert(inside)


def _compared(op: Op, lo: pa.Array, hi: pa.Array, value: pa.Scalar) -> pa.BooleanArray:
    # Kleene's logic lets a missing bound give null, unless the other bound alone rules out the leaf [PRU-MM-5]
    match op:
        case Op.EQ:  # a v = value is possible  <=>  lo <= value <= hi
            return pc.and_kleene(compare(Op.LE, lo, value), compare(Op.GE, hi, value))
        case Op.NE:  # no v != value is possible  <=>  lo = value = hi
            return pc.or_kleene(compare(Op.NE, lo, value), compare(Op.NE, hi, value))
        case Op.LT | Op.LE:  # a v < value is possible  <=>  lo < value
            return compare(op, lo, value)
        case Op.GT | Op.GE:  # a v > value is possible  <=>  hi > value
            return compare(op, hi, value)


def _one_of(lo: pa.Array, hi: pa.Array, wanted: pa.Array) -> pa.BooleanArray:
    """Return whether lo = hi and this value is in ``wanted``."""
    single = compare(Op.EQ, lo, hi)
    # without hi, lo alone decides if it is not in ``wanted``; lo < hi needs no lookup
    rows = np.flatnonzero(to_mask(single.fill_null(True)))
    found = np.full(len(lo), False)
    found[rows] = to_mask(pc.is_in(lo.take(pa.array(rows)), wanted))
    return pc.and_kleene(single, from_mask(found))


def _prefixed(lo: pa.Array, hi: pa.Array, prefix: bytes) -> pa.BooleanArray:
    """Return whether a value between the bounds can have the prefix."""
    # a v with the prefix is possible <=> [lo, hi] meets [prefix, end), the strings with the prefix [PRU-MM-8]
    reaches = compare(Op.GE, hi, pa.scalar(prefix, hi.type))
    end = prefix_end(prefix)
    return reaches if end is None else pc.and_kleene(reaches, compare(Op.LT, lo, pa.scalar(end, lo.type)))
