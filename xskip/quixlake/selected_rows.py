"""The conditions of a selection on the rows of a read, in Spark and in Arrow. Rules: [QLK-RD-2]."""

from __future__ import annotations

from functools import reduce
from operator import and_
from typing import TYPE_CHECKING

from xskip.quixlake.selection import OneOf, Range

if TYPE_CHECKING:
    from pyspark.sql import Column

__all__ = ["spark_condition"]


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
