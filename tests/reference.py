"""SQL's three-valued logic over plain Python values, as the oracle of the tests without Spark.

The values are those of :data:`xskip.expressions.predicate.Value`. The oracle uses neither Arrow nor tested code.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa

from xskip.expressions.operands import Cast
from xskip.expressions.predicate import (
    And,
    ColumnComparison,
    Comparison,
    Constant,
    Equivalent,
    In,
    IsNotNull,
    IsNull,
    NotIn,
    NotStartsWith,
    Op,
    Or,
    Predicate,
    StartsWith,
    Unknown,
)

#: Values that sit at the edges of each type.
POOLS: dict[str, tuple[Any, ...]] = {
    "boolean": (False, True),
    "tinyint": (-128, -1, 0, 1, 2, 3, 127),
    "smallint": (-32768, -1, 0, 1, 300, 32767),
    "int": (-(2**31), -1, 0, 1, 7, 2**31 - 1),
    "bigint": (-(2**63), -1, 0, 1, 2**53, 2**53 + 1, 2**63 - 1),
    "float": (math.nan, -math.inf, -1.5, -0.0, 0.0, 2.0**-149, 1.5, math.inf),
    "double": (math.nan, -math.inf, -1.5, -0.0, 0.0, 5e-324, 0.1, 1.5, math.inf),
    "string": tuple(
        text.encode()
        for text in ("", "a", "ab", "abc", "b", "é", "z", "\ud7ff", "\ufffd", "\U0001f600", "a\U0010ffff", "\U0010ffff")
    ),
    "binary": (b"", b"\x00", b"\x7f", b"\x80", b"a", b"a\xff", b"\xff", b"\xff\xff"),
    "date": (-(2**31), -719162, -141427, -1, 0, 18262, 2932896, 2**31 - 1),
    "timestamp": (-(2**63), -62135596800000000, -1, 0, 1, 1577836800000001, 2**63 - 1),
    "timestamp_ntz": (-(2**63), -62135596800000000, -1, 0, 1, 1577836800000001, 2**63 - 1),
    "decimal(10,2)": tuple(
        Decimal(d) for d in ("-99999999.99", "-1.50", "-0.01", "0.00", "0.01", "1.50", "99999999.99")
    ),
    "decimal(38,10)": tuple(
        Decimal(d)
        for d in (
            "-9999999999999999999999999999.9999999999",
            "-1.5",
            "0",
            "1.5",
            "9999999999999999999999999999.0000000001",
        )
    ),
    "interval year to month": (-(2**31), -1, 0, 13, 2**31 - 1),
    "interval day to second": (-(2**63), -1, 0, 86_400_000_000, 2**63 - 1),
}

#: The casts that keep values, with which the tests ask.
CASTS: dict[str, tuple[str, ...]] = {
    "tinyint": ("smallint", "int", "bigint", "decimal(3,0)", "decimal(10,2)"),
    "smallint": ("bigint", "decimal(5,0)"),
    "int": ("bigint", "decimal(38,10)"),
    "bigint": ("decimal(38,10)",),
    "float": ("double",),
    "decimal(10,2)": ("decimal(38,10)",),
}


def order(value: Any) -> tuple[int, Any]:
    """Return a key by which Python orders values as Spark does: NaN is last, and equal to itself."""
    return (1, 0) if isinstance(value, float) and math.isnan(value) else (0, value)


def truth(predicate: Predicate, row: Mapping[str, Any]) -> bool | None:
    """Return whether a predicate is TRUE, FALSE or NULL for a row, a mapping of column names to values.

    An Unknown counts as TRUE, because it might be TRUE.
    """
    match predicate:
        case Constant(value):
            return value
        case Unknown():
            return True
        case And(children):
            found = [truth(child, row) for child in children]
            return False if False in found else None if None in found else True
        case Or(children):
            found = [truth(child, row) for child in children]
            return True if True in found else None if None in found else False
        case Equivalent(children):
            return truth(children[0], row)
        case _:
            assert not isinstance(predicate, ColumnComparison)
            operand = predicate.operand
            return leaf_truth(predicate, row[str(operand.column if isinstance(operand, Cast) else operand)])


def leaf_truth(leaf: Any, value: Any) -> bool | None:
    """Return whether a leaf is TRUE, FALSE or NULL for a value of its column."""
    match leaf:
        case IsNull():
            return value is None
        case IsNotNull():
            return value is not None
        case Comparison(op, _, literal):
            return None if value is None else compare(op, value, literal)
        case In(_, wanted, has_null):
            return is_in(value, wanted, has_null)
        case NotIn(_, wanted, has_null):
            found = is_in(value, wanted, has_null)
            return None if found is None else not found
        case StartsWith(_, prefix):
            return None if value is None else value[: len(prefix)] == prefix
        case NotStartsWith(_, prefix):
            return None if value is None else value[: len(prefix)] != prefix
    raise AssertionError(leaf)


def compare(op: Op, value: Any, literal: Any) -> bool:
    """Return whether a comparison of two values holds; neither value is NULL."""
    left, right = order(value), order(literal)
    return {
        Op.EQ: left == right,
        Op.NE: left != right,
        Op.LT: left < right,
        Op.LE: left <= right,
        Op.GT: left > right,
        Op.GE: left >= right,
    }[op]


def is_in(value: Any, wanted: Sequence[Any], has_null: bool) -> bool | None:
    """Return the result of ``value IN (wanted)``."""
    if not wanted and not has_null:
        return False  # also NULL IN (), as Spark says
    if value is None:
        return None
    if any(order(value) == order(other) for other in wanted):
        return True
    return None if has_null else False


def to_arrow(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return values as an Arrow array of a metadata type."""
    if pa.types.is_string(kind):
        return pa.array([None if v is None else v.decode() for v in values], kind)
    if pa.types.is_date32(kind):
        return pa.array(values, pa.int32()).view(kind)
    if pa.types.is_timestamp(kind):
        return pa.array(values, pa.int64()).view(kind)
    return pa.array(values, kind)


def all_true(rows: int) -> np.ndarray:
    """Return a mask that selects all rows."""
    return np.full(rows, True)
