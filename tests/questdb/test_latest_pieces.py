"""The pieces of a table that LATEST ON reads [QDB-SP-9]."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import xskip
import xskip.questdb.latest as latest_module
from tests.effort import cases
from tests.questdb.server import Server, SqlError
from tests.questdb.spark_values import load
from xskip.questdb import latest_on

DAYS = 10
_DAY = 86_400_000_000


@pytest.fixture(autouse=True)
def plain(spark: SparkSession) -> Iterator[None]:
    """Enable xskip, and leave the plan as it is at first, so that its metrics can be read."""
    xskip.enable(spark)
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    yield
    spark.conf.unset("spark.sql.adaptive.enabled")


def create(server: Server) -> str:
    """Create a table of ten days with one key each day, one on days 2 and 5, and a null on day 3."""
    name = server.name("latest")
    server.exec(f"create table {name} (x long, s symbol, t symbol, ts timestamp) timestamp(ts) partition by day wal")
    keys = ["'all'", "'all'", "'few'", "null", "'all'", "'few'", *["'all'"] * 4]
    rows = [
        f"({10 * day}, 'all', 'u', {day * _DAY + 5}), ({10 * day + 1}, {key}, 'u', {day * _DAY + 9})"
        for day, key in enumerate(keys)
    ]
    server.run(name, f"insert into {name} values {', '.join(rows)}")
    return name


@pytest.fixture(scope="module")
def name(server: Server) -> str:
    """Return a table that tests only read."""
    return create(server)


@pytest.fixture
def changing(server: Server) -> str:
    """Return a table that a test changes."""
    return create(server)


def latest(df: DataFrame, key: str = "s") -> DataFrame:
    return latest_on(df, "ts", key, order=())


def found(df: DataFrame) -> tuple[list[int], int]:
    """Return the numbers of the rows of a result, and the number of pieces that Spark has read."""
    rows = df.collect()
    return sorted(row.x for row in rows), pieces_read(df)


def pieces_read(df: DataFrame) -> int:
    """Return the number of pieces that Spark has read for a DataFrame that was collected."""
    metrics = df._jdf.queryExecution().executedPlan().collectLeaves().head().metrics()
    return int(metrics.apply("numFiles").value())


def expected(server: Server, name: str, where: str = "", key: str = "s") -> list[int]:
    clause = f"where {where}" if where else ""
    return sorted(row[0] for row in server.select(f"select x from ({name} {clause} latest on ts partition by {key})"))


def spark_form(where: str) -> str:
    return where.replace("cast(", "timestamp_micros(").replace(" as timestamp)", ")")


def test_only_pieces_with_a_latest_row_are_read(spark: SparkSession, server: Server, name: str) -> None:
    """Those of the days 3, 5 and 9, and the order of the rows makes no difference."""
    df = load(spark, server.folder(name))
    assert found(latest(df)) == (expected(server, name), 3) == ([31, 51, 91], 3)
    assert found(latest_on(df, "ts", "s")) == ([31, 51, 91], 3)
    assert found(latest_on(df, "ts", "s", order="x")) == ([31, 51, 91], 3)
    assert found(latest(df).where("s = 'few'")) == ([51], 3)


@pytest.mark.parametrize(("limit", "shuffles"), [(6, False), (5, True)])
def test_one_task_groups_few_rows(
    spark: SparkSession, server: Server, name: str, monkeypatch: pytest.MonkeyPatch, limit: int, shuffles: bool
) -> None:
    """The three pieces with a latest row have six rows."""
    monkeypatch.setattr(latest_module, "_ONE_TASK", limit)
    df = load(spark, server.folder(name))
    for order in ((), "x", None):
        result = latest_on(df, "ts", "s", order=order)
        assert found(result) == ([31, 51, 91], 3)
        plan = result._jdf.queryExecution().executedPlan().toString()
        assert ("Exchange" in plan) is shuffles
        assert ("Coalesce 1" in plan) is not shuffles
    assert found(latest(df).where("s = 'few'")) == ([51], 3)


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize(
    ("where", "pieces"),
    [
        ("s is not null", 2),
        ("s = 'few'", 1),
        ("s in ('few', 'none')", 1),
        ("s = 'none'", 0),
        (f"ts < cast({5 * _DAY} as timestamp)", 3),
        (f"ts < cast({5 * _DAY + 7} as timestamp)", 3),
        (f"ts >= cast({4 * _DAY} as timestamp) and ts <= cast({8 * _DAY + 9} as timestamp)", 2),
        (f"ts > cast({5 * _DAY + 9} as timestamp) and s = 'few'", 0),
        (f"ts = cast({2 * _DAY + 9} as timestamp)", 1),
        (f"s = 'few' and ts < cast({5 * _DAY} as timestamp)", 1),
        ("x < 50", 10),
        ("s = 'few' or x = 91", 10),
        ("s != 'few' and s is not null", 10),
        ("t = 'u'", 10),
    ],
)
def test_filters(spark: SparkSession, server: Server, name: str, where: str, pieces: int) -> None:
    """A range of times and values of the key restrict what is looked for; with any other filter, all pieces count."""
    df = load(spark, server.folder(name)).where(spark_form(where))
    assert found(latest(df)) == (expected(server, name, where), pieces)


def test_texts_of_time(spark: SparkSession, server: Server, name: str) -> None:
    """Spark casts a text to a time before the query runs."""
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    try:
        df = load(spark, server.folder(name)).where("ts < '1970-01-06 09:00:00'")
        assert found(latest(df)) == (expected(server, name, "ts < '1970-01-06'"), 3)
    finally:
        spark.conf.unset("spark.sql.session.timeZone")


def test_names_and_views(spark: SparkSession, server: Server, name: str) -> None:
    """Projections can rename and reorder columns, also those of a view or of a table in the catalog."""
    df = load(spark, server.folder(name))
    numbers = [31, 51, 91]
    renamed = df.select(F.col("ts").alias("time"), (F.col("x") + 0).alias("x"), F.col("s").alias("ts"))
    assert found(latest_on(renamed, "time", "ts", order=())) == (numbers, 3)
    assert found(latest_on(df.alias("a").select("a.*"), "TS", "S", order=())) == (numbers, 3)
    df.createOrReplaceTempView("a_view")
    assert found(latest(spark.sql("SELECT * FROM a_view WHERE s IS NOT NULL"))) == ([51, 91], 2)
    spark.sql(f"CREATE TABLE a_table USING questdb OPTIONS (path '{server.folder(name)}')")
    try:
        assert found(latest(spark.table("a_table"))) == (numbers, 3)
    finally:
        spark.sql("DROP TABLE a_table")


def test_what_else_lies_between(spark: SparkSession, server: Server, name: str) -> None:
    """Operations that remove or change rows make every piece count."""
    df = load(spark, server.folder(name))
    plus = F.udf(lambda x: x + 1, "long")
    few = spark.createDataFrame([(0,), (51,)], "x long")
    cases = {
        "a function in Python": (df.where(plus("x") < 40), [21, 30, 31]),
        "a sample": (df.where(F.rand(1) < 2), [31, 51, 91]),
        "a changed key": (df.withColumn("s", F.concat("s", F.lit("!"))), [31, 51, 91]),
        "a changed time": (df.withColumn("ts", F.col("ts") - F.expr("interval 1 day")), [31, 51, 91]),
        "a time that is now": (df.where(F.col("ts") < F.current_timestamp()), [31, 51, 91]),
        "duplicates": (df.distinct(), [31, 51, 91]),
        "a part of the time": (df.where("hour(ts) = 0"), [31, 51, 91]),
        "a limit": (df.limit(1000), [31, 51, 91]),
    }
    for case, (rows, numbers) in cases.items():
        assert found(latest(rows)) == (numbers, DAYS), case
    assert sorted(row.x for row in latest(df.join(few, "x")).collect()) == [0, 51]
    assert found(latest_on(df, "ts", ["s", "t"], order=())) == ([31, 51, 91], DAYS)
    assert found(latest_on(df, "x", "s", order=())) == ([31, 51, 91], DAYS)
    assert found(latest_on(df.where("true"), "ts", "t", order=()))[0] == [91]


def test_rows_that_spark_has_cached(spark: SparkSession, server: Server, name: str) -> None:
    """They are not read again."""
    df = load(spark, server.folder(name)).cache()
    try:
        df.count()
        result = latest(df)
        assert "InMemory" in result._jdf.queryExecution().executedPlan().toString()
        assert sorted(row.x for row in result.collect()) == [31, 51, 91]
    finally:
        df.unpersist()


def test_a_table_that_changes_after_the_call(spark: SparkSession, server: Server, changing: str) -> None:
    """Each execution looks for the pieces of its own transaction."""
    df = latest(load(spark, server.folder(changing)))
    assert found(df)[0] == [31, 51, 91]
    for statement, numbers in [
        (f"insert into {changing} values (1000, 'new', 'u', {4 * _DAY + 50})", [31, 51, 91, 1000]),
        (f"insert into {changing} values (1001, null, 'u', {8 * _DAY + 50})", [51, 91, 1000, 1001]),
        (f"update {changing} set s = 'few' where x = 10", [51, 91, 1000, 1001]),
        (f"alter table {changing} drop partition list '1970-01-06'", [21, 91, 1000, 1001]),
        (f"alter table {changing} convert partition to parquet where ts < '1970-01-05'", [21, 91, 1000, 1001]),
        (f"truncate table {changing}", []),
        (f"insert into {changing} values (1, 'few', 'u', {4 * _DAY}), (2, null, 'u', 7)", [1, 2]),
    ]:
        server.run(changing, statement)
        assert found(df.select("*"))[0] == numbers == expected(server, changing), statement


def test_keys_that_cannot_be_read(spark: SparkSession, server: Server, changing: str) -> None:
    """The piece is read, and its task tells what is the matter."""
    folder = server.folder(changing)
    next(folder.glob("1970-01-05*/s.d")).write_bytes(b"")
    df = latest(load(spark, folder))
    with pytest.raises(Exception, match=r"xskip cannot read.*s\.d"):
        df.collect()


def change(server: Server, name: str, chosen: random.Random) -> None:
    """Change a table in one of many ways."""
    start, count = chosen.randrange(5 * _DAY), chosen.choice([1, 30, 300])
    keys = ", ".join(["null", *(f"'k{chosen.randrange(40)}'" for _ in range(chosen.randrange(1, 5)))])
    day = f"'1970-01-{chosen.randrange(1, 6):02}'"
    rows = f"select x, rnd_symbol({keys}), ({start} + x * {_DAY // 400})::timestamp from long_sequence({count})"
    statement = chosen.choice([
        *[f"insert into {name} (x, s, ts) {rows}"] * 6,
        *[f"insert into {name} (x, late, ts) {rows}"] * 2,
        f"update {name} set s = rnd_symbol({keys}) where ts in {day}",
        f"update {name} set s = null where ts in {day} and s = 'k1'",
        f"alter table {name} squash partitions",
        f"alter table {name} drop partition list {day}",
        f"alter table {name} add column if not exists late symbol",
    ])  # fmt: skip
    with suppress(SqlError):  # there is no such column or partition
        server.run(name, statement)


def compare(spark: SparkSession, server: Server, name: str, where: str, key: str) -> tuple[int, int]:
    """Compare keys and times with the server's, and return the number of pieces that were read, and of all.

    LATEST ON of 9.3.0 can stop before it has found null, because inserts do not set the flag of the column for null.
    """
    df = load(spark, server.folder(name))
    result = latest(df.where(spark_form(where)), key)
    asked = result.select(key, F.unix_micros("ts").alias("micros"))
    rows = asked.collect()
    query = f"select {key}, max(ts)::long from {name} where {where}"
    assert sorted((str(row[key]), row.micros) for row in rows) == sorted((str(s), t) for s, t in server.select(query))
    return pieces_read(asked), len(df.inputFiles())


@pytest.mark.usefixtures("interpreted")
@pytest.mark.parametrize("seed", [1, None])
def test_random_tables(spark: SparkSession, server: Server, seed: int | None) -> None:
    """The rows are the server's, and Spark reads fewer pieces."""
    seed = seed or random.randrange(1 << 32)
    print(f"seed {seed}")  # noqa: T201 - pytest shows it if the test fails
    chosen = random.Random(seed)
    name = server.name("random")
    server.exec(f"create table {name} (x long, s symbol, ts timestamp) timestamp(ts) partition by day wal")
    server.run(name, f"insert into {name} select x, 'k' || (x % 7), (x * 600000000)::timestamp from long_sequence(700)")
    read = listed = 0
    for _ in range(cases(20)):
        change(server, name, chosen)
        low, high = sorted(chosen.sample(range(6), 2))
        times = [f"cast({day * _DAY + chosen.randrange(_DAY)} as timestamp)" for day in (low, high)]
        where = chosen.choice([
            "1 = 1", "s is not null", f"s in ('k{low}', 'k{high}')", f"ts >= {times[0]} and ts < {times[1]}",
        ])  # fmt: skip
        for key in {"s", "late"} & {*load(spark, server.folder(name)).columns}:
            pieces, every = compare(spark, server, name, where, key)
            read, listed = read + pieces, listed + every
    print(f"{read} of {listed} pieces read")  # noqa: T201
    assert read < listed
