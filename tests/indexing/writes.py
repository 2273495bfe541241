"""Datasets with an index to which tests write, and what the index knows of their files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from tests.helpers import index, metadata, rows_of
from xskip import BloomFilter, MinMax, SkippingIndex, ValueList

__all__ = ["SIMPLE", "all_of", "assert_as_built", "dataset", "frame"]

SIMPLE = [MinMax("x"), ValueList("s"), BloomFilter("x")]


def all_of(made: SkippingIndex) -> list[str]:
    """Return all that the index knows of each file as text, sorted."""
    table = metadata(made)
    assert table.counts is not None
    counts = [table.counts.rows, *(table.counts.nulls[name] for name in sorted(table.counts.nulls))]
    columns = [table.files.names, table.files.sizes, *counts]
    known = [str(each) for each in zip(*(column.to_pylist() for column in columns), strict=True)]
    return rows_of(made) + sorted(known)


def assert_as_built(made: SkippingIndex, indexes: list[Any]) -> list[str]:
    """Assert that the index has no file to read, and what a build on the same files has; return that."""
    status = made.status()
    assert (status.missing, status.stale) == (0, 0)
    written = all_of(made)
    made.drop()
    made.create(indexes)
    assert all_of(made) == written
    return written


def frame(spark: SparkSession, start: int, count: int = 10, files: int = 2) -> DataFrame:
    return spark.range(start, start + count, 1, files).selectExpr(
        "CAST(id AS INT) AS x", "concat('s', id % 7) AS s", "id % 3 AS p"
    )


def dataset(spark: SparkSession, root: Path, fmt: str = "parquet", *by: str) -> SkippingIndex:
    """Return the index of a dataset of two files, with the columns x, s and p."""
    path = str(root / "d")
    frame(spark, 0).write.format(fmt).partitionBy(*by).save(path)
    return index(spark, path, SIMPLE, fmt)
