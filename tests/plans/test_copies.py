"""[PRU-PL-1] [PRU-PL-2] Plans that Spark copies or compares around the rule are not worse with indexes than without."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession

from tests.helpers import SPARK_4
from tests.plans.measure import APIS, INTERPRETED, Run, compare
from xskip import MinMax, SkippingIndex

MERGE_JOINS = {"spark.sql.autoBroadcastJoinThreshold": "-1"}
BLOOM_FILTERS = MERGE_JOINS | {
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "true",
    "spark.sql.optimizer.runtime.bloomFilter.applicationSideScanSizeThreshold": "0",
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
}


@dataclass(frozen=True)
class Case:
    """A query, and the files that each scan of a table reads with indexes, in descending order."""

    sql: str
    files: dict[str, list[int]]
    settings: dict[str, str] = field(default_factory=dict)
    only_v1: bool = False  # whether Spark prunes in this way only in scans of the first API
    files_v2_of_3: dict[str, list[int]] | None = None  # what Spark 3 reads by the second API, if it differs


#: ``fact`` has eight partitions ``k`` of one file each; ``dim`` and ``area`` have four files, by ``w`` and by ``a``;
#: ``buckets`` has four buckets of two files each, by ``v``.
CASES = {
    "dynamic pruning": Case(
        "SELECT fact.v, dim.w FROM fact JOIN dim ON fact.k = dim.k WHERE dim.w = 4",
        {"fact": [1], "dim": [1]},
        only_v1=True,
    ),
    "dynamic pruning by a range": Case(
        "SELECT sum(v) FROM fact JOIN dim USING (k) WHERE w BETWEEN 2 AND 3",
        {"fact": [2], "dim": [1]},
        only_v1=True,
    ),
    "dynamic pruning by a semi join": Case(
        "SELECT v FROM fact WHERE k IN (SELECT k FROM dim WHERE w = 4)", {"fact": [1], "dim": [1]}, only_v1=True
    ),
    "dynamic pruning of both sides": Case(
        "SELECT x.v, y.v FROM fact x JOIN dim ON x.k = dim.k JOIN fact y ON y.k = dim.k AND x.v = y.v WHERE dim.w = 4",
        {"fact": [8, 1], "dim": [1]},
        only_v1=True,
    ),
    "dynamic pruning through a dimension of a dimension": Case(
        "SELECT v FROM fact JOIN dim ON fact.k = dim.k JOIN area ON dim.area = area.a WHERE area.a = 1",
        {"fact": [2], "dim": [1], "area": [1]},
        only_v1=True,
    ),
    "dynamic pruning without a broadcast": Case(
        "SELECT fact.v FROM fact JOIN dim ON fact.k = dim.k WHERE dim.w = 4",
        {"fact": [1], "dim": [1, 1]},
        MERGE_JOINS
        | {
            "spark.sql.optimizer.dynamicPartitionPruning.reuseBroadcastOnly": "false",
            "spark.sql.optimizer.dynamicPartitionPruning.useStats": "false",
            "spark.sql.optimizer.dynamicPartitionPruning.fallbackFilterRatio": "1000",
        },
        only_v1=True,
    ),
    "dynamic pruning by a function in Python": Case(
        "SELECT fact.v FROM fact JOIN dim ON fact.k = dim.k WHERE is_four(dim.w) AND dim.w > 3",
        {"fact": [8], "dim": [2]},  # Spark prunes by no function in Python
        only_v1=True,
    ),
    "dynamic pruning by a condition on partition and data": Case(
        "SELECT fact.v FROM fact JOIN parted USING (k) WHERE (parted.p = 1 OR parted.w = 4) AND parted.w < 4",
        {"fact": [2], "parted": [1]},
        only_v1=True,
    ),
    "bloom filter at run time": Case(
        "SELECT fact.v FROM fact JOIN dim ON fact.v = dim.k WHERE dim.w = 4",
        {"fact": [8], "dim": [1, 1]},
        BLOOM_FILTERS,
    ),
    "plan of a subquery that is merged": Case(
        "SELECT (SELECT max(k) FROM dim WHERE w < 2), (SELECT min(k) FROM dim WHERE w < 2)",
        {"dim": [0]},  # metadata answer both aggregates
        files_v2_of_3={"dim": [0, 0]},
    ),
    "common table expression of a join with itself": Case(
        "WITH c AS (SELECT k, w, rand(1) r FROM dim WHERE w < 2) SELECT x.k FROM c x JOIN c y ON x.r = y.r",
        {"dim": [1]},
        MERGE_JOINS,
    ),
    "exchange of a join with itself": Case(
        "SELECT x.k FROM (SELECT k, max(w) m FROM dim WHERE w < 2 GROUP BY k) x"
        " JOIN (SELECT k, max(w) m FROM dim WHERE w < 2 GROUP BY k) y ON x.m = y.m",
        {"dim": [1]},
        MERGE_JOINS,
    ),
    "subquery in a subquery": Case(
        "SELECT v FROM fact WHERE v > (SELECT max(k) FROM dim WHERE w <= (SELECT min(a) FROM area WHERE a > 0))",
        {"fact": [8], "dim": [4], "area": [0]},
    ),
    "table of the catalog": Case(
        "SELECT facts.v FROM facts JOIN dim ON facts.k = dim.k WHERE dim.w = 4",
        {"facts": [1], "dim": [1]},
        only_v1=True,
    ),
    "join of bucketed tables": Case(
        "SELECT x.v, y.v FROM buckets x JOIN buckets y ON x.k = y.k WHERE x.v < 90 AND y.v >= 1990",
        {"buckets": [4, 4]},
        MERGE_JOINS,
        only_v1=True,
    ),
    "pruning of buckets": Case(
        "SELECT max(v) FROM buckets WHERE k = 7 AND v >= 1000",
        {"buckets": [4]},  # Spark counts the files of buckets that it leaves out
        only_v1=True,
    ),
    "groups of a bucketed table": Case(
        "SELECT k, count(*) FROM buckets WHERE v < 1000 GROUP BY k", {"buckets": [4]}, MERGE_JOINS, only_v1=True
    ),
}


def write(folder: Path, table: pa.Table, files: int) -> None:
    folder.mkdir(parents=True)
    size = table.num_rows // files
    for number in range(files):
        pq.write_table(table.slice(number * size, size), folder / f"{number}.parquet")


def integers(start: int, stop: int, step: int = 1) -> pa.Array:
    return pa.array(range(start, stop, step), pa.int32())


@pytest.fixture(scope="module")
def star(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write and index a star schema, and return the directory of its tables."""
    root = tmp_path_factory.mktemp("star")
    for k in range(8):
        write(root / "fact" / f"k={k}", pa.table({"v": integers(1000 * k, 1000 * k + 1000)}), 1)
        write(root / "facts" / f"k={k}", pa.table({"v": integers(1000 * k, 1000 * k + 1000)}), 1)
    quarters = pa.array([n // 2 for n in range(8)], pa.int32())
    write(root / "dim", pa.table({"k": integers(0, 8), "w": integers(0, 8), "area": quarters}), 4)
    write(root / "area", pa.table({"a": integers(0, 4)}), 4)
    for p in range(4):
        two = integers(2 * p, 2 * p + 2)
        write(root / "parted" / f"p={p}", pa.table({"k": two, "w": two}), 1)
    for start in (0, 1000):
        rows = session.range(start, start + 1000, 1, 1).selectExpr("CAST(id % 50 AS INT) k", "CAST(id AS INT) v")
        buckets = rows.write.bucketBy(4, "k").sortBy("k").option("path", str(root / "buckets"))
        buckets.mode("append").saveAsTable("buckets")
    session.sql("DROP TABLE buckets")
    columns = {"fact": ["v"], "facts": ["v"], "dim": ["k", "w", "area"], "area": ["a"], "parted": ["k", "w"]}
    columns["buckets"] = ["v"]
    for name, names in columns.items():
        SkippingIndex.for_path(session, str(root / name)).create([MinMax(column) for column in names])
    return root


def query(spark: SparkSession, root: Path, sql: str) -> DataFrame:
    """Read the tables of a query anew, and return it; ``facts`` and ``buckets`` are tables of the catalog."""
    names = set(re.findall(r"\w+", sql))
    for name in names & {"fact", "dim", "area", "parted"}:
        spark.read.parquet(str(root / name)).createOrReplaceTempView(name)
    if "facts" in names:
        spark.sql("DROP TABLE IF EXISTS facts")
        spark.sql(f"CREATE TABLE facts (v INT, k INT) USING parquet PARTITIONED BY (k) LOCATION '{root / 'facts'}'")
        spark.sql("MSCK REPAIR TABLE facts")
    if "buckets" in names:
        spark.sql("DROP TABLE IF EXISTS buckets")
        spark.sql(
            "CREATE TABLE buckets (k INT, v INT) USING parquet CLUSTERED BY (k) SORTED BY (k) INTO 4 BUCKETS"
            f" LOCATION '{root / 'buckets'}'"
        )
    return spark.sql(sql)


def files_by_table(found: Run) -> dict[str, list[int]]:
    files: dict[str, list[int]] = {}
    for scan in found.scans:
        files.setdefault(scan.table, []).append(scan.files)
    return {table: sorted(numbers, reverse=True) for table, numbers in files.items()}


@pytest.mark.parametrize(("api", "adaptive"), [("v1", "true"), ("v1", "false"), ("v2", "true")])
@pytest.mark.parametrize("name", CASES)
def test_no_plan_is_worse_with_indexes(spark: SparkSession, star: Path, name: str, api: str, adaptive: str) -> None:
    case = CASES[name]
    settings = INTERPRETED | {"spark.sql.sources.useV1SourceList": APIS[api], "spark.sql.adaptive.enabled": adaptive}
    for key, value in (settings | case.settings).items():
        spark.conf.set(key, value)
    if "is_four" in case.sql:
        spark.udf.register("is_four", lambda w: w == 4, "boolean")
    found = compare(spark, lambda: query(spark, star, case.sql))
    assert not found.worse
    assert found.plain.rows
    assert found.indexed.files < found.plain.files
    if api == "v1" or not case.only_v1:
        is_other = case.files_v2_of_3 and api == "v2" and not SPARK_4
        assert files_by_table(found.indexed) == (case.files_v2_of_3 if is_other else case.files)
