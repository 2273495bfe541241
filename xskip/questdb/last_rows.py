"""The first or the last row of each combination of keys, by an aggregation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructField

__all__ = ["LEAST", "Order", "numbered", "selected_rows"]

LEAST = -(2**63)
_FIXED = ("boolean", "tinyint", "smallint", "int", "bigint", "float", "double", "date", "timestamp", "timestamp_ntz")
#: The types of which Spark's grouping returns the values of the row; it changes others, such as -0.0.
_KEPT = {"boolean", "tinyint", "smallint", "int", "bigint", "date", "timestamp", "timestamp_ntz", "string", "binary"}


@dataclass(frozen=True, slots=True)
class Order:
    """An order of rows."""

    #: The sort keys, with nulls first.
    columns: tuple[Column, ...]
    #: Whether there is one sort key, without nulls and of fixed width.
    fixed: bool = False
    #: Whether to select the first row instead of the last one.
    first: bool = False


def numbered(df: DataFrame, prefix: str) -> DataFrame:
    """Return a DataFrame whose columns are named by a prefix and their positions, so that no name is ambiguous."""
    return df.toDF(*(f"{prefix}{position}" for position in range(len(df.columns))))


def selected_rows(df: DataFrame, keys: Sequence[int], order: Order, shown: int) -> DataFrame:
    """Return one row for each combination of keys, with the first columns of the DataFrame; null keys are equal."""
    fields = df.schema.fields[:shown]
    kept = {position for position in keys if fields[position].dataType.simpleString() in _KEPT}
    rest = [field for position, field in enumerate(fields) if position not in kept]
    groups = [df[fields[key].name].alias(_group(fields[key])) for key in keys]
    # Spark aggregates in a hash table if each value of the aggregation has a fixed width, and sorts the rows otherwise.
    # So there are two forms: for any order and any columns, one aggregate has all columns of a row; for fixed widths,
    # each column has an aggregate.
    by_column = order.fixed and all(_is_fixed(field) for field in rest)
    aggregates, values = _column_form(rest, order) if by_column else _row_form(rest, order)
    rows = df.groupBy(*groups).agg(*aggregates) if aggregates else df.select(*groups).distinct()
    values |= {fields[key].name: _group(fields[key]) for key in kept}
    return rows.selectExpr(*(f"{values[field.name]} AS {field.name}" for field in fields))


def _column_form(fields: Sequence[StructField], order: Order) -> tuple[list[Column], dict[str, str]]:
    # All aggregates have the same order, are updated and merged with the same rows in the same sequence, and so select
    # the same row, also among rows of equal order.
    aggregates = [_extreme(field.name, order, order.columns[0]).alias(f"a_{field.name}") for field in fields]
    return aggregates, {field.name: f"a_{field.name}" for field in fields}


def _row_form(fields: Sequence[StructField], order: Order) -> tuple[list[Column], dict[str, str]]:
    from pyspark.sql import functions as F

    if not fields:
        return [], {}
    row = _extreme(F.struct(*(field.name for field in fields)), order, F.struct(*order.columns))
    return [row.alias("a_row")], {field.name: f"a_row.{field.name}" for field in fields}


def _extreme(value: Column | str, order: Order, key: Column) -> Column:
    from pyspark.sql import functions as F

    return F.min_by(value, key) if order.first else F.max_by(value, key)


def _group(field: StructField) -> str:
    return f"g_{field.name}"


def _is_fixed(field: StructField) -> bool:
    kind = field.dataType.simpleString()
    return kind in _FIXED or kind.startswith("decimal(")
