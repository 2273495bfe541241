"""The numbers of reports are those of Spark's own plans."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession

import xskip
from tests.e2e.conftest import Lake
from tests.helpers import index, opened_by_scan, opened_files, ran, write_once
from xskip import BloomFilter, MinMax, SkippingReport, ValueList
from xskip.results.skipping_report import ScanReport


def only(report: SkippingReport) -> ScanReport:
    (scan,) = report.scans
    return scan


def sizes(paths: list[Path]) -> int:
    return sum(path.stat().st_size for path in paths)


@pytest.mark.parametrize(
    "predicate", ["a > 15", "s = 's1'", "a = 1 OR s = 's3'", "a > 1000", "a >= 0", "a BETWEEN 5 AND 11 AND s != 's0'"]
)
def test_numbers_are_those_of_the_plan(spark: SparkSession, lake: Lake, api: str, predicate: str) -> None:
    df = lake.read().filter(predicate)
    opened = opened_files(df)
    for report in (xskip.explain(lake.read().filter(predicate)), after(spark, lake.read().filter(predicate))):
        scan = only(report)
        assert (scan.dataset, scan.format) == (lake.path, lake.fmt)
        assert (scan.files, scan.kept, scan.skipped, scan.not_indexed) == (4, len(opened), 4 - len(opened), 0)
        assert scan.bytes == sizes([lake.file(f"f{i}") for i in range(4)])
        assert scan.kept_bytes == sizes([lake.file(name) for name in opened])
        assert scan.skipped_bytes == scan.bytes - scan.kept_bytes
        assert scan.problem == ""
        assert scan.milliseconds > 0


def after(spark: SparkSession, df: DataFrame) -> SkippingReport:
    df.collect()
    return xskip.last_report(spark)


def test_explain_runs_nothing(spark: SparkSession, lake: Lake) -> None:
    df = lake.read().filter("a > 15")
    assert ran(spark, lambda: xskip.explain(df)) == []


def test_a_report_counts_what_each_clause_ruled_out(spark: SparkSession, tmp_path: Path) -> None:
    files = {f"f{i}": [(i, f"s{i % 2}", i)] for i in range(4)}
    path = write_once(spark, tmp_path / "data", "a int, s string, b int", files)
    index(spark, path, [MinMax("a"), ValueList("a"), ValueList("s"), BloomFilter("b", fpp=1e-9)])
    scan = only(xskip.explain(spark.read.parquet(path).filter("a >= 1 AND s = 's1' AND b = 3")))
    found = {(o.predicate, o.index): o.ruled_out for o in scan.outcomes}
    assert found["a >= ?", "minmax(a)"] == 1
    assert found["a >= ?", "valuelist(a)"] == 1
    assert found["s = ?", "valuelist(s)"] == 2
    assert 1 <= found["b = ?", "bloomfilter(b)"] <= 3
    assert scan.kept == 1
    text = str(scan.outcomes)
    assert "s1" not in text  # values are left out
    assert "s1" not in scan.predicate


def test_partition_clauses_are_named(spark: SparkSession, lake: Lake) -> None:
    scan = only(xskip.explain(lake.read_parted().filter("p = 1 OR a = 31")))
    found = {(o.predicate, o.index): o.ruled_out for o in scan.outcomes}
    assert found == {("p = ?", "partition(p)"): 2, ("a = ?", "minmax(a)"): 3}
    assert (scan.files, scan.kept) == (4, 3)


@pytest.mark.parametrize(
    ("predicate", "reason"),
    [
        ("d > 0.5", "there is no index on d"),
        ("a % n.b.c = 1", "xskip does not support the function or operator 'remainder'"),
        ("d % 2 = 1", "there is no index on d"),
        ("cast(a AS double) = d", "no index has bounds of d"),
        ("s IS NULL", "cannot answer this"),
    ],
)
def test_a_report_explains_unused_predicates(spark: SparkSession, lake: Lake, predicate: str, reason: str) -> None:
    report = xskip.explain(lake.read().filter(f"({predicate}) AND a >= 0"))
    assert reason in " ".join(why for _, why in only(report).unused)
    assert reason in str(report)


def test_added_files_count_as_not_indexed(spark: SparkSession, tmp_path: Path) -> None:
    path = write_once(spark, tmp_path / "data", "a int", {f"f{i}": [(i,)] for i in range(3)})
    made = index(spark, path, [MinMax("a")])
    write_once(spark, tmp_path / "data", "a int", {"f8": [(8,)], "f9": [(9,)]})
    scan = only(xskip.explain(spark.read.parquet(path).filter("a = 1")))
    assert (scan.files, scan.kept, scan.skipped, scan.not_indexed) == (5, 3, 2, 2)
    assert opened_files(spark.read.parquet(path).filter("a = 1")) == {"f1", "f8", "f9"}
    assert "2 not indexed" in str(xskip.explain(spark.read.parquet(path).filter("a = 1")))
    made.refresh()
    scan = only(xskip.explain(spark.read.parquet(path).filter("a = 1")))
    assert (scan.files, scan.kept, scan.not_indexed) == (5, 1, 0)


def test_both_scans_of_a_join_are_reported(spark: SparkSession, lake: Lake, api: str) -> None:
    lake.read().createOrReplaceTempView("t")
    lake.read_parted().createOrReplaceTempView("u")
    sql = "SELECT * FROM t JOIN u ON t.d = u.d WHERE t.a > 15 AND u.s = 's2'"
    expected = {lake.path: 2, lake.parted: 1}
    for report in (xskip.explain(spark.sql(sql)), after(spark, spark.sql(sql))):
        assert {scan.dataset: scan.kept for scan in report.scans} == expected
        assert len(report.scans) == 2
        assert lake.path in str(report)
        assert lake.parted in str(report)
    assert sorted(map(len, opened_by_scan(spark.sql(sql)))) == [1, 2]


def test_both_scans_of_one_dataset_are_reported(spark: SparkSession, lake: Lake, api: str) -> None:
    lake.read().createOrReplaceTempView("t")
    both = spark.sql("SELECT * FROM t x, t y WHERE x.a = 1 AND y.s = 's3' AND x.d < y.d")
    assert sorted(scan.kept for scan in xskip.explain(both).scans) == [1, 1]
    assert [scan.kept for scan in after(spark, both).scans] == [1, 1]


def test_scans_whose_filters_differ_only_in_values_are_reported(spark: SparkSession, lake: Lake, api: str) -> None:
    lake.read().createOrReplaceTempView("t")
    both = spark.sql("SELECT a FROM t WHERE a = 1 UNION ALL SELECT a FROM t WHERE a = 31")
    assert [scan.kept for scan in xskip.explain(both).scans] == [1, 1]
    assert [scan.kept for scan in after(spark, both).scans] == [1, 1]


def test_subqueries_are_scans_too(spark: SparkSession, lake: Lake) -> None:
    lake.read().createOrReplaceTempView("t")
    lake.read_parted().createOrReplaceTempView("u")
    df = spark.sql("SELECT * FROM t WHERE s = 's1' AND d < (SELECT max(d) FROM u WHERE a > 25)")
    assert {scan.dataset: scan.kept for scan in after(spark, df).scans} == {lake.path: 1, lake.parted: 1}


def test_the_last_report_is_of_the_latest_query(spark: SparkSession, lake: Lake, api: str) -> None:
    """[REP-Q-1] Neither API lists files for a report in a way that counts as a query."""
    after(spark, lake.read().filter("a > 15"))
    assert only(after(spark, lake.read().filter("s = 's1'"))).kept == 1
    other = lake.read().filter("a > 15")
    assert only(xskip.explain(other)).kept == 2
    assert only(xskip.last_report(spark)).kept == 1
    assert only(xskip.report(lake.read().filter("a > 15"))).kept == 2
    assert only(xskip.last_report(spark)).kept == 1
    other.collect()
    assert only(xskip.last_report(spark)).kept == 2


def test_a_plan_of_the_second_api_lists_files_as_an_rdd_does(spark: SparkSession, lake: Lake, api: str) -> None:
    """[REP-Q-1]"""
    after(spark, lake.read().filter("s = 's1'"))
    lake.read().filter("a > 15").explain()
    assert only(xskip.last_report(spark)).kept == (1 if api == "v1" else 2)
    assert only(after(spark, lake.read().filter("s = 's1'"))).kept == 1


def test_a_scan_without_an_index_is_reported(spark: SparkSession, tmp_path: Path, api: str) -> None:
    path = write_once(spark, tmp_path / "data", "a int", {"f0": [(1,)], "f1": [(2,)]})
    report = xskip.explain(spark.read.parquet(path).filter("a = 1"))
    scan = only(report)
    assert (scan.dataset, scan.format) == (path, "parquet")
    assert (scan.files, scan.kept, scan.skipped, scan.not_indexed) == (2, 2, 0, 2)
    assert scan.kept_bytes == scan.bytes == sizes(list(Path(path).glob("*.parquet")))
    assert "no index" in scan.problem
    assert "no index" in str(report)


def test_a_query_without_files_has_no_scans(spark: SparkSession) -> None:
    report = xskip.explain(spark.range(3).filter("id = 1"))
    assert report.scans == ()
    assert str(report) == "no scan reads files"
    assert "no scan reads files" in report._repr_html_()
    assert json.loads(report.to_json())["scans"] == []


def test_a_report_has_a_text_form(spark: SparkSession, lake: Lake) -> None:
    text = str(xskip.explain(lake.read().filter("a > 15 AND d > 0")))
    assert re.fullmatch(
        r"skipped 2 of 4 files \(50\.0 %\), .* of .*, in \d+\.\d ms by minmax\(a\)", text.splitlines()[0]
    )
    assert text.splitlines()[1] == f"{lake.path} ({lake.fmt})"
    assert "4 in all, 2 read, 2 skipped (50.0 %), 0 not indexed" in text
    assert "not used: d > ?: there is no index on d" in text
    assert any(line.split() == ["a", ">", "?", "minmax(a)", "2", "0"] for line in text.splitlines())
    assert " ms in the index" in text


def test_a_report_converts_to_json(spark: SparkSession, lake: Lake) -> None:
    report = xskip.explain(lake.read().filter("a > 15 AND d > 0"))
    scan = json.loads(report.to_json())["scans"][0]
    assert (scan["files"], scan["kept"], scan["skipped"], scan["not_indexed"]) == (4, 2, 2, 0)
    assert {"predicate": "a > ?", "index": "minmax(a)", "ruled_out": 2, "unknown": 0} in scan["outcomes"]
    assert ["d > ?", "there is no index on d"] in scan["unused"]
    assert json.loads(json.dumps(report.to_dict())) == json.loads(report.to_json())


def test_html_is_escaped(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "<b>&'data'"
    path = write_once(spark, root, "`x<i>` int, `y&z` int", {f"f{i}": [(i, i)] for i in range(2)})
    index(spark, path, [MinMax("`x<i>`")])
    report = xskip.explain(spark.read.parquet(path).filter("`x<i>` = 1 AND `y&z` = 1"))
    html = report._repr_html_()
    assert only(report).kept == 1
    for raw, escaped in (("<b>", "&lt;b&gt;"), ("x<i>", "x&lt;i&gt;"), ("y&z", "y&amp;z")):
        assert raw not in html
        assert escaped in html
    page = report.save(tmp_path / "report.html")
    text = page.read_text(encoding="utf-8")
    assert page == tmp_path / "report.html"
    assert text.startswith("<!doctype html>")
    assert text.count("<h2>") == 1
    assert html in text


def test_reports_are_frozen(spark: SparkSession, lake: Lake) -> None:
    report = xskip.explain(lake.read().filter("a > 15"))
    for each in (report, only(report), only(report).outcomes[0]):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(each, dataclasses.fields(each)[0].name, None)
