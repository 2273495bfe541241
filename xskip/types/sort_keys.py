"""Spark's order and equality of values, as sort keys in Arrow arrays.

The Arrow order of sort keys is Spark's order of the values: NaN is above every other value and equal to itself, -0.0
equals 0.0, strings and binary compare as unsigned bytes, and times compare as numbers.
"""

from __future__ import annotations

from decimal import Context, Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.types.datatypes import arrow_type

__all__ = ["literal_key", "literal_keys", "sort_key"]

_NAN, _NO_SIGN = pa.scalar(float("nan")), pa.scalar((1 << 63) - 1)
_DIGITS = 18  # a decimal of this precision fits in 64 bits
_EXACT = Context(prec=76)  # digits enough for any literal that Spark compares with a decimal


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


def literal_key(value: object, spark_type: str) -> pa.Scalar:
    """Return the sort key of one literal, comparable with the sort keys of an array of its Spark type."""
    return literal_keys((value,), spark_type)[0]


def literal_keys(values: tuple[object, ...], spark_type: str) -> pa.Array:
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
