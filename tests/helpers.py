"""What the Spark tests share: datasets of known files, and which files Spark really opens."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.types import StructType

import xskip


def write_files(
    spark: SparkSession,
    root: Path,
    schema: str | StructType,
    files: dict[str, Sequence[tuple[Any, ...]]],
    fmt: str = "parquet",
    options: dict[str, str] | None = None,
) -> str:
    """Writes one data file for each entry, named ``<key>.<fmt>`` under ``root``; a key may hold ``p=1/`` folders.

    Returns the dataset's path.
    """
    for name, rows in files.items():
        staging = root.parent / f"{root.name}-staging"
        df = spark.createDataFrame(list(rows), schema).coalesce(1)
        df.write.mode("overwrite").format(fmt).options(**(options or {})).save(str(staging))
        (part,) = [p for p in staging.iterdir() if p.name.startswith("part-")]
        target = root / f"{name}.{fmt}"
        target.parent.mkdir(parents=True, exist_ok=True)
        part.rename(target)
    return str(root)


def opened_files(df: DataFrame) -> set[str]:
    """The base names, without extension, of the files that Spark's own plan reads: not what any report says."""
    spark = df.sparkSession
    before = spark.conf.get("spark.sql.adaptive.enabled")
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    try:
        fresh = df.select("*")  # a new QueryExecution, planned without adaptive execution
        leaves = fresh._jdf.queryExecution().executedPlan().collectLeaves()
        found: set[str] = set()
        for i in range(leaves.length()):
            found |= _files_of(leaves.apply(i))
        return found
    finally:
        spark.conf.set("spark.sql.adaptive.enabled", before)


def _files_of(leaf: Any) -> set[str]:
    kind = leaf.getClass().getSimpleName()
    if kind == "FileSourceScanExec":
        partitions = leaf.inputRDD().partitions()
    elif kind == "BatchScanExec":
        partitions = leaf.scan().toBatch().planInputPartitions()
    else:
        return set()
    names = set()
    for partition in partitions:
        names |= {_stem(file.toPath().getName()) for file in partition.files()}
    return names


def _stem(name: str) -> str:
    return name.rpartition(".")[0]


def kept(spark: SparkSession, path: str, predicate: str, fmt: str = "parquet") -> set[str]:
    """The files that a filter on a dataset leaves, by their base names."""
    return opened_files(spark.read.format(fmt).load(path).filter(predicate))


def with_and_without(df_of: Any, spark: SparkSession) -> tuple[list[Row], list[Row]]:
    """The sorted rows of a query with skipping on and off; ``df_of()`` builds the DataFrame anew each time."""
    on = sorted(df_of().collect(), key=repr)
    xskip.disable(spark)
    try:
        off = sorted(df_of().collect(), key=repr)
    finally:
        xskip.enable(spark)
    return on, off


def assert_same_rows(df_of: Any, spark: SparkSession) -> int:
    """Skipping changes no result; returns the number of rows."""
    on, off = with_and_without(df_of, spark)
    assert repr(on) == repr(off)
    return len(on)


def index(
    spark: SparkSession, path: str, indexes: Iterable[Any], fmt: str = "parquet", **options: str
) -> xskip.SkippingIndex:
    """Makes an index and returns it."""
    made = xskip.SkippingIndex.for_path(spark, path, format=fmt, options=options)
    made.create(list(indexes))
    return made
