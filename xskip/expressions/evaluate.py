"""The evaluation of leaves on known values, as Arrow arrays.

All comparisons use the sort keys of :mod:`xskip.types.sort_keys`.
"""

from __future__ import annotations

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
from xskip.types.sort_keys import literal_key, literal_keys, sort_key

__all__ = [
    "cast_type",
    "compare",
    "holds",
    "in_type",
    "matches",
    "null_may_match",
    "prefix_end",
]

_COMPARE = {
    Op.EQ: pc.equal,
    Op.NE: pc.not_equal,
    Op.LT: pc.less,
    Op.LE: pc.less_equal,
    Op.GT: pc.greater,
    Op.GE: pc.greater_equal,
}


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
