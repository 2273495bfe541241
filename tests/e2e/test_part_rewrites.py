"""LIMIT, ORDER BY with LIMIT, and joins choose parts of files as they choose files. Rules: [PLN-RG-7], [JVM-AN-7]."""

from __future__ import annotations

import os
import random
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import xskip
from tests.e2e.parts import (
    FORMATS,
    PART,
    indexed,
    input_ranges,
    joined,
    plain,
    read,
    read_bytes,
    rows,
    snapshot_of,
    write,
)
from xskip import BloomFilter, MinMax, ValueList

pytestmark = pytest.mark.usefixtures("small_parts")


@pytest.fixture(params=FORMATS)
def table(request: pytest.FixtureRequest, spark: SparkSession, tmp_path: Path, api: str) -> dict[str, Any]:
    """Return the format, the path and the parts of a file of 4,000 rows, which is the view ``t``."""
    spark.conf.set("spark.sql.adaptive.enabled", "false")  # which hides the scans until a query runs
    path = write(rows(spark, tasks=1), str(tmp_path / "t"), request.param)
    made = indexed(spark, path, request.param)
    read(spark, path, request.param).createOrReplaceTempView("t")
    parts = snapshot_of(made).parts()
    assert parts is not None
    return {"fmt": request.param, "path": path, "parts": parts.ranges.to_pylist()[0]}


def without(spark: SparkSession, text: str) -> list[Any]:
    """Return the rows of a query without xskip."""
    return list(plain(spark, lambda: spark.sql(text).collect()))


def part_of(table: dict[str, Any], row: int) -> tuple[int, int]:
    """Return the start and the length of the part with a row."""
    first = 0
    for part in table["parts"]:
        first += part["rows"]
        if row < first:
            return part["start"], part["length"]
    raise AssertionError(row)


def rewrite_of(spark: SparkSession) -> str:
    report = xskip.last_report(spark)
    assert report is not None
    (scan,) = report.scans
    return scan.rewrite


def test_limit_reads_a_part(spark: SparkSession, table: dict[str, Any]) -> None:
    """[PLN-RG-7] The smallest part all of whose rows match, as soon as it has enough rows."""
    text = "SELECT * FROM (SELECT * FROM t WHERE ts >= 2000 LIMIT {}) WHERE v >= 0"
    query = spark.sql(text.format(10))
    ((_, start, length),) = input_ranges(query)
    whole = [p for p in table["parts"] if p["start"] > part_of(table, 2000)[0]]
    assert (start, length) in [(p["start"], p["length"]) for p in whole]
    assert length == min(p["length"] for p in whole if p["rows"] >= 10)
    found = query.collect()
    assert len(found) == 10
    assert all(row.ts >= 2000 for row in found)
    assert rewrite_of(spark) == "limit"
    # several parts, if one does not have the rows
    most = max(p["rows"] for p in table["parts"])
    several = spark.sql(text.format(most + 1))
    assert most < several.count() == most + 1
    assert length < read_bytes(several) < sum(p["length"] for p in whole)
    # all rows are fewer
    assert spark.sql(text.format(5000)).count() == 2000


def test_top_k_reads_a_part(spark: SparkSession, table: dict[str, Any]) -> None:
    """[PLN-RG-7] With and without a filter, in both directions."""
    last = part_of(table, 3999)
    for text, part in [
        ("SELECT ts FROM t ORDER BY ts LIMIT 5", part_of(table, 0)),
        ("SELECT ts FROM t ORDER BY ts DESC LIMIT 5", last),
        ("SELECT ts FROM t WHERE ts < 2500 ORDER BY ts DESC LIMIT 1", part_of(table, 2499)),
        ("SELECT ts, v FROM t WHERE ts >= 1000 ORDER BY ts, v LIMIT 3", part_of(table, 1000)),
    ]:
        query = spark.sql(text)
        start, length = part
        spans = joined(sorted((first, first + size) for _, first, size in input_ranges(query)))
        assert len(spans) == 1, text
        assert spans[0][0] <= start, text
        assert start + length <= spans[0][1] <= start + 2 * length + PART, text  # the edge of a filter beside it
        assert query.collect() == without(spark, text), text
    spark.sql("SELECT max_by(v, ts) FROM t").collect()
    assert rewrite_of(spark) == "top-k"
    found = sorted((first, first + size) for _, first, size in input_ranges(spark.sql("SELECT max_by(v, ts) FROM t")))
    assert joined(found) == [(last[0], last[0] + last[1])]


def first_file(table: dict[str, Any]) -> str:
    (file,) = Path(table["path"]).glob(f"*.{table['fmt']}")
    return str(file)


def test_a_file_with_null_is_a_unit(spark: SparkSession, table: dict[str, Any]) -> None:
    """[PLN-RG-7] The NULLs of parts are not known, those of files are."""
    text = "SELECT x, ts FROM t WHERE x IS NOT NULL ORDER BY x DESC, ts LIMIT 3"
    assert spark.sql(text).collect() == without(spark, text)
    for order in ("ASC", "DESC", "ASC NULLS LAST", "DESC NULLS FIRST"):
        text = f"SELECT x, ts FROM t ORDER BY x {order}, ts LIMIT 700"
        assert spark.sql(text).collect() == without(spark, text), order


def test_joins_leave_out_parts(spark: SparkSession, table: dict[str, Any], tmp_path: Path) -> None:
    """[PLN-RG-7] [PLN-JB-1] By the bounds of the other side's parts."""
    other = write(rows(spark, tasks=1).selectExpr("ts AS k", "v AS w"), str(tmp_path / "o"), table["fmt"])
    indexed(spark, other, table["fmt"], [MinMax("k"), ValueList("w")])
    read(spark, other, table["fmt"]).createOrReplaceTempView("o")
    spark.conf.set("spark.sql.autoBroadcastJoinThreshold", "-1")
    text = "SELECT count(*), sum(v + w) FROM t JOIN o ON ts = k WHERE k BETWEEN 1000 AND 1010"
    query = spark.sql(text)
    expected = without(spark, text)
    assert query.collect() == expected
    report = xskip.last_report(spark)
    assert report is not None
    size = sum(p["length"] for p in table["parts"])
    assert [scan.kept_bytes < size / 5 for scan in report.scans] == [True, True]
    semi = "SELECT sum(ts) FROM t LEFT SEMI JOIN o ON ts = k AND k > 3900"
    assert spark.sql(semi).collect() == without(spark, semi)


def test_counts_are_about_whole_files(spark: SparkSession, table: dict[str, Any]) -> None:
    """[PLN-RG-7] A scan that reads a whole file would count the rows of a part twice."""
    text = "SELECT count(*), min(ts), max(ts) FROM t WHERE ts >= 1000"
    query = spark.sql(text)
    assert read_bytes(query) > sum(p["length"] for p in table["parts"]) / 2
    assert query.collect() == without(spark, text)


def test_a_changed_file_is_read_whole(spark: SparkSession, table: dict[str, Any]) -> None:
    """[PLN-LM-4] [PLN-TK-2] [PLN-RG-6] Between planning and reading, in place."""
    text = "SELECT ts FROM t ORDER BY ts DESC LIMIT 3"
    query = spark.sql(text)
    query._jdf.queryExecution().optimizedPlan()
    file = Path(first_file(table))
    again = file.parent.parent / "again"
    write(rows(spark, tasks=1).selectExpr("4000 - ts AS ts", "h", "v", "s", "x"), str(again), table["fmt"])
    (new,) = again.glob(f"*.{table['fmt']}")
    os.replace(new, file)
    (file.parent / f".{file.name}.crc").unlink(missing_ok=True)
    if table["fmt"] == "avro":  # Spark's reader of Parquet needs the length that it has listed
        assert [row.ts for row in query.collect()] == [4000, 3999, 3998]
    spark.catalog.refreshByPath(table["path"])
    fresh = spark.sql(text)
    assert [row.ts for row in fresh.collect()] == [4000, 3999, 3998]


def test_random_queries(spark: SparkSession, tmp_path: Path, api: str) -> None:
    """[PLN-RG-7] Several files, some without parts, and queries that leave out parts in each way."""
    random.seed(7)
    path = str(tmp_path / "t")
    mixed = rows(spark, 3000, tasks=3).selectExpr("*", "CAST(ts % 50 + ts div 100 AS int) AS w")
    write(mixed, path, "avro")
    spark.range(4000, 4100, 1, 1).selectExpr(
        "id AS ts", "id AS h", "1 AS v", "'a' AS s", "CAST(NULL AS double) AS x", "5 AS w"
    ).write.format("avro").mode("append").save(path)
    indexed(spark, path, "avro", [MinMax("ts"), MinMax("w"), ValueList("v"), BloomFilter("h"), MinMax("x")])
    read(spark, path, "avro").createOrReplaceTempView("t")
    cut = 0
    for _ in range(25):
        low = random.randrange(4200)
        where = random.choice(["", f"WHERE ts >= {low}", f"WHERE ts < {low} AND v < 50", f"WHERE w = {low % 80}"])
        order = random.choice(["ts", "ts DESC", "w, ts", "w DESC, ts", "x, ts", "x DESC NULLS LAST, ts"])
        limit = random.choice([1, 7, 300])
        text = f"SELECT ts, w, x FROM t {where} ORDER BY {order} LIMIT {limit}"
        query = spark.sql(text)
        assert query.collect() == without(spark, text), text
        cut += any(start > 0 for _, start, _ in input_ranges(query))
        rest = f"SELECT ts FROM (SELECT * FROM t {where} LIMIT {limit})"
        every = {row.ts for row in without(spark, f"SELECT ts FROM t {where}")}
        found = [row.ts for row in spark.sql(rest).collect()]
        assert len(found) == len(set(found)) == min(limit, len(every)), rest
        assert every.issuperset(found), rest
    assert cut > 5
