"""Spark's order and equality of values, on Arrow arrays.

:func:`sort_key` maps an array to one whose own Arrow order is Spark's: NaN is above everything and equal to itself,
-0.0 equals 0.0, strings and binary compare as unsigned bytes, times as numbers. Everything else here works on keys.
"""

from __future__ import annotations

from decimal import Context, Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.datatypes import arrow_type
from xskip.expressions import Comparison, In, IsNotNull, IsNull, Leaf, NotIn, NotStartsWith, Op, StartsWith, Value
from xskip.operands import Cast, Computed

__all__ = [
    "as_operand",
    "compare",
    "holds",
    "literal_key",
    "literal_keys",
    "matches",
    "of_null",
    "prefix_end",
    "sort_key",
]

_EXACT = Context(prec=76)  # any literal that Spark compares with a decimal fits
_COMPARE = {
    Op.EQ: pc.equal,
    Op.NE: pc.not_equal,
    Op.LT: pc.less,
    Op.LE: pc.less_equal,
    Op.GT: pc.greater,
    Op.GE: pc.greater_equal,
}


def sort_key(values: pa.Array) -> pa.Array:
    """An array whose Arrow order and equality are Spark's for ``values``; null stays null.

    >>> sort_key(pa.array([-0.0, float("nan"), float("inf")])).to_pylist() == sort_key(
    ...     pa.array([0.0, -float("nan"), float("inf")])).to_pylist()
    True
    """
    kind = values.type
    if pa.types.is_floating(kind):
        return _float_key(values)
    if pa.types.is_boolean(kind):
        return values.cast(pa.int8())
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return values.cast(pa.large_binary() if pa.types.is_large_string(kind) else pa.binary())
    if pa.types.is_date32(kind):
        return values.view(pa.int32())
    if pa.types.is_timestamp(kind):
        return values.view(pa.int64())
    return values


def _float_key(values: pa.Array) -> pa.Array:
    numbers = values.cast(pa.float64()).fill_null(0.0).to_numpy(zero_copy_only=False) + 0.0  # -0.0 + 0.0 = 0.0
    numbers = np.where(np.isnan(numbers), np.nan, numbers)  # one NaN, whose bits are above those of infinity
    bits = numbers.view(np.int64)
    # IEEE bits of negative numbers fall as the number grows: flip all but the sign
    keys = np.where(bits < 0, bits ^ np.int64(0x7FFFFFFFFFFFFFFF), bits)
    return pa.array(keys, mask=values.is_null().to_numpy(zero_copy_only=False))


def literal_key(value: Value, spark_type: str) -> pa.Scalar:
    """The key of one literal, comparable with the keys of an array of ``spark_type``."""
    return literal_keys((value,), spark_type)[0]


def literal_keys(values: tuple[Value, ...], spark_type: str) -> pa.Array:
    """The keys of literals, comparable with the keys of an array of ``spark_type``."""
    kind = arrow_type(spark_type)
    if pa.types.is_string(kind):
        return pa.array(values, pa.binary())
    if pa.types.is_date32(kind):
        return pa.array(values, pa.int32())
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.int64())
    if pa.types.is_decimal(kind):
        step = Decimal(1).scaleb(-kind.scale)
        return pa.array([v.quantize(step, context=_EXACT) if isinstance(v, Decimal) else v for v in values], kind)
    return sort_key(pa.array(values, kind))


def as_operand(leaf: Leaf, values: pa.Array) -> pa.Array:
    """The column's values as the leaf's operand sees them: cast where it casts; what it computes is another matter."""
    return values.cast(arrow_type(leaf.operand.type)) if isinstance(leaf.operand, Cast) else values


def of_null(leaf: Leaf) -> bool:
    """Can a row match of which the column is NULL; of no column's own values it can, but of a function's."""
    if not isinstance(leaf.operand, Computed):
        return False
    return bool(matches(leaf, pa.nulls(1, arrow_type(leaf.operand.column.type)))[0].as_py())


def compare(op: Op, left: pa.Array, right: pa.Array | pa.Scalar) -> pa.BooleanArray:
    """``left op right`` on keys, null where a side is null."""
    return _COMPARE[op](left, right)


def prefix_end(prefix: bytes) -> bytes | None:
    """The least bytes above everything that starts with ``prefix``; None where there is no bound.

    >>> prefix_end(b"ab"), prefix_end(b"a" + bytes([255])), prefix_end(b"")
    (b'ac', b'b', None)
    """
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None


def matches(leaf: Leaf, values: pa.Array) -> pa.BooleanArray:
    """For each value of the leaf's column: is the leaf TRUE of it. Never null: FALSE where SQL says NULL.

    A function's value that could not be found is taken for one that matches.

    Parameters
    ----------
    leaf : Leaf
        The predicate.
    values : pyarrow.Array
        Values of the column, of the Arrow type of its Spark type.

    Examples
    --------
    >>> from xskip.operands import (Column)
    >>> matches(Comparison(Op.NE, Column(("a",), "int"), 1), pa.array([1, 2, None], pa.int32())).to_pylist()
    [False, True, False]
    """
    if isinstance(leaf.operand, Computed):
        found, failed = leaf.operand(values)
        return pc.or_(holds(leaf, found), pa.array(failed))
    return holds(leaf, as_operand(leaf, values))


def holds(leaf: Leaf, values: pa.Array) -> pa.BooleanArray:
    """The same as :func:`matches`, for values of the leaf's operand."""
    match leaf:
        case IsNull():
            return values.is_null()
        case IsNotNull():
            return values.is_valid()
    keys = sort_key(values)
    match leaf:
        case Comparison(op, operand, value):
            found = compare(op, keys, literal_key(value, operand.type))
        case In(operand, wanted):
            found = pc.is_in(keys, literal_keys(wanted, operand.type))
        case NotIn(operand, wanted, has_null):
            found = _none_of(keys, wanted, operand.type) if not has_null else pc.and_(keys.is_null(), keys.is_valid())
        case StartsWith(_, prefix):
            found = _starts_with(keys, prefix)
        case NotStartsWith(_, prefix):
            found = pc.invert(_starts_with(keys, prefix))
    return pc.and_(found.fill_null(False), keys.is_valid())


def _none_of(keys: pa.Array, wanted: tuple[Value, ...], spark_type: str) -> pa.BooleanArray:
    return pc.invert(pc.is_in(keys, literal_keys(wanted, spark_type)))


def _starts_with(keys: pa.Array, prefix: bytes) -> pa.BooleanArray:
    """On keys of strings: prefix <= key < prefix_end, in bytes."""
    above = compare(Op.GE, keys, pa.scalar(prefix, keys.type))
    end = prefix_end(prefix)
    return above if end is None else pc.and_(above, compare(Op.LT, keys, pa.scalar(end, keys.type)))
