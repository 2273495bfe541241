"""The conditions of a selection on the rows of a read, in Spark and in Arrow. Rules: [QLK-RD-2]."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from xskip.quixlake.selection import OneOf, Range

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = ["arrow_condition", "spark_condition"]


def spark_condition(condition: OneOf | Range) -> Column:
    """Return a condition as a filter of Spark."""
    from pyspark.sql import functions as F

    column = F.col(condition.column)
    match condition:
        case OneOf():
            named = column.isin([*condition.values])
            return named | column.isNull() if condition.has_null else named
        case Range(low=low, end=end):
            return reduce(and_, ([] if low is None else [column >= low]) + ([] if end is None else [column < end]))


def arrow_condition(condition: OneOf | Range, rows: pa.Table) -> pa.ChunkedArray:
    """Return for which rows of a table a condition is TRUE; for others it is false or null."""
    column = rows[condition.column]
    match condition:
        case OneOf():
            named = pc.is_in(column, pa.array(condition.values, column.type))
            return pc.or_(named, column.is_null()) if condition.has_null else named
        case Range(low=low, end=end):
            sides = [] if low is None else [pc.greater_equal(column, low)]
            return reduce(pc.and_, sides if end is None else [*sides, pc.less(column, end)])
