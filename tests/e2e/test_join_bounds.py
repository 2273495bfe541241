"""Bounds of the files of one side of a join leave out files of the other side before the query runs [PLN-JB]."""

from __future__ import annotations

import datetime
import os
import random
from pathlib import Path
from typing import Any

import fastavro
import pytest
from pyspark.sql import DataFrame, SparkSession

import xskip
from tests.e2e.random_files import POOLS, write
from tests.effort import cases
from tests.helpers import formatted, index, write_once
from xskip import MinMax, ValueList
from xskip.spark.bridge.gateway import hook_of

Files = dict[str, list[tuple[Any, ...]]]
#: k grows from file to file, m has all values in each file, and v is the number of the file.
FACTS: Files = {f"f{i}": [(10 * i + j, j, i) for j in range(10)] for i in range(10)}
#: Twenty keys in each file, from s to e, with g as its number.
LOADS: Files = {f"l{i}": [(20 * i + j, 20 * i + j, 20 * i + j + 3, i, f"load{i}") for j in range(20)] for i in range(6)}
#: Each file has two numbers of files of loads.
OWNERS: Files = {f"o{i}": [(2 * i + j, f"owner{i}") for j in range(2)] for i in range(3)}
SCHEMAS = {
    "facts": "k int, m int, v int",
    "loads": "k int, s int, e int, g int, name string",
    "owners": "g int, owner string",
}
DATASETS = {"facts": FACTS, "loads": LOADS, "owners": OWNERS}
VIEWS = {"facts": "f", "loads": "d", "owners": "o"}


@pytest.fixture(scope="module", params=["parquet", "avro"])
def written(
    request: pytest.FixtureRequest, session: SparkSession, tmp_path_factory: pytest.TempPathFactory
) -> tuple[str, str]:
    """Return a format, and the directory of indexed facts, loads and owners."""
    home, fmt = tmp_path_factory.mktemp("bounds"), request.param
    for name in DATASETS:
        write_dataset(session, home, name, fmt)
    return fmt, str(home)


def write_dataset(spark: SparkSession, home: Path, name: str, fmt: str) -> None:
    """Write one of the datasets into a folder of its name, with an index."""
    schema = SCHEMAS[name]
    path = write_once(spark, home / name, schema, DATASETS[name], fmt)
    text = {"loads": [ValueList("name")], "owners": [ValueList("owner")]}.get(name, [])
    columns = [part.split()[0] for part in schema.split(", ") if part.endswith("int") and part != "v int"]
    index(spark, path, [*map(MinMax, columns), *text], fmt)


def define_views(spark: SparkSession, fmt: str, home: Path | str) -> None:
    """Define the views of the datasets that are in a directory."""
    for folder, view in VIEWS.items():
        if Path(home, folder).is_dir():
            spark.read.format(fmt).load(f"{home}/{folder}").createOrReplaceTempView(view)


@pytest.fixture(params=["true", "false"], ids=["adaptive", "static"])
def views(spark: SparkSession, written: tuple[str, str], api: str, request: pytest.FixtureRequest) -> None:
    """Define views of the facts, the loads and the owners, whose joins sort and merge."""
    spark.conf.set("spark.sql.adaptive.enabled", request.param)
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    define_views(spark, *written)


def report_of(spark: SparkSession, query: str) -> xskip.SkippingReport:
    """Assert that a query has the same rows without xskip, and return its report."""
    rows = sorted(map(repr, spark.sql(query).collect()))
    report = xskip.last_report(spark)
    xskip.disable(spark)
    try:
        assert rows == sorted(map(repr, spark.sql(query).collect())), query
    finally:
        xskip.enable(spark)
    assert report is not None
    return report


def read(spark: SparkSession, query: str) -> dict[str, int]:
    """Return how many files the scan of each dataset reads, by the initial of the dataset."""
    return {Path(scan.dataset).name[0]: scan.kept - scan.pruned for scan in report_of(spark, query).scans}


@pytest.mark.parametrize(
    ("query", "files"),
    [
        ("select f.v from f join d on f.k = d.k where d.g = 2", {"f": 2, "l": 1}),
        ("select f.v from d join f on f.k = d.k where d.g in (0, 4) and f.m >= 0", {"f": 4, "l": 2}),
        ("select f.v, d.name from f join d on f.k = d.k where d.name = 'load3' and f.v <> 7", {"f": 2, "l": 1}),
        # both sides
        ("select f.v from f join d on f.k = d.k where f.k < 35", {"f": 4, "l": 2}),
        ("select f.v from f join d on f.k = d.k where f.m >= 0", {"f": 10, "l": 5}),
        ("select f.v from f join d on f.k = d.k where f.m = 3 and d.g >= 3", {"f": 4, "l": 2}),
        # files between others
        ("select f.v from f join d on f.k = d.k where d.g in (0, 3)", {"f": 4, "l": 2}),
        # no partner at all
        ("select f.v from f join d on f.k = d.k where d.g = 5", {"f": 0, "l": 0}),
        # other kinds of joins
        ("select v from f where k in (select k from d where g = 2)", {"f": 2, "l": 1}),
        ("select v from f left semi join d on f.k = d.k and d.g = 2", {"f": 2, "l": 1}),
        ("select f.v, d.k from f right join d on f.k = d.k where d.g = 2", {"f": 2, "l": 1}),
        ("select f.v, d.k from d left join f on f.k = d.k where d.g = 2", {"f": 2, "l": 1}),
        ("select f.v, d.k from f left join d on f.k = d.k where f.k < 20", {"f": 2, "l": 1}),
        ("select f.v, d.k from f left join d on f.k = d.k and d.g = 2", {"f": 10, "l": 1}),
        ("select f.v from f left anti join d on f.k = d.k and d.g = 2", {"f": 10, "l": 1}),
        ("select f.v, x.k from f full join (select * from d where g = 2) x on f.k = x.k", {"f": 10, "l": 1}),
        # other keys
        ("select f.v from f join d on f.k <=> d.k where d.g = 2", {"f": 10, "l": 1}),
        ("select f.v from f join d on f.k + 1 = d.k where d.g = 2", {"f": 10, "l": 1}),
        ("select f.v from f join d on f.v = d.k where d.g = 2", {"f": 10, "l": 1}),
        ("select f.v from f join d on f.k = d.k or f.m = d.k where d.g = 2", {"f": 10, "l": 1}),
        ("select f.v from f join d on f.m = d.g and f.k = d.k where d.g = 2", {"f": 2, "l": 1}),
        # projections and filters between
        ("select x.w from (select k x, v + 1 w from f where m >= 0) x join d on x = d.k where g = 2", {"f": 2, "l": 1}),
        ("select f.v from f join (select k + 1 k, g from d) d on f.k = d.k where g = 2", {"f": 10, "l": 1}),
        (
            "select x.v from (select k, v from f where rand(7) < 0.999999) x join d on x.k = d.k where g = 2",
            {"f": 10, "l": 1},
        ),
        (
            "select f.v from f join (select k from d where g = 2 order by name limit 9) d on f.k = d.k",
            {"f": 10, "l": 1},
        ),
        (
            "select x.c from (select k, count(*) c from f group by k) x join d on x.k = d.k where g = 2",
            {"f": 10, "l": 1},
        ),
    ],
)
def test_the_files_that_a_join_reads(spark: SparkSession, views: None, query: str, files: dict[str, int]) -> None:
    """[PLN-JB-1] [PLN-JB-3]"""
    found = read(spark, query)
    assert {name: found.get(name, 0) for name in files} == files, query


@pytest.mark.parametrize(
    ("query", "files"),
    [
        ("select f.v from f join d on f.k between d.s and d.e where d.g = 2", {"f": 3, "l": 1}),
        ("select f.v from f join d on f.k between d.s and d.e where d.g in (0, 3)", {"f": 6, "l": 2}),
        ("select f.v from f join d on f.k >= d.s where d.g = 4", {"f": 2, "l": 1}),
        ("select f.v from f join d on d.s < f.k where d.g = 4", {"f": 2, "l": 1}),
        ("select f.v from f join d on f.k <= d.e where d.g = 0", {"f": 3, "l": 1}),
        ("select f.v from f join d on d.e > f.k where d.g = 0", {"f": 3, "l": 1}),
        ("select f.v from f join d on f.k < d.s and f.m = d.g where d.g = 1", {"f": 4, "l": 1}),
        ("select f.v from f join d on f.k between d.s and d.e where f.k between 21 and 33", {"f": 2, "l": 2}),
        ("select f.v from f left join d on f.k between d.s and d.e where f.k > 95", {"f": 1, "l": 1}),
        ("select v from f where exists (select 1 from d where g = 2 and f.k between s and e)", {"f": 3, "l": 1}),
        ("select f.v from f left anti join d on f.k between d.s and d.e and d.g = 2", {"f": 10, "l": 1}),
        ("select f.v from f join d on f.k <> d.s where d.g = 2", {"f": 10, "l": 1}),
        ("select f.v from f join d on f.k between d.e and d.s where d.g = 2", {"f": 2, "l": 1}),
    ],
)
@pytest.mark.parametrize("threshold", ["-1", "10m"])
def test_ranges(spark: SparkSession, views: None, query: str, files: dict[str, int], threshold: str) -> None:
    """[PLN-JB-2] [PLN-JB-3]"""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", threshold)
    assert read(spark, query) == files, query


@pytest.mark.parametrize(
    ("query", "files"),
    [
        # the owners leave two files of loads, and these leave four of facts
        (
            "select f.v from f join d on f.k = d.k join o on d.g = o.g where o.owner = 'owner1'",
            {"f": 4, "l": 2, "o": 1},
        ),
        (
            "select f.v from o join d on d.g = o.g join f on f.k = d.k where o.owner = 'owner1' and f.k < 50",
            {"f": 1, "l": 1, "o": 1},
        ),
        (
            "select f.v from f join d on f.k = d.k left join o on d.g = o.g where d.g = 4",
            {"f": 2, "l": 1, "o": 1},
        ),
        # the left join keeps all loads, so that the owners leave out none
        (
            "select f.v from f join (select d.k, o.g from d left join o on d.g = o.g and o.g = 1) x on f.k = x.k",
            {"f": 10, "l": 6, "o": 1},
        ),
        # rows of the left join without an owner have no key
        (
            "select f.v from f join (select o.g from d left join o on d.g = o.g where d.g < 4) x on f.k = x.g",
            {"f": 1, "l": 4, "o": 2},
        ),
    ],
)
def test_several_joins(spark: SparkSession, views: None, query: str, files: dict[str, int]) -> None:
    """[PLN-JB-1] [PLN-JB-3] What one join leaves of a relation decides about the files of another."""
    assert read(spark, query) == files, query


def test_broadcast_keys_leave_out_more(spark: SparkSession, views: None) -> None:
    """[PLN-JB-1] The keys of a broadcast prune what the bounds have left [PLN-JN-1]."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "10m")
    found = read(spark, "select f.v from f join d on f.k = d.k where d.g in (2, 3) and d.e = 45")
    assert found == {"f": 1, "l": 1}


def test_sizes(spark: SparkSession, views: None) -> None:
    """[PLN-JB-1] [PLN-SZ-1] Spark broadcasts the facts that are left."""
    df = spark.sql("select f.v from f join d on f.k = d.k where d.g = 2")
    before = str(df._jdf.queryExecution().sparkPlan().toString())
    leaves = df._jdf.queryExecution().optimizedPlan().collectLeaves()
    sizes = [int(leaves.apply(i).stats().sizeInBytes()) for i in range(2)]
    assert "SortMergeJoin" in before
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", str(sizes[0]))
    spark.conf.set("spark.xskip.planning.joins", "false")
    query = "select f.v from f join (select /*+ MERGE(d) */ * from d where d.g = 2) d on f.k = d.k"
    assert "SortMergeJoin" in str(spark.sql(query)._jdf.queryExecution().sparkPlan().toString())
    whole = spark.sql("select v, k from f where k is not null")._jdf.queryExecution().optimizedPlan().collectLeaves()
    assert sizes[0] < int(whole.apply(0).stats().sizeInBytes()) / 4


def test_each_index_is_asked_once(spark: SparkSession, views: None) -> None:
    """[PLN-JB-4]"""
    queries = hook_of(spark).queries
    for query, requests in (
        ("select f.v from f join d on f.k = d.k where d.g = 2", 2),
        ("select f.v from f join d on f.k = d.k join o on d.g = o.g where o.owner = 'owner1'", 3),
        ("select f.v from f join d on f.k = d.k", 2),
        ("select f.v from f join d on f.k between d.s and d.e where d.g = 2", 2),
        ("select f.v from f join d on f.v = d.k where d.g = 2", 2),
    ):
        df = spark.sql(query)
        before = queries.last_scan()
        df.collect()
        assert queries.last_scan() - before == requests, query
    for query, requests in (
        ("select f.v from f join d on f.k = d.k where d.g = 2", 2),
        ("select f.v from f join d on f.v = d.k where f.m = 2", 1),
        ("select f.v from f join d on f.v = d.k and f.k = d.k where d.g >= 0", 2),
        ("select f.v from f join d on f.k = d.k", 0),
        ("select f.v from f join d on f.k = d.k left join o on d.g = o.g and o.g = 1", 0),
        ("select f.v from f join d on f.k = d.k join o on d.g = o.g and o.g = 1", 3),
        ("select f.v from f join d on f.k + 1 = d.k where d.g = 2", 0),
        ("select f.v from f left anti join d on f.k = d.k and d.g = 2", 0),
    ):
        df = spark.sql(query)
        before = queries.last_scan()
        df._jdf.queryExecution().optimizedPlan()
        assert queries.last_scan() - before == requests, query


def test_the_setting(spark: SparkSession, views: None) -> None:
    """[PLN-JB-1]"""
    spark.conf.set("spark.xskip.planning.joins", "false")
    assert read(spark, "select f.v from f join d on f.k = d.k where d.g = 2") == {"f": 10, "l": 1}


@pytest.mark.parametrize(
    "query",
    [
        "select a.v from f a join f b on a.k = b.k where b.k < 20 and b.m > 3",
        "select f.v from f join d on f.k = d.k join d x on f.m = x.k where d.g = 2 and x.g = 0",
        "select f.v from f join d on f.k = d.k where d.g = 2 and f.m < (select max(k) from d where g > 0)",
    ],
)
def test_datasets_that_occur_twice(spark: SparkSession, views: None, query: str) -> None:
    """[PLN-JB-4] Spark reads equal parts of a plan once."""
    assert not any(scan.rewrite == "join" for scan in report_of(spark, query).scans)


def location(df: DataFrame, folder: str) -> Any:
    """Return the file index of a relation of an optimized plan."""
    leaves = df._jdf.queryExecution().optimizedPlan().collectLeaves()
    for i in range(leaves.length()):
        leaf = leaves.apply(i)
        found = leaf.relation().location() if "LogicalRelation" in str(leaf.getClass()) else leaf.scan().fileIndex()
        if folder in str(found.rootPaths().head()):
            return found
    raise AssertionError(folder)


@pytest.fixture
def own_views(spark: SparkSession, tmp_path: Path, api: str) -> Path:
    """Define views of facts and loads that a test can change, and return their directory."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    for name in ("facts", "loads"):
        write_dataset(spark, tmp_path, name, "parquet")
    define_views(spark, "parquet", tmp_path)
    return tmp_path


QUERY = "select f.v, d.g from f join d on f.k = d.k where d.g >= 2 and d.g < 4"
LEFT = sorted((i, 2 + (i - 4) // 2) for i in range(4, 8) for _ in range(10))


def test_new_files_of_the_side_that_decides(spark: SparkSession, own_views: Path) -> None:
    """[PLN-JB-5] [SND-43] The query reads the files whose bounds have decided, also if Spark lists others."""
    df = spark.sql(QUERY)
    loads = location(df, "loads")
    # a key in a file that is left out, and one in a file that is left
    write_once(spark, own_views / "more", SCHEMAS["loads"], {"n": [(3, 0, 0, 2, ""), (47, 0, 0, 2, "")]})
    (own_views / "more" / "n.parquet").rename(own_views / "loads" / "n.parquet")
    loads.refresh()
    assert sorted(map(tuple, df.collect())) == LEFT
    define_views(spark, "parquet", own_views)
    again = spark.sql(QUERY)
    assert sorted(map(tuple, again.collect())) == sorted([*LEFT, (0, 2), (4, 2)])


def test_new_files_of_the_side_without_metadata(spark: SparkSession, own_views: Path) -> None:
    """[PLN-JB-1] A file without bounds has any key, and can have a partner."""
    write_once(spark, own_views / "more", SCHEMAS["facts"], {"n": [(59, 0, 77)]})
    (own_views / "more" / "n.parquet").rename(own_views / "facts" / "n.parquet")
    define_views(spark, "parquet", own_views)
    assert read(spark, QUERY) == {"f": 5, "l": 2}
    write_once(spark, own_views / "more", SCHEMAS["loads"], {"l": [(1, 0, 0, 2, "")]})
    (own_views / "more" / "l.parquet").rename(own_views / "loads" / "l.parquet")
    define_views(spark, "parquet", own_views)
    assert read(spark, QUERY) == {"f": 11, "l": 3}


@pytest.mark.parametrize("change", ["a new file", "a file that is left out", "a file that is left"])
def test_changed_files_of_the_other_side(spark: SparkSession, own_views: Path, change: str) -> None:
    """[PLN-JB-5] All files are read if Spark lists others than those that were chosen from."""
    df = spark.sql(QUERY)
    facts = location(df, "facts")
    name = {"a new file": "n", "a file that is left out": "f0", "a file that is left": "f4"}[change]
    write_once(spark, own_views / "more", SCHEMAS["facts"], {"x": [(41, 0, 77)] * 3})
    path = own_views / "facts" / f"{name}.parquet"
    (own_views / "more" / "x.parquet").rename(path)
    os.utime(path, (path.stat().st_mtime + 9,) * 2)
    facts.refresh()
    left = [row for row in LEFT if row[0] != 4 or name != "f4"]
    assert sorted(map(tuple, df.collect())) == sorted([*left, *[(77, 2)] * 3])


@pytest.mark.parametrize("fmt", ["avro"])
def test_a_changed_setting_of_the_side_that_decides(spark: SparkSession, tmp_path: Path, api: str, fmt: str) -> None:
    """[PLN-JB-5] Dates are others if Spark rebases them, and can have partners in files that were left out."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    spark.conf.set("spark.sql.avro.datetimeRebaseModeInRead", "CORRECTED")
    spark.conf.set("spark.xskip.strict", "false")  # the index of days refuses another mode
    days = [datetime.date(1001, 1, day) for day in range(1, 21)]
    facts = write_once(spark, tmp_path / "f", "k date, m int", {f"f{i}": [(day, i)] for i, day in enumerate(days)})
    index(spark, facts, [MinMax("k"), MinMax("m")])
    (tmp_path / "d").mkdir()
    fields = [{"name": "k", "type": {"type": "int", "logicalType": "date"}}, {"name": "g", "type": "int"}]
    for g, start in enumerate((10, 13)):  # not written by Spark: the setting decides
        rows = [{"k": day, "g": g} for day in days[start : start + 3]]
        with (tmp_path / "d" / f"d{g}.avro").open("wb") as file:
            fastavro.writer(file, {"type": "record", "name": "day", "fields": fields}, rows)
    index(spark, str(tmp_path / "d"), [MinMax("k"), MinMax("g")], fmt)
    spark.read.parquet(facts).createOrReplaceTempView("f")
    spark.read.format(fmt).load(str(tmp_path / "d")).createOrReplaceTempView("d")
    query = "select f.k from f join d on f.k = d.k where "
    assert read(spark, f"{query} d.g = 0") == {"f": 3, "d": 1}
    frames = [spark.sql(f"{query} {condition}") for condition in ("d.g = 0", "f.m < 7")]
    for df in frames:
        df._jdf.queryExecution().optimizedPlan()
    spark.conf.set("spark.sql.avro.datetimeRebaseModeInRead", "LEGACY")
    for df in frames:
        assert sorted(map(tuple, df.collect())) == [(day,) for day in days[4:7]]


def test_null_keys(spark: SparkSession, tmp_path: Path, api: str) -> None:
    """[PLN-JB-1] NULL has no partner, and files of NULLs alone are left out."""
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    one: Files = {"a": [(1,), (None,)], "b": [(None,)] * 3, "c": [(7,), (9,)], "e": [(20,)]}
    other: Files = {"x": [(8, 1)], "y": [(None, 1)] * 2, "z": [(20, 0), (None, 0)]}
    paths = [
        write_once(spark, tmp_path / "left", "k int", one),
        write_once(spark, tmp_path / "right", "k int, g int", other),
    ]
    for path, name in zip(paths, "fd", strict=True):
        index(spark, path, [MinMax("k")])
        spark.read.parquet(path).createOrReplaceTempView(name)
    assert read(spark, "select * from f join d on f.k = d.k where d.g >= 0") == {"l": 2, "r": 2}
    assert read(spark, "select * from f join d on f.k < d.k where d.g >= 0") == {"l": 3, "r": 2}
    assert read(spark, "select * from f left join d on f.k = d.k") == {"l": 4, "r": 2}
    assert read(spark, "select * from f left anti join d on f.k = d.k")["l"] == 4


def test_partition_columns(spark: SparkSession, tmp_path: Path, api: str) -> None:
    """[PLN-JB-1] The value of a partition column is both bounds; Spark prunes partitions by a broadcast itself."""
    files = {f"p={p}/f{p}{i}": [(10 * p + i,)] * 2 for p in range(4) for i in range(3)}
    path = write_once(spark, tmp_path / "facts", "k int", files)
    index(spark, path, [MinMax("k")])
    loads = write_once(spark, tmp_path / "loads", "p int, g int", {f"l{i}": [(i, i % 3)] for i in range(6)})
    index(spark, loads, [MinMax("p"), MinMax("g")])
    spark.read.parquet(path).createOrReplaceTempView("f")
    spark.read.parquet(loads).createOrReplaceTempView("d")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    spark.conf.set("spark.sql.optimizer.dynamicPartitionPruning.enabled", "false")
    assert read(spark, "select * from f join d on f.p = d.p where d.g = 1") == {"f": 3, "l": 1}
    assert read(spark, "select * from f join d on f.p = d.p where f.k = 21") == {"f": 1, "l": 1}
    spark.conf.set("spark.sql.optimizer.dynamicPartitionPruning.enabled", "true")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "10m")
    assert read(spark, "select * from f join d on f.p = d.p where d.g = 1")["f"] == 3


def test_files_that_several_indexes_describe(spark: SparkSession, own_views: Path) -> None:
    """[PLN-JB-4]"""
    write_dataset(spark, own_views, "owners", "parquet")
    both = spark.read.parquet(str(own_views / "facts"), str(own_views / "owners"))
    both.createOrReplaceTempView("f")
    assert read(spark, QUERY.replace("f.v", "f.k"))["l"] == 2


def test_an_index_that_cannot_answer(spark: SparkSession, own_views: Path) -> None:
    """[PLN-JB-4]"""
    spark.conf.set("spark.xskip.strict", "false")
    for file in (own_views / "facts").rglob("_xskip/**/*.parquet"):
        file.write_bytes(b"no Parquet")
    xskip.enable(spark)
    assert sorted(map(tuple, spark.sql(QUERY).collect())) == LEFT


def test_a_setting_that_passes_over_records(spark: SparkSession, own_views: Path) -> None:
    """[PLN-JB-4]"""
    spark.conf.set("spark.sql.files.ignoreCorruptFiles", "true")
    assert read(spark, QUERY) == {"f": 10, "l": 2}


def test_reports(spark: SparkSession, views: None) -> None:
    """[PLN-JB-6]"""
    df = spark.sql("select f.v from f join d on f.k = d.k where d.g = 2")
    explained = xskip.explain(df)
    text = formatted(df)
    assert "xskip: 2 of 10 files, 1 index, join" in text
    assert "xskip: 1 of 6 files, 2 indexes)" in text
    df.collect()
    for report in (explained, xskip.last_report(spark)):
        assert report is not None
        facts, loads = sorted(report.scans, key=lambda scan: scan.dataset)
        assert (facts.files, facts.kept, facts.rewrite, facts.unneeded) == (10, 2, "join", 8)
        assert (loads.files, loads.kept, loads.rewrite, loads.unneeded) == (6, 1, "", 0)
        assert "join     8 of the skipped files can have matching rows, and these have no partner" in str(report)


#: Keys far from each other in each file, with their successors and the number of the file.
SCATTERED: Files = {f"s{i}": [(k, k + 1, i) for k in (10 * i + 1, 95 - 10 * i)] for i in range(4)}


@pytest.mark.parametrize(
    ("query", "files"),
    [
        ("select f.v from f join x on f.k = x.k where x.g = 0", {"f": 2, "s": 1}),
        ("select f.v from f join x on f.k = x.k where x.g in (1, 2)", {"f": 4, "s": 2}),
        ("select f.v from x left join f on f.k = x.k where x.g = 1", {"f": 2, "s": 1}),
        ("select v from f where k in (select k from x where g = 1)", {"f": 2, "s": 1}),
        # a list beside other comparisons
        ("select f.v from f join x on f.k = x.k and f.k >= x.n where x.g = 1", {"f": 1, "s": 1}),
        ("select f.v from f join x on f.k = x.k and f.k < x.n where x.g = 1", {"f": 2, "s": 1}),
        # no equality
        ("select f.v from f join x on f.k < x.k where x.g = 1", {"f": 9, "s": 1}),
        # lists of both sides: 11 and 85 are in no other file
        ("select x.n from x join x2 on x.k = x2.k where x2.h = 1", {"s": 1, "t": 1}),
    ],
)
def test_values_of_lists(
    spark: SparkSession, written: tuple[str, str], api: str, tmp_path: Path, query: str, files: dict[str, int]
) -> None:
    """[PLN-JB-7]"""
    fmt, home = written
    define_views(spark, fmt, home)
    spark.conf.set("spark.sql.adaptive.enabled", "false")  # which drops scans beside one without rows
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    for folder, view, number in (("scattered", "x", "g"), ("twins", "x2", "h")):
        path = write_once(spark, tmp_path / folder, f"k int, n int, {number} int", SCATTERED, fmt)
        index(spark, path, [ValueList("k"), MinMax("n"), MinMax(number)], fmt)
        spark.read.format(fmt).load(path).createOrReplaceTempView(view)
    assert read(spark, query) == files


def test_random_joins(spark: SparkSession, views: None) -> None:
    """[PLN-JB-1] [PLN-JB-2]"""
    chooser = random.Random(21)
    kinds = ["join", "left join", "right join", "left semi join", "left anti join", "full join"]
    fewer = 0
    for _ in range(cases(40)):
        on = chooser.choice(
            ["f.k = x.k", "f.m = x.g", "f.k between x.s and x.e", "f.k > x.e", "f.k = x.k and f.m >= x.g", "f.k < x.s"]
        )
        where = chooser.choice([f"g = {chooser.randrange(7)}", f"k < {chooser.randrange(130)}", "name <= 'load2'"])
        fact = chooser.choice(["f", f"(select * from f where k >= {chooser.randrange(90)}) f"])
        first, second = fact, f"(select k, s, e, g from d where {where}) x"
        if chooser.random() < 0.5:
            first, second = second, first
        found = read(spark, f"select * from {first} {chooser.choice(kinds)} {second} on {on}")
        fewer += found.get("f", 10) < 10
    assert fewer >= cases(10)


#: The types of columns of random joins; of the last one, joins compare no bounds.
_KINDS = ("INT", "BIGINT", "FLOAT", "DOUBLE", "STRING", "DATE", "TIMESTAMP", "TIMESTAMP_NTZ", "DECIMAL(18,4)",
          "BOOLEAN", "DECIMAL(38,10)", "TINYINT", "BINARY")  # fmt: skip
_CONDITIONS = (
    "a.{c} = b.{c}", "a.{c} = b.{c} and a.{o} = b.{o}", "a.{c} < b.{c}", "b.{c} <= a.{c} and a.{o} = b.{o}",
    "a.p = b.p", "a.{c} between b.{c} and b.{c}", "a.p >= b.p and a.{c} = b.{c}",
)  # fmt: skip


def random_side(spark: SparkSession, chooser: random.Random, root: Path, kinds: list[str], fmt: str) -> str:
    """Write a dataset of random values, of which each file has few of a type, with random indexes."""
    files = []
    for _ in range(6):
        starts = [chooser.randrange(len(POOLS[kind])) for kind in kinds]
        rows = range(chooser.randrange(1, 4))
        step = chooser.choice([1, 1, 1, 1, 3])
        values = [
            [POOLS[kind][at : at + 2 * step : step] for kind, at in zip(kinds, starts, strict=True)] for _ in rows
        ]
        files.append([[chooser.choice([*few, *few, "NULL"]) for few in row] for row in values])
    partitions = [chooser.choice(["1", "2", "3", "NULL"]) for _ in files]
    path = write(spark, root, {"fmt": fmt, "kinds": kinds, "files": files, "partitions": partitions})
    choices = [(MinMax,), (ValueList,), (MinMax, ValueList)]
    index(spark, path, [kind(f"c{i}") for i in range(len(kinds)) for kind in chooser.choice(choices)], fmt)
    return path


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
def test_random_values(spark: SparkSession, tmp_path: Path, api: str, fmt: str) -> None:
    """[PLN-JB-1] [PLN-JB-2] [PLN-JB-7] Of all types, with extreme values and NULLs."""
    chooser = random.Random(f"{api} {fmt} 6")
    kinds = chooser.sample(_KINDS, 6)
    for name in "ab":
        path = random_side(spark, chooser, tmp_path / name, kinds, fmt)
        spark.read.format(fmt).load(path).createOrReplaceTempView(name)
    fewer = 0
    for _ in range(cases(60)):
        spark.conf.set("spark.sql.autoBroadcastJoinThreshold", chooser.choice(["-1", "10m"]))
        columns = dict(zip("co", (f"c{i}" for i in chooser.sample(range(6), 2)), strict=True))
        kind = chooser.choice(["join", "left join", "right join", "left semi join", "left anti join", "full join"])
        at = chooser.randrange(6)
        where = chooser.choice(["true", f"c{at} <= {chooser.choice(POOLS[kinds[at]])}"])
        shown = "*" if "semi" in kind or "anti" in kind else "a.*, b.c0 x, b.p y"
        on = chooser.choice(_CONDITIONS).format(**columns)
        query = f"select {shown} from a {kind} (select * from b where {where}) b on {on}"
        report = report_of(spark, f"select count(*), sum(hash(struct(*))) from ({query})")
        fewer += any(scan.rewrite == "join" for scan in report.scans)
    assert fewer >= cases(3)
