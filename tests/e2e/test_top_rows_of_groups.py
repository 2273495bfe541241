"""The first rows of groups: max_by, min_by, row_number and rank leave out files [PLN-TK-3]."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.effort import cases
from tests.helpers import compared_files, index, write_indexed, write_once
from xskip import MinMax

SCHEMA = "id int, x int, n int, g int, v string"
#: In each partition x grows from file to file. g is constant in all files but b2. n is NULL in a2, and once in a1.
FILES = {
    f"p={p}/{p}{i}": [
        (
            1000 * i + 10 * j + (p == "b"),
            100 * i + j,
            None if (p, i) == ("a", 2) or (p, i, j) == ("a", 1, 9) else 10 * i + j,
            j if (p, i) == ("b", 2) else i % 2,
            f"{p}{i}{j}",
        )
        for j in range(10)
    ]
    for p in "ab"
    for i in range(3)
}


@pytest.fixture(scope="module")
def written(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    home = tmp_path_factory.mktemp("groups")
    indexes = [MinMax("x"), MinMax("n"), MinMax("g")]
    return {fmt: write_indexed(session, home / fmt, SCHEMA, FILES, indexes, fmt) for fmt in ("parquet", "avro")}


@pytest.fixture(params=["parquet", "avro"])
def fmt(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def t(spark: SparkSession, api: str, fmt: str, written: dict[str, str]) -> None:
    """Define the view ``t``."""
    spark.conf.set("spark.xskip.strict", "false")
    spark.read.format(fmt).load(written[fmt]).createOrReplaceTempView("t")


ALL = "a0 a1 a2 b0 b1 b2"


@pytest.mark.parametrize(
    ("query", "files"),
    [
        ("select max_by(id, x) from t where p = 'a'", "a2"),
        ("select max_by(v, x), max(x) from t where p = 'b'", "b2"),
        ("select min_by(v, x), max_by(id, x) + 1 from t where p = 'b'", "b0 b2"),
        ("select max_by(v, n) from t where p = 'a'", "a1"),
        ("select min_by(v, n), min(x), max(n) from t where p = 'a'", "a0 a1"),
        ("select max_by(v, x) from t where p = 'a' and x < 105", "a0 a1"),
        ("select max_by(v, x) from t where p = 'a' and x < 100", "a0"),
        ("select max_by(v, x) from t where p = 'c'", ""),
        ("select max_by(struct(v, id), x) from t where p = 'a'", "a2"),
        ("select max_by(v, x + 1) from t where p = 'a'", "a0 a1 a2"),
        ("select max_by(v, x), count(*) from t where p = 'a'", "a0 a1 a2"),
        ("select max_by(v, x) filter (where id > 5) from t where p = 'a'", "a0 a1 a2"),
        ("select max_by(v, id) from t where p = 'a'", "a0 a1 a2"),
        ("select p, max_by(v, x) from t group by p order by p", "a2 b2"),
        ("select p, max_by(v, x) a, min_by(v, x) b from t group by p order by p", "a0 a2 b0 b2"),
        ("select p, max_by(v, n) from t group by p order by p", "a1 b2"),
        ("select g, min_by(v, x) from t where p = 'a' group by g order by g", "a0 a1"),
        ("select p, g, max_by(v, x) from t group by p, g order by p, g", "a1 a2 b0 b1 b2"),
        ("select p, max_by(v, x) from t where x < 150 group by p order by p", "a1 b1"),
        ("select upper(p), max_by(v, x) from t group by upper(p) order by 1", ALL),
    ],
)
def test_extremes(spark: SparkSession, t: None, query: str, files: str) -> None:
    """[PLN-TK-3]"""
    assert compared_files(spark, query) == set(files.split())


ROWS = "select * from (select *, {rank}() over ({window}) r from t {where}) where r {limit} order by p, g, id"


@pytest.mark.parametrize(
    ("rank", "window", "limit", "files"),
    [
        ("row_number", "partition by p order by x desc", "= 1", "a2 b2"),
        ("row_number", "partition by p order by x desc, id", "<= 10", "a2 b2"),
        ("row_number", "partition by p order by x desc, id", "< 12", "a1 a2 b1 b2"),
        ("rank", "partition by p order by x desc", "<= 3", "a2 b2"),
        ("dense_rank", "partition by p order by x desc", "<= 3", ALL),
        ("row_number", "partition by p order by n desc nulls first, id", "= 1", "a1 a2 b2"),
        ("row_number", "partition by p order by n desc nulls last, id", "= 1", "a1 b2"),
        ("row_number", "partition by p, g order by x, id", "= 1", "a0 a1 b0 b1 b2"),
        ("row_number", "order by x desc, id", "= 1", "a2 b2"),
        ("rank", "order by x desc, p", "<= 2", "a2 b2"),
        ("row_number", "partition by v order by x", "= 1", ALL),
        ("row_number", "partition by p order by id", "= 1", ALL),
    ],
)
def test_ranks(spark: SparkSession, t: None, rank: str, window: str, limit: str, files: str) -> None:
    """[PLN-TK-3] Ties of the first sort key stay."""
    query = ROWS.format(rank=rank, window=window, limit=limit, where="")
    assert compared_files(spark, query) == set(files.split())


def test_ranks_behind_a_filter(spark: SparkSession, t: None) -> None:
    """[PLN-TK-3] A file that may have no matching row counts no rows."""
    query = ROWS.format(rank="row_number", window="partition by p order by x", limit="= 1", where="where x > 4")
    assert compared_files(spark, query) == {"a0", "a1", "b0", "b1"}


@pytest.mark.parametrize("function", ["monotonically_increasing_id()", "spark_partition_id()", "rand(7)"])
def test_numbers_of_rows(spark: SparkSession, t: None, function: str) -> None:
    """[PLN-LM-2] Files that are left out would change them, for queries that compare them with those of all rows."""
    rows = f"(select *, {function} m from t)"
    query = f"select p, max_by(m, x) from {rows} group by p order by p"
    assert compared_files(spark, query) == set(ALL.split())
    ranks = f"select *, rank() over (partition by p order by x) r from {rows}"
    query = f"select * from ({ranks}) where r = 1 order by p, id"
    assert compared_files(spark, query) == set(ALL.split())
    query = f"select id, m from {rows} order by x desc, id limit 1"
    assert compared_files(spark, query) == set(ALL.split())


def test_the_setting(spark: SparkSession, written: dict[str, str]) -> None:
    """[PLN-TK-2]"""
    spark.conf.set("spark.xskip.planning.topK", "false")
    spark.read.parquet(written["parquet"]).createOrReplaceTempView("t")
    assert len(compared_files(spark, "select p, max_by(v, x) from t group by p order by p")) == 6


def test_a_report_names_the_rewrite(spark: SparkSession, t: None) -> None:
    """[PLN-LM-6]"""
    spark.sql("select p, max_by(v, x) from t group by p").collect()
    report = xskip.last_report(spark)
    assert report is not None
    (scan,) = report.scans
    assert (scan.files, scan.kept, scan.rewrite) == (6, 2, "top-k")


def queries(chooser: random.Random) -> Iterator[str]:
    """Yield random queries whose rows have no ties."""
    while True:
        keys = chooser.choice(["p", "g", "p, g", "s"])
        column = chooser.choice(["x", "n", "p", "g"])
        where = chooser.choice(["", "where x < 40", "where n > 20 or p = 'b'", "where p <> 'a'", "where n is not null"])
        if chooser.random() < 0.5:
            order = chooser.choice(["", " desc", " nulls last", " desc nulls first"])
            limit = chooser.choice([1, 2, 3, 7])
            window = f"partition by {keys} order by {column}{order}, id"
            inner = f"select *, row_number() over ({window}) r from t {where}"
            yield f"select * from ({inner}) where r <= {limit} order by id"
        else:
            ends = [f"{chooser.choice(['max_by', 'min_by'])}(v, u)", f"{chooser.choice(['max', 'min'])}({column})"]
            yield f"select {keys}, {', '.join(ends)} from t {where} group by {keys} order by {keys}"


def test_random_queries(spark: SparkSession, tmp_path: Path) -> None:
    """[PLN-TK-3]"""
    chooser = random.Random(7)
    fewer = 0
    for number_of_data in range(3):
        files = {}
        for number in range(12):
            first, width = chooser.randrange(60), chooser.choice([1, 4, 20])
            group = chooser.choice([None, 0, 1, "mixed"])
            rows = [
                (
                    100 * number + j,
                    (first + chooser.randrange(width)) if chooser.random() < 0.9 else None,
                    chooser.choice([first, first + 1, None]),
                    chooser.randrange(3) if group == "mixed" else group,
                    1000 * (first + j) + number,
                    f"{number}-{j}",
                    f"s{number % 4}",
                )
                for j in range(chooser.choice([0, 1, 5]))
            ]
            files[f"p={chooser.choice('abc')}/f{number}"] = rows
        path = write_once(
            spark, tmp_path / f"data{number_of_data}", "id int, x int, n int, g int, u int, v string, s string", files
        )
        index(spark, path, [MinMax(name) for name in ("x", "n", "g", "u", "s")])
        for number, query in zip(range(cases(20)), queries(chooser), strict=False):
            spark.conf.set("spark.sql.sources.useV1SourceList", ("parquet", "")[number % 2])
            spark.read.parquet(path).createOrReplaceTempView("t")
            compared_files(spark, query)
            fewer += any(scan.rewrite for scan in xskip.explain(spark.sql(query)).scans)
    assert fewer >= cases(15)
