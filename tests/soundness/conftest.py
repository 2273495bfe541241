"""In these tests, only xskip decides which files and rows are read, and Spark compiles no code."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

# Spark drops row groups and dictionaries on its own, and not always rightly: -0.0, NaN
_PUSHDOWN = ("parquet", "orc", "csv", "json", "avro")


@pytest.fixture(autouse=True)
def _plain_spark(spark: SparkSession) -> Iterator[None]:
    for fmt in _PUSHDOWN:
        spark.conf.set(f"spark.sql.{fmt}.filterPushdown{'.enabled' if fmt in ('csv', 'json', 'avro') else ''}", "false")
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")
    yield
    spark.conf.unset("spark.sql.codegen.factoryMode")  # Spark's own catalogue needs it
