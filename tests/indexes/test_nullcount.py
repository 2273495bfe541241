"""NullCount skips files by numbers of NULL rows. Rules: specs/pruning.rst, [PRU-NC]."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

from tests.helpers import given_away, kept, metadata, opened_files, write_once
from tests.soundness.checking import ALL, NONE, family
from xskip import MinMax, NullCount, SkippingIndex, ValueList
from xskip.spark.query.spark_engine import engine_of

SCHEMA = "x int, s struct<a: int, t: struct<b: string>>, l array<int>, m map<string, int>, q string"
FILES: dict[str, list[Any]] = {
    "full": [(1, (1, ("x",)), [1], {"k": 1}, "a"), (2, (2, ("y",)), [], {}, "b")],
    "some": [(3, (None, (None,)), [None], {"k": None}, None), (None, None, None, None, "c")],
    "none": [(None, None, None, None, None), (None, (None, None), None, None, None)],
}
CASES = {
    "x is null": "some none",
    "x is not null": "full some",
    "x = 99": "full some",
    "x <> 99": "full some",
    "x in (1, 2)": "full some",
    "not (x is null)": "full some",
    "x <=> null": "some none",
    "x is null or q is null": "some none",
    "x is null and q is not null": "some",
    "s is null": "some none",
    "s is not null": ALL,
    "s.a is null": "some none",
    "s.a > 0": "full",
    "s.t.b is not null": "full",
    "l is null": "some none",
    "l is not null": "full some",
    "m is not null": "full some",
    "q like 'z%'": "full some",
    "coalesce(x, 5) = 5": ALL,
    "x is null and x = 5": "some",
}
WANTED = [NullCount(c) for c in ("x", "s", "s.a", "s.t.b", "l", "m", "q")]


@pytest.mark.parametrize("fmt", ["parquet", "avro"])
def test_every_leaf(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory, fmt: str) -> None:
    """[PRU-NC-1] [PRU-NC-2] Filters on columns of any type read exactly the expected files."""
    nulls = family(spark, tmp_path_factory.mktemp("nulls"), SCHEMA, FILES, {}, fmt=fmt)
    made = nulls.add("counted", WANTED)
    assert [i.types[0].partition("<")[0] for i in made.describe().indexes][:3] == ["int", "struct", "int"]
    nulls.check("counted", CASES)


def test_beside_other_indexes(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> None:
    """[PRU-NC-1] Counts skip files for conditions that bounds and lists do not answer."""
    nulls = family(spark, tmp_path_factory.mktemp("beside"), SCHEMA, FILES, {})
    nulls.add("all", [NullCount("x"), MinMax("x"), ValueList("q"), NullCount("q")])
    nulls.check(
        "all", {"x is null": "some none", "x = 2": "full", "q is null": "some none", "q = 'c'": "some", "x = 99": NONE}
    )


def test_a_file_in_several_tasks(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-NC-1] The counts of a file's parts add up, also of files that a refresh adds."""
    spark.conf.set("spark.sql.files.maxPartitionBytes", "20000")
    spark.conf.set("spark.sql.files.openCostInBytes", "0")
    path = str(tmp_path / "data")
    Path(path).mkdir()
    values = [None if number < 5 else number * 7919 % 20_011 for number in range(20_000)]
    pq.write_table(pa.table({"x": pa.array(values, pa.int64())}), f"{path}/big.parquet", row_group_size=2_000)
    assert spark.read.parquet(path).rdd.getNumPartitions() > 3
    made = SkippingIndex.for_path(spark, path)
    made.create([NullCount("x")])
    engine = engine_of(spark)
    (snapshot, _), *_ = [found for found in engine.indexes.list_snapshots(None) if found[1] == made.describe().location]
    (column,) = snapshot.load().indexes.values()
    assert column.values.to_pylist() == [{"nulls": 5, "rows": 20_000}]
    spark.range(10).selectExpr("id x").coalesce(1).write.mode("append").parquet(path)
    assert made.refresh().added == 1
    assert len(opened_files(spark.read.parquet(path).filter("x is null"))) == 1


def test_other_readings_and_other_programs(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-NC-3] Counts are not used if the query reads another type."""
    path = write_once(spark, tmp_path / "data", "x int", {"full": [(1,)], "none": [(None,)]})
    made = SkippingIndex.for_path(spark, path)
    made.create([NullCount("x")])
    assert kept(spark, path, "x is null") == {"none"}
    wide = spark.read.schema("x bigint").parquet(path).filter("x is null")
    assert opened_files(wide) == {"full", "none"}


def test_counts_of_another_program(spark: SparkSession, tmp_path: Path) -> None:
    """[PRU-NC-3] Counts are not used without a record of the column's type."""
    path = write_once(spark, tmp_path / "data", "x int", {"full": [(1,)], "none": [(None,)]})
    made = SkippingIndex.for_path(spark, path)
    made.create([NullCount("x")])
    given_away(spark, made, [metadata(made)])
    assert kept(spark, path, "x is null") == {"full", "none"}


@pytest.mark.parametrize("version", range(5))
def test_every_version_holds_it(spark: SparkSession, tmp_path: Path, version: int) -> None:
    """[MDS-S-4] Every version of the format can store NullCount."""
    path = write_once(spark, tmp_path / "data", "x int", {"full": [(1,)], "none": [(None,)]})
    made = SkippingIndex.for_path(spark, path)
    made.create([NullCount("x"), MinMax("x")], version=version)
    assert kept(spark, path, "x is null") == {"none"}
    made.migrate(4)
    assert kept(spark, path, "x is null") == {"none"}
    assert made.refresh().unchanged == 2


def test_what_was_not_collected_is_not_known() -> None:
    """[PRU-NC-2] A null count gives a null struct."""
    made = NullCount("x").assemble([pa.array([1, None], pa.int64()), pa.array([2, None], pa.int64())], ["int"])
    assert made.to_pylist() == [{"nulls": 1, "rows": 2}, None]
