"""The bounds and NULLs of Parquet columns from the footers of files, for files whose footers are reliable.

A footer is reliable only if every row group has both bounds or only nulls, if Spark reads the physical column as
exactly the requested type, and if Spark does not change the values on reading. The result for any other file is None,
and the build reads the data of that file.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Sequence
from decimal import Context, Decimal
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow.parquet as pq

from xskip.column_paths import split_path
from xskip.results.read_ranges import first_page
from xskip.types.datatypes import decimal_digits

__all__ = [
    "Bounds",
    "FooterStatistics",
    "footer_statistics",
    "is_plain",
    "row_group_starts",
    "served_by_footers",
    "tail_of",
]

#: The least and the greatest value as plain numbers, bytes or Booleans; both are None if all values are NULL.
Bounds = tuple[Any, Any]


class _Chunk(NamedTuple):
    """A column in a row group."""

    rows: int
    #: The number of values with NULLs.
    values: int
    statistics: Any


class FooterStatistics(NamedTuple):
    """The statistics of the columns of a file."""

    bounds: list[Bounds]
    #: The number of rows; None if unknown.
    rows: int | None
    #: The number of NULLs of each column, of which a field of a NULL struct is one; None if unknown.
    nulls: list[int | None]


_EXACT = Context(prec=38)
# Spark rebases dates before the Gregorian calendar, and timestamps of the time when zone offsets had odd seconds.
_FIRST_DATE = -141_427  # 1582-10-15, in days
_FIRST_TIMESTAMP = -2_208_988_800_000_000 + 2 * 86_400_000_000  # 1900-01-03, in microseconds
# Arrow before 12.0 computes the bounds and counts the NULLs of only some batches of a dictionary column of strings.
_ARROW = r"parquet-cpp-arrow version (?:1[2-9]|[2-9][0-9])\."
# The writers whose string bounds are whole values in unsigned order; other writers can truncate long values.
_WHOLE_STRINGS = re.compile(rf"parquet-mr version 1\.(1[0-9]|[2-9][0-9])\.|parquet-mr version [2-9]|{_ARROW}")
# The writers that count each NULL; others can leave the number at 0. Of these writers, the one that is known to count a
# field of a NULL struct.
_NULLS = re.compile(rf"parquet-mr version |{_ARROW}")
_FIELD_NULLS = re.compile(r"parquet-mr version ")
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
#: The bytes at the end of a file that are read at first; a longer footer takes a second read.
_GUESS = 65_536
# Floating-point columns never use the footer, because a NaN leaves no trace in it, nor do INT96 columns, whose
# statistics have no order.
_SERVED = ("boolean", "tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz", "string")


def served_by_footers(spark_type: str) -> bool:
    """Return whether footers can have reliable bounds for columns of a Spark type."""
    return spark_type in _SERVED or decimal_digits(spark_type) is not None


def tail_of(path: str) -> bytes:
    """Return a local file from the first byte of its footer; empty if it does not end with a plain footer."""
    with open(path, "rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _GUESS, 0))
        tail = file.read()
        length = int.from_bytes(tail[-8:-4], "little") + 8
        # An encrypted footer has another magic number.
        if tail[-4:] != b"PAR1" or length > size:
            return b""
        if length > len(tail):
            file.seek(size - length)
            tail = file.read()
        return tail[-length:]


def is_plain(footer: pq.FileMetaData, tail: bytes) -> bool:
    """Return whether a file ends with a footer without a signature; ``tail`` begins with the footer."""
    # A signature after the footer means that columns are encrypted, and Arrow aborts the process on access to an
    # encrypted column without its key.
    return bool(footer.serialized_size + 8 == len(tail))


def footer_statistics(
    footer: pq.FileMetaData, columns: Sequence[tuple[str, str]], chosen: Sequence[int] | None = None
) -> FooterStatistics | None:
    """Return the statistics of columns over some row groups of a file, or None if a column has no reliable bounds.

    The columns are in Spark's spelling, each with its Spark type. The footer is without encrypted columns, see
    :func:`is_plain`. ``chosen`` are the positions of the row groups; None chooses all.
    """
    leaves = _leaves(footer)
    groups = [footer.row_group(i) for i in (range(footer.num_row_groups) if chosen is None else chosen)]
    bounds, nulls = [], []
    for column, spark_type in columns:
        position = leaves.get(".".join(split_path(column)))
        if position is None or "`" in column or not _fits(footer, position, spark_type):
            return None
        chunks = [
            _Chunk(group.num_rows, c.num_values, c.statistics) for group in groups for c in [group.column(position)]
        ]
        found = _column_bounds(chunks, str(footer.schema.column(position).logical_type))
        if found is None or not _unchanged(found, spark_type):
            return None
        bounds.append(found)
        is_counted = _counts_nulls(footer, is_field=len(split_path(column)) > 1)
        nulls.append(_nulls(chunks) if is_counted else None)
    rows = sum(group.num_rows for group in groups)
    is_complete = chosen is not None or rows == footer.num_rows
    return FooterStatistics(bounds, rows if is_complete else None, nulls)


def _counts_nulls(footer: pq.FileMetaData, *, is_field: bool) -> bool:
    """Return whether the writer counts each NULL, and for a field of a struct also the rows with a NULL struct."""
    return (_FIELD_NULLS if is_field else _NULLS).match(footer.created_by or "") is not None


def _nulls(chunks: Sequence[_Chunk]) -> int | None:
    """Return the number of NULLs of a column that has bounds, or None if the footer contradicts itself."""
    total = 0
    for rows, values, statistics in chunks:
        nulls, least = (statistics.null_count, int(statistics.has_min_max)) if values else (0, 0)
        if values != rows or not 0 <= nulls <= rows - least:
            return None
        total += nulls
    return total


def _leaves(footer: pq.FileMetaData) -> dict[str, int]:
    """Return the positions of leaf columns by path, without paths of two columns (field ``b`` of ``a``, and `a.b`)."""
    columns = [footer.schema.column(i) for i in range(len(footer.schema))]
    paths = Counter(column.path for column in columns)
    return {c.path: i for i, c in enumerate(columns) if paths[c.path] == 1 and "." not in c.name}


def _fits(footer: pq.FileMetaData, position: int, spark_type: str) -> bool:
    """Return whether Spark reads the values of the physical column unchanged as the Spark type."""
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


def _column_bounds(chunks: Sequence[_Chunk], logical: str) -> Bounds | None:
    """Return the bounds over the column's chunks, or None if the statistics of a chunk are incomplete."""
    lows, highs = [], []
    for _, values, statistics in chunks:
        if values == 0:
            continue
        if statistics is None or not statistics.has_null_count:
            return None
        if statistics.has_min_max:
            lows.append(statistics.min_raw)
            highs.append(statistics.max_raw)
        elif statistics.null_count != values:  # the row group has values but no bounds
            return None
    if not lows:
        return None, None
    return min(_plain(v, logical) for v in lows), max(_plain(v, logical) for v in highs)


def _plain(raw: Any, logical: str) -> Any:
    """Return a physical value as a number, bytes or a Boolean whose Python order is Spark's order."""
    if scale := re.fullmatch(r"Decimal\(precision=\d+, scale=(\d+)\)", logical):
        unscaled = int.from_bytes(raw, "big", signed=True) if isinstance(raw, bytes) else raw
        return Decimal(unscaled).scaleb(-int(scale[1]), _EXACT)
    return raw * 1000 if "timeUnit=milliseconds" in logical else raw


def _unchanged(bounds: Bounds, spark_type: str) -> bool:
    """Return whether Spark reads values within the bounds as they are stored, without a rebase of the calendar."""
    low = bounds[0]
    if low is None:
        return True
    if spark_type == "date":
        return bool(low >= _FIRST_DATE)
    return bool(low >= _FIRST_TIMESTAMP) if spark_type == "timestamp" else True


def row_group_starts(footer: pq.FileMetaData) -> npt.NDArray[np.int64] | None:
    """Return where the row groups of a file begin, or None if they do not follow each other."""
    starts, end = [], 0
    for i in range(footer.num_row_groups):
        columns = [footer.row_group(i).column(c) for c in range(footer.num_columns)]
        if not footer.row_group(i).num_rows:  # it need not have a page, and no reader looks for rows there
            starts.append(end)
            continue
        pages = [first_page(column) for column in columns]
        if not pages or min(pages) < end:
            return None
        starts.append(min(pages))
        end = min(pages) + sum(column.total_compressed_size for column in columns)
    return np.array(starts, np.int64)
