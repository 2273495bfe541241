"""Fixtures of the tests of writes."""

from __future__ import annotations

import pytest
from pyspark.sql import SparkSession


@pytest.fixture
def indexed_writes(spark: SparkSession) -> None:
    """Let writes collect statistics, which the session of most tests does not."""
    spark.conf.set("spark.xskip.writes.enabled", "true")
