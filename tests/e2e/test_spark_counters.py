"""Counters of xskip in Spark's metrics system."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.e2e.conftest import Lake
from tests.helpers import counters, index, write_once
from xskip import MinMax

NAMES = {
    "scans", "files.listed", "files.skipped", "bytes.listed", "bytes.skipped", "milliseconds", "failures",
}  # fmt: skip


def test_the_counters_are_those_of_reports(spark: SparkSession, lake: Lake, api: str) -> None:
    """[REP-C-1] Each query adds what its report says."""
    for condition in ("a > 15", "s = 's1'", "a > 15 AND s = 's2'"):
        before = counters(spark)
        assert set(before) == NAMES
        lake.read().filter(condition).collect()
        (scan,) = xskip.last_report(spark).scans
        added = {name: value - before[name] for name, value in counters(spark).items()}
        assert added.pop("milliseconds") in range(int(scan.milliseconds) + 2)
        assert added == {
            "scans": 1,
            "files.listed": 4,
            "files.skipped": scan.skipped,
            "bytes.listed": scan.bytes,
            "bytes.skipped": scan.skipped_bytes,
            "failures": 0,
        }
        assert scan.skipped > 0


def test_explanations_and_scans_without_an_index_do_not_count(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    """[REP-C-2]"""
    plain = write_once(spark, tmp_path / "plain", "a int", {"f0": [(1,)]})
    before = counters(spark)
    xskip.explain(lake.read().filter("a > 15"))
    lake.read().filter("a > 15").explain("formatted")
    spark.read.parquet(plain).filter("a = 1").collect()
    lake.read().collect()
    assert counters(spark) == before


def test_a_query_that_was_explained_before_it_ran_counts(spark: SparkSession, lake: Lake, api: str) -> None:
    """[REP-C-2]"""
    before = counters(spark)
    df = lake.read().filter("a > 15")
    xskip.explain(df)
    assert counters(spark) == before
    for _ in range(2):
        df.collect()
        xskip.last_report(spark)  # waits until the query is recorded
        xskip.explain(df)
    assert counters(spark)["scans"] == before["scans"] + 1
    assert counters(spark)["files.skipped"] > before["files.skipped"]


def test_failures_count(spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """[REP-C-1] A scan that cannot use its index is a failure each time, also if the log has the reason already."""
    spark.conf.set("spark.xskip.strict", "false")
    path = write_once(spark, tmp_path / "data", "a int", {"f0": [(1,)], "f1": [(9,)]})
    index(spark, path, [MinMax("a")])
    for file in Path(path, "_xskip").rglob("*.parquet"):
        file.write_bytes(file.read_bytes()[:-20])
    before = counters(spark)
    for _ in range(2):
        assert spark.read.parquet(path).filter("a = 9").count() == 1
    added = {name: value - before[name] for name, value in counters(spark).items()}
    assert (added["failures"], added["files.skipped"]) == (2, 0)
    assert "is not used" in caplog.text
    shutil.rmtree(path)


def test_a_second_session_has_no_second_source(spark: SparkSession) -> None:
    """[REP-C-1] Enabling skipping again registers nothing again."""
    other = spark.newSession()
    xskip.enable(other)
    xskip.enable(spark)
    assert set(counters(other)) == NAMES
