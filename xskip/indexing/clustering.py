"""Layouts of a DataFrame before a write: by ranges of one column, or along a curve through several columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from xskip.column_paths import join_path
from xskip.inspection.layouts import bits_of, on_curve

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

__all__ = ["Clustering"]

#: The types of columns that tell rows with equal values of other columns apart, by their names in Spark.
_HASHED = (
    "binary", "boolean", "byte", "date", "decimal", "integer", "long", "short", "string", "timestamp", "timestamp_ntz",
)  # fmt: skip
#: The most rows whose values divide a column into buckets.
_SAMPLE = 10_000


@dataclass(frozen=True, slots=True)
class Clustering:
    """A layout by columns, which have types with an order."""

    by: Sequence[str]
    #: The columns that divide the files into directories; they come before all others.
    partitions: Sequence[str] = ()
    #: None leaves the number to Spark.
    files: int | None = None
    is_on_curve: bool = True

    def of(self, df: DataFrame) -> DataFrame:
        """Return the rows of a DataFrame in this layout."""
        from pyspark.sql import functions as F

        before, by = ([F.col(name) for name in names] for names in (self.partitions, self.by))
        # Spark never divides rows of one key: those that differ in other columns have several keys
        names = [join_path((each.name,)) for each in df.schema.fields if _has_hash(each.dataType)]
        rest = F.xxhash64(F.lit(0), *map(F.col, names))
        if not self.is_on_curve:
            return self._repartitioned(df, [*before, *by, rest]).sortWithinPartitions(*before, *by)
        place = next(name for i in count() if (name := f"place_{i}") not in df.columns)
        marked = df.select("*", self._place(df).alias(place))
        order = [*before, F.col(place), by[0]]
        return self._repartitioned(marked, [*order, rest]).sortWithinPartitions(*order).drop(place)

    def _repartitioned(self, df: DataFrame, columns: Sequence[Column]) -> DataFrame:
        return df.repartitionByRange(*columns) if self.files is None else df.repartitionByRange(self.files, *columns)

    def _place(self, df: DataFrame) -> Column:
        """Return the place on a curve through the buckets of all columns, from a table of all places."""
        from pyspark.sql import functions as F

        bits, columns = bits_of(len(self.by), self.files), len(self.by)
        keys = [_key(df, name) for name in self.by]
        position = F.lit(1)
        for i, (key, borders) in enumerate(zip(keys, _borders(df, keys, bits), strict=True)):
            position = position + _bucket(key, borders, 1 << bits * (columns - 1 - i))
        buckets = np.arange(1 << bits * columns)
        points = [buckets >> bits * (columns - 1 - i) & (1 << bits) - 1 for i in range(columns)]
        table = F.from_json(F.lit(json.dumps(on_curve(points, bits).tolist())), "array<int>")
        return F.element_at(table, position)


def _key(df: DataFrame, name: str) -> Column:
    """Return a column, or a number in its order for times, whose values Python changes by its time zone."""
    from pyspark.sql import functions as F

    column, kind = F.col(name), df.select(name).schema[0].dataType.typeName()
    if kind.startswith("timestamp"):
        return F.unix_micros(column.cast("timestamp"))
    return F.unix_date(column) if kind == "date" else column


def _borders(df: DataFrame, keys: Sequence[Column], bits: int) -> list[list[Any]]:
    """Return the values that divide each column into buckets with as many rows each, from rows at random."""
    from pyspark.sql import functions as F

    rows = df.select(*(key.alias(f"c{i}") for i, key in enumerate(keys))).orderBy(F.rand(0)).limit(_SAMPLE).collect()
    found = []
    for i in range(len(keys)):
        known = (bytes(row[i]) if isinstance(row[i], bytearray) else row[i] for row in rows if row[i] is not None)
        values = sorted(value for value in known if not (isinstance(value, float) and isnan(value)))
        places = np.linspace(0, len(values), 2**bits + 1)[1:-1].astype(int)
        found.append(sorted({values[place] for place in places} if values else ()))
    return found


def _bucket(key: Column, borders: Sequence[Any], factor: int) -> Column:
    """Return the number of the borders up to a value, times a factor, by a search in halves; 0 for NULL."""
    from pyspark.sql import functions as F

    def search(low: int, high: int) -> Column:
        if low == high:
            return F.lit(low * factor)
        middle = (low + high) // 2
        return F.when(key < F.lit(borders[middle]), search(low, middle)).otherwise(search(middle + 1, high))

    return F.when(key.isNull(), F.lit(0)).otherwise(search(0, len(borders)))


def _has_hash(kind: DataType) -> bool:
    """Return whether Spark can hash the values of a type, without those whose hashes differ between equal values."""
    return kind.typeName() in _HASHED
