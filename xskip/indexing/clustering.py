"""Layouts of a DataFrame before a write: by ranges of one column, or along a curve through several columns."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from math import isnan
from typing import TYPE_CHECKING, Any

import numpy as np

from xskip.inspection.layouts import bits_of, on_curve

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

__all__ = ["Clustering"]

#: The most rows whose values divide a column into buckets.
_SAMPLE = 10_000
_PLACE = "__xskip_place"


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

        before = [F.col(name) for name in self.partitions]
        if not self.is_on_curve:
            columns = [*before, *(F.col(name) for name in self.by)]
            return self._repartitioned(df, columns).sortWithinPartitions(*columns)
        # rows of one place on the curve are in the order of the first column, and can be in several files
        columns = [*before, F.col(_PLACE), F.col(self.by[0])]
        marked = df.select("*", self._place(df).alias(_PLACE))
        return self._repartitioned(marked, columns).sortWithinPartitions(*columns).drop(_PLACE)

    def _repartitioned(self, df: DataFrame, columns: Sequence[Column]) -> DataFrame:
        return df.repartitionByRange(*columns) if self.files is None else df.repartitionByRange(self.files, *columns)

    def _place(self, df: DataFrame) -> Column:
        """Return the place on a curve through the buckets of all columns, from a table of all places."""
        from pyspark.sql import functions as F

        bits, count = bits_of(len(self.by), self.files), len(self.by)
        keys = [_key(df, name) for name in self.by]
        position = F.lit(1)
        for i, (key, borders) in enumerate(zip(keys, _borders(df, keys, bits), strict=True)):
            position = position + _bucket(key, borders, 1 << bits * (count - 1 - i))
        buckets = np.arange(1 << bits * count)
        points = [buckets >> bits * (count - 1 - i) & (1 << bits) - 1 for i in range(count)]
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
