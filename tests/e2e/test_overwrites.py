"""An overwrite of a dataset deletes the index inside it, and errors and reports say so."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.helpers import index, write_files
from xskip import MinMax, SkippingIndex
from xskip.errors import MetadataNotFoundError

GONE = r"the index is gone: this process has built or used it, .*an overwrite of the dataset deletes: mode"


def overwrite(spark: SparkSession, path: str, way: str) -> None:
    rows = spark.range(9).selectExpr("cast(id AS int) AS a")
    if way == "path":
        rows.write.mode("overwrite").parquet(path)
        return
    spark.sql(f"CREATE TABLE overwritten (a int) USING parquet LOCATION '{path}'")
    try:
        rows.createOrReplaceTempView("fresh")
        spark.sql("INSERT OVERWRITE overwritten SELECT a FROM fresh")
    finally:
        spark.sql("DROP TABLE overwritten")


@pytest.mark.parametrize("way", ["path", "table"])
def test_an_overwritten_dataset(spark: SparkSession, tmp_path: Path, way: str) -> None:
    path = write_files(spark, tmp_path / "d", "a int", {f"f{i}": [(i,)] for i in range(3)})
    made = index(spark, path, [MinMax("a")])
    assert made.status().up_to_date
    overwrite(spark, path, way)
    assert not (tmp_path / "d" / "_xskip").exists()
    assert not made.exists()
    for call in (made.status, made.describe, made.refresh, made.advise, lambda: made.files("a > 1")):
        with pytest.raises(MetadataNotFoundError, match=GONE):
            call()
    assert spark.read.parquet(path).filter("a > 7").count() == 1
    (scan,) = xskip.last_report(spark).scans
    assert scan.problem == (
        "the dataset has no index any more: it was deleted, as an overwrite of the dataset does; call create() again"
    )
    made.create([MinMax("a")])
    assert made.status().up_to_date


def test_an_index_outside_of_the_dataset_stays(spark: SparkSession, tmp_path: Path) -> None:
    path = write_files(spark, tmp_path / "d", "a int", {f"f{i}": [(i,)] for i in range(3)})
    spark.conf.set("spark.xskip.metadata.location", f"{tmp_path}/md")
    made = index(spark, path, [MinMax("a")])
    overwrite(spark, path, "path")
    status = made.status()
    assert (status.indexed, status.stale, status.changed, status.up_to_date) == (0, 3, 0, False)
    assert made.refresh().removed == 3
    assert made.status().up_to_date


def test_a_dropped_index_is_not_gone(spark: SparkSession, tmp_path: Path) -> None:
    path = write_files(spark, tmp_path / "d", "a int", {f"f{i}": [(i,)] for i in range(3)})
    made = index(spark, path, [MinMax("a")])
    assert spark.read.parquet(path).filter("a > 1").count() == 1
    made.drop()
    for one in (made, SkippingIndex.for_path(spark, write_files(spark, tmp_path / "e", "a int", {"f": [(1,)]}))):
        with pytest.raises(MetadataNotFoundError, match=r"there is no index .*create.*again after an overwrite"):
            one.status()
    assert spark.read.parquet(path).filter("a > 1").count() == 1
    assert xskip.last_report(spark).scans[0].problem == "the dataset has no index"
