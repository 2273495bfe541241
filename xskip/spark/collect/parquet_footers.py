"""Min/max of Parquet columns from the files' footers, where the footers vouch for them.

A footer is trusted only where every row group has both bounds or holds nothing but nulls, the physical column is
read as the very type that is asked for, and Spark would not change the values on the way. Floating point is never
taken (a NaN leaves no trace), nor INT96 (its statistics have no order), nor dates that a calendar change could touch.
Everything else is left to the data: the answer for that file is None.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Any

import pyarrow.parquet as pq

from xskip.expressions.operands import split_path
from xskip.types.datatypes import decimal_digits

__all__ = ["Bounds", "footer_bounds", "is_plain", "served_by_footers", "tail_of"]

#: Least and greatest value as plain numbers, bytes, or booleans; both None where all values are NULL.
Bounds = tuple[Any, Any]

_EXACT = Context(prec=38)
# Spark rebases dates before the Gregorian calendar, and timestamps before the last zone offsets with odd seconds
_FIRST_DATE = -141_427  # 1582-10-15, in days
_FIRST_TIMESTAMP = -2_208_988_800_000_000 + 2 * 86_400_000_000  # 1900-01-03, in microseconds
# writers whose string bounds are the values themselves, in unsigned order; others may cut long values short
_WHOLE_STRINGS = re.compile(
    r"parquet-mr version 1\.(1[0-9]|[2-9][0-9])\.|parquet-mr version [2-9]|parquet-cpp-arrow version (?!0\.)"
)
_LOGICAL = {
    ("INT32", "None"): ("int",),
    ("INT64", "None"): ("bigint",),
    ("INT32", "Int(bitWidth=8, isSigned=true)"): ("tinyint",),
    ("INT32", "Int(bitWidth=16, isSigned=true)"): ("smallint",),
    ("INT32", "Int(bitWidth=32, isSigned=true)"): ("int",),
    ("INT64", "Int(bitWidth=64, isSigned=true)"): ("bigint",),
    ("INT32", "Date"): ("date",),
    ("BYTE_ARRAY", "String"): ("string",),
    ("BOOLEAN", "None"): ("boolean",),
}
_GUESS = 65_536
_SERVED = ("boolean", "tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz", "string")


def served_by_footers(spark_type: str) -> bool:
    """Can footers ever vouch for the bounds of a type.

    >>> served_by_footers("timestamp"), served_by_footers("double")
    (True, False)
    """
    return spark_type in _SERVED or decimal_digits(spark_type) is not None


def tail_of(path: str) -> bytes:
    """Return the end of a local Parquet file from its footer on; empty where there is no plain footer."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _GUESS, 0))
        tail = file.read()
        length = int.from_bytes(tail[-8:-4], "little") + 8
        if tail[-4:] != b"PAR1" or length > size:
            return b""
        if length > len(tail):
            file.seek(size - length)
            tail = file.read()
        return tail[-length:]


def is_plain(footer: pq.FileMetaData, tail: bytes) -> bool:
    """Return whether a footer is all that a file ends with: one with a signature after it has encrypted columns.

    Arrow aborts the process where it is asked about an encrypted column without its key.
    """
    return bool(footer.serialized_size + 8 == len(tail))


def footer_bounds(footer: pq.FileMetaData, columns: Sequence[tuple[str, str]]) -> list[Bounds] | None:
    """The bounds of columns over all row groups of a file, or None where the footer does not vouch for them.

    Parameters
    ----------
    footer : pyarrow.parquet.FileMetaData
    columns : sequence of (str, str)
        Column in Spark's spelling, and its Spark type.
    """
    leaves = _leaves(footer)
    bounds = []
    for column, spark_type in columns:
        position = leaves.get(".".join(split_path(column)))
        if position is None or "`" in column or not _fits(footer, position, spark_type):
            return None
        found = _column_bounds(footer, position)
        if found is None or not _unchanged(found, spark_type):
            return None
        bounds.append(found)
    return bounds


def _leaves(footer: pq.FileMetaData) -> dict[str, int]:
    """Leaf columns by path; without those whose path another one shares, as ``a.b`` of a struct and `a.b` do."""
    columns = [footer.schema.column(i) for i in range(len(footer.schema))]
    paths = Counter(column.path for column in columns)
    return {c.path: i for i, c in enumerate(columns) if paths[c.path] == 1 and "." not in c.name}


def _fits(footer: pq.FileMetaData, position: int, spark_type: str) -> bool:
    """Is the physical column read as the Spark type, value for value."""
    column = footer.schema.column(position)
    if column.max_repetition_level > 0:
        return False
    logical = str(column.logical_type)
    if digits := decimal_digits(spark_type):
        return logical == f"Decimal(precision={digits[0]}, scale={digits[1]})"
    if spark_type in ("timestamp", "timestamp_ntz"):
        adjusted = "true" if spark_type == "timestamp" else "false"
        stamp = re.match(r"Timestamp\(isAdjustedToUTC=(\w+), timeUnit=(milliseconds|microseconds)", logical)
        return column.physical_type == "INT64" and stamp is not None and stamp[1] == adjusted
    if spark_type == "string" and not _WHOLE_STRINGS.match(footer.created_by or ""):
        return False
    return spark_type in _LOGICAL.get((column.physical_type, logical), ())


def _column_bounds(footer: pq.FileMetaData, position: int) -> Bounds | None:
    """Bounds over the row groups; None where one of them says too little."""
    lows, highs = [], []
    for group in range(footer.num_row_groups):
        chunk = footer.row_group(group).column(position)
        statistics = chunk.statistics
        if chunk.num_values == 0:
            continue
        if statistics is None or not statistics.has_null_count:
            return None
        if statistics.has_min_max:
            lows.append(statistics.min_raw)
            highs.append(statistics.max_raw)
        elif statistics.null_count != chunk.num_values:  # values without bounds: not all of them are null
            return None
    if not lows:
        return None, None
    logical = str(footer.schema.column(position).logical_type)
    return min(_plain(v, logical) for v in lows), max(_plain(v, logical) for v in highs)


def _plain(raw: Any, logical: str) -> Any:
    """A physical value as a number, bytes or boolean whose Python order is Spark's."""
    if scale := re.fullmatch(r"Decimal\(precision=\d+, scale=(\d+)\)", logical):
        unscaled = int.from_bytes(raw, "big", signed=True) if isinstance(raw, bytes) else raw
        return Decimal(unscaled).scaleb(-int(scale[1]), _EXACT)
    return raw * 1000 if "timeUnit=milliseconds" in logical else raw


def _unchanged(bounds: Bounds, spark_type: str) -> bool:
    """Would Spark read the values as they are stored."""
    low = bounds[0]
    if low is None:
        return True
    if spark_type == "date":
        return bool(low >= _FIRST_DATE)
    return bool(low >= _FIRST_TIMESTAMP) if spark_type == "timestamp" else True
