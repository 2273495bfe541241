"""A program that reads tables on executors that are separate processes: ``executors.py <database> <folder>``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import xskip
import xskip.questdb
from tests.questdb.spark_values import compare_rows, load

EXECUTORS = 2
#: Tables of a day and a year, one without partitions, and columns that are younger than some pieces.
TABLES = ("t_col_top_ooo_day_wal", "t_col_top_year", "t_col_top_none", "o3_0")
#: A table with an indexed symbol column.
INDEXED = "t_col_top_ooo_day_wal"


def session(folder: Path) -> SparkSession:
    builder = (
        SparkSession.builder.master(f"local-cluster[{EXECUTORS},1,1024]")
        .config("spark.ui.enabled", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.executor.memory", "512m")
        .config("spark.executor.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")  # for short runs
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.session.timeZone", "UTC")
        .config("spark.sql.warehouse.dir", str(folder / "warehouse"))
        .config("spark.sql.files.maxPartitionBytes", "400")  # rows of a piece are read by several tasks
        .config("spark.xskip.metadata.location", str(folder / "metadata"))
    )
    spark = xskip.configure(builder, avro_version=os.environ.get("XSKIP_TEST_AVRO")).getOrCreate()
    spark.conf.set("spark.xskip.strict", "true")
    xskip.enable(spark)
    return spark


def check_reads(spark: SparkSession, database: xskip.questdb.Database) -> None:
    for name in TABLES:
        folder = database.table(name).folder
        df = load(spark, folder)
        compare_rows(df, xskip.questdb.open(folder).to_arrow())
        tasks, pieces = df.rdd.getNumPartitions(), len(xskip.questdb.open(folder).pieces)
        assert tasks > pieces if name == INDEXED else tasks >= pieces


def check_index(spark: SparkSession, folder: Path) -> None:
    rows = xskip.questdb.open(folder).to_arrow(["x", "m"]).to_pylist()
    index = xskip.SkippingIndex.for_path(spark, str(folder), format="questdb")
    pieces = index.create([xskip.MinMax("x"), xskip.ValueList("m")]).added
    assert pieces == len(xskip.questdb.open(folder).pieces) > 1
    df = load(spark, folder)
    for symbol in {row["m"] for row in rows} - {None}:  # also answered by the bitmap indexes of the table
        expected = sorted(row["x"] for row in rows if row["m"] == symbol)
        assert sorted(row.x for row in df.where(F.col("m") == symbol).select("x").collect()) == expected
    greatest = max(row["x"] for row in rows if row["x"] is not None)
    assert df.where(F.col("x") == greatest).count() == sum(row["x"] == greatest for row in rows)
    assert 0 < xskip.last_report(spark).scans[0].skipped < pieces
    assert df.where(F.col("x") > greatest).count() == 0
    assert xskip.last_report(spark).scans[0].skipped == pieces


def main() -> None:
    spark = session(Path(sys.argv[2]))
    try:
        database = xskip.questdb.Database(sys.argv[1])
        check_reads(spark, database)
        assert spark.sparkContext._jsc.sc().getExecutorMemoryStatus().size() == EXECUTORS + 1
        check_index(spark, database.table(INDEXED).folder)
        print(f"executors read {len(TABLES)} tables in process {os.getpid()}")  # noqa: T201
    finally:
        spark.stop()


if __name__ == "__main__":
    main()
