"""The executed plans of complex queries, writes, caches, streams and sessions open only the expected files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession

import xskip
from tests.e2e.conftest import SCHEMA, Lake, rows_of
from tests.helpers import (
    SPARK_4,
    assert_same_rows,
    index,
    opened_by_scan,
    opened_files,
    ran,
    scans_of,
    spoiled,
    write_once,
)
from xskip import MinMax, SkippingIndex
from xskip.spark.bridge.gateway import hook_of
from xskip.spark.collect.relation import selected

pytestmark = pytest.mark.usefixtures("skipping_alone")

ALL = {"f0", "f1", "f2", "f3"}
Scans = list[set[str]]

# SQL over the views ``t`` (plain) and ``u`` (by p), what each scan opens, the number of rows
SEVERAL_SCANS: dict[str, tuple[str, Scans, int]] = {
    "union": ("SELECT a FROM t WHERE a < 5 UNION ALL SELECT a FROM t WHERE a > 25", [{"f0"}, {"f3"}], 6),
    "filter over union": (
        "SELECT * FROM (SELECT a FROM t UNION ALL SELECT a FROM u) WHERE a = 11",
        [{"f1"}, {"f1"}],
        2,
    ),
    "cte": ("WITH c AS (SELECT a, s FROM t WHERE a > 5) SELECT * FROM c WHERE a < 15", [{"f1"}], 3),
    "cte twice": (
        "WITH c AS (SELECT a, s FROM t) SELECT * FROM c x, c y WHERE x.a = 1 AND y.a = 31",
        [{"f0"}, {"f3"}],
        1,
    ),
    "join, inferred filter": ("SELECT * FROM t JOIN u ON t.a = u.a WHERE t.a = 21", [{"f2"}, {"f2"}], 1),
    "join, a filter on each side": (
        "SELECT * FROM t JOIN u ON t.d = u.d WHERE t.a > 15 AND u.s = 's2'",
        [{"f2", "f3"}, {"f2"}],
        3,
    ),
    "broadcast join": ("SELECT /*+ BROADCAST(u) */ * FROM t JOIN u USING (a) WHERE a > 25", [{"f3"}, {"f3"}], 3),
    "merge join": ("SELECT /*+ MERGE(u) */ * FROM t JOIN u USING (a) WHERE a > 25", [{"f3"}, {"f3"}], 3),
    "left join": ("SELECT * FROM t LEFT JOIN u ON t.a = u.a AND u.a > 25 WHERE t.s >= 's2'", [{"f2", "f3"}, {"f3"}], 6),
    "full join": ("SELECT * FROM t FULL JOIN u ON t.a = u.a AND t.a > 25", [ALL, ALL], 21),
    "semi join": (
        "SELECT * FROM t LEFT SEMI JOIN u ON t.a = u.a AND u.p = 2 WHERE t.a < 25",
        [{"f0", "f1", "f2"}, {"f2"}],
        3,
    ),
    "anti join": ("SELECT * FROM t LEFT ANTI JOIN u ON t.a = u.a AND u.a = 21 WHERE t.s = 's2'", [{"f2"}, {"f2"}], 2),
    "in subquery": (
        "SELECT * FROM t WHERE a > 15 AND d IN (SELECT d FROM u WHERE s = 's3')",
        [{"f2", "f3"}, {"f3"}],
        3,
    ),
    "not in subquery": (
        "SELECT * FROM t WHERE s = 's3' AND a NOT IN (SELECT a FROM u WHERE a = 31)",
        [{"f3"}, {"f3"}],
        2,
    ),
    "exists": (
        "SELECT * FROM t WHERE a < 15 AND EXISTS (SELECT 1 FROM u WHERE u.a = t.a AND u.s = 's1')",
        [{"f0", "f1"}, {"f1"}],
        3,
    ),
    "scalar subquery": (
        "SELECT * FROM t WHERE s = 's1' AND d < (SELECT max(d) FROM u WHERE a > 25)",
        [{"f1"}, {"f3"}],
        3,
    ),
    "subquery in the select list": (
        "SELECT a, (SELECT max(a) FROM u WHERE s = 's0') m FROM t WHERE a = 1",
        [{"f0"}, {"f0"}],
        1,
    ),
    "group and having": ("SELECT s, sum(a) x FROM t WHERE a > 5 GROUP BY s HAVING s < 's3'", [{"f1", "f2"}], 2),
    "order and limit": ("SELECT a FROM t WHERE a > 15 ORDER BY a DESC LIMIT 2", [{"f2", "f3"}], 2),
    "intersect": (
        "SELECT a FROM t WHERE a > 15 INTERSECT SELECT a FROM u WHERE a < 25",
        [{"f2", "f3"}, {"f0", "f1", "f2"}],
        3,
    ),
}


@pytest.fixture
def views(spark: SparkSession, lake: Lake) -> Lake:
    lake.read().createOrReplaceTempView("t")
    lake.read_parted().createOrReplaceTempView("u")
    return lake


def by_content(scans: Scans) -> list[list[str]]:
    return sorted(sorted(scan) for scan in scans)


_without: dict[tuple[str, str], list[str]] = {}


@pytest.mark.parametrize("name", SEVERAL_SCANS)
def test_every_scan_of_a_query_skips_files(spark: SparkSession, api: str, views: Lake, name: str) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", "false")
    sql, expected, count = SEVERAL_SCANS[name]
    if api == "v2":  # the rows are compared in the first API
        assert by_content(opened_by_scan(spark.sql(sql))) == by_content(expected)
        return
    rows: list[Any] = []
    assert by_content(ran(spark, lambda: rows.extend(spark.sql(sql).collect()))) == by_content(expected)
    if (views.fmt, name) not in _without:
        xskip.disable(spark)
        _without[views.fmt, name] = sorted(map(repr, spark.sql(sql).collect()))
        xskip.enable(spark)
    assert sorted(map(repr, rows)) == _without[views.fmt, name]
    assert len(rows) == count


def aggregated(df: DataFrame, _: Path) -> Any:
    row = df.agg({"a": "count"}).first()
    assert row is not None
    return row[0]


def written(df: DataFrame, to: Path) -> int:
    df.write.parquet(str(to))
    return 6


def saved(df: DataFrame, _: Path) -> int:
    df.write.saveAsTable("saved")
    return 6


ACTIONS: dict[str, Callable[[DataFrame, Path], Any]] = {
    "collect": lambda df, _: len(df.collect()),
    "count": lambda df, _: df.count(),
    "take": lambda df, _: len(df.take(99)),
    "head": lambda df, _: len(df.head(6)),
    "tail": lambda df, _: len(df.tail(6)),
    "toPandas": lambda df, _: len(df.select("a", "s").toPandas()),
    **({"toArrow": lambda df, _: df.select("a", "s").toArrow().num_rows} if SPARK_4 else {}),
    "aggregate": aggregated,
    "orderBy": lambda df, _: len(df.orderBy("a").collect()),
    "write": written,
    "saveAsTable": saved,
    "localCheckpoint": lambda df, _: df.localCheckpoint().count(),
}


@pytest.mark.parametrize("adaptive", ["true", "false"])
@pytest.mark.parametrize("name", ACTIONS)
def test_actions_never_open_what_is_skipped(
    spark: SparkSession, lake: Lake, tmp_path: Path, name: str, adaptive: str
) -> None:
    """Actions succeed while the skipped files are unreadable."""
    spark.conf.set("spark.sql.codegen.wholeStage", "false")
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    df = lake.read().filter("a > 15")
    with spoiled([lake.file("f0"), lake.file("f1")]):
        found: list[Any] = []
        scans = ran(spark, lambda: found.append(ACTIONS[name](df, tmp_path / "out")))
    assert found == [6]
    assert scans
    assert all(scan == {"f2", "f3"} for scan in scans)


def test_rdds_and_iterators_never_open_what_is_skipped(spark: SparkSession, lake: Lake, api: str) -> None:
    df = lake.read().filter("a > 15")
    with spoiled([lake.file("f0"), lake.file("f1")]):
        assert sorted(df.select("a").rdd.map(lambda row: row.a).collect()) == [20, 21, 22, 30, 31, 32]
        assert sorted(row.a for row in df.select("a").toLocalIterator()) == [20, 21, 22, 30, 31, 32]


def test_sql_that_writes_skips_files(spark: SparkSession, views: Lake, api: str, tmp_path: Path) -> None:
    with spoiled([views.file("f0"), views.file("f1")]):
        for sql in (
            "CREATE TABLE made USING parquet AS SELECT a, s FROM t WHERE a > 15",
            "INSERT INTO made SELECT a, s FROM t WHERE a > 15",
            "INSERT OVERWRITE TABLE made SELECT a, s FROM t WHERE a > 15",
            f"INSERT OVERWRITE DIRECTORY '{tmp_path / 'out'}' USING parquet SELECT a, s FROM t WHERE a > 15",
        ):
            scans = ran(spark, lambda sql=sql: spark.sql(sql))
            assert scans
            assert all(scan == {"f2", "f3"} for scan in scans)
    assert spark.table("made").count() == 6
    assert spark.read.parquet(str(tmp_path / "out")).count() == 6


@pytest.fixture
def own(spark: SparkSession, tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Lake]:
    """Yield a dataset without an index that a test may change."""
    fmt = getattr(request, "param", "parquet")
    path = write_once(spark, tmp_path / "own", SCHEMA, {f"f{i}": rows_of(i) for i in range(4)}, fmt)
    yield Lake(spark, fmt, path, "")
    shutil.rmtree(path)


def test_a_cache_of_the_whole_dataset_stays_valid(spark: SparkSession, own: Lake) -> None:
    cached = own.read().cache()
    assert cached.count() == 12
    index(spark, own.path, [MinMax("a")])
    hot = own.read().filter("a > 15")
    assert ran(spark, hot.collect) == [ALL]  # the cache's own plan, which read everything before
    assert assert_same_rows(lambda: own.read().filter("a > 15"), spark) == 6
    cached.unpersist()
    assert opened_files(own.read().filter("a > 15")) == {"f2", "f3"}


def test_a_cache_of_a_filtered_dataset_skips_files(spark: SparkSession, lake: Lake, api: str) -> None:
    base = lake.read()
    cached = base.filter("a > 15").cache()
    with spoiled([lake.file("f0"), lake.file("f1")]):
        assert cached.count() == 6
        again = base.filter("a > 15").filter("a < 25")
        assert ran(spark, again.count) == [{"f2", "f3"}]  # the cache's own plan
        assert cached.filter("a < 25").count() == 3
    assert opened_files(lake.read().filter("a < 5")) == {"f0"}  # another filter does not meet the cache
    cached.unpersist()


def test_a_cached_table_reads_no_file_again(spark: SparkSession, views: Lake) -> None:
    spark.sql("CACHE TABLE hot AS SELECT a, s FROM t WHERE s = 's1'")
    with spoiled([views.file(name) for name in ("f0", "f1", "f2", "f3")]):
        assert [row.a for row in spark.sql("SELECT a FROM hot WHERE a > 10 ORDER BY a").collect()] == [11, 12]
    spark.sql("UNCACHE TABLE hot")


@pytest.mark.parametrize("own", ["parquet", "avro"], indirect=True)
def test_plans_keep_the_index_that_existed_when_they_were_made(spark: SparkSession, own: Lake) -> None:
    old, planned = own.read(), own.read().filter("a > 15")
    assert planned.count() == 6
    assert ran(spark, planned.collect) == [ALL]
    made = index(spark, own.path, [MinMax("a")], own.fmt)
    later = old.filter("a > 15")
    assert opened_files(later) == {"f2", "f3"}  # an old listing, a new plan
    assert sorted(r.a for r in planned.collect()) == sorted(r.a for r in later.collect())
    made.drop()
    assert opened_files(own.read().filter("a > 15")) == ALL
    assert later.count() == 6  # a plan that was made while there was an index


@pytest.mark.parametrize("own", ["parquet", "avro"], indirect=True)
def test_files_that_changed_are_read(spark: SparkSession, own: Lake, api: str, tmp_path: Path) -> None:
    made = index(spark, own.path, [MinMax("a")], own.fmt)
    new = {"f0": [(100, "new", 0.0, None)], "f9": [(200, "new", 0.0, None)]}
    fresh = Path(write_once(spark, tmp_path / "new", SCHEMA, new, own.fmt))
    own.file("f0").unlink()
    (fresh / f"f0.{own.fmt}").rename(own.file("f0"))
    (fresh / f"f9.{own.fmt}").rename(own.file("f9"))
    own.file("f3").unlink()
    assert opened_files(own.read().filter("a >= 100")) == {"f0", "f9"}
    assert assert_same_rows(lambda: own.read().filter("a >= 100"), spark) == 2
    made.refresh()
    assert opened_files(own.read().filter("a >= 200")) == {"f9"}


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_dynamic_partition_pruning_combines_with_skipping(spark: SparkSession, lake: Lake, adaptive: str) -> None:
    """[PLN-SZ-5] Both sides can be broadcast: the pruned one does not become the smaller one."""
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    spark.conf.set("spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly", "true")
    spark.createDataFrame([(1, "one"), (2, "two")], "p int, name string").write.saveAsTable("dim")
    lake.read_parted().createOrReplaceTempView("fact")
    sql = "SELECT fact.a FROM fact JOIN dim ON fact.p = dim.p WHERE dim.name = 'two' AND fact.a > 5 AND fact.s < 's3'"
    found: list[Any] = []
    scans = ran(spark, lambda: found.append(spark.sql(sql).collect()))
    assert {"f2"} in scans  # f0 and f3 by the index, f1 by the partition found at run time
    assert not {"f0", "f1", "f3"} & set().union(*scans)
    assert sorted(row.a for row in found[0]) == [20, 21, 22]
    assert assert_same_rows(lambda: spark.sql(sql), spark) == 3


@pytest.mark.parametrize("adaptive", ["true", "false"])
def test_spark_still_reuses_exchanges(spark: SparkSession, views: Lake, api: str, adaptive: str) -> None:
    spark.conf.set("spark.sql.adaptive.enabled", adaptive)
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    sql = "WITH g AS (SELECT s, sum(a) x FROM t WHERE a > 15 GROUP BY s) SELECT * FROM g JOIN g h ON g.x = h.x"
    df = spark.sql(sql)
    assert len(df.collect()) == 2
    plan = df._jdf.queryExecution().executedPlan()
    assert "Reused" in plan.toString()
    scans = scans_of(plan)
    assert len({scan.id() for scan in scans}) == 1
    assert assert_same_rows(lambda: spark.sql(sql), spark) == 2


def test_new_sessions_read_everything_until_enabled(spark: SparkSession, lake: Lake, api: str) -> None:
    other = spark.newSession()
    sources = spark.conf.get("spark.sql.sources.useV1SourceList")
    assert sources is not None
    other.conf.set("spark.sql.sources.useV1SourceList", sources)
    assert not xskip.is_enabled(other)
    assert opened_files(lake.read(other).filter("a > 15")) == ALL
    xskip.enable(other)
    assert opened_files(lake.read(other).filter("a > 15")) == {"f2", "f3"}
    xskip.disable(other)
    assert opened_files(lake.read(other).filter("a > 15")) == ALL
    assert opened_files(lake.read().filter("a > 15")) == {"f2", "f3"}


def test_a_query_is_explained_in_its_own_session(spark: SparkSession, lake: Lake, api: str) -> None:
    """[PRU-RD-2] The thread's active session does not matter, and stays active."""
    other = spark.newSession()
    other.conf.set("spark.sql.caseSensitive", "true")
    jvm: Any = spark._jvm
    sessions = jvm.SparkSession
    df = lake.read().filter("a > 15")
    sessions.setActiveSession(other._jsparkSession)
    try:
        assert xskip.explain(df).scans[0].problem == ""
        assert {Path(name).stem for name in selected(hook_of(spark), df).files().names.to_pylist()} == {"f2", "f3"}
        assert sessions.getActiveSession().get().equals(other._jsparkSession)
    finally:
        sessions.setActiveSession(spark._jsparkSession)


def test_cloned_sessions_skip_as_their_parent(spark: SparkSession, lake: Lake, api: str) -> None:
    clone = SparkSession(spark.sparkContext, spark._jsparkSession.cloneSession())
    jvm: Any = spark._jvm
    jvm.SparkSession.setActiveSession(spark._jsparkSession)
    assert xskip.is_enabled(clone)
    assert opened_files(lake.read(clone).filter("a > 15")) == {"f2", "f3"}


def test_skipping_can_be_switched_off(spark: SparkSession, lake: Lake, api: str) -> None:
    spark.conf.set("spark.xskip.enabled", "false")
    assert not xskip.is_enabled(spark)
    assert opened_files(lake.read().filter("a > 15")) == ALL
    spark.conf.set("spark.xskip.enabled", "true")
    assert opened_files(lake.read().filter("a > 15")) == {"f2", "f3"}
    xskip.disable(spark)
    assert opened_files(lake.read().filter("a > 15")) == ALL


def test_streams_read_every_file(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    spark.conf.set("spark.sql.parquet.filterPushdown", "false")  # the readers themselves drop no row
    spark.conf.set("spark.sql.avro.filterPushdown.enabled", "false")
    stream = spark.readStream.format(lake.fmt).schema(SCHEMA).load(lake.path).filter("a > 15")
    query = (
        stream.writeStream.format("memory")
        .queryName("streamed")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    assert sorted(row.a for row in spark.table("streamed").collect()) == [20, 21, 22, 30, 31, 32]
    assert sum(progress["numInputRows"] for progress in query.recentProgress) == 12


def test_a_batch_function_skips(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    opened: list[tuple[set[str], list[int]]] = []

    def handle(batch: DataFrame, number: int) -> None:
        wanted = [row.a for row in batch.filter("a = 21").collect()]
        looked_up = lake.read(batch.sparkSession).filter(f"a IN ({', '.join(map(str, wanted))})")
        opened.append((opened_files(looked_up), [row.a for row in looked_up.collect()]))

    query = (
        spark.readStream.format(lake.fmt)
        .schema(SCHEMA)
        .load(lake.path)
        .writeStream.foreachBatch(handle)
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    assert query.awaitTermination(120)
    assert opened == [({"f2"}, [21])]


def test_a_dataset_that_a_stream_writes_can_be_indexed(spark: SparkSession, lake: Lake, tmp_path: Path) -> None:
    target = str(tmp_path / "sink")
    query = (
        spark.readStream.format(lake.fmt)
        .schema(SCHEMA)
        .option("maxFilesPerTrigger", 2)
        .load(lake.path)
        .writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start(target)
    )
    assert query.awaitTermination(120)
    made = SkippingIndex.for_path(spark, target)
    assert made.create([MinMax("a")]).added >= 2
    assert opened_files(spark.read.parquet(target).filter("a = 1")) < opened_files(spark.read.parquet(target))
    assert assert_same_rows(lambda: spark.read.parquet(target).filter("a = 1"), spark) == 1
