"""Spark plans joins by the size of the files that are left, in whatever form it knows a dataset [PLN-SZ]."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

import xskip
from tests.helpers import assert_same_rows, counters, index, write_once
from xskip import MinMax
from xskip.spark.bridge.gateway import hook_of

SCHEMA = "k int, day int, text string"
#: Each file has one day.
FILES = {f"day={day}/f{day}": [(key, day, f"{key * 7919 + day:x}" * 40) for key in range(40)] for day in range(10)}
THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"


def size_of(path: str, pattern: str = "**/*") -> int:
    files = (file for file in Path(path).glob(pattern) if file.is_file())
    return sum(file.stat().st_size for file in files if file.name.startswith("f"))


@pytest.fixture(scope="module")
def written(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return two indexed datasets of ten files in each format."""
    home = tmp_path_factory.mktemp("sizes")
    files = {name.partition("/")[2]: rows for name, rows in FILES.items()}
    paths = {}
    for fmt in ("parquet", "avro"):
        for name in ("facts", "days"):
            paths[f"{fmt}/{name}"] = write_once(session, home / fmt / name, SCHEMA, files, fmt)
            index(session, paths[f"{fmt}/{name}"], [MinMax("day")], fmt)
    return paths


@pytest.fixture(params=["parquet", "avro"])
def fmt(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(params=["true", "false"], ids=["adaptive", "static"])
def adaptive(spark: SparkSession, request: pytest.FixtureRequest) -> str:
    spark.conf.set("spark.sql.adaptive.enabled", request.param)
    return str(request.param)


def join_of(df: DataFrame) -> tuple[str, int]:
    """Return the join of a physical plan before it runs, and how many exchanges shuffle rows for it."""
    text = str(df._jdf.queryExecution().sparkPlan().toString())
    joins = [kind for kind in ("BroadcastHashJoin", "SortMergeJoin", "ShuffledHashJoin") if kind in text]
    executed = str(df._jdf.queryExecution().executedPlan().toString())
    assert len(joins) == 1, text
    return joins[0], executed.count("Exchange hashpartitioning")


def limit_broadcasts(spark: SparkSession, path: str) -> None:
    """Let Spark broadcast three of the ten files of a dataset, and not all."""
    spark.conf.set(THRESHOLD, str(size_of(path) * 3 // 10))


def joined(spark: SparkSession, written: dict[str, str], fmt: str) -> DataFrame:
    facts, days = (spark.read.format(fmt).load(written[f"{fmt}/{name}"]) for name in ("facts", "days"))
    return facts.alias("f").join(days.alias("d").filter("day = 3"), "k").select("f.*", "d.*")


def test_a_small_rest_is_broadcast(
    spark: SparkSession, written: dict[str, str], fmt: str, api: str, adaptive: str
) -> None:
    """[PLN-SZ-1]"""
    limit_broadcasts(spark, written[f"{fmt}/days"])
    assert join_of(joined(spark, written, fmt)) == ("BroadcastHashJoin", 0)
    assert assert_same_rows(lambda: joined(spark, written, fmt), spark) == 400
    spark.conf.set("spark.xskip.planning.statistics", "false")
    assert join_of(joined(spark, written, fmt)) == ("SortMergeJoin", 2)
    assert assert_same_rows(lambda: joined(spark, written, fmt), spark) == 400


def test_a_large_rest_is_not_broadcast(spark: SparkSession, written: dict[str, str], fmt: str, api: str) -> None:
    """[PLN-SZ-1]"""
    limit_broadcasts(spark, written[f"{fmt}/days"])
    facts, days = (spark.read.format(fmt).load(written[f"{fmt}/{name}"]) for name in ("facts", "days"))
    assert join_of(facts.join(days.filter("day < 6"), "k"))[0] == "SortMergeJoin"
    assert join_of(facts.join(days, "k"))[0] == "SortMergeJoin"
    xskip.disable(spark)
    assert join_of(facts.join(days.filter("day = 3"), "k"))[0] == "SortMergeJoin"


def test_the_size_is_that_of_the_files(spark: SparkSession, written: dict[str, str], fmt: str, api: str) -> None:
    """[PLN-SZ-1] Exactly: the sum of the sizes of the files that are left."""
    path = written[f"{fmt}/days"]
    df = spark.read.format(fmt).load(path).filter("day in (3, 7)")
    leaves = df._jdf.queryExecution().optimizedPlan().collectLeaves()
    size = int(leaves.apply(0).stats().sizeInBytes())
    left = size_of(path, f"f3.{fmt}") + size_of(path, f"f7.{fmt}")
    all_files = size_of(path)
    if api == "v1":
        assert size == left
    else:  # Spark scales the size by the columns that it reads
        xskip.disable(spark)
        whole = spark.read.format(fmt).load(path).filter("day in (3, 7)")._jdf.queryExecution().optimizedPlan()
        scaled = int(whole.collectLeaves().apply(0).stats().sizeInBytes())
        assert abs(size - scaled * left / all_files) < 10


def requests_of(spark: SparkSession, action: Callable[[], object]) -> int:
    queries = hook_of(spark).queries
    before = queries.last_scan()
    action()
    return queries.last_scan() - before


def test_one_answer_serves_the_plan_and_the_scan(
    spark: SparkSession, written: dict[str, str], fmt: str, api: str, adaptive: str
) -> None:
    """[PLN-SZ-2]"""
    limit_broadcasts(spark, written[f"{fmt}/days"])
    spark.conf.set("spark.xskip.planning.joins", "false")  # the keys of the join would be another request
    df = joined(spark, written, fmt)
    assert requests_of(spark, df.collect) == 2  # of two scans
    report = xskip.last_report(spark)
    assert report is not None
    assert sorted((scan.files, scan.skipped) for scan in report.scans) == [(10, 0), (10, 9)]


def test_a_query_without_a_join_asks_once(spark: SparkSession, written: dict[str, str], fmt: str, api: str) -> None:
    """[PLN-SZ-2] Spark asks for sizes where it plans joins, so that other queries ask when they run."""
    df = spark.read.format(fmt).load(written[f"{fmt}/days"]).filter("day = 3")
    assert requests_of(spark, df.collect) == 1


def test_a_plan_that_does_not_run_counts_nothing(spark: SparkSession, written: dict[str, str]) -> None:
    """[PLN-SZ-2]"""
    limit_broadcasts(spark, written["parquet/days"])
    df = joined(spark, written, "parquet")
    before = counters(spark)
    df._jdf.queryExecution().executedPlan()
    assert counters(spark) == before
    df.collect()
    hook_of(spark).queries.last_query()  # after all events
    assert counters(spark)["scans"] - before["scans"] == 2


@pytest.fixture
def table(spark: SparkSession, written: dict[str, str]) -> str:
    """Return the name of a table over indexed files, with statistics in the catalog."""
    spark.sql(f"CREATE TABLE sizes USING parquet LOCATION '{written['parquet/days']}'")
    spark.sql("ANALYZE TABLE sizes COMPUTE STATISTICS FOR ALL COLUMNS")
    return "sizes"


def test_statistics_of_the_catalog(spark: SparkSession, written: dict[str, str], table: str) -> None:
    """[PLN-SZ-3]"""
    limit_broadcasts(spark, written["parquet/days"])
    facts = spark.read.parquet(written["parquet/facts"])

    def query() -> DataFrame:
        return facts.join(spark.table(table).filter("day = 3").select("k"), "k").select("day")

    assert join_of(query()) == ("BroadcastHashJoin", 0)
    assert assert_same_rows(query, spark) == 400
    unfiltered = facts.join(spark.table(table), "k")
    assert join_of(unfiltered)[0] == "SortMergeJoin"
    spark.conf.set("spark.xskip.planning.statistics", "false")
    assert join_of(query())[0] == "SortMergeJoin"


def test_the_catalog_has_a_smaller_size(spark: SparkSession, written: dict[str, str], table: str) -> None:
    """[PLN-SZ-3] A plan by the catalog's size is not given up for the true size of the files."""
    facts = spark.read.parquet(written["parquet/facts"])
    spark.sql("ALTER TABLE sizes SET TBLPROPERTIES ('spark.sql.statistics.totalSize' = '1')")
    spark.conf.set(THRESHOLD, str(size_of(written["parquet/days"]) // 2))
    for limit in ("day = 3", "day < 8"):
        sizes = []
        for enabled in ("true", "false"):
            spark.conf.set("spark.xskip.planning.statistics", enabled)
            sizes.append(join_of(facts.join(spark.table(table).filter(limit), "k")))
        assert sizes[0][0] == "BroadcastHashJoin" or sizes[0] == sizes[1]


def test_the_cost_based_optimizer_keeps_its_statistics(
    spark: SparkSession, written: dict[str, str], table: str
) -> None:
    """[PLN-SZ-3] The share of the rows that it expects of a filter is one of all rows."""
    spark.conf.set("spark.sql.cbo.enabled", "true")
    plans = []
    for enabled in ("true", "false"):
        spark.conf.set("spark.xskip.planning.statistics", enabled)
        df = spark.table(table).filter("day = 3")
        plans.append(str(df._jdf.queryExecution().optimizedPlan().stats().toString()))
    assert plans[0] == plans[1]
    assert "rowCount" in plans[0]


def test_an_index_that_cannot_be_read(spark: SparkSession, tmp_path: Path) -> None:
    """[PLN-SZ-4] The size is that of all files, and the query fails or not as it would without a join."""
    path = tmp_path / "data"
    path.mkdir()
    for name in ("f1", "f2"):
        pq.write_table(pa.table({"k": [1, 2], "day": [int(name[1])] * 2}), path / f"{name}.parquet")
    made = index(spark, str(path), [MinMax("day")])
    for file in Path(made.describe().location).rglob("*.parquet"):
        file.write_bytes(b"no Parquet")
    xskip.enable(spark)
    spark.conf.set(THRESHOLD, str(size_of(str(path)) // 2))
    data = spark.read.parquet(str(path))

    def query() -> DataFrame:
        return data.alias("x").join(data.alias("y").filter("day = 1"), "k").select("x.day")

    spark.conf.set("spark.xskip.strict", "false")
    assert join_of(query())[0] == "SortMergeJoin"
    assert len(query().collect()) == 4
    spark.conf.set("spark.xskip.strict", "true")
    assert join_of(query())[0] == "SortMergeJoin"
    with pytest.raises(Exception, match=r"xskip \(strict\)"):
        query().collect()


def test_explanations(spark: SparkSession, written: dict[str, str], fmt: str, api: str) -> None:
    """[PLN-SZ-2] An explanation before and after the run has the files that the query reads."""
    limit_broadcasts(spark, written[f"{fmt}/days"])
    df = joined(spark, written, fmt)
    for _ in range(2):
        scans = [(scan.files, scan.skipped) for scan in xskip.explain(df).scans]
        assert sorted(scans) == [(10, 0), (10, 9)]
        df.collect()
