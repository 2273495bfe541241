"""Spark's order and equality of values, on Arrow arrays.

:func:`sort_key` maps an array to one whose own Arrow order is Spark's: NaN is above everything and equal to itself,
-0.0 equals 0.0, strings and binary compare as unsigned bytes, times as numbers. Everything else here works on keys.
"""

from __future__ import annotations

from decimal import Context, Decimal

import numpy as np
import numpy.typing as npt
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
    "from_mask",
    "holds",
    "in_type",
    "literal_key",
    "literal_keys",
    "matches",
    "null_may_match",
    "prefix_end",
    "same",
    "sort_key",
    "to_mask",
]

Mask = npt.NDArray[np.bool_]
_NAN, _NO_SIGN = pa.scalar(float("nan")), pa.scalar((1 << 63) - 1)
_DIGITS = 18  # decimals of so many are numbers of 64 bits
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
    if pa.types.is_decimal128(kind) and kind.precision <= _DIGITS:
        return _decimal_key(values)
    return values


def _float_key(values: pa.Array) -> pa.Array:
    numbers = pc.add(values.cast(pa.float64()), 0.0)  # -0.0 + 0.0 = 0.0
    strange = pc.is_nan(numbers)
    if strange.true_count:  # one NaN, its bits above those of infinity
        numbers = pc.if_else(strange, _NAN, numbers)
    bits = numbers.view(pa.int64())
    # IEEE bits of negative numbers fall as the number grows: flip all but the sign
    return pc.if_else(pc.less(bits, 0), pc.bit_wise_xor(bits, _NO_SIGN), bits)


def _decimal_key(values: pa.Array) -> pa.Array:
    """Of 128 bits the lower half tells all."""
    validity, data = values.buffers()
    lower = np.frombuffer(data or b"", np.int64)[: 2 * (values.offset + len(values)) : 2].copy()
    return pa.Array.from_buffers(pa.int64(), len(values), [validity, pa.py_buffer(lower)], -1, values.offset)


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
        exact = [v.quantize(step, context=_EXACT) if isinstance(v, Decimal) else v for v in values]
        return sort_key(pa.array(exact, kind))
    return sort_key(pa.array(values, kind))


def in_type(values: pa.Array, spark_type: str | None) -> pa.Array:
    """Values cast to a Spark type that holds them all; None leaves them as they are."""
    return values if spark_type is None else values.cast(arrow_type(spark_type))


def cast_type(operand: Operand) -> str | None:
    """The type in which an operand sees its column's values, where that is another; what it computes does not count."""
    return operand.type if isinstance(operand, Cast) else None


def null_may_match(leaf: Leaf) -> bool:
    """Can a row match of which the column is NULL; of no column's own values it can, but of a function's.

    What a user's function is of NULL nobody knows.
    """
    if isinstance(leaf.operand, Call):
        return True
    if not isinstance(leaf.operand, Computed):
        return False
    return bool(matches(leaf, pa.nulls(1, arrow_type(leaf.operand.column.type)))[0].as_py())


def compare(op: Op, left: pa.Array, right: pa.Array | pa.Scalar) -> pa.BooleanArray:
    """``left op right`` on keys, null where a side is null."""
    return _COMPARE[op](left, right)


def to_mask(found: pa.BooleanArray) -> Mask:
    """Where an array is true.

    >>> to_mask(pa.array([True, False, None])).tolist()
    [True, False, False]
    """
    known = found.fill_null(False)
    bits = np.frombuffer(known.buffers()[1] or b"", np.uint8)
    mask: Mask = np.unpackbits(bits, count=known.offset + len(known), bitorder="little")[known.offset :].view(np.bool_)
    return mask


def from_mask(mask: Mask) -> pa.BooleanArray:
    """True and false, as a mask has them.

    >>> from_mask(np.array([True, False])).to_pylist()
    [True, False]
    """
    bits = pa.py_buffer(np.packbits(mask, bitorder="little"))
    return pa.BooleanArray.from_buffers(pa.bool_(), len(mask), [None, bits])


def same(size: int, *, truth: bool) -> pa.BooleanArray:
    """True everywhere, or false.

    >>> same(2, truth=True).to_pylist()
    [True, True]
    """
    bits = np.full(size // 8 + 1, 0xFF if truth else 0, np.uint8)
    return pa.BooleanArray.from_buffers(pa.bool_(), size, [None, pa.py_buffer(bits)])


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
    >>> from xskip.expressions.operands import (Column)
    >>> matches(Comparison(Op.NE, Column(("a",), "int"), 1), pa.array([1, 2, None], pa.int32())).to_pylist()
    [False, True, False]
    """
    if isinstance(leaf.operand, Computed):
        found, failed = leaf.operand(values)
        return pc.or_(holds(leaf, found), pa.array(failed))
    return holds(leaf, in_type(values, cast_type(leaf.operand)))


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
