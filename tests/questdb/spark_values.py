"""The rows that Spark reads from a table, compared with the Arrow table, which other tests compare with the server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import TimestampType

from xskip.questdb.table import open_table

_TICKS = {"ms": 1000, "us": 1, "ns": 1}


def load(spark: SparkSession, path: Path) -> DataFrame:
    return spark.read.format("questdb").load(str(path))


def bytes_read(spark: SparkSession, df: DataFrame) -> int:
    """Return the bytes that a query reads from local files."""
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    statistics = gateway.jvm.org.apache.hadoop.fs.FileSystem.getGlobalStorageStatistics().get("file")
    before = int(statistics.getLong("bytesRead"))
    df.collect()
    return int(statistics.getLong("bytesRead")) - before


def check_spark(spark: SparkSession, path: Path) -> DataFrame:
    """Compare every value that Spark reads from a table with that of the Arrow table, and return the DataFrame."""
    df = load(spark, path)
    compare_rows(df, open_table(path).to_arrow())
    return df


def compare_rows(df: DataFrame, table: pa.Table) -> None:
    assert df.columns == table.column_names
    expected = Counter(map(repr, arrow_rows(table)))
    found = Counter(map(repr, spark_rows(df)))
    assert sum(found.values()) == sum(expected.values())
    assert list((found - expected).items())[:3] == list((expected - found).items())[:3] == []


def spark_rows(df: DataFrame) -> list[tuple[Any, ...]]:
    """Return rows with times as microseconds."""
    columns = [
        F.unix_micros(_column(f.name)).alias(f.name) if isinstance(f.dataType, TimestampType) else _column(f.name)
        for f in df.schema
    ]
    return [tuple(_plain(value) for value in row) for row in df.select(columns).collect()]


def _column(name: str) -> Any:
    return F.col(f"`{name}`")


def _plain(value: Any) -> Any:
    return bytes(value) if isinstance(value, bytearray) else value


def arrow_rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """Return rows with times as microseconds, or nanoseconds for TIMESTAMP_NS."""
    columns: Sequence[list[Any]] = [_values(column) for column in table.columns]
    return list(zip(*columns, strict=True))


def _values(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        factor = _TICKS[column.type.unit]
        return [None if v is None else v * factor for v in column.cast(pa.int64()).to_pylist()]
    values: list[Any] = column.to_pylist()
    if pa.types.is_decimal(column.type) and column.type.precision > 38:
        return [None if value is None else f"{value:f}" for value in values]
    return values
