"""The records of cold tiers, and the tables that they are of. Rules: [QDB-CT]."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

import xskip
import xskip.questdb
from xskip.questdb.export_rows import rows_in
from xskip.questdb_files.column_types import NANOSECOND_TIMESTAMP
from xskip.questdb_files.metadata_file import Column


@pytest.fixture(autouse=True)
def enabled(spark: SparkSession) -> None:
    xskip.enable(spark)


def test_thousands_of_ranges(spark: SparkSession) -> None:
    """[QDB-CT-1]: exported partitions can lie between all partitions that an export copies."""
    time_of = Column("ts", 0, NANOSECOND_TIMESTAMP, indexed=False, dedup_key=False, former=(), symbols=None)
    ranges = [(4 * i, 4 * i + 2) for i in range(3000)]
    df = rows_in(spark.range(0, 13_000, numPartitions=1).toDF("ts"), time_of, ranges)
    assert [row.ts for row in df.collect()] == [tick for start, end in ranges for tick in range(start, end)]
