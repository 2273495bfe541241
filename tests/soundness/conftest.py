"""In these tests, only xskip decides which files and rows are read, and Spark compiles no code."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession

# Spark drops row groups and dictionaries on its own, and not always rightly: -0.0, NaN
_PUSHDOWN = ("parquet", "orc", "csv", "json", "avro")


@pytest.fixture(autouse=True)
def _plain_spark(spark: SparkSession, interpreted: None) -> None:
    for fmt in _PUSHDOWN:
        spark.conf.set(f"spark.sql.{fmt}.filterPushdown{'.enabled' if fmt in ('csv', 'json', 'avro') else ''}", "false")
    spark.conf.set("spark.sql.adaptive.enabled", "false")
