"""The files that an index leaves are read by pyarrow, Polars, DuckDB and pandas."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timezone
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from tests.helpers import index, write_files
from xskip import MinMax, SkippingIndex
from xskip.errors import ArgumentError, DatasetError, MetadataNotFoundError
from xskip.results.file_list import FileList

SCHEMA = "a int, t timestamp, n timestamp_ntz, d decimal(10,2), s string, l array<int>, x struct<y: double>, b binary"
TYPES = {
    "a": pa.int32(),
    "t": pa.timestamp("us", "UTC"),
    "n": pa.timestamp("us"),
    "d": pa.decimal128(10, 2),
    "s": pa.string(),
    "b": pa.binary(),
    "day": pa.date32(),
    "p": pa.string(),
}


def row(number: int) -> tuple[Any, ...]:
    moment = datetime(2024, 1, 1 + number, 12, 30, 0, 250_000)
    return (number, moment, moment, Decimal(f"{number}.50"), f"s{number}", [number], (number / 4,), bytes([number]))


ROWS = {i: [row(i), (*row(i)[:3], *[None] * 5)] for i in range(3)}
NAMES = {
    0: "day=2024-01-01/p=a%2Fb/f0",
    1: "day=2024-01-02/p=c d/f1",
    2: f"day=2024-01-02/p={'__HIVE_DEFAULT_PARTITION__'}/f2",
}
PARTITIONS = {0: (date(2024, 1, 1), "a/b"), 1: (date(2024, 1, 2), "c d"), 2: (date(2024, 1, 2), None)}


def make(spark: SparkSession, root: Path, fmt: str) -> SkippingIndex:
    path = write_files(spark, root / "data", SCHEMA, {NAMES[i]: ROWS[i] for i in NAMES}, fmt)
    return index(spark, path, [MinMax("a")], fmt)


def in_order(lines: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    return sorted(lines, key=lambda line: (line[0], line[3] is None))


def expected(*files: int) -> list[tuple[Any, ...]]:
    return in_order(line for i in files for line in lines_of(i))


def lines_of(i: int) -> Iterator[tuple[Any, ...]]:
    for a, t, n, d, s, items, x, b in ROWS[i]:
        y = None if x is None else {"y": x[0]}
        yield a, t.replace(tzinfo=timezone.utc), n, d, s, items, y, b, *PARTITIONS[i]


def of_arrow(table: pa.Table) -> list[tuple[Any, ...]]:
    return in_order(tuple(line.values()) for line in table.to_pylist())


PREDICATES = {"a = 1": [1], "a < 2": [0, 1], "a >= 0": [0, 1, 2], "p = 'a/b'": [0], "p IS NULL": [2], "a = 99": []}


@pytest.mark.parametrize("fmt", ["parquet", "orc"])
def test_other_engines_read_the_files_that_are_left(spark: SparkSession, tmp_path: Path, fmt: str) -> None:
    made = make(spark, tmp_path, fmt)
    for predicate, files in PREDICATES.items():
        kept = made.files(predicate)
        assert list(kept) == sorted(kept)
        assert {Path(name).stem for name in kept} == {f"f{i}" for i in files}
        scan = kept.to_pyarrow()
        assert {name: scan.schema.field(name).type for name in TYPES} == TYPES
        assert of_arrow(scan.to_table()) == expected(*files)
        frame = kept.to_polars()
        assert isinstance(frame, pl.LazyFrame)
        assert of_arrow(frame.collect().to_arrow()) == expected(*files)
        assert frame.collect_schema() == pl.from_arrow(scan.schema.empty_table()).schema  # type: ignore[union-attr]
        assert frame.filter(pl.col("a") == 1).collect().height == 2 * (1 in files)
        with duckdb.connect() as connection:
            relation = kept.to_duckdb(connection)
            assert relation.columns == scan.schema.names
            assert of_arrow(relation.project("* REPLACE (t AT TIME ZONE 'UTC' AS t)").to_arrow_table()) == [
                (line[0], line[1].replace(tzinfo=None), *line[2:]) for line in expected(*files)
            ]
            assert relation.filter("a = 1 AND day = DATE '2024-01-02'").count("*").fetchall() == [(2 * (1 in files),)]
        frame_of_pandas = kept.to_pandas(columns=["a", "p"])
        assert list(frame_of_pandas.columns) == ["a", "p"]
        assert sorted(frame_of_pandas["a"]) == [line[0] for line in expected(*files)]


def test_polars_reads_avro(spark: SparkSession, tmp_path: Path) -> None:
    schema = "a int, t timestamp, s string, f float"
    files = {f"p={i}/f{i}": [(i, datetime(2024, 1, 1, i), f"s{i}", i / 2), (None, None, None, None)] for i in range(3)}
    path = write_files(spark, tmp_path / "data", schema, files, "avro")
    made = index(spark, path, [MinMax("a")], "avro")
    kept = made.files("a < 2")
    read = sorted(kept.to_polars().filter(pl.col("a").is_not_null()).collect().rows())
    assert read == [(i, datetime(2024, 1, 1, i, tzinfo=timezone.utc), f"s{i}", i / 2, i) for i in range(2)]
    assert kept.to_polars().select("p").head(3).collect().rows() == [(0,), (0,), (1,)]
    nothing = made.files("a = 99").to_polars()
    assert nothing.collect_schema() == kept.to_polars().collect_schema()
    assert nothing.collect().height == 0
    for call in ("to_pyarrow", "to_duckdb", "to_pandas"):
        with pytest.raises(DatasetError, match=r"format avro.*to_polars"):
            getattr(kept, call)()
    with pytest.raises(ArgumentError, match=r"connection is not one of DuckDB.*5, of type int.*duckdb\.connect\(\)"):
        kept.to_duckdb(5)  # type: ignore[arg-type]


def test_a_list_says_what_of_the_predicate_it_could_not_use(spark: SparkSession, tmp_path: Path) -> None:
    made = make(spark, tmp_path, "parquet")
    kept = made.files("a = 1 AND s > 's1'")
    assert kept.unused == (("s IS NOT NULL", "there is no index on s"), ("s > ?", "there is no index on s"))
    assert kept.problem == ""
    assert "not used: s > ?: there is no index on s" in str(kept)
    assert kept.to_json()["unused"][1] == {"predicate": "s > ?", "reason": "there is no index on s"}
    assert made.files("a = 1").unused == ()
    assert made.files("a = 99 OR 1 = 0").unused == ()
    spark.conf.set("spark.sql.caseSensitive", "true")
    spark.conf.set("spark.xskip.strict", "false")
    other = made.files("a = 1")
    assert len(other) == 3
    assert "caseSensitive" in other.problem
    assert f"the index was not used: {other.problem}" in str(other)


def test_a_dataset_without_an_index_is_an_error_unless_told_otherwise(spark: SparkSession, tmp_path: Path) -> None:
    path = write_files(spark, tmp_path / "data", "a int", {"f0": [(0,)], "f1": [(1,)]})
    made = SkippingIndex.for_path(spark, path)
    with pytest.raises(MetadataNotFoundError, match="there is no index"):
        made.files("a = 1")
    every = made.files("a = 1", require_index=False)
    assert every.names == [f"{path}/f0.parquet", f"{path}/f1.parquet"]
    assert every.problem == "the dataset has no index"
    assert sorted(every.to_pyarrow().to_table().column("a").to_pylist()) == [0, 1]


def test_a_long_list_prints_short(spark: SparkSession, tmp_path: Path) -> None:
    path = write_files(spark, tmp_path / "data", "a int", {"f0": [(0,)]})
    for i in range(1, 25):
        (tmp_path / "data" / f"f{i}.parquet").write_bytes((tmp_path / "data" / "f0.parquet").read_bytes())
    kept = index(spark, path, [MinMax("a")]).files("a = 0")
    assert kept.names == sorted(kept.names)
    lines = str(kept).splitlines()
    assert lines[0].startswith("25 of 25 files, ")
    assert lines[-1] == "… and 15 more"
    assert len(lines) == 14
    assert f"{datetime.now(timezone.utc):%Y-}" in lines[3]
    assert repr(kept) == f"FileList({lines[0]})"


@pytest.mark.parametrize(
    ("call", "package"), [("to_polars", "polars"), ("to_duckdb", "duckdb"), ("to_pandas", "pandas")]
)
def test_a_missing_package_is_an_error_that_names_the_extra(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, package: str
) -> None:
    kept: FileList = make(spark, tmp_path, "parquet").files("a = 1")
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(DatasetError, match=rf"pip install xskip\[{package}\]"):
        getattr(kept, call)()


def test_a_type_without_an_equivalent_in_arrow_is_an_error(spark: SparkSession, tmp_path: Path) -> None:
    df = spark.range(1).selectExpr("int(id) AS a", "INTERVAL '1-2' YEAR TO MONTH AS i")
    df.coalesce(1).write.parquet(str(tmp_path / "data"))
    kept = index(spark, str(tmp_path / "data"), [MinMax("a")]).files("a = 0")
    assert len(kept) == 1
    with pytest.raises(DatasetError, match="where: i; found: interval year to month"):
        kept.to_pyarrow()
