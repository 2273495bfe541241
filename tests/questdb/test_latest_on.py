"""The latest row of each key, as the server selects it with LATEST ON."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from tests.questdb.frames import KEYS, create, frame_of, insert, sorted_rows
from tests.questdb.server import Server
from xskip.errors import DatasetError, PredicateError, UnsupportedTypeError, XskipError
from xskip.questdb import latest_on

pytestmark = pytest.mark.usefixtures("interpreted")
ROWS = 400


def random_table(server: Server, keys: list[str]) -> str:
    name = server.name("latest")
    create(server, name, keys, "timestamp(ts) partition by day wal")
    insert(server, name, keys, ROWS)
    return name


def numbers(server: Server, query: str) -> list[int]:
    """Return the numbers of the rows that the server selects."""
    return sorted(row[0] for row in server.select(f"select x from ({query})"))


def check(found: DataFrame, df: DataFrame, expected: list[int]) -> None:
    """Compare a result with whole rows of a DataFrame, by their numbers."""
    assert found.columns == df.columns
    assert [f.dataType for f in found.schema] == [f.dataType for f in df.schema]
    assert sorted_rows(found) == sorted_rows(df.where(F.col("x").isin(expected)))


@pytest.mark.parametrize("kind", KEYS)
def test_a_key_of_each_type(server: Server, spark: SparkSession, tmp_path: Path, kind: str) -> None:
    """[QDB-FN-1], [QDB-FN-3]: nulls are a key, and the last row of the table is the latest among equal times."""
    name = random_table(server, [kind])
    df = frame_of(spark, server, name, tmp_path)
    expected = numbers(server, f"{name} latest on ts partition by k0")
    assert 1 < len(expected) < ROWS / 2
    check(latest_on(df, "ts", "k0"), df, expected)


@pytest.mark.parametrize("seed", range(4))
def test_several_keys(server: Server, spark: SparkSession, tmp_path: Path, seed: int) -> None:
    """[QDB-FN-1], [QDB-FN-4]: filters before and after are WHERE and a query on a query."""
    keys = random.Random(seed).sample(list(KEYS), 3)
    name = random_table(server, keys)
    df = frame_of(spark, server, name, tmp_path)
    for count in (2, 3):
        names = [f"k{position}" for position in range(count)]
        clause = f"latest on ts partition by {', '.join(names)}"
        check(latest_on(df, "ts", names), df, numbers(server, f"{name} {clause}"))
        before = numbers(server, f"{name} where d < 0.5 {clause}")
        after = numbers(server, f"select * from ({name} {clause}) where d < 0.5")
        assert before != after
        check(latest_on(df.where("d < 0.5"), "ts", names), df, before)
        check(latest_on(df, "ts", names).where("d < 0.5"), df, after)


def test_nulls_are_before_all_times(server: Server, spark: SparkSession, tmp_path: Path) -> None:
    """[QDB-FN-2]: a server orders a subquery by a timestamp with nulls."""
    name = server.name("nulls")
    create(server, name, ["timestamp", "symbol"], "timestamp(ts) partition by day wal")
    insert(server, name, ["timestamp", "symbol"], 60)
    server.run(name, f"insert into {name} (x, k1, ts) values (1001, 'no time', 1), (1002, 'no time', 2)")
    df = frame_of(spark, server, name, tmp_path)
    expected = numbers(server, f"select * from (select * from {name}) latest on k0 partition by k1")
    assert 1002 in expected
    check(latest_on(df, "k0", "k1"), df, expected)


def test_the_last_row_of_a_subquery_is_the_latest(server: Server, spark: SparkSession, tmp_path: Path) -> None:
    """[QDB-FN-3]: the order of the rows is that of the DataFrame, which is sorted here."""
    name = random_table(server, ["symbol"])
    df = frame_of(spark, server, name, tmp_path)
    expected = numbers(server, f"select * from (select * from {name} order by x desc) latest on ts partition by k0")
    assert expected != numbers(server, f"{name} latest on ts partition by k0")
    check(latest_on(df.sort(F.desc("x")), "ts", "k0"), df, expected)


def rows(spark: SparkSession) -> DataFrame:
    """Return rows of several partitions with few keys and times, of which some keys have no time."""
    values = [
        (x, f"k{x % 7}" if x % 7 else None, None if x % 7 == 3 or x % 2 else x % 4, x % 3 or None, x / 4)
        for x in range(200)
    ]
    return spark.createDataFrame(values, "x long, k string, t long, o int, d double").repartition(5, "x")


#: A time from the column ``t``, by its type.
TIMES = {
    "bigint": "t",
    "tinyint": "cast(t as tinyint)",
    "timestamp": "timestamp_micros(t)",
    "timestamp_ntz": "cast(timestamp_micros(t) as timestamp_ntz)",
    "date": "date_from_unix_date(int(t))",
    "decimal(20,0)": "cast(t as decimal(20, 0))",
}


def latest_rows(df: DataFrame) -> dict[Any, list[tuple[Any, ...]]]:
    """Return the rows with the greatest time of each key, sorted by the columns ``o`` and ``x``."""
    latest: dict[Any, list[tuple[Any, ...]]] = {}
    for row in map(tuple, df.select("x", "k", F.col("t").cast("string"), "o", "d").collect()):
        latest.setdefault(row[1], []).append(row)
    return {
        key: sorted(
            (r for r in found if (r[2] or "") == max(r[2] or "" for r in found)), key=lambda r: (r[3] or 0, r[0])
        )
        for key, found in latest.items()
    }


@pytest.mark.parametrize("kind", TIMES)
def test_columns_give_the_order_of_equal_times(spark: SparkSession, kind: str) -> None:
    """[QDB-FN-2], [QDB-FN-3]: nulls are first in the order, which several columns can give."""
    df = rows(spark).withColumn("t", F.expr(TIMES[kind]))
    assert dict(df.dtypes)["t"] == kind
    check(latest_on(df, "t", "k", order=["o", "x"]), df, [found[-1][0] for found in latest_rows(df).values()])


@pytest.mark.parametrize("extra", ["o", "d", "text"])
@pytest.mark.parametrize("kind", TIMES)
def test_any_row_of_equal_times_is_a_whole_row(spark: SparkSession, kind: str, extra: str) -> None:
    """[QDB-FN-3], [QDB-FN-5]: each column of the result is of the same row, also if each has its own aggregate."""
    df = rows(spark).withColumn("t", F.expr(TIMES[kind])).withColumn("text", F.col("x").cast("string"))
    df = df.select("x", "k", "t", "o", "d", F.col(extra).alias("e"))
    latest = latest_rows(df)
    assert max(map(len, latest.values())) > 10
    found = latest_on(df, "t", "k", order=()).select("x", "k", F.col("t").cast("string"), "o", "d").collect()
    assert {row["k"] for row in found} == latest.keys()
    assert len(found) == len(latest)
    assert all(tuple(row) in latest[row["k"]] for row in found)


def plan_of(df: DataFrame) -> str:
    return str(df._jdf.queryExecution().executedPlan())


def test_spark_aggregates_in_a_hash_table_where_it_can(spark: SparkSession) -> None:
    """[QDB-FN-5]."""
    df = rows(spark)
    hashed = latest_on(df, "t", ["k", "o"], order=())
    assert "HashAggregate" in plan_of(hashed)
    for other in (latest_on(df, "t", "k"), latest_on(df, "t", "x", order=()), latest_on(df, "t", "k", order="x")):
        assert "SortAggregate" in plan_of(other)
    for found in (hashed, latest_on(df, "t", "k"), latest_on(df, "t", "k", order="x")):
        assert "Window" not in plan_of(found)
        assert "partial_max_by" in plan_of(found)


def test_filters_on_keys_reach_the_source(spark: SparkSession, tmp_path: Path) -> None:
    """[QDB-FN-4]: if the order does not depend on the position of rows."""
    rows(spark).write.parquet(str(tmp_path / "rows"))
    df = spark.read.parquet(str(tmp_path / "rows"))
    for order in ((), "x"):
        assert "EqualTo(k,k1)" in plan_of(latest_on(df, "t", "k", order=order).where("k = 'k1'"))
    assert "EqualTo(k,k1)" in plan_of(latest_on(df.where("k = 'k1'"), "t", "k"))
    found = latest_on(df, "t", "k").where("k = 'k1'")
    assert "EqualTo(k,k1)" not in plan_of(found)
    assert found.count() == 1


def test_names_are_those_of_columns(spark: SparkSession) -> None:
    """[QDB-FN-9]: names with dots and upper case, and columns whose names are equal but for their case."""
    df = spark.createDataFrame(
        [(1, 2, 3, 4, {"m": 1}), (1, 3, 2, 5, {"m": 2})], "`a.b` int, Ts int, c0 int, C0 int, m map<string, int>"
    )
    for found in (
        latest_on(df, "ts", "A.B", order="c0"),
        latest_on(df, "Ts", ["a.b", "a.b"]),
        latest_on(df, "TS", ("a.b",), order=()),
    ):
        assert found.columns == df.columns
        assert [tuple(row) for row in found.collect()] == [(1, 3, 2, 5, {"m": 2})]
    every = df.select("Ts", "`a.b`").limit(1)
    assert [tuple(row) for row in latest_on(every, "ts", every.columns, order=()).collect()] == [(2, 1)]


def test_floats_are_equal_as_spark_groups_them(spark: SparkSession) -> None:
    """[QDB-FN-1]: and the values are those of the latest row."""
    df = spark.createDataFrame(
        [(float("nan"), 1), (float("nan"), 2), (0.0, 1), (-0.0, 2), (None, 1)], "k double, t int"
    )
    for order in (None, "t", ()):
        assert sorted(str(tuple(row)) for row in latest_on(df, "t", "k", order=order).collect()) == [
            "(-0.0, 2)", "(None, 1)", "(nan, 2)",
        ]  # fmt: skip


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        (("nope", "k"), PredicateError, r"no column with this name \(where: timestamp; found: nope; expected: x, k, t"),
        (("t", "nope"), PredicateError, "no column with this name.*where: keys; found: nope"),
        (("t", "K", "nope"), PredicateError, "no column with this name.*where: order; found: nope"),
        (("t", []), PredicateError, "there are no keys.*at least one column"),
        (("t", 1), PredicateError, "not given by their names.*found: 1"),
        (("t", ["k", 1]), PredicateError, "not given by their names"),
        ((1, "k"), PredicateError, "timestamp is not given by its name"),
        (("k", "k"), UnsupportedTypeError, "where: timestamp, column k; found: string; expected: timestamp.*cast"),
        (("d", "k"), UnsupportedTypeError, "found: double"),
        (("t", "m"), UnsupportedTypeError, "cannot be compared.*where: keys, column m; found: map<string,int>"),
        (("t", "a"), UnsupportedTypeError, "cannot be compared"),
        (("t", "k", "m"), UnsupportedTypeError, "where: order, column m"),
        (("t", "two"), PredicateError, "several columns have this name.*found: two.*rename"),
    ],
)
def test_wrong_arguments(
    spark: SparkSession, arguments: tuple[Any, ...], error: type[XskipError], message: str
) -> None:
    """[QDB-FN-9]."""
    df = rows(spark).select(
        "x", "k", "t", "o", "d", F.expr("map('a', 1)").alias("m"), F.expr("array(struct(map('a', 1)))").alias("a"),
        F.lit(1).alias("Two"), F.lit(2).alias("TWO"),
    )  # fmt: skip
    timestamp, keys, *order = arguments
    with pytest.raises(error, match=message):
        latest_on(df, timestamp, keys, order=order[0] if order else None)


def test_streams_and_other_things_are_refused(spark: SparkSession) -> None:
    """[QDB-FN-9]."""
    with pytest.raises(DatasetError, match=r"stream has no last row.*foreachBatch"):
        latest_on(spark.readStream.format("rate").load(), "timestamp", "value")
    with pytest.raises(DatasetError, match=r"not a DataFrame of Spark.*found: list"):
        latest_on([], "timestamp", "value")  # type: ignore[arg-type]
