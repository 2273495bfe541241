"""Values of scalar subqueries in filters leave out files while the query runs [PLN-SQ]."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.e2e.star import read_star
from tests.effort import cases
from tests.helpers import index, write_once
from xskip import MinMax


@pytest.mark.parametrize(
    ("query", "files"),
    [
        ("select m from f where k = (select max(k) from d where name like 'day4_')", [1]),
        ("select * from f where k >= (select max(k) - 30 from d where k < 100)", [4]),
        ("select m, s from f where k between (select min(k) from d where g = 5) and (select min(k) + 9 from d)", [1]),
        ("select sum(m) from f where k + 1 > (select avg(k) from d) * 2 - 55", [4]),
        ("select m from f where s = (select concat('s', min(g) + 3) from d)", [1]),
        ("select m from f where j = (select min(k) + 5 from d) and m >= 0", [1]),
        ("select count(m + 0) from f where m = (select min(k) from d) or k = (select min(k) from d)", [10]),
        ("select m from f where k <=> (select max(k) - 30 from d)", [1]),
        ("select m from f where not k < (select max(k) - 30 from d)", [2]),
        ("select x.m from (select k + 0 k, m from f where m >= 0) x where k < (select min(k) + 8 from d)", [1]),
        ("select x.n from (select k n, m from f where m >= 0) x where n < (select min(k) + 8 from d)", [1]),
        ("select m, d.g from f join d on m = d.k where f.k < (select min(k) + 8 from d)", [1]),
        ("select m from f where k = (select max(k) from d where d.g = f.m)", None),  # it is a join
        ("select m from f where k > rand() + (select max(k) - 30 from d)", [10]),
        ("select m from f where m > 0 or k in (select k from d where g > 9)", [10]),
        ("select m, (select max(k) from d) x from f where k >= 0", [10]),
        # the dataset itself in the subquery
        ("select m from f where k = (select max(k) from f)", [0, 1]),
        ("select m from f where k > (select avg(k) + 30 from f)", [2, 10]),
        ("select m from f where k > (select max(k) from f where k > (select avg(k) from f)) - 5", None),
    ],
)
def test_the_files_that_a_query_reads(
    spark: SparkSession, star_views: None, query: str, files: list[int] | None
) -> None:
    """[PLN-SQ-1] [PLN-SQ-2]"""
    found = sorted(read_star(spark, query))
    assert files is None or found == files, query


def test_no_value(spark: SparkSession, star_views: None) -> None:
    """[PLN-SQ-1] A subquery without rows is NULL."""
    spark.conf.set("spark.sql.orc.filterPushdown", "false")  # it fails for a comparison with NULL
    assert sorted(read_star(spark, "select m from f where k > (select max(k) from d where g > 9)")) == [0]
    assert sorted(read_star(spark, "select m from f where k <=> (select max(k) from d where g > 9)")) == [10]


def test_a_dataset_that_occurs_twice(spark: SparkSession, star_views: None) -> None:
    """[PLN-SQ-2] Spark reads equal parts of a plan once."""
    part = "(select s, count(m) c from f where k < (select min(k) + 8 from d) group by s)"
    query = f"select a.s, b.c from {part} a join {part} b on a.s = b.s"
    assert set(read_star(spark, query)) == {10}


def test_partition_columns(spark: SparkSession, tmp_path: Path) -> None:
    """[PLN-SQ-2] Spark prunes partitions by subqueries itself."""
    files = {f"p={p}/f{p}{i}": [(10 * p + i,)] * 2 for p in range(4) for i in range(3)}
    path = write_once(spark, tmp_path / "facts", "k int", files)
    index(spark, path, [MinMax("k")])
    spark.read.parquet(path).createOrReplaceTempView("f")
    spark.range(1).selectExpr("2 p", "21 k").createOrReplaceTempView("d")
    query = "select * from f where p = (select max(p) from d)"
    assert "__xskip_file" not in spark.sql(query)._jdf.queryExecution().optimizedPlan().toString()
    assert read_star(spark, query) == [3]
    assert read_star(spark, f"{query} and k = (select max(k) from d)") == [1]
    assert read_star(spark, "select * from f where p * 10 + 1 = k and k = (select max(k) from d)") == [1]


def test_files_without_metadata(spark: SparkSession, tmp_path: Path, star: tuple[str, str]) -> None:
    """[PLN-SQ-1] A file that the index does not know is read."""
    fmt = star[0]
    path = write_once(spark, tmp_path / "facts", "k int, v int", {f"f{i}": [(i, i)] * 3 for i in range(5)}, fmt)
    index(spark, path, [MinMax("k")], fmt)
    Path(path, f"f4.{fmt}").touch()
    spark.read.format(fmt).load(path).createOrReplaceTempView("f")
    frame = spark.sql("select v from f where k = (select max(id) from range(3))")
    for _ in range(2):
        assert [row.v for row in frame.collect()] == [2, 2, 2]
    assert read_star(spark, "select v from f where k = (select max(id) from range(3))") == [2]


def test_an_index_that_cannot_answer(spark: SparkSession, tmp_path: Path) -> None:
    """[PLN-SQ-1]"""
    path = write_once(spark, tmp_path / "facts", "k int, v int", {f"f{i}": [(i, i)] * 3 for i in range(5)})
    made = index(spark, path, [MinMax("k")])
    spark.read.parquet(path).createOrReplaceTempView("f")
    spark.conf.set("spark.xskip.strict", "false")
    for file in Path(made.describe().location).rglob("*.parquet"):
        file.write_bytes(b"no Parquet")
    xskip.enable(spark)
    assert len(spark.sql("select v from f where k = (select max(id) from range(3))").collect()) == 3


def test_a_subquery_that_fails(spark: SparkSession, star_views: None) -> None:
    """[PLN-SQ-1] The error is Spark's."""
    with pytest.raises(Exception, match="SCALAR_SUBQUERY_TOO_MANY_ROWS"):
        spark.sql("select m from f where k = (select k from d)").collect()


def test_the_setting(spark: SparkSession, star_views: None) -> None:
    """[PLN-SQ-1]"""
    spark.conf.set("spark.xskip.planning.subqueries", "false")
    assert read_star(spark, "select m from f where k = (select max(k) from d where g = 6)") == [10]


def test_the_second_data_source_api(spark: SparkSession, tmp_path: Path) -> None:
    """[PLN-SQ-2]"""
    spark.conf.set("spark.sql.sources.useV1SourceList", "")
    path = write_once(spark, tmp_path / "facts", "k int, v int", {f"f{i}": [(i, i)] * 3 for i in range(5)})
    index(spark, path, [MinMax("k")])
    spark.read.parquet(path).createOrReplaceTempView("f")
    assert read_star(spark, "select v from f where v >= 0 and k = (select max(id) from range(3))") in ([5], [])


def test_reports(spark: SparkSession, star_views: None) -> None:
    """[PLN-SQ-3]"""
    spark.sql("select m from f where k = (select max(k) from d where name like 'day4_')").collect()
    report = xskip.last_report(spark)
    assert report is not None
    (scan,) = [scan for scan in report.scans if scan.dataset.endswith("facts")]
    assert (scan.files, scan.kept, scan.pruned, scan.pruned_by, scan.problem) == (10, 10, 9, "subquery", "")
    assert "9 pruned by values of subqueries as it ran" in str(report)


def test_random_queries(spark: SparkSession, star_views: None) -> None:
    """[PLN-SQ-1]"""
    spark.conf.set("spark.sql.orc.filterPushdown", "false")  # it fails for a comparison with NULL
    chooser = random.Random(15)
    fewer = 0
    for _ in range(cases(30)):
        value = chooser.choice(["max(k)", "min(k)", "avg(k)", "max(g)", "count(*)", "max(k) - min(k)", "min(name)"])
        subquery = f"(select {value} from d where k < {chooser.randrange(110)} and g > {chooser.randrange(6)})"
        column = "concat('day', k)" if "name" in value else chooser.choice(["k", "m", "j", "k - m", "-k"])
        sign = chooser.choice(["=", "<", ">=", "<>", "<=>"])
        condition = f"{column} {sign} {subquery}"
        other = f"{chooser.choice(['k', 'm'])} {chooser.choice(['<', '>='])} {chooser.randrange(60)}"
        condition = chooser.choice(
            [condition, f"not ({condition})", f"{condition} {chooser.choice(['and', 'or'])} {other}"]
        )
        fewer += read_star(spark, f"select * from f where {condition}") != [10]
    assert fewer >= cases(6)
