"""Files with statistics by part, and what the tasks of a query read of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

import xskip
from xskip import BloomFilter, GapList, MinMax, NullCount, Prefix, SkippingIndex, TokenBloom, ValueList
from xskip.metadatastore.filesystem import LocalStorage
from xskip.metadatastore.snapshot import Snapshot, open_snapshot

RANGES = "spark.xskip.planning.ranges"
PART = 2000
KINDS = [
    MinMax("ts"), ValueList("v"), BloomFilter("h"), GapList("ts"), TokenBloom("s"), NullCount("x"), MinMax("x"),
    Prefix("s", length=6),
]  # fmt: skip
FORMATS = ["parquet", "avro"]


def rows(spark: SparkSession, count: int = 4000, tasks: int = 2) -> DataFrame:
    return spark.range(0, count, 1, tasks).selectExpr(
        "id AS ts", "xxhash64(id) AS h", "CAST(id % 97 AS int) AS v", "concat('word', id div 50, ' of ', id % 3) AS s",
        "IF(id % 7 = 0 OR id > 3500, NULL, CAST(id AS double)) AS x",
    )  # fmt: skip


def write(df: DataFrame, path: str, fmt: str, *partitions: str) -> str:
    """Write files of many blocks or row groups."""
    options = {"parquet.block.size": "2048", "parquet.page.size": "512", "compression": "uncompressed"}
    # a row group ends where the writer checks its size
    checks = {"parquet.page.size.row.check.min": "50", "parquet.page.size.row.check.max": "50"}
    blocks = {"avro.mapred.sync.interval": "500"}
    df.write.options(**options, **checks, **blocks).partitionBy(*partitions).format(fmt).save(path)
    return path


def read(spark: SparkSession, path: str, fmt: str) -> DataFrame:
    return spark.read.format(fmt).load(path)


def snapshot_of(made: SkippingIndex) -> Snapshot:
    found = open_snapshot(LocalStorage(), made.describe().location)
    assert found is not None
    return found


def indexed(spark: SparkSession, path: str, fmt: str, kinds: Any = KINDS, parts: Any = PART) -> SkippingIndex:
    made = SkippingIndex.for_path(spark, path, format=fmt)
    made.create(kinds, parts=parts)
    return made


def plain(spark: SparkSession, query: Callable[[], Any]) -> Any:
    """Return the result of a query without xskip."""
    xskip.disable(spark)
    try:
        return query()
    finally:
        xskip.enable(spark)


def input_ranges(df: DataFrame) -> list[tuple[str, int, int]]:
    """Return the name, the start and the length of what the tasks of a query read."""
    plan = df._jdf.queryExecution().executedPlan()
    scan = plan.collectLeaves().head()
    v2 = scan.getClass().getSimpleName() == "BatchScanExec"
    tasks = scan.scan().toBatch().planInputPartitions() if v2 else scan.inputRDD().partitions()
    return [(Path(f.urlEncodedPath()).name, f.start(), f.length()) for task in tasks for f in task.files()]


def read_bytes(df: DataFrame) -> int:
    return sum(length for _, _, length in input_ranges(df))


def joined(spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans in which those that follow each other are one."""
    result: list[tuple[int, int]] = []
    for start, end in spans:
        if result and result[-1][1] == start:
            result[-1] = (result[-1][0], end)
        else:
            result.append((start, end))
    return result
