"""The rows of a table in ranges of time. Rules: [QDB-CT]."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import zip_longest
from operator import or_
from typing import TYPE_CHECKING

from xskip.column_paths import in_backticks
from xskip.questdb_files.column_types import NANOSECOND_TIMESTAMP
from xskip.questdb_files.metadata_file import Column

if TYPE_CHECKING:
    from pyspark.sql import Column as SparkColumn
    from pyspark.sql import DataFrame

__all__ = ["rows_in"]

#: The ranges of one filter. The code of a filter with many more is too long for the JVM, which then interprets it.
_RANGES = 32


def rows_in(table: DataFrame, timestamp: Column, ranges: Sequence[tuple[int, int]]) -> DataFrame:
    """Return the rows of a table in half-open, ascending ranges of ticks, in their order; there is at least one."""
    groups = [ranges[i : i + _RANGES] for i in range(0, len(ranges), _RANGES)]
    parts = [table.where(reduce(or_, (_between(timestamp, *bounds) for bounds in group))) for group in groups]
    while len(parts) > 1:  # a chain of many unions is a plan too deep for Spark
        pairs = zip_longest(parts[::2], parts[1::2])
        parts = [left if right is None else left.unionAll(right) for left, right in pairs]
    return parts[0]


def _between(timestamp: Column, start: int, end: int) -> SparkColumn:
    from pyspark.sql import functions as F

    time = F.col(in_backticks(timestamp.name))
    bounds = [F.lit(start), F.lit(end)]
    if timestamp.type_code != NANOSECOND_TIMESTAMP:
        bounds = [F.timestamp_micros(bound) for bound in bounds]
    return (time >= bounds[0]) & (time < bounds[1])
