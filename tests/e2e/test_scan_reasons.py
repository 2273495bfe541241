"""[REP-Q-2] [REP-Q-3] [REP-Q-6] Reports tell apart why a scan read what it read, in every place of a plan."""

from __future__ import annotations

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.helpers import write_once
from xskip import MinMax, SkippingIndex
from xskip.results.skipping_report import ScanReport


@pytest.fixture
def fact(spark: SparkSession, tmp_path: Path) -> str:
    """Write a dataset of eight partitions ``k`` with one file each, and return its path."""
    path = str(tmp_path / "fact")
    spark.range(0, 80, 1, 1).selectExpr("CAST(id AS INT) v", "CAST(id % 8 AS INT) k").write.partitionBy("k").parquet(
        path
    )
    spark.read.parquet(path).createOrReplaceTempView("fact")
    return path


@pytest.fixture
def dim(spark: SparkSession, tmp_path: Path) -> str:
    """Write a dataset of four files ordered by ``w``, with an index, and return its path."""
    files = {f"d{i}": [(2 * i, 2 * i), (2 * i + 1, 2 * i + 1)] for i in range(4)}
    path = write_once(spark, tmp_path / "dim", "k int, w int", files)
    SkippingIndex.for_path(spark, path).create([MinMax("w")])
    spark.read.parquet(path).createOrReplaceTempView("dim")
    return path


def scans(spark: SparkSession, path: str) -> list[ScanReport]:
    return [scan for scan in xskip.last_report(spark).scans if scan.dataset == path]


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_partitions_that_spark_prunes_as_it_runs_are_told_apart(
    spark: SparkSession, fact: str, dim: str, adaptive: str
) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    SkippingIndex.for_path(spark, fact).create([MinMax("v")])
    sql = "SELECT v FROM fact JOIN dim ON fact.k = dim.k WHERE w = 4 AND v >= 2"
    assert spark.sql(sql).count() == 10
    (scan,) = scans(spark, fact)
    assert (scan.files, scan.kept, scan.pruned, scan.skipped) == (8, 8, 7, 0)
    assert "8 in all, 1 read, 0 skipped (0.0 %), 7 pruned by Spark as it ran, 0 not indexed" in str(
        xskip.last_report(spark)
    )
    assert [(each.files, each.kept) for each in scans(spark, dim)] == [(4, 1)]
    planned = [each for each in xskip.explain(spark.sql(sql)).scans if each.dataset == fact]
    assert [(each.files, each.kept, each.pruned) for each in planned] == [(8, 8, 0)]


def test_filters_on_partitions_alone_are_named(spark: SparkSession, fact: str) -> None:
    SkippingIndex.for_path(spark, fact).create([MinMax("v")])
    assert len(spark.sql("SELECT v FROM fact WHERE k = 3").collect()) == 10
    (scan,) = scans(spark, fact)
    assert scan.files == 1
    assert scan.problem == "only filters on partition columns reach this scan, by which Spark itself selects files"
    assert len(spark.sql("SELECT v FROM fact").collect()) == 80
    assert scans(spark, fact)[0].problem == "no filter reaches this scan"


def test_an_index_that_a_plan_does_not_know_is_named(spark: SparkSession, fact: str) -> None:
    df = spark.sql("SELECT v FROM fact WHERE v = 3")
    assert df.count() == 1
    collected = df.select("v")
    assert len(collected.collect()) == 1
    SkippingIndex.for_path(spark, fact).create([MinMax("v")])
    assert len(collected.collect()) == 1
    (scan,) = scans(spark, fact)
    assert scan.problem == "the index did not exist when Spark planned this query; a new DataFrame uses it"
    xskip.disable(spark)
    assert spark.sql("SELECT v FROM fact WHERE v = 3").count() == 1
    assert scans(spark, fact)[0].problem.startswith("skipping is off in this session")


def test_a_table_of_which_no_partition_is_left_has_reports(spark: SparkSession, fact: str) -> None:
    spark.sql(f"CREATE TABLE facts (v INT, k INT) USING parquet PARTITIONED BY (k) LOCATION '{fact}'")
    spark.sql("MSCK REPAIR TABLE facts")
    for has_index in (False, True):
        if has_index:
            SkippingIndex.for_table(spark, "facts").create([MinMax("v")])
        df = spark.sql("SELECT v FROM facts WHERE k = 99 AND v = 3")
        for report in (xskip.explain(df), xskip.report(df)):
            assert [scan.files for scan in report.scans] == [0]
        assert df.collect() == []
        for report in (xskip.last_report(spark), xskip.report(df)):
            (scan,) = report.scans
            assert scan.files == 0
            if not has_index:
                assert scan.dataset.endswith("facts")
                assert scan.problem == "Spark's partition pruning leaves no partition of the table"
            assert str(report)


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_scans_of_subqueries_and_runtime_filters_are_in_the_report(
    spark: SparkSession, fact: str, dim: str, adaptive: str
) -> None:
    settings = {
        "spark.sql.adaptive.enabled": adaptive,
        "spark.sql.autoBroadcastJoinThreshold": "-1",
        "spark.sql.optimizer.runtime.bloomFilter.enabled": "true",
        "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold": "0",
        "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
    }
    for key, value in settings.items():
        spark.conf.set(key, value)
    df = spark.sql("SELECT v FROM fact JOIN dim ON v = dim.k WHERE w = 4")
    assert len(df.collect()) == 1
    plan = df._jdf.queryExecution().executedPlan().toString()
    assert "might_contain" in plan
    # the join's side, and the creation of the filter, which reads fewer columns
    assert {(scan.files, scan.kept) for scan in scans(spark, dim)} == {(4, 1)}
    assert [scan.problem for scan in scans(spark, fact)] == ["the dataset has no index"]
    assert len(spark.sql("SELECT v FROM fact WHERE v = (SELECT max(k) FROM dim WHERE w < 2)").collect()) == 1
    assert [(scan.files, scan.kept) for scan in scans(spark, dim)] == [(4, 1)]


def test_a_location_that_is_not_valid_is_the_reason(spark: SparkSession, dim: str) -> None:
    """The index is in its place, so that the report must not say that it was deleted."""
    assert spark.table("dim").filter("w = 4").count() == 1
    spark.conf.set("spark.xskip.metadata.location", "relative/x")
    assert spark.read.parquet(dim).filter("w = 4").count() == 1
    (scan,) = scans(spark, dim)
    assert (scan.files, scan.kept) == (4, 4)
    text = str(xskip.last_report(spark))
    assert "the value of the setting is not valid (where: spark.xskip.metadata.location" in text
    assert "deleted" not in text
