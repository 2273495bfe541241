"""Spark's order and equality of values, computed on Arrow arrays.

:func:`sort_key` maps an array to sort keys, whose Arrow order is Spark's order of the values: NaN is above every other
value and equal to itself, -0.0 equals 0.0, strings and binary compare as unsigned bytes, and times compare as numbers.
All comparisons in this module use sort keys.
"""

from __future__ import annotations

from decimal import Context, Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.expressions.operands import Call, Cast, Computed, Operand
from xskip.expressions.predicate import (
    Comparison,
    In,
    IsNotNull,
    IsNull,
    Leaf,
    NotIn,
    NotStartsWith,
    Op,
    StartsWith,
    Value,
)
from xskip.types.datatypes import arrow_type

__all__ = [
    "cast_type",
    "compare",
    "holds",
    "in_type",
    "literal_key",
    "literal_keys",
    "matches",
    "null_may_match",
    "prefix_end",
    "sort_key",
]

_NAN, _NO_SIGN = pa.scalar(float("nan")), pa.scalar((1 << 63) - 1)
_DIGITS = 18  # a decimal of this precision fits in 64 bits
_EXACT = Context(prec=76)  # digits enough for any literal that Spark compares with a decimal
_COMPARE = {
    Op.EQ: pc.equal,
    Op.NE: pc.not_equal,
    Op.LT: pc.less,
    Op.LE: pc.less_equal,
    Op.GT: pc.greater,
    Op.GE: pc.greater_equal,
}


def sort_key(values: pa.Array) -> pa.Array:
    """Return an array (integers, decimals or binary) whose Arrow order and equality are Spark's for ``values``."""
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
    if pa.types.is_decimal128(kind) and kind.precision <= _DIGITS:
        return _decimal_key(values)
    return values


def _float_key(values: pa.Array) -> pa.Array:
    numbers = pc.add(values.cast(pa.float64()), 0.0)  # -0.0 + 0.0 = 0.0
    strange = pc.is_nan(numbers)
    if strange.true_count:  # use a single NaN, whose bits are above those of infinity
        numbers = pc.if_else(strange, _NAN, numbers)
    bits = numbers.view(pa.int64())
    # the IEEE bits of a negative number fall as the number grows: flip all bits but the sign
    return pc.if_else(pc.less(bits, 0), pc.bit_wise_xor(bits, _NO_SIGN), bits)


def _decimal_key(values: pa.Array) -> pa.Array:
    validity, data = values.buffers()
    # the lower 64 bits of a decimal determine a value of at most 18 digits
    lower = np.frombuffer(data or b"", np.int64)[: 2 * (values.offset + len(values)) : 2].copy()
    return pa.Array.from_buffers(pa.int64(), len(values), [validity, pa.py_buffer(lower)], -1, values.offset)


def literal_key(value: Value, spark_type: str) -> pa.Scalar:
    """Return the sort key of one literal, comparable with the sort keys of an array of its Spark type."""
    return literal_keys((value,), spark_type)[0]


def literal_keys(values: tuple[Value, ...], spark_type: str) -> pa.Array:
    """Return the sort keys of literals, none null, comparable with the sort keys of an array of their Spark type."""
    kind = arrow_type(spark_type)
    if pa.types.is_string(kind):
        return pa.array(values, pa.binary())
    if pa.types.is_date32(kind):
        return pa.array(values, pa.int32())
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.int64())
    if pa.types.is_decimal(kind):
        step = Decimal(1).scaleb(-kind.scale)
        exact = [v.quantize(step, context=_EXACT) if isinstance(v, Decimal) else v for v in values]
        return sort_key(pa.array(exact, kind))
    return sort_key(pa.array(values, kind))


def in_type(values: pa.Array, spark_type: str | None) -> pa.Array:
    """Cast values to a Spark type that represents all of them exactly; None returns the values unchanged."""
    return values if spark_type is None else values.cast(arrow_type(spark_type))


def cast_type(operand: Operand) -> str | None:
    """Return the type to which an operand casts its column, or None if the operand is no cast."""
    # functions take the values of the column as they are: the type of their result does not count
    return operand.type if isinstance(operand, Cast) else None


def null_may_match(leaf: Leaf) -> bool:
    """Return whether a leaf may be TRUE of a row whose column is NULL."""
    # the result of a user's function on NULL is unknown, and counts as a match
    if isinstance(leaf.operand, Call) or isinstance(leaf, IsNull):
        return True
    if not isinstance(leaf.operand, Computed):
        return False
    # a function of NULL can have a value, so Spark evaluates the function on NULL [PRU-FN-2]
    return bool(matches(leaf, pa.nulls(1, arrow_type(leaf.operand.column.type)))[0].as_py())


def compare(op: Op, left: pa.Array, right: pa.Array | pa.Scalar) -> pa.BooleanArray:
    """Return ``left op right`` on sort keys of one type; null where a side is null."""
    return _COMPARE[op](left, right)


def prefix_end(prefix: bytes) -> bytes | None:
    """Return the least byte string above all byte strings that start with ``prefix``, or None if there is none."""
    # a last byte of 0xFF has no successor, so the byte before it grows; no string is above all that start with 0xFF
    # bytes only, or with the empty prefix
    stem = prefix.rstrip(b"\xff")
    return stem[:-1] + bytes([stem[-1] + 1]) if stem else None


def matches(leaf: Leaf, values: pa.Array) -> pa.BooleanArray:
    """Return whether a leaf is TRUE of each value of its column, never null: false where SQL's result is NULL."""
    if isinstance(leaf.operand, Computed):
        # the query must meet the error of a function that fails, so such a value counts as a match [PRU-FN-3]
        found, failed = leaf.operand(values)
        return pc.or_(holds(leaf, found), pa.array(failed))
    return holds(leaf, in_type(values, cast_type(leaf.operand)))


def holds(leaf: Leaf, values: pa.Array) -> pa.BooleanArray:
    """Return whether a leaf is TRUE of each value of its operand, never null: false where SQL's result is NULL.

    :func:`matches` takes values of the column instead.
    """
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
            # x NOT IN (…, NULL) is never TRUE
            found = _none_of(keys, wanted, operand.type) if not has_null else pc.and_(keys.is_null(), keys.is_valid())
        case StartsWith(_, prefix):
            found = _starts_with(keys, prefix)
        case NotStartsWith(_, prefix):
            found = pc.invert(_starts_with(keys, prefix))
    return pc.and_(found.fill_null(False), keys.is_valid())


def _none_of(keys: pa.Array, wanted: tuple[Value, ...], spark_type: str) -> pa.BooleanArray:
    return pc.invert(pc.is_in(keys, literal_keys(wanted, spark_type)))


def _starts_with(keys: pa.Array, prefix: bytes) -> pa.BooleanArray:
    """Return whether the sort keys of strings start with a prefix."""
    # a key starts with the prefix <=> prefix <= key < prefix_end
    above = compare(Op.GE, keys, pa.scalar(prefix, keys.type))
    end = prefix_end(prefix)
    return above if end is None else pc.and_(above, compare(Op.LT, keys, pa.scalar(end, keys.type)))
