"""Layouts before a write: the same rows, in files that queries skip [REP-A-7]."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import lit

import xskip
from tests.helpers import kept
from xskip import BloomFilter, MinMax, SkippingIndex, ValueList
from xskip.errors import ArgumentError
from xskip.results.advice import Advice

FILES = 16


@pytest.fixture(scope="module")
def points(session: SparkSession) -> DataFrame:
    """Return rows without an order, of all types that have one."""
    return session.range(0, 6000, numPartitions=4).selectExpr(
        "hash(id, 1) % 50 AS x", "hash(id, 2) % 50 AS y", "concat('é', hash(id, 3) % 1000) AS s",
        "timestamp_seconds(hash(id, 4)) AS t", "CAST(timestamp_seconds(hash(id, 5)) AS timestamp_ntz) AS n",
        "date_add(DATE'2024-01-01', hash(id, 6) % 1000) AS d", "CAST(hash(id, 7) AS decimal(20, 3)) / 7 AS dec",
        "IF(id % 9 = 0, double('NaN'), hash(id, 8) / 3) AS f", "CAST(CAST(hash(id, 9) AS string) AS binary) AS b",
        "id % 2 = 0 AS flag", "IF(id % 5 = 0, NULL, hash(id, 10) % 300) AS z", "struct(hash(id, 11) AS `a.b`) AS p",
        "id % 3 AS day", "id",
    )  # fmt: skip


def written(df: DataFrame, path: Path, indexes: Sequence[xskip.Index], *partitions: str) -> str:
    xskip.write(df.write.partitionBy(*partitions) if partitions else df, str(path), indexes)
    return str(path)


@pytest.mark.parametrize(
    "by",
    [["x"], ["z", "flag"], ["p.`a.b`", "b"], ["x", "y", "s", "t", "n", "d", "dec", "f"]],
    ids=",".join,
)  # fmt: skip
def test_the_rows_stay_the_same(points: DataFrame, by: list[str]) -> None:
    laid = xskip.cluster(points, by=by, files=8)
    assert laid.schema == points.schema
    assert sorted(map(repr, laid.collect())) == sorted(map(repr, points.collect()))
    assert laid.rdd.getNumPartitions() == 8


@pytest.fixture(scope="module")
def frames(session: SparkSession, points: DataFrame, tmp_path_factory: pytest.TempPathFactory) -> tuple[DataFrame, str]:
    """Return the rows, and the path of files without an order that have bounds of all columns."""
    path = tmp_path_factory.mktemp("plain") / "data"
    points.repartition(FILES).write.parquet(str(path))
    index = SkippingIndex.for_path(session, str(path))
    index.create([MinMax(column) for column in ("x", "y", "s", "t", "n", "d", "f", "z", "p.`a.b`")])
    return points, str(path)


@pytest.mark.usefixtures("spark")
@pytest.mark.parametrize(
    ("by", "conditions", "most"),
    [
        (["x"], ["x = 5", "x > 48", "x < -48"], 2),
        (["x", "y"], ["x = 5", "y = 5", "x > 48", "y < -48"], 6),
        (["s", "t"], ["s = 'é5'", "t = timestamp'2001-01-01'"], 7),
        (["n", "d"], ["n = timestamp_ntz'2001-01-01'", "d = DATE'2024-02-01'"], 6),
        (["f", "z", "p.`a.b`"], ["f = 5", "z = 5", "p.`a.b` = 5"], 10),
    ],
    ids=str,
)
def test_files_can_be_skipped(
    frames: tuple[DataFrame, str], tmp_path: Path, by: list[str], conditions: list[str], most: int
) -> None:
    """Without the layout, a query reads nearly all files."""
    points, plain = frames
    spark = points.sparkSession
    laid = written(xskip.cluster(points, by=by, files=FILES), tmp_path / "laid", [MinMax(column) for column in by])
    for condition in conditions:
        assert len(kept(spark, plain, condition)) >= FILES - 2, condition
        assert len(kept(spark, laid, condition)) <= most, condition


def test_partitions(spark: SparkSession, points: DataFrame, tmp_path: Path) -> None:
    """Each file has rows of one directory, in the layout."""
    laid = xskip.cluster(points, by=["x", "y"], partition_by=["day"], files=24)
    path = written(laid, tmp_path / "laid", [MinMax("x")], "day")
    for condition, most in (("id >= 0", 30), ("x = 5 AND day = 1", 5), ("x = 5", 14)):
        (scan,) = xskip.explain(spark.read.parquet(path).filter(condition)).scans
        assert scan.files - scan.skipped <= most, condition


def test_range_of_several_columns(spark: SparkSession, points: DataFrame, tmp_path: Path) -> None:
    laid = xskip.cluster(points, by=["flag", "x"], files=FILES, method="range")
    path = written(laid, tmp_path / "laid", [MinMax("x"), ValueList("flag")])
    assert len(kept(spark, path, "flag AND x = 5")) <= 2


def test_parts_of_a_file_are_in_the_same_order(points: DataFrame) -> None:
    for by in (["x"], ["x", "y"]):
        (rows,) = xskip.cluster(points, by=by, files=1).select("x").rdd.glom().collect()
        xs = [row.x for row in rows]
        assert max(xs[:300]) < min(xs[-300:]) + 100 / len(by)
    assert xs != sorted(xs)


@pytest.mark.parametrize("by", [["k"], ["k", "z"]], ids=",".join)
def test_equal_values_are_divided(spark: SparkSession, by: list[str]) -> None:
    """Spark never divides the rows of one key, so that a column of few values would give few files."""
    df = spark.range(4000).selectExpr("IF(id % 10 = 0, 1, 2) AS k", "CAST(NULL AS int) AS z", "id")
    sizes = [len(each) for each in xskip.cluster(df, by=by, files=8).rdd.glom().collect()]
    assert len(sizes) == 8
    assert max(sizes) < 1000


def test_names(spark: SparkSession) -> None:
    """Case, columns of one name, and names that the layout could take."""
    df = spark.range(100).selectExpr("id AS A", "id AS place_0", "id AS `b.c`")
    assert xskip.cluster(df, by=["a", "`b.c`"], files=2).columns == ["A", "place_0", "b.c"]
    twice = df.select("*", lit(1).alias("a"))
    with pytest.raises(ArgumentError, match="several such columns"):
        xskip.cluster(twice, by=["a"])
    spark.conf.set("spark.sql.caseSensitive", "true")
    with pytest.raises(ArgumentError, match="no such column"):
        xskip.cluster(df, by=["a"])
    assert xskip.cluster(twice, by=["a", "A"], files=2).count() == 100


def test_one_value_no_rows_and_nulls(spark: SparkSession) -> None:
    for df in (
        spark.range(0).selectExpr("id", "id AS k"), spark.range(9).selectExpr("1 AS id", "1 AS k"),
        spark.range(9).selectExpr("CAST(NULL AS int) AS id", "CAST(NULL AS string) AS k"),
    ):  # fmt: skip
        assert xskip.cluster(df, by=["id", "k"]).count() == df.count()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"by": []}, "the number of columns is not valid"),
        ({"by": ["x"] * 9}, "one to 8 columns"),
        ({"by": "x"}, "by is not a list of texts"),
        ({"by": ["xx"]}, r"no such column \(where: by; found: xx; expected: one of x, y, .*did you mean x"),
        ({"by": ["p.c"]}, "no such column"),
        ({"by": ["p"]}, r"a type without an order \(where: by, column p; found: struct<a.b:int>"),
        ({"by": ["x"], "partition_by": ["nope"]}, "where: partition_by"),
        ({"by": ["x", "X"]}, "a column is given twice"),
        ({"by": ["x"], "partition_by": ["x"]}, "a column is given twice"),
        ({"by": ["x"], "files": 0}, "files"),
        ({"by": ["x"], "method": "zcurve"}, "method"),
    ],
)
def test_arguments(points: DataFrame, given: dict[str, object], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        xskip.cluster(points, **given)  # type: ignore[arg-type]


def test_a_stream_and_a_table(spark: SparkSession) -> None:
    stream = spark.readStream.format("rate").load()
    with pytest.raises(ArgumentError, match=r"a stream has no order.*foreachBatch"):
        xskip.cluster(stream, by=["value"])
    with pytest.raises(ArgumentError, match="not a DataFrame"):
        xskip.cluster("t", by=["value"])  # type: ignore[arg-type]


def ask(spark: SparkSession, path: str, *predicates: str) -> None:
    for predicate in predicates:
        spark.read.parquet(path).filter(predicate).select(lit(1)).collect()


def would_read(advice: Advice) -> int:
    """Return the number of files that queries would read in a layout."""
    found = re.search(r"would read ([\d,]+) of the same size", advice.text)
    assert found is not None
    return int(found[1].replace(",", ""))


def layouts(made: SkippingIndex) -> list[Advice]:
    return [each for each in made.advise(trial=FILES) if each.action == "order"]


def test_advice_is_measured(spark: SparkSession, points: DataFrame, tmp_path: Path) -> None:
    """[REP-A-7] The advice says how many files queries would read; in the layout, they read so many."""
    path = written(points.repartition(FILES), tmp_path / "plain", [MinMax("x"), MinMax("y")])
    made = SkippingIndex.for_path(spark, path)
    random_values = random.Random(1)
    values = [random_values.randrange(-48, 48) for _ in range(8)]
    predicates = [f"{column} = {value}" for value in values for column in "xy"]
    ask(spark, path, *predicates)
    (advice,) = layouts(made)
    assert (advice.subject, advice.columns, advice.scans) == ("x, y", ("x", "y"), 16)
    assert (
        "write the data clustered by x and y, as xskip.cluster(df, by=['x', 'y'], files=16) does: 16 of 16 scans"
        in advice.text
    )
    assert "them read 256 files, and would read " in advice.text
    assert "as 6,000 rows of a trial show" in advice.text
    laid = written(xskip.cluster(points, by=["x", "y"], files=FILES), tmp_path / "laid", [MinMax("x"), MinMax("y")])
    read = sum(len(kept(spark, laid, predicate)) for predicate in predicates)
    assert would_read(advice) == pytest.approx(read, rel=0.3)
    # bounds that the layout needs are not to be removed, and in the layout nothing is to gain
    assert not [each for each in made.advise(trial=FILES) if each.action == "remove"]
    ask(spark, laid, *predicates)
    assert layouts(SkippingIndex.for_path(spark, laid)) == []


def test_conditions_on_both_columns_count_once(spark: SparkSession, points: DataFrame, tmp_path: Path) -> None:
    """[REP-A-7] A query reads its files once, and saves no more than that."""
    path = written(points.repartition(FILES), tmp_path / "plain", [MinMax("x"), MinMax("y")])
    ask(spark, path, *[f"x = {i} AND y = {i}" for i in range(10)])
    (advice,) = layouts(SkippingIndex.for_path(spark, path))
    assert advice.scans == 10
    assert "10 of 10 scans of this process with conditions on it read 160 files" in advice.text


def test_queries_that_read_nothing(spark: SparkSession, points: DataFrame, tmp_path: Path) -> None:
    path = written(points.repartition(FILES), tmp_path / "plain", [MinMax("x")])
    ask(spark, path, *["x = 1000"] * 5)
    assert layouts(SkippingIndex.for_path(spark, path)) == []


def test_a_layout_of_partitions(spark: SparkSession, points: DataFrame, tmp_path: Path) -> None:
    """[REP-A-7] No layout moves rows to other directories, and the call names the partition columns."""

    def read(path: str) -> list[int]:
        scans = (xskip.explain(spark.read.parquet(path).filter(f"x = {i}")).scans[0] for i in range(10))
        return [scan.files - scan.skipped for scan in scans]

    path = written(points.repartition(FILES), tmp_path / "plain", [MinMax("x")], "day")
    assert read(path) == [3 * FILES] * 10
    ask(spark, path, *[f"x = {i}" for i in range(10)])
    (advice,) = layouts(SkippingIndex.for_path(spark, path))
    assert "xskip.cluster(df, by=['x'], partition_by=['day'], files=48) does" in advice.text
    clustered = xskip.cluster(points, by=["x"], partition_by=["day"], files=48)
    laid = written(clustered, tmp_path / "laid", [MinMax("x")], "day")
    assert would_read(advice) == pytest.approx(sum(read(laid)), rel=0.3)


def test_a_layout_that_other_indexes_need(spark: SparkSession, points: DataFrame, tmp_path: Path) -> None:
    """[REP-A-7] Queries of an ordered column lose what queries of another one would gain."""
    path = written(xskip.cluster(points, by=["x"], files=FILES), tmp_path / "x", [MinMax("x"), BloomFilter("id")])
    made = SkippingIndex.for_path(spark, path)
    ask(spark, path, *[f"x = {i}" for i in range(12)], *[f"y = {i}" for i in range(3)])
    assert layouts(made) == []
    ask(spark, path, *[f"y = {i}" for i in range(40)])
    (advice,) = layouts(made)
    assert advice.columns in (("y",), ("x", "y"))
    assert "and add minmax(y)" in advice.text
