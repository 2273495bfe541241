"""Operations use the session that they get, whatever session the calling thread has."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pytest
from pyspark.sql import DataFrame, SparkSession

import xskip
from tests.helpers import opened_files, write_once
from xskip import BloomFilter, MinMax, SkippingIndex, ValueList

T = TypeVar("T")

FILES = {f"f{i}": [(10 * i + j, f"s{i}", f"2026-01-0{i + 1} 00:00:0{j}") for j in range(3)] for i in range(4)}
SCHEMA = "a int, s string, t string"


def in_thread(spark: SparkSession, work: Callable[[], T], active: SparkSession | None = None) -> T:
    """Return the result of a function in a thread whose active session in the JVM is another one, or none."""

    def run() -> T:
        sessions = spark._jvm.org.apache.spark.sql.SparkSession  # type: ignore[union-attr]
        if active is None:
            sessions.clearActiveSession()
        else:
            sessions.setActiveSession(active._jsparkSession)
        found = work()
        after = sessions.getActiveSession()
        if active is None:
            assert after.isEmpty(), "the operation has left a session in the thread"
        else:
            assert after.get().equals(active._jsparkSession), "the operation has left another session in the thread"
        return found

    results: list[T] = []
    errors: list[BaseException] = []

    def guarded() -> None:
        try:
            results.append(run())
        except BaseException as error:  # noqa: BLE001 - raised again in the thread of the test
            errors.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()
    thread.join()
    if errors:
        raise errors[0]
    return results[0]


@pytest.fixture
def other(spark: SparkSession) -> SparkSession:
    """Return a session with other settings of everything that decides places, values and names."""
    made = spark.newSession()
    made.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    made.conf.set("spark.sql.ansi.enabled", "false" if spark.conf.get("spark.sql.ansi.enabled") == "true" else "true")
    made.conf.set("spark.sql.caseSensitive", "true")
    made.conf.set("spark.sql.timestampType", "TIMESTAMP_NTZ")
    made.conf.set("spark.sql.legacy.timeParserPolicy", "LEGACY")
    made.conf.set("spark.xskip.metadata.location", "/nowhere")
    return made


@pytest.fixture(params=["none", "other"])
def calling(request: pytest.FixtureRequest, spark: SparkSession, other: SparkSession) -> Callable[[Callable[[], T]], T]:
    """Return a function that runs another one in a thread without an active session, or with another one."""
    return lambda work: in_thread(spark, work, other if request.param == "other" else None)


Calling = Callable[[Callable[[], Any]], Any]

EXPRESSION = "cast(a as string)"
DATE = "to_timestamp(t, 'yyyy-MM-dd HH:mm:ss')"


@pytest.mark.parametrize("fmt", ["parquet", "avro", "orc", "csv", "json"])
def test_builds_and_operations_of_a_thread(spark: SparkSession, calling: Calling, tmp_path: Path, fmt: str) -> None:
    """[PRU-AN-3] The index is in the session's location, and the session's queries use all of it."""
    spark.conf.set("spark.xskip.metadata.location", f"{tmp_path}/metadata")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    path = write_once(spark, tmp_path / "data", SCHEMA, FILES, fmt)
    made = SkippingIndex.for_path(spark, path, format=fmt, schema=SCHEMA)
    indexes = [MinMax("a"), BloomFilter("s"), MinMax(DATE, expression=True), ValueList(EXPRESSION, expression=True)]

    def df() -> Any:
        return spark.read.format(fmt).schema(SCHEMA).load(path)

    assert calling(lambda: made.create(indexes)).added == 4
    assert not list((tmp_path / "data").glob("_xskip")), "the index is in the dataset"
    described = calling(made.describe)
    assert described.location.startswith(f"{tmp_path}/metadata/")
    assert (described, calling(made.exists)) == (made.describe(), True)
    conditions = {
        "a > 29": ({"f3"}, 3),
        "s = 's1'": ({"f1"}, 3),
        f"{DATE} >= timestamp '2026-01-03 00:00:01'": ({"f2", "f3"}, 5),
        f"{EXPRESSION} = '11'": ({"f1"}, 1),
    }
    for condition, (expected, count) in conditions.items():
        query = df().filter(condition)
        assert opened_files(query) == expected, condition
        names = calling(partial(made.files, condition)).names
        assert {Path(name).stem for name in names} == expected, condition
        scans = calling(partial(xskip.explain, query)).scans
        assert [(scan.kept, scan.files, scan.problem) for scan in scans] == [(len(expected), 4, "")], condition
        fresh = df().filter(condition)
        rows = calling(fresh.collect)
        assert len(rows) == count
        report = calling(lambda: xskip.last_report(spark))
        assert [(scan.kept, scan.files) for scan in report.scans] == [(len(expected), 4)], condition
    write_once(spark, tmp_path / "data", SCHEMA, {"f9": [(95, "s9", "2026-02-01 00:00:00")]}, fmt)
    assert calling(made.status).missing == 1
    assert calling(made.refresh).added == 1
    assert calling(made.status) == made.status()
    assert opened_files(df().filter("a > 90")) == {"f9"}
    assert opened_files(df().filter(f"{EXPRESSION} = '95'")) == {"f9"}
    calling(made.optimize)
    validated = calling(made.validate)
    assert (validated.files, validated.wrong, validated.missing) == (5, (), 0)
    assert opened_files(df().filter(f"{DATE} >= timestamp '2026-01-31 00:00:01'")) == {"f9"}
    calling(made.drop)
    assert opened_files(df().filter("a > 90")) == {f"f{i}" for i in (0, 1, 2, 3, 9)}


@pytest.mark.parametrize("fmt", ["parquet", "avro", "csv"])
def test_queries_that_spark_prepares_in_the_thread_of_the_caller(spark: SparkSession, tmp_path: Path, fmt: str) -> None:
    """A query by ``df.rdd`` skips in a thread without a session, and the session's reports know it."""
    for key in dict(spark._jsparkSession.sessionState().conf().settings()):
        if "RebaseMode" in key:  # readers of Avro take it from the thread, which has Spark's default
            spark.conf.unset(key)
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    path = write_once(spark, tmp_path / "data", SCHEMA, FILES, fmt)
    SkippingIndex.for_path(spark, path, format=fmt, schema=SCHEMA).create([MinMax("a")])
    df = spark.read.format(fmt).schema(SCHEMA).load(path).filter("a > 29")
    with xskip.watch(spark) as watched:
        assert in_thread(spark, lambda: df.rdd.map(lambda row: row.a).collect()) == [30, 31, 32]
    (scan,) = watched.report.scans
    assert (scan.kept, scan.files, scan.problem) == (1, 4, "")


def test_readers_that_take_a_setting_of_the_thread(spark: SparkSession, other: SparkSession, tmp_path: Path) -> None:
    """[PRU-AN-3] Spark's CSV reader takes the time parser of the thread of ``df.rdd``."""
    spark.conf.set("spark.xskip.strict", "false")
    path = write_once(spark, tmp_path / "data", SCHEMA, FILES, "csv")
    SkippingIndex.for_path(spark, path, format="csv", schema=SCHEMA).create([MinMax("a")])
    df = spark.read.schema(SCHEMA).csv(path).filter("a > 29")
    with xskip.watch(spark) as watched:
        assert in_thread(spark, lambda: df.rdd.map(lambda row: row.a).collect(), other) == [30, 31, 32]
    (scan,) = watched.report.scans
    assert scan.kept == 4
    assert "timeParserPolicy has another value" in scan.problem


def test_a_table_of_a_thread(spark: SparkSession, calling: Calling, tmp_path: Path) -> None:
    """The session's catalog and its database's property say where the index of a table is."""
    spark.sql("CREATE DATABASE shelf")
    try:
        spark.sql(f"ALTER DATABASE shelf SET DBPROPERTIES ('io.xskipper.parquet.mdlocation'='{tmp_path}/base')")
        path = write_once(spark, tmp_path / "data", "a int", {f"p={i}/f{i}": [(10 * i,)] for i in range(3)})
        spark.sql(f"CREATE TABLE shelf.t (a int, p int) USING parquet PARTITIONED BY (p) LOCATION '{path}'")
        spark.sql("ALTER TABLE shelf.t RECOVER PARTITIONS")
        made = calling(lambda: SkippingIndex.for_table(spark, "shelf.t"))
        assert calling(lambda: made.create([MinMax("a")])).added == 3
        assert calling(made.describe).location.startswith(f"{tmp_path}/base/")
        assert opened_files(spark.table("shelf.t").filter("a > 15")) == {"f2"}
        write_once(spark, tmp_path / "data", "a int", {"p=2/f9": [(90,)]})
        assert calling(made.refresh).added == 1
        assert calling(lambda: made.files("a > 80")).names == [f"{path}/p=2/f9.parquet"]
        spark.catalog.refreshTable("shelf.t")
        assert opened_files(spark.table("shelf.t").filter("a > 80")) == {"f9"}
    finally:
        spark.sql("DROP DATABASE shelf CASCADE")


def test_sessions_in_a_pool_of_threads(spark: SparkSession, tmp_path: Path) -> None:
    """Threads of a pool build and read at once, each for its own session and base location."""
    sessions = []
    for i in range(4):
        session = spark.newSession()
        session.conf.set("spark.xskip.metadata.location", f"{tmp_path}/base{i}")
        session.conf.set("spark.sql.session.timeZone", f"Etc/GMT+{i}")
        session.conf.set("spark.xskip.strict", "true")
        sessions.append(session)
    path = write_once(spark, tmp_path / "data", SCHEMA, FILES, "csv")

    def work(i: int) -> tuple[int, str, set[str], list[tuple[int, int, str]], list[tuple[int, int, str]]]:
        session = sessions[i % 4]
        xskip.enable(session)
        made = SkippingIndex.for_path(session, path, format="csv", schema=SCHEMA)
        added = made.create([MinMax("a"), MinMax(DATE, expression=True)]).added if i < 4 else made.refresh().added
        df = session.read.schema(SCHEMA).csv(path).filter(f"{DATE} >= timestamp '2026-01-04 00:00:01'")
        explained = [(s.kept, s.files, s.problem) for s in xskip.explain(df).scans]
        assert df.count() == 2
        last = [(s.kept, s.files, s.problem) for s in xskip.last_report(session).scans]
        return added, made.describe().location.rpartition("/")[0], opened_files(df), explained, last

    with ThreadPoolExecutor(4) as pool:
        first = list(pool.map(work, range(4)))
        again = list(pool.map(work, range(4, 8)))
    rest = ({"f3"}, [(1, 4, "")], [(1, 4, "")])
    assert first == [(4, f"{tmp_path}/base{i}", *rest) for i in range(4)]
    assert again == [(0, f"{tmp_path}/base{i}", *rest) for i in range(4)]


def test_builds_in_batches_of_a_stream(spark: SparkSession, tmp_path: Path) -> None:
    """In ``foreachBatch``, refreshes for the outer session and for the session of the batch find one index."""
    spark.conf.set("spark.xskip.metadata.location", f"{tmp_path}/metadata")
    spark.conf.set("spark.sql.session.timeZone", "America/New_York")
    source = write_once(spark, tmp_path / "source", SCHEMA, FILES, "parquet")
    path = f"{tmp_path}/sunk"
    seen: list[tuple[int, int, set[str]]] = []

    def sink(batch: DataFrame, number: int) -> None:
        batch.coalesce(1).write.mode("append").csv(path)
        mine = SkippingIndex.for_path(spark if number % 2 else batch.sparkSession, path, format="csv", schema=SCHEMA)
        done = mine.refresh() if mine.exists() else mine.create([MinMax("a"), MinMax(DATE, expression=True)])
        names = SkippingIndex.for_path(spark, path, format="csv", schema=SCHEMA).files("a >= 0").names
        df = spark.read.schema(SCHEMA).csv(path).filter(f"{DATE} < timestamp '2026-01-01'")
        seen.append((done.added, len(names), opened_files(df)))

    stream = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(source)
    query = stream.writeStream.foreachBatch(sink).option("checkpointLocation", f"{tmp_path}/checkpoint")
    started = query.trigger(availableNow=True).start()
    started.awaitTermination()
    assert seen == [(1, n, set()) for n in (1, 2, 3, 4)]
    df = spark.read.schema(SCHEMA).csv(path).filter("a > 29")
    assert len(opened_files(df)) == 1
    assert df.count() == 3
