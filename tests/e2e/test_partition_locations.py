"""Partitions of a table with locations of their own: builds index their files, and queries on them alone skip."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.helpers import assert_same_rows, opened_files, write_once
from xskip import MinMax, SkippingIndex, ValueList

FILES = {f"p={p}/f{p}{i}": [(100 * p + 10 * i, f"s{p}{i}")] for p in (1, 2) for i in range(3)}
APART = {f"f{p}{i}": [(100 * p + 10 * i, f"s{p}{i}")] for p in (8, 9) for i in range(3)}


@pytest.fixture
def table(spark: SparkSession, tmp_path: Path) -> Iterator[SkippingIndex]:
    """Yield the index of a table, partitions 8 and 9 of which lie outside of its folder."""
    root = write_once(spark, tmp_path / "warehouse" / "t", "v int, s string", FILES)
    write_once(spark, tmp_path / "apart", "v int, s string", {f"part{n[1]}/{n}": rows for n, rows in APART.items()})
    spark.sql(f"CREATE TABLE apart (v int, s string, p int) USING parquet PARTITIONED BY (p) LOCATION '{root}'")
    spark.sql("ALTER TABLE apart RECOVER PARTITIONS")
    for p in (8, 9):
        spark.sql(f"ALTER TABLE apart ADD PARTITION (p = {p}) LOCATION '{tmp_path}/apart/part{p}'")
    made = SkippingIndex.for_table(spark, "apart")
    yield made
    spark.sql("DROP TABLE IF EXISTS apart")


QUERIES = {
    "p = 9 AND v = 910": {"f91"},
    "p >= 8 AND s = 's80'": {"f80"},
    "v >= 120 AND v < 900": {"f12", "f20", "f21", "f22", "f80", "f81", "f82"},
    "p IN (2, 9) AND v IN (210, 920)": {"f21", "f92"},
    "p = 1 AND v = 100": {"f10"},
}


def test_queries_on_partitions_apart(spark: SparkSession, table: SkippingIndex) -> None:
    """[MDS-L-5] The index of the table serves queries that read nothing in the table's folder."""
    assert table.create([MinMax("v"), ValueList("s")]).added == 12
    for predicate, expected in QUERIES.items():
        assert opened_files(spark.table("apart").filter(predicate)) == expected, predicate
        assert assert_same_rows(lambda p=predicate: spark.table("apart").filter(p), spark) == len(expected)
        explained = xskip.explain(spark.table("apart").filter(predicate)).scans
        assert [(scan.kept, scan.not_indexed, scan.problem) for scan in explained] == [(len(expected), 0, "")]
        assert {Path(name).stem for name in table.files(predicate).names} == expected
    assert table.status().up_to_date
    assert table.validate().wrong == ()


def test_refreshes_of_partitions_apart(spark: SparkSession, table: SkippingIndex, tmp_path: Path) -> None:
    """New partitions and files enter the index, whether the table's folder or another one holds them."""
    table.create([MinMax("v")])
    write_once(spark, tmp_path / "apart", "v int, s string", {"part9/f93": [(930, "new")], "part7/f70": [(700, "new")]})
    spark.sql(f"ALTER TABLE apart ADD PARTITION (p = 7) LOCATION '{tmp_path}/apart/part7'")
    spark.catalog.refreshTable("apart")
    assert opened_files(spark.table("apart").filter("p = 9 AND v < 0")) == {"f93"}
    assert table.status().missing == 2
    assert table.refresh().added == 2
    assert opened_files(spark.table("apart").filter("p = 9 AND v > 925")) == {"f93"}
    assert opened_files(spark.table("apart").filter("p = 7 AND v = 700")) == {"f70"}
    assert opened_files(spark.table("apart").filter("p = 7 AND v = 701")) == set()
    query = spark.table("apart").filter("p = 7 AND v = 701")
    assert query.count() == 0
    (scan,) = xskip.last_report(spark).scans
    assert (scan.kept, scan.files, scan.problem) == (0, 1, "")
    spark.sql("ALTER TABLE apart DROP PARTITION (p = 9)")
    assert table.refresh().removed == 4
    assert opened_files(spark.table("apart").filter("v > 600")) == {"f70", "f80", "f81", "f82"}


def test_an_index_of_the_folder_does_not_know_partitions_apart(spark: SparkSession, table: SkippingIndex) -> None:
    """An index by the path of the table's folder has only the files in it: queries read all others."""
    (root,) = {name.rpartition("/p=")[0] for name in spark.table("apart").filter("p < 3").inputFiles()}
    assert SkippingIndex.for_path(spark, root).create([MinMax("v")]).added == 6
    everything_apart = {f"f{p}{i}" for p in (8, 9) for i in range(3)}
    assert opened_files(spark.table("apart").filter("v = 110")) == {"f11"} | everything_apart
    assert opened_files(spark.table("apart").filter("p = 9 AND v = 910")) == {"f90", "f91", "f92"}
    (scan,) = xskip.explain(spark.table("apart").filter("p = 9 AND v = 910")).scans
    assert (scan.files, scan.not_indexed) == (3, 3)
    assert "no index" not in scan.problem
    assert table.refresh().added == 6
    assert opened_files(spark.table("apart").filter("p = 9 AND v = 910")) == {"f91"}
