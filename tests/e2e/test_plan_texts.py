"""``EXPLAIN FORMATTED`` states how many files of an indexed scan are read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.e2e.conftest import Lake
from tests.helpers import formatted, index, write_once
from xskip import MinMax


def notes(text: str) -> list[str]:
    return re.findall(r"\((xskip: [^)]*)\)", text)


@pytest.mark.parametrize(
    ("condition", "note"),
    [
        ("a > 15", "xskip: 2 of 4 files, 1 index"),
        ("a > 15 AND s = 's2'", "xskip: 1 of 4 files, 2 indexes"),
        ("a > 1000", "xskip: 0 of 4 files, 1 index"),
    ],
)
def test_a_text_states_the_files_before_and_after_the_query(
    spark: SparkSession, lake: Lake, api: str, condition: str, note: str
) -> None:
    """[REP-T-1] [REP-T-2] Before the query, the text says what the query then does."""
    df = lake.read().filter(condition)
    assert notes(formatted(df)) == [note]
    df.collect()
    (scan,) = xskip.last_report(spark).scans
    assert notes(formatted(df)) == [note]
    assert note.startswith(f"xskip: {scan.kept} of {scan.files} files, ")


def test_partition_filters_count(spark: SparkSession, lake: Lake, api: str) -> None:
    """[REP-T-2] The files are those of the partitions that Spark lists."""
    df = lake.read_parted().filter("p = 2 AND a > 25")
    assert notes(formatted(df)) == ["xskip: 1 of 2 files, 1 index"]
    df.collect()
    assert notes(formatted(df)) == ["xskip: 1 of 2 files, 1 index"]


def test_a_command_explains_as_well(spark: SparkSession, lake: Lake, api: str) -> None:
    """[REP-T-1]"""
    lake.read().createOrReplaceTempView("v")
    text = spark.sql("EXPLAIN FORMATTED SELECT * FROM v WHERE a > 15").collect()[0][0]
    assert notes(text) == ["xskip: 2 of 4 files, 1 index"]


def test_every_scan_has_its_own_numbers(spark: SparkSession, lake: Lake, api: str) -> None:
    """[REP-T-1]"""
    left = lake.read().filter("a > 15").select("a", "d")
    df = left.join(lake.read().filter("s = 's2' AND a < 22").select("s", "d"), "d")
    expected = {"xskip: 2 of 4 files, 1 index", "xskip: 1 of 4 files, 2 indexes"}
    assert set(notes(formatted(df))) == expected
    assert len(df.collect()) == 2
    assert set(notes(formatted(df))) == expected
    assert sorted(scan.kept for scan in xskip.last_report(spark).scans) == [1, 2]


def test_a_scan_without_a_filter_says_so(spark: SparkSession, lake: Lake, api: str) -> None:
    """[REP-T-1]"""
    df = lake.read()
    assert notes(formatted(df)) == ["xskip: no filter reaches this scan"]
    df.collect()
    assert notes(formatted(df)) == ["xskip: no filter reaches this scan"]


def test_an_explanation_is_no_query(spark: SparkSession, lake: Lake) -> None:
    """[REP-T-3] [REP-Q-1]"""
    assert lake.read().filter("a > 15").collect()
    formatted(lake.read().filter("s = 's1'"))
    (scan,) = xskip.last_report(spark).scans
    assert (scan.skipped, scan.outcomes[-1].index) == (2, "minmax(a)")


def test_scans_without_an_index_have_no_note(spark: SparkSession, lake: Lake, api: str, tmp_path: Path) -> None:
    """[REP-T-1]"""
    plain = write_once(spark, tmp_path / "plain", "a int", {"f0": [(1,)], "f1": [(2,)]})
    assert "xskip" not in formatted(spark.read.parquet(plain).filter("a = 1"))
    xskip.disable(spark)
    assert "xskip" not in formatted(lake.read().filter("a > 15"))


def test_two_roots_share_a_note(spark: SparkSession, tmp_path: Path) -> None:
    """[REP-T-1] The answers of both indexes count."""
    paths = [write_once(spark, tmp_path / n, "a int", {"f0": [(1,)], "f1": [(9,)]}) for n in ("left", "right")]
    for path in paths:
        index(spark, path, [MinMax("a")])
    df = spark.read.parquet(*paths).filter("a > 5")
    assert notes(formatted(df)) == ["xskip: 2 of 4 files, 2 indexes"]
    df.collect()
    assert notes(formatted(df)) == ["xskip: 2 of 4 files, 2 indexes"]
    assert xskip.last_report(spark).skipped == 2


def test_only_texts_have_the_note(spark: SparkSession, lake: Lake) -> None:
    """[REP-T-3] Programs that ask for the root paths get the paths."""
    df = lake.read().filter("a > 15")
    formatted(df)
    roots = df._jdf.queryExecution().optimizedPlan().collectLeaves().head().relation().location().rootPaths()
    assert roots.head().toString() == f"file:{lake.path}"
    assert roots.head().getClass().getSimpleName() == "Path"
    assert "xskip:" not in str(df._jdf.queryExecution().simpleString())


def test_exchanges_are_reused(spark: SparkSession, lake: Lake) -> None:
    """[REP-T-3] Two scans with the same filter stay equal."""
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    one = lake.read().filter("a > 15").groupBy("s").sum("a")
    df = one.union(one)
    text = formatted(df)
    assert "ReusedExchange" in text
    assert notes(text) == ["xskip: 2 of 4 files, 1 index"]
    df.collect()
    assert "ReusedExchange" in formatted(df)
