"""The files that are left, as a DataFrame of a session that need not know the index: also of Spark Connect."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import xskip
from tests.helpers import index, opened_files, write_files
from tests.programs import environment
from xskip import MinMax, SkippingIndex
from xskip.errors import ArgumentError, DatasetError

SCHEMA = "a int, t timestamp, n timestamp_ntz, s string, x struct<y: array<int>>"
DAYS = [datetime(2024, 1, i + 1, 12) for i in range(3)]
ROWS = {i: [(i, DAYS[i], DAYS[i], f"s{i}", ([i],)), (None, None, None, None, None)] for i in range(3)}
NAMES = {
    0: "p=1/day=2024-01-01/[f]{0}",
    1: "p=2/day=2024-01-02/f*1 %20",
    2: "p=__HIVE_DEFAULT_PARTITION__/day=2024-01-03/f2",
}
PARTITIONS = {0: (1, date(2024, 1, 1)), 1: (2, date(2024, 1, 2)), 2: (None, date(2024, 1, 3))}


def make(spark: SparkSession, root: Path, fmt: str) -> SkippingIndex:
    path = write_files(spark, root / "data", SCHEMA, {NAMES[i]: rows for i, rows in ROWS.items()}, fmt)
    return index(spark, path, [MinMax("a")], fmt)


def rows_of(df: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row) for row in df.collect()), key=repr)


def expected(*files: int) -> list[tuple[Any, ...]]:
    return sorted(((*row, *PARTITIONS[i]) for i in files for row in ROWS[i]), key=repr)


@pytest.mark.parametrize("fmt", ["parquet", "orc", "avro"])
def test_spark_reads_the_files_that_are_left(spark: SparkSession, tmp_path: Path, fmt: str) -> None:
    made = make(spark, tmp_path, fmt)
    schema = made.read().schema
    lists = [made.files] if fmt == "orc" else [made.files, xskip.open_index(str(tmp_path / "data")).files]
    for session in (spark, spark.newSession()):
        for files in lists:
            for predicate, left in {"a < 2": (0, 1), "a = 2": (2,), "a >= 0": (0, 1, 2), "a = 99": ()}.items():
                df = files(predicate).to_spark(session)
                if fmt == "parquet" or files == made.files:
                    assert df.schema == schema
                assert df.columns == schema.names
                assert rows_of(df.select("*")) == expected(*left)
                if session is spark:
                    assert df.filter("a = 1").count() == (1 in left)
    assert opened_files(made.files("a = 0").to_spark(spark)) == {Path(NAMES[0]).name}


@pytest.mark.parametrize("fmt", ["csv", "json"])
def test_texts_are_read_as_they_were_indexed(spark: SparkSession, tmp_path: Path, fmt: str) -> None:
    options = {"header": "true", "sep": ";"} if fmt == "csv" else {}
    files = {f"f{i}": [(i, f"x{i}")] for i in range(3)}
    path = write_files(spark, tmp_path / "d", "a int, s string", files, fmt, options)
    made = SkippingIndex.for_path(spark, path, format=fmt, options=options, schema="a int, s string")
    made.create([MinMax("a")])
    assert rows_of(made.files("a = 1").to_spark(spark)) == [(1, "x1")]
    assert rows_of(made.files("a = 7").to_spark(spark)) == []


def test_files_of_other_writers(spark: SparkSession, tmp_path: Path) -> None:
    """Without Spark's schema in the footer, the types are those that Spark infers."""
    moment = datetime(2024, 1, 1)
    for i in range(2):
        table = pa.table({
            "a": pa.array([i], pa.int64()), "n": pa.array([moment], pa.timestamp("us")),
            "t": pa.array([moment], pa.timestamp("us", "UTC")),
        })  # fmt: skip
        pq.write_table(table, tmp_path / f"f{i}.parquet")
    index(spark, str(tmp_path), [MinMax("a")])
    opened = xskip.open_index(str(tmp_path))
    schema = spark.read.parquet(str(tmp_path)).schema
    assert opened.files("a = 1").to_spark(spark).schema == opened.files("a = 5").to_spark(spark).schema == schema
    assert [row.a for row in opened.files("a = 1").to_spark(spark).collect()] == [1]


def test_another_name_of_the_root(spark: SparkSession, tmp_path: Path) -> None:
    """A store can have another scheme in Spark than for other programs."""
    files = make(spark, tmp_path, "parquet").files("a = 1")
    assert rows_of(files.to_spark(spark, root=f"file:{tmp_path}/data/")) == expected(1)
    moved = (tmp_path / "data").rename(tmp_path / "moved")
    assert rows_of(files.to_spark(spark, root=str(moved))) == expected(1)
    with pytest.raises(ArgumentError, match="the root is empty"):
        files.to_spark(spark, root="")
    with pytest.raises(ArgumentError, match=r"spark is not a session .found: 5, of type int; expected: a SparkSession"):
        files.to_spark(5)


def test_formats_that_need_more_than_paths(spark: SparkSession, tmp_path: Path) -> None:
    files = make(spark, tmp_path, "parquet").files("a = 1")
    object.__setattr__(files.source, "format", "questdb")
    with pytest.raises(DatasetError, match="files of the format questdb cannot be read by their paths"):
        files.to_spark(spark)


PROGRAM = """
import sys
import xskip
from pyspark.sql import SparkSession
spark = SparkSession.builder.remote("local[1]").config("spark.sql.session.timeZone", "UTC").getOrCreate()
opened = xskip.open_index(sys.argv[1])
for condition in ("a = 1", "a = 99"):
    df = opened.files(condition).to_spark(spark).filter(condition)
    print("rows", type(df).__module__, df.columns, [row.a for row in df.collect()])
spark.stop()
"""


@pytest.mark.skipif(importlib.util.find_spec("grpc") is None, reason="Spark Connect needs grpcio")
def test_a_client_of_spark_connect(spark: SparkSession, tmp_path: Path) -> None:
    make(spark, tmp_path, "parquet")
    (tmp_path / "client.py").write_text(PROGRAM)
    done = subprocess.run(
        [sys.executable, "client.py", str(tmp_path / "data")], cwd=tmp_path, env=environment(tmp_path),
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-4000:]
    columns = ["a", "t", "n", "s", "x", "p", "day"]
    assert [line for line in done.stdout.splitlines() if line.startswith("rows")] == [
        f"rows pyspark.sql.connect.dataframe {columns} [1]", f"rows pyspark.sql.connect.dataframe {columns} []",
    ]  # fmt: skip
