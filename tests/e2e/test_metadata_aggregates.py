"""Metadata answer counts, minimums and maximums of files that match wholly [PLN-AG]."""

from __future__ import annotations

import datetime
import math
import random
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyspark
import pytest
from pyspark.sql import Row, SparkSession

import xskip
from tests.e2e.days import FORMATS, condition, write_files_without_metadata
from tests.effort import cases
from tests.helpers import compared_files, index, opened_by_scan, write_once
from xskip import MinMax, ValueList

SETTING = "spark.xskip.planning.aggregates"


@pytest.mark.parametrize(
    ("query", "files"),
    [
        ("select count(*) from t", set()),
        ("select count(*), min(k), max(k), min(n), max(n), count(n), count(1) from t", set()),
        ("select min(s), max(s) from t", set()),
        ("select count(*) c, max(k) + 1 m, count(*) * 2 - min(day) x from t where day > 6", set()),
        ("select count(*), min(n) from t where day = 6", set()),
        ("select count(*), min(k) from t where day = 77", set()),
        ("select count(*), max(n), count(n) from t where n >= 415", {"f4", "f5"}),
        ("select count(k) from t where day between 3 and 4 and k >= 0", set()),
        ("select min(day) from t where n > 0", {"f0", "f5"}),
        ("select count(*) from (select k + 1 j, day d from t) where d < 3", set()),
        ("select max(d) from (select day d, k from t where k > -5) where d < 3", set()),
        ("select count(*) from t where k + 1 > 0 and day > 6", set()),
        ("select count(*) from t where n + 1 > 417", {"f4", "f5"}),
        ("select count(*) from t where upper(s) > 'A' and day = 3", set()),
        ("select min(upper(s)), count(*) from t where day < 2", {"f0", "f1"}),
    ],
)
def test_the_files_that_aggregates_read(spark: SparkSession, day_view: None, query: str, files: set[str]) -> None:
    """[PLN-AG-1] [PLN-AG-2]"""
    assert compared_files(spark, query) == files


@pytest.mark.parametrize(
    "query",
    [
        "select sum(k), count(*) from t",
        "select avg(k) from t",
        "select count(distinct k) from t",
        "select count(*) filter (where k > 3) from t",
        "select min(k + n) from t",
        "select min(upper(s)) from t",
        "select count(n, k) from t",
        "select max(struct(k, n)) from t",
        "select count(*) from t where k + n > -5",
        "select count(*) from t where rand() < 0.99",
        "select count(*) from t having count(*) > 3 and max(k * 2) > 5",
        "select k, count(*) from t group by k order by k",
    ],
)
def test_aggregates_that_need_the_rows(spark: SparkSession, days: dict[str, str], query: str) -> None:
    """[PLN-AG-1] [PLN-LM-2]"""
    spark.conf.set("spark.xskip.strict", "false")
    spark.read.parquet(days["parquet"]).createOrReplaceTempView("t")
    report = xskip.explain(spark.sql(query))
    assert [(scan.kept >= 9, scan.rewrite) for scan in report.scans] == [(True, "")]


@pytest.mark.parametrize("value", ["false", "true"])
def test_the_setting(spark: SparkSession, days: dict[str, str], value: str) -> None:
    """[PLN-AG-1]"""
    spark.conf.set(SETTING, value)
    spark.read.parquet(days["parquet"]).createOrReplaceTempView("t")
    assert len(compared_files(spark, "select count(*) from t")) == (0 if value == "true" else 10)


def test_subqueries_and_joins(spark: SparkSession, day_view: None) -> None:
    """[PLN-AG-1]"""
    query = "select count(*) c from t where n = (select max(n) from t where day < 9)"
    assert spark.sql(query).collect() == [Row(c=1)]
    query = "select a.c, b.m from (select count(*) c from t) a join (select max(n) m from t where day < 3) b"
    assert spark.sql(query).collect() == [Row(c=200, m=219)]
    if not pyspark.__version__.startswith("4.3"):  # which merges both aggregations, with FILTER
        assert opened_by_scan(spark.sql(query)) == [set(), set()]
    assert spark.sql("select count(*) c from t").collect() == [Row(c=200)]
    spark.sql("select count(*), max(n) from t").show()
    assert spark.table("t").count() == 200


def test_partition_columns(spark: SparkSession, tmp_path: Path) -> None:
    """[PLN-AG-2]"""
    files = {f"p={p}/q={q}/f{p}{q}{i}": [(i,)] * 5 for p in (1, 2) for q in ("a", "b") for i in range(2)}
    files |= {"p=__HIVE_DEFAULT_PARTITION__/q=c/g": [(7,)] * 3, "p=9/q=z/empty": []}
    path = write_once(spark, tmp_path / "data", "k int", files)
    index(spark, path, [MinMax("k")])
    for api in ("parquet", ""):
        spark.conf.set("spark.sql.sources.useV1SourceList", api)
        spark.read.parquet(path).createOrReplaceTempView("t")
        query = "select count(*), count(p), min(p), max(p), min(q), max(q), max(k) from t"
        assert compared_files(spark, query) == set()
        assert compared_files(spark, "select count(*), max(q) from t where p = 2") == set()
        assert compared_files(spark, "select count(*), max(q) from t where p = 2 or k = 1") == set()
        assert compared_files(spark, "select count(*), max(q) from t where p is null and k > 3") == set()
        assert compared_files(spark, "select count(*), max(p) from t where q = 'b' and k < 1") == set()


#: In each file, d, s and u have one value, and u is NULL in the files of day 3.
GROUPED = {
    f"p={p}/f{p}{d}": [(d, k, k if d else None, f"s{d}", None if d == 3 else d) for k in range(10)]
    for p in (1, 2, 3)
    for d in range(4)
}


@pytest.fixture(scope="module")
def grouped(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return an indexed dataset with a partition column."""
    schema = "d int, k int, n int, s string, u int"
    path = write_once(session, tmp_path_factory.mktemp("grouped") / "data", schema, GROUPED)
    index(session, path, [*map(MinMax, ("d", "k", "n", "u")), ValueList("s")])
    return path


@pytest.fixture(params=["parquet", ""], ids=["v1", "v2"])
def groups(spark: SparkSession, grouped: str, request: pytest.FixtureRequest) -> None:
    """Define the view ``t``."""
    spark.conf.set("spark.sql.sources.useV1SourceList", request.param)
    spark.read.parquet(grouped).createOrReplaceTempView("t")


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize(
    ("query", "files", "rewrite"),
    [
        ("select p, count(*), min(k), max(n) from t group by p", 0, "aggregate"),
        ("select distinct d from t", 0, "aggregate"),
        ("select d, s, count(n) c, max(k) + d m from t where k >= 0 group by d, s", 0, "aggregate"),
        ("select u, count(*) from t group by u", 0, "aggregate"),
        ("select p + 1, count(*) * 2 from t group by p", 0, "aggregate"),
        ("select p, d, count(*) c from t where n > 3 or d < 2 group by p, d having count(*) > 3", 6, "aggregate"),
        ("select p, count(*) from t where d > 1 or k > 3 group by p", 6, "aggregate"),
        ("select p, count(*) from t where d > 2 or k > 3 group by p", 12, ""),
        ("select d, count(*) from t where p = 2 group by d", 0, "aggregate"),
        ("select d, count(*) from t where p = 9 group by d", 0, ""),
        ("select k, count(*) from t group by k", 12, ""),
        ("select s, sum(k) from t group by s", 12, ""),
        ("select count(distinct d) from t", 12, ""),
        ("select p, d, count(*) from t group by rollup(p, d)", 12, ""),
    ],
)
def test_groups(spark: SparkSession, groups: None, query: str, files: int, rewrite: str, adaptive: str) -> None:
    """[PLN-AG-4]"""
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    rows = sorted(map(repr, spark.sql(query).collect()))
    report = xskip.last_report(spark)
    assert report is not None
    xskip.disable(spark)
    try:
        plain = spark.sql(query)
        assert rows == sorted(map(repr, plain.collect()))
        schema = plain.schema
    finally:
        xskip.enable(spark)
    assert spark.sql(query).schema == schema
    if "p = 9" not in query:
        assert [(scan.kept, scan.rewrite) for scan in report.scans] == [(files, rewrite)]


@pytest.mark.parametrize("query", ["select count(*) from t where n > 3", "select p, count(*) from t group by p"])
def test_exchanges_are_reused(spark: SparkSession, groups: None, query: str) -> None:
    """[PLN-LM-5] Equal branches of a plan stay equal."""
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    one = spark.sql(query)
    is_merged = pyspark.__version__.startswith("4.3") and "group by" not in query
    reused = "ReusedSubquery" if is_merged else "ReusedExchange"
    assert reused in str(one.union(one)._jdf.queryExecution().executedPlan().toString())


def test_groups_of_numbers(spark: SparkSession, tmp_path: Path) -> None:
    """[PLN-AG-4] Zeros, and bounds without a number of NULLs, decide no group."""
    files: dict[str, list[Any]] = {
        "a": [(0.0,)] * 3,
        "b": [(-0.0,)],
        "c": [(math.nan,)] * 2,
        "d": [(1.5,)],
        "e": [(1.5,), (None,)],
    }
    path = write_once(spark, tmp_path / "data", "x double", files)
    index(spark, path, [MinMax("x")])
    spark.read.parquet(path).createOrReplaceTempView("t")
    query = "select x, count(*) c from t where not x <=> 7.0 group by x"
    report = xskip.explain(spark.sql(query))
    rows = sorted((str(row.x), row.c) for row in spark.sql(query).collect())
    assert rows == [("0.0", 4), ("1.5", 2), ("None", 1), ("nan", 2)]
    assert [(scan.kept, scan.rewrite) for scan in report.scans] in ([(3, "aggregate")], [(5, "")])


VALUES: list[tuple[str, list[Any]]] = [
    ("tinyint", [-3, 5]),
    ("smallint", [-300, 5]),
    ("int", [-70000, 5]),
    ("bigint", [-(2**40), 2**60]),
    ("boolean", [False, True]),
    ("float", [-1.5, 2.5]),
    ("double", [-1.5, math.nan]),
    ("decimal(7,2)", [Decimal("-3.10"), Decimal("70000.01")]),
    ("decimal(30,3)", [Decimal("-3.100"), Decimal("123456789012345678901234567.001")]),
    ("string", ["", "zß\U0001f600"]),
    ("date", [datetime.date(1969, 12, 31), datetime.date(2024, 2, 29)]),
    ("timestamp", [datetime.datetime(1969, 12, 31, 23, 59, 59, 999999), datetime.datetime(2024, 3, 31, 2, 30)]),
    ("timestamp_ntz", [datetime.datetime(1969, 12, 31, 23), datetime.datetime(2024, 3, 31, 2, 30)]),
]


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
def test_types(spark: SparkSession, tmp_path: Path, fmt: str) -> None:
    """[PLN-AG-2] Bounds of every type with an order are exact."""
    columns = [f"c{i}" for i in range(len(VALUES))]
    schema = ", ".join(f"{name} {kind}" for name, (kind, _) in zip(columns, VALUES, strict=True))
    rows = [tuple(values[i] for _, values in VALUES) for i in (0, 1)]
    nothing = (None,) * len(VALUES)
    path = write_once(spark, tmp_path / "data", schema, {"a": [rows[0]], "b": [rows[1], nothing], "c": [nothing]}, fmt)
    index(spark, path, map(MinMax, columns), fmt)
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    spark.read.format(fmt).load(path).createOrReplaceTempView("t")
    for name in columns:
        assert compared_files(spark, f"select min({name}), max({name}), count({name}) from t") == set(), name


def test_zeros(spark: SparkSession, tmp_path: Path) -> None:
    """[PLN-AG-2] The metadata do not tell which zero the rows have."""
    path = write_once(spark, tmp_path / "data", "x double", {"a": [(-0.0,)], "b": [(0.0,)], "c": [(1.5,)]})
    index(spark, path, [MinMax("x")])
    spark.read.parquet(path).createOrReplaceTempView("t")
    assert compared_files(spark, "select max(x) from t where x < 1.0") == {"a", "b"}
    assert compared_files(spark, "select max(x) from t") == {"a", "b"}
    assert compared_files(spark, "select count(x) from t") == set()


def test_char_and_varchar(spark: SparkSession, tmp_path: Path) -> None:
    """[PLN-AG-2] Spark can pad and check the values of these types."""
    spark.conf.set("spark.xskip.metadata.location", str(tmp_path / "metadata"))
    spark.sql(f"CREATE TABLE padded (c char(4), v varchar(4), k int) USING parquet LOCATION '{tmp_path / 'data'}'")
    spark.sql("INSERT INTO padded VALUES ('a', 'x', 1), ('b  ', 'y ', 2)")
    made = xskip.SkippingIndex.for_table(spark, "padded")
    made.create([MinMax("c"), MinMax("v"), MinMax("k")])
    assert compared_files(spark, "select max(k) from padded") == set()
    assert compared_files(spark, "select max(c) from padded") != set()
    assert compared_files(spark, "select max(v) from padded") != set()


def test_corrupt_files(spark: SparkSession, days: dict[str, str]) -> None:
    """[PLN-LM-3]"""
    spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    spark.read.parquet(days["parquet"]).createOrReplaceTempView("t")
    assert len(compared_files(spark, "select count(*) from t")) == 10


def test_files_without_metadata(spark: SparkSession, tmp_path: Path) -> None:
    """[PLN-AG-1] The scan reads them."""
    write_files_without_metadata(spark, tmp_path)
    assert compared_files(spark, "select count(*), max(k), min(k) from t") == {"f1", "g"}


@pytest.mark.parametrize("api", ["parquet", ""])
def test_files_that_change_before_the_scan(spark: SparkSession, tmp_path: Path, api: str) -> None:
    """[PLN-AG-3] The result is that of the files that Spark had listed when it optimized the query."""
    spark.conf.set("spark.sql.sources.useV1SourceList", api)
    path = write_once(spark, tmp_path / "data", "k int", {f"f{i}": [(i,), (i + 10,)] for i in range(4)})
    index(spark, path, [MinMax("k")])
    df = spark.read.parquet(path).filter("k > 2").groupBy().count()
    leaf = df._jdf.queryExecution().optimizedPlan().collectLeaves().apply(0)
    write_once(spark, tmp_path / "more", "k int", {"g": [(7,)] * 50})
    (tmp_path / "more" / "g.parquet").rename(Path(path, "g.parquet"))
    Path(path, "f3.parquet").unlink()
    (leaf.relation().location() if api else leaf.scan().fileIndex()).refresh()
    assert df.collect() == [Row(count=5)]
    Path(path, "f0.parquet").unlink()
    assert spark.read.parquet(path).filter("k > 2").count() == 52


def test_reports(spark: SparkSession, day_view: None) -> None:
    """[PLN-LM-6]"""
    df = spark.sql("select count(*) from t where n >= 415 and day < 8")
    explained = xskip.explain(df)
    df.collect()
    for report in (explained, xskip.last_report(spark)):
        assert report is not None
        (scan,) = report.scans
        assert (scan.files, scan.kept, scan.rewrite, scan.unneeded) == (10, 2, "aggregate", 1)
        assert "aggregate 1 of the skipped files can have matching rows, and their metadata have" in str(report)


def queries(chooser: random.Random) -> Iterator[str]:
    """Yield random queries."""
    results = [f"{f}({c})" for f in ("min", "max", "count") for c in ("k", "day", "n", "s")] + ["count(*)"]
    while True:
        yield f"select {', '.join(chooser.sample(results, chooser.randrange(1, 5)))} from t where {condition(chooser)}"


def test_random_queries(spark: SparkSession, days: dict[str, str]) -> None:
    """[PLN-AG-1]"""
    chooser = random.Random(12)
    fewer = 0
    for number, query in zip(range(cases(60)), queries(chooser), strict=False):
        fmt = FORMATS[number % 3]
        spark.read.format(fmt).load(days[fmt]).createOrReplaceTempView("t")
        compared_files(spark, query)
        report = xskip.explain(spark.sql(query))
        fewer += any(scan.rewrite for scan in report.scans)
    assert fewer >= cases(20)
