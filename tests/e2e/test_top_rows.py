"""ORDER BY with LIMIT leaves out files whose rows come after enough rows of other files [PLN-TK]."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.effort import cases
from tests.helpers import compared_files, index, opened_by_scan, write_indexed, write_once
from xskip import MinMax

SCHEMA = "id int, x int, n double, s string"
#: x grows from file to file, and each file shares one x with the next. n is NULL in files 2 (once) and 4 (always).
FILES = {
    f"f{i}": [
        (100 * i + j, 9 * i + j, None if i == 4 or (i == 2 and j == 3) else float(100 - 10 * i - j), f"{i}{j}")
        for j in range(10)
    ]
    for i in range(6)
}
SETTING = "spark.xskip.planning.topK"


@pytest.fixture(scope="module")
def written(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    home = tmp_path_factory.mktemp("top")
    indexes = [MinMax("x"), MinMax("n"), MinMax("s")]
    return {fmt: write_indexed(session, home / fmt, SCHEMA, FILES, indexes, fmt) for fmt in ("parquet", "avro")}


@pytest.fixture(params=["parquet", "avro"])
def fmt(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def t(spark: SparkSession, api: str, fmt: str, written: dict[str, str]) -> None:
    """Define the view ``t``."""
    spark.read.format(fmt).load(written[fmt]).createOrReplaceTempView("t")


def read(spark: SparkSession, query: str) -> str:
    """Assert that a query has the same rows without xskip, and return the numbers of the files that it reads."""
    return "".join(sorted(name[1:] for name in compared_files(spark, query)))


@pytest.mark.parametrize(
    ("query", "files"),
    [
        ("select * from t order by x limit 3", "01"),
        ("select * from t order by x, id limit 10", "01"),
        ("select * from t order by x, id limit 11", "012"),
        ("select * from t order by x desc, id limit 3", "45"),
        ("select * from t order by x desc, id limit 11", "345"),
        ("select id + 1, s from t order by x desc, id desc limit 2", "45"),
        ("select id from t where x >= 12 order by x, id limit 2", "123"),
        ("select id from t where x >= 12 and s > '' order by x desc limit 2", "45"),
        ("select id from (select id, x y from t where x < 30) where y > 3 order by y desc limit 1", "123"),
        ("select id from t order by s desc limit 4", "5"),
        ("select id from t order by x + 1 limit 3", "012345"),
        ("select id from t order by id limit 3", "012345"),
        ("select id from t order by x limit 60", "012345"),
        ("select max(id) from (select id from t order by x limit 5)", "01"),
        ("select id from t where x + id > 0 order by x limit 3", "012345"),
    ],
)
def test_the_files_that_are_read(spark: SparkSession, t: None, query: str, files: str) -> None:
    """[PLN-TK-1] A file whose best value is that of the last row stays."""
    spark.conf.set("spark.xskip.strict", "false")
    assert read(spark, query) == files


@pytest.mark.parametrize(
    ("order", "files"),
    [
        ("n desc", "0"),
        ("n desc nulls first", "024"),
        ("n", "245"),
        ("n nulls last", "5"),
        ("n desc nulls last", "0"),
    ],
)
def test_nulls(spark: SparkSession, t: None, order: str, files: str) -> None:
    """[PLN-TK-1] [PLN-TK-2] Files with NULL stay if these come first, and rows with NULL do not count otherwise."""
    assert read(spark, f"select * from t order by {order}, id limit 3") == files


def test_rows_with_null_do_not_count(spark: SparkSession, written: dict[str, str]) -> None:
    """[PLN-TK-1]"""
    spark.read.parquet(written["parquet"]).createOrReplaceTempView("t")
    assert read(spark, "select * from t where x >= 18 order by n desc, id limit 9") == "12"
    assert read(spark, "select * from t where x >= 18 order by n desc, id limit 10") == "123"


def test_numbers(spark: SparkSession, tmp_path: Path) -> None:
    """[PLN-TK-2] NaN is the greatest number, and both zeros are equal."""
    files = {"a": [(math.nan,), (-0.0,)], "b": [(0.0,), (2.0,)], "c": [(-1.0,), (-0.0,)], "d": [(3.0,)]}
    path = write_once(spark, tmp_path / "data", "x double", files)
    index(spark, path, [MinMax("x")])
    spark.read.parquet(path).createOrReplaceTempView("t")
    (files_read,) = opened_by_scan(spark.sql("select * from t order by x desc limit 1"))
    assert files_read == {"a", "d"}
    (files_read,) = opened_by_scan(spark.sql("select * from t order by x limit 2"))
    assert files_read == {"a", "b", "c"}


def test_partition_columns(spark: SparkSession, tmp_path: Path) -> None:
    """[PLN-TK-2]"""
    files = {f"p={p}/f{p}": [(p * 10 + i,) for i in range(4)] for p in (1, 2, 3)}
    files["p=__HIVE_DEFAULT_PARTITION__/f9"] = [(0,)] * 2
    path = write_once(spark, tmp_path / "data", "k int", files)
    index(spark, path, [MinMax("k")])
    for api in ("parquet", ""):
        spark.conf.set("spark.sql.sources.useV1SourceList", api)
        spark.read.parquet(path).createOrReplaceTempView("t")
        assert read(spark, "select * from t order by p desc, k limit 3") == "3"
        assert read(spark, "select * from t order by p desc, k limit 5") == "23"
        assert read(spark, "select * from t order by p, k limit 3") == "19"
        assert read(spark, "select * from t order by p nulls last, k limit 3") == "1"
        assert read(spark, "select * from t where k > 10 order by p, k limit 2") == "12"


@pytest.mark.parametrize("value", ["false", "true"])
def test_the_setting(spark: SparkSession, written: dict[str, str], value: str) -> None:
    """[PLN-TK-2]"""
    spark.conf.set(SETTING, value)
    spark.read.parquet(written["parquet"]).createOrReplaceTempView("t")
    assert read(spark, "select * from t order by x limit 3") == ("01" if value == "true" else "012345")


@pytest.mark.parametrize("change", ["a needed file", "a new file"])
def test_files_change_before_the_scan(spark: SparkSession, tmp_path: Path, change: str) -> None:
    """[PLN-LM-4]"""
    path = write_once(spark, tmp_path / "data", "k int", {f"f{i}": [(i,), (i + 10,)] for i in range(4)})
    index(spark, path, [MinMax("k")])
    df = spark.read.parquet(path).orderBy("k").limit(1)
    leaf = df._jdf.queryExecution().optimizedPlan().collectLeaves().apply(0)
    write_once(spark, tmp_path / "more", "k int", {"g": [(-1 if change == "a new file" else 2,)]})
    (tmp_path / "more" / "g.parquet").rename(Path(path, "g.parquet" if change == "a new file" else "f0.parquet"))
    leaf.relation().location().refresh()
    assert [row.k for row in df.collect()] == [-1 if change == "a new file" else 1]


def test_reports(spark: SparkSession, t: None) -> None:
    """[PLN-LM-6]"""
    df = spark.sql("select * from t where x > 20 order by x, id limit 3")
    explained = xskip.explain(df)
    df.collect()
    for report in (explained, xskip.last_report(spark)):
        assert report is not None
        (scan,) = report.scans
        assert (scan.files, scan.kept, scan.rewrite, scan.unneeded) == (6, 3, "top-k", 1)
        assert "top-k    1 of the skipped files can have matching rows, and these come after enough" in str(report)


def queries(chooser: random.Random) -> Iterator[str]:
    """Yield random queries with a total order."""
    while True:
        column = chooser.choice(["x", "n", "s"])
        order = chooser.choice(["", " desc", " nulls last", " desc nulls first"])
        where = chooser.choice(["", f"where x > {chooser.randrange(60)}", f"where x < {chooser.randrange(60)}"])
        where = where or chooser.choice(["", "where n is null or x > 30", f"where n < {chooser.randrange(100)}"])
        yield f"select * from t {where} order by {column}{order}, id limit {chooser.choice([1, 2, 9, 10, 11, 25])}"


def test_random_queries(spark: SparkSession, written: dict[str, str]) -> None:
    """[PLN-TK-1]"""
    chooser = random.Random(13)
    fewer = 0
    for number, query in zip(range(cases(60)), queries(chooser), strict=False):
        fmt = ("parquet", "avro")[number % 2]
        spark.read.format(fmt).load(written[fmt]).createOrReplaceTempView("t")
        read(spark, query)
        fewer += any(scan.rewrite for scan in xskip.explain(spark.sql(query)).scans)
    assert fewer >= cases(20)
