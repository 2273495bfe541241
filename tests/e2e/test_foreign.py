"""Queries use metadata of each version that another program has written, and refresh() takes it over."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.helpers import assert_same_rows, given_away, index, kept, metadata, write_once
from tests.metadatastore.samples import FOREIGN, minmax, table_of
from xskip import BloomFilter, MinMax, SkippingIndex, ValueList

FILES: dict[str, list[tuple[Any, ...]]] = {
    "low": [(1, "a", "u1"), (9, "\ufffd", "u2")],
    "high": [(20, "\U0001f600", "u3"), (29, "q", None)],
    "nulls": [(None, None, None)],
}


@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize("fmt", ["parquet", "avro"])
def test_every_version_is_used_and_taken_over(spark: SparkSession, tmp_path: Path, fmt: str, version: int) -> None:
    """[MDS-V-1] [MDS-F-1] [MDS-F-5] Queries with bounds, lists and filters have the rows of plain Spark."""
    path = write_once(spark, tmp_path / "data", "a int, s string, u string", FILES, fmt)
    made = index(spark, path, [MinMax("a"), ValueList("s"), BloomFilter("u", fpp=1e-6)], fmt)
    given_away(spark, made, [metadata(made)], version)
    described = made.describe()
    assert (described.version, described.commit, described.files) == (version, 0, 3)
    types = [("minmax", ("int",)), ("valuelist", ("string",)), ("bloomfilter", ("unknown",))]
    assert [(i.name, i.types) for i in described.indexes] == types
    unknown = {"nulls"} if version == 0 else set()  # bounds of no value are not known there
    cases = {"a = 5": {"low"} | unknown, "a > 10": {"high"} | unknown, "s = 'q'": {"high"}, "u = 'u1'": {"low"}}
    for predicate, files in cases.items():
        assert kept(spark, path, predicate, fmt) == files, predicate
        assert_same_rows(lambda p=predicate: spark.read.format(fmt).load(path).filter(p), spark)
    assert made.status().up_to_date
    refreshed = made.refresh()
    assert (refreshed.added, refreshed.unchanged) == (3, 0)
    assert not (Path(described.location) / FOREIGN.format(0)).exists()
    assert (made.describe().commit, made.describe().version) == (1, version)
    assert kept(spark, path, "a = 5", fmt) == {"low"} | unknown
    made.migrate()
    assert made.refresh().unchanged == 3
    assert kept(spark, path, "u = 'u1'", fmt) == {"low"}


def test_string_bounds_of_another_program(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-F-2] [SND-18] Bounds by UTF-16 units skip no file with a match by UTF-8."""
    path = write_once(spark, tmp_path / "data", "s string", {"both": [("\U0001f600",), ("\ufffd",)], "a": [("a",)]})
    made = index(spark, path, [MinMax("s"), ValueList("s")])
    bounds = {"both": ("\U0001f600", "\ufffd"), "a": ("a", "a")}
    table = metadata(made)
    column = table.indexes["minmax", ("s",)]
    names = [Path(name).stem for name in table.files.names.to_pylist()]
    wrong = minmax("s", "string", [bounds[n][0] for n in names], [bounds[n][1] for n in names])
    given_away(spark, made, [table_of(table.files, [wrong])])
    assert column.values != wrong.values
    for predicate, files in {"s = '\U0001f600'": {"both"}, "s > '\ufffd'": {"both"}, "s < 'b'": {"a", "both"}}.items():
        assert kept(spark, path, predicate) == files, predicate
        assert assert_same_rows(lambda p=predicate: spark.read.parquet(path).filter(p), spark) == 1


def test_texts_whose_reading_nobody_recorded(
    spark: SparkSession, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """[MDS-F-1] An index of CSV files is used only after refresh(), and the warning says so."""
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "one.csv").write_text("1\n2\n")
    (tmp_path / "data" / "two.csv").write_text("30\n")
    path = str(tmp_path / "data")
    made = SkippingIndex.for_path(spark, path, format="csv", schema="a int")
    made.create([MinMax("a")])
    given_away(spark, made, [metadata(made)])
    spark.conf.set("spark.xskip.strict", "false")
    query = spark.read.schema("a int").csv(path).filter("a = 30")
    with caplog.at_level(logging.WARNING, "xskip"):
        assert [row.a for row in query.collect()] == [30]
    assert "did not record how it read csv" in caplog.text
    assert "did not record how it read csv" in made.status().problem
    made.refresh()
    spark.conf.set("spark.xskip.strict", "true")
    assert xskip.explain(spark.read.schema("a int").csv(path).filter("a = 30")).scans[0].kept == 1


def test_why_bounds_of_another_program_are_not_used(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-F-3] The report explains why bounds of footers are unused until refresh()."""
    path = write_once(spark, tmp_path / "data", "a int", {"low": [(1,)], "high": [(9,)]})
    made = index(spark, path, [MinMax("a")])
    given_away(spark, made, [metadata(made)])
    (scan,) = xskip.explain(spark.read.parquet(path).filter("a = 9")).scans
    assert scan.skipped == 0
    assert [what for what, why in scan.unused if "Parquet footers" in why and "refresh()" in why] == ["minmax(a)"]
    made.refresh()
    (scan,) = xskip.explain(spark.read.parquet(path).filter("a = 9")).scans
    assert (scan.skipped, scan.unused) == (1, ())
