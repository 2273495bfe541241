"""Metadata answer aggregates with conditions: FILTER, CASE, IF and predicates [PLN-AG-5]."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.e2e.days import FORMATS, condition, write_files_without_metadata
from tests.effort import cases
from tests.helpers import compared_files, index, write_once
from xskip import MinMax


@pytest.mark.parametrize(
    ("query", "files"),
    [
        ("select count_if(day > 3) from t", set()),
        ("select count_if(n >= 415), count(*) from t", {"f4", "f5"}),
        ("select count_if(day > 3), count_if(day > 7), count_if(day = 99) from t where day < 9", set()),
        ("select count(*) filter (where n >= 415) from t", {"f4", "f5"}),
        ("select count(*) filter (where n < 415) from t", {"f4"}),
        ("select count(n) filter (where day > 4), max(k) filter (where day < 2) from t", set()),
        ("select min(n) filter (where day = 6), max(n) filter (where day = 99) from t", set()),
        ("select sum(case when day > 3 then 1 else 0 end) from t", set()),
        ("select sum(case when day > 3 then 5 when day > 1 then -2 end) from t", set()),
        ("select sum(if(day = 77, 1, null)) from t", set()),
        ("select sum(if(n > 310, 2, 1)) from t", {"f3", "f5"}),
        ("select count(case when n >= 415 then 1 end) from t", {"f4", "f5"}),
        ("select count(case when day >= 5 then n end), count(if(day < 2, null, k)) from t", set()),
        ("select max(if(day > 3, day, k)), min(case when day > 3 then 'a' else s end) from t", set()),
        ("select bool_or(day > 3), bool_and(day >= 0), every(day > 3) from t", set()),
        ("select bool_or(n > 310) from t", {"f3", "f5"}),
        ("select max(day > 3), count(day > 3) from t", set()),
        ("select count_if(d > 4) from (select day + 0 d, k from t) where k >= 0", set()),
        ("select count_if(x) from (select day > 4 x from t)", set()),
        ("select count_if(s in ('s0', 's1', 's2')), count_if(s = 'zz'), count_if(n is null) from t", {"f5"}),
        ("select count_if(day > 3) / count(*) from t", set()),
        (
            "select day, count_if(n % 2 = 0) filter (where day > 3) from t where day < 3 group by day order by 1",
            set(),
        ),
        (
            "select day, count_if(n > 310), count(n) filter (where k < 0), max(s = '') from t group by 1 order by 1",
            {"f3", "f5"},
        ),
        (
            "select day, sum(case when n > 310 then 1 else 0 end), sum(if(day = 9, 7, 3)) from t group by 1 order by 1",
            {"f3", "f5"},
        ),
    ],
)
def test_the_files_that_conditions_read(spark: SparkSession, day_view: None, query: str, files: set[str]) -> None:
    """[PLN-AG-5]"""
    assert compared_files(spark, query) == files


@pytest.mark.parametrize(
    "query",
    [
        "select sum(if(k > 3, k, 0)), count(*) from t",
        "select sum(k) filter (where k > 3) from t",
        "select count(distinct k) filter (where k > 3) from t",
        "select count_if(k > (select min(k) + 3 from t where day = 1)) from t",
        "select sum(case when k > 3 then 1.5 else 0 end) from t",
        "select max(case when k > 3 then 1.5D else -0.0D end) from t",
        "select k > 3, count(*) from t group by 1",
    ],
)
def test_conditions_that_need_the_rows(spark: SparkSession, days: dict[str, str], query: str) -> None:
    """[PLN-AG-5]"""
    spark.conf.set("spark.xskip.strict", "false")
    spark.read.parquet(days["parquet"]).createOrReplaceTempView("t")
    spark.sql(query).collect()
    report = xskip.last_report(spark)
    assert report is None or not any(scan.rewrite for scan in report.scans if scan.files - scan.kept < 9)


@pytest.mark.parametrize("ansi", ["true", "false"])
def test_sums_without_values(spark: SparkSession, days: dict[str, str], ansi: str) -> None:
    """[PLN-AG-5] The sum of no value is NULL, and that of zeros is zero."""
    spark.conf.set("spark.sql.ansi.enabled", ansi)
    spark.read.parquet(days["parquet"]).createOrReplaceTempView("t")
    results = "sum(if(day > 30, 1, null)), sum(if(day > 30, 1, 0)), sum(1) filter (where day > 30)"
    for filtered, files in (("day < 2", set()), ("day < 0", set()), ("n > 310", {"f3", "f5"})):
        assert compared_files(spark, f"select {results} from t where {filtered}") == files
        query = f"select day, {results} from t where {filtered} group by day order by day"
        assert compared_files(spark, query) == files


def test_sums_that_overflow(spark: SparkSession, days: dict[str, str]) -> None:
    """[PLN-AG-5] Spark computes them, and raises its error."""
    spark.conf.set("spark.sql.ansi.enabled", "true")
    spark.read.parquet(days["parquet"]).createOrReplaceTempView("t")
    query = f"select sum(if(day > 3, {2**62}, 0)) from t"
    with pytest.raises(Exception, match="overflow"):
        spark.sql(query).collect()
    spark.conf.set("spark.sql.ansi.enabled", "false")
    assert len(compared_files(spark, query)) == 6


def test_conditions_on_partition_columns(spark: SparkSession, tmp_path: Path) -> None:
    """[PLN-AG-5]"""
    files = {f"p={p}/f{p}{i}": [(i,)] * 5 for p in (1, 2) for i in range(2)}
    files |= {"p=__HIVE_DEFAULT_PARTITION__/g": [(7,)] * 3, "p=9/empty": []}
    path = write_once(spark, tmp_path / "data", "k int", files)
    index(spark, path, [MinMax("k")])
    for api in ("parquet", ""):
        spark.conf.set("spark.sql.sources.useV1SourceList", api)
        spark.read.parquet(path).createOrReplaceTempView("t")
        query = "select count_if(p = 1), count(*) filter (where p is null), bool_or(p > 1), min(if(p > 1, k, p)) from t"
        assert compared_files(spark, query) == set()
        assert compared_files(spark, "select count_if(p = 1 or k = 1), max(p) filter (where k > 3) from t") == set()


def test_files_without_metadata(spark: SparkSession, tmp_path: Path) -> None:
    """[PLN-AG-5] The scan reads them."""
    write_files_without_metadata(spark, tmp_path)
    assert compared_files(spark, "select count_if(k > 1), bool_and(k > 0) from t") == {"f1", "g"}


def results(chooser: random.Random) -> Iterator[str]:
    """Yield random aggregates with conditions."""
    while True:
        p, q = condition(chooser), condition(chooser)
        column, other = (chooser.choice(["k", "day", "n"]) for _ in range(2))
        yield chooser.choice(
            [
                f"count_if({p})",
                f"count(*) filter (where {p})",
                f"{chooser.choice(['min', 'max', 'count'])}({column}) filter (where {p})",
                f"bool_or({p})",
                f"bool_and({p})",
                f"sum(case when {p} then 1 else 0 end)",
                f"sum(case when {p} then 3 when {q} then -1 end)",
                f"count(case when {p} then {column} when {q} then 1 end)",
                f"max(if({p}, {column}, {other}))",
                f"count(if({p}, null, {column})) filter (where {q})",
            ]
        )


def test_random_conditions(spark: SparkSession, days: dict[str, str]) -> None:
    """[PLN-AG-5]"""
    chooser = random.Random(12)
    found = results(chooser)
    fewer = 0
    for number in range(cases(60)):
        fmt = FORMATS[number % 3]
        spark.read.format(fmt).load(days[fmt]).createOrReplaceTempView("t")
        chosen = ", ".join(next(found) for _ in range(chooser.randrange(1, 4)))
        filtered = chooser.choice(["", f" where {condition(chooser)}"])
        query = chooser.choice(
            [f"select {chosen} from t{filtered}", f"select day, {chosen} from t{filtered} group by day order by day"]
        )
        compared_files(spark, query)
        report = xskip.explain(spark.sql(query))
        fewer += any(scan.rewrite for scan in report.scans)
    assert fewer >= cases(20)
