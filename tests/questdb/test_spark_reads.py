"""What tasks of Spark read of the files of a table, how often, and what they refuse."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import xskip
from tests.questdb.server import Server
from tests.questdb.spark_values import load


@pytest.fixture(autouse=True)
def enabled(spark: SparkSession) -> None:
    xskip.enable(spark)


def bytes_read(spark: SparkSession, df: DataFrame) -> int:
    """Return the bytes that a query reads."""
    statistics = spark._jvm.org.apache.hadoop.fs.FileSystem.getGlobalStorageStatistics().get("file")  # type: ignore[union-attr]
    before = int(statistics.getLong("bytesRead"))
    df.collect()
    return int(statistics.getLong("bytesRead")) - before


def sizes(folder: Path, pattern: str) -> int:
    return sum(path.stat().st_size for path in folder.glob(pattern))


@pytest.mark.parametrize("kind", ["varchar", "string", "binary", "double[]"])
def test_entries_of_values_are_read_once(spark: SparkSession, server: Server, kind: str) -> None:
    """[QDB-RD-3]."""
    name = server.name("once")
    server.exec(f"create table {name} (v {kind}, ts timestamp) timestamp(ts) partition by year wal")
    value = {
        "varchar": "rnd_varchar(1, 20, 2)", "string": "rnd_str(1, 20, 2)", "binary": "rnd_bin(1, 20, 2)",
        "double[]": "rnd_double_array(1, 2, 0, 9)",
    }[kind]  # fmt: skip
    rows = 200_000
    server.run(name, f"insert into {name} select {value}, x::timestamp from long_sequence({rows})")
    df = load(spark, server.folder(name)).agg(F.count("v"))
    entry = 8 if kind in ("string", "binary") else 16
    assert bytes_read(spark, df) < sizes(server.folder(name), "*/v.d") + 1.5 * entry * rows
