"""Builds count the rows of each file and the NULLs in indexed columns. Rules: [MDS-O-6] and [MDS-O-7]."""

from __future__ import annotations

import datetime as dt
import os
import random
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import xskip
from tests.falsified import falsify
from tests.helpers import index as made
from tests.helpers import write_files, write_once
from tests.metadatastore.samples import opened
from xskip import (
    BloomFilter,
    GeoBox,
    Index,
    LocalKms,
    MinMax,
    NullCount,
    OneColumn,
    PathBounds,
    Prefix,
    SkippingIndex,
    ValueList,
)
from xskip.spark.collect.relation import Dataset
from xskip.types.datatypes import Atomic

#: The rows and the NULLs of columns, by the name of a file without extension.
Counts = dict[str, dict[str, int | None]]
FLAT = "i int, s string, d double, e double, day date"
NESTED = f"{FLAT}, st struct<f: int, deep: struct<g: string>>, tags array<int>"


def rows_of(rng: random.Random, count: int) -> list[tuple[Any, ...]]:
    """Return random rows; a column of a file has no NULLs, some, or nothing else."""
    shares = [rng.choice((0, 0.3, 1)) for _ in range(7)]

    def row(n: int) -> tuple[Any, ...]:
        deep = rng.choice([None, (None,), ("g",)])
        nested = (rng.choice([None, n]), deep)
        values = (n, f"s{n % 5}", n / 2, -n / 2, dt.date(2024, 1, 1 + n % 20), nested, [n, None])
        return tuple(None if rng.random() < share else value for value, share in zip(values, shares, strict=True))

    return [row(n) for n in range(count)]


def counted(index: SkippingIndex) -> Counts:
    """Return what the index knows of each file."""
    snapshot = opened(index.describe().location)
    counts, names = snapshot.counts(), snapshot.load(()).files.names.to_pylist()
    columns = {"rows": counts.rows, **counts.nulls}
    return {Path(name).stem: {c: v[i].as_py() for c, v in columns.items()} for i, name in enumerate(names)}


def expected(df: DataFrame, columns: Sequence[str], empty: Sequence[str] = ()) -> Counts:
    """Return what Spark finds in the rows; ``empty`` are files without rows."""
    nulls = [F.count(F.when(F.col(column).isNull(), 1)).alias(column) for column in columns]
    found = df.groupBy(F.input_file_name().alias("file")).agg(F.count(F.lit(1)).alias("rows"), *nulls).collect()
    none = {name: dict.fromkeys(("rows", *columns), 0) for name in empty}
    return none | {
        Path(row["file"]).stem: {"rows": row["rows"], **dict(zip(columns, row[2:], strict=True))} for row in found
    }


@pytest.mark.parametrize("fmt", ["parquet", "avro", "orc", "csv", "json"])
def test_counts_are_those_of_the_rows(spark: SparkSession, tmp_path: Path, fmt: str) -> None:
    """[MDS-O-6] In every format, with indexes over columns, over parts of columns, and over fields."""
    rng = random.Random(fmt)
    schema = FLAT if fmt == "csv" else NESTED
    width = schema.count(",") + 1 if fmt == "csv" else 7
    files = {f"p={n % 2}/f{n}": [row[:width] for row in rows_of(rng, rng.choice((1, 7, 60)))] for n in range(4)}
    empty = [] if fmt in ("csv", "json") else ["empty"]
    path = write_once(spark, tmp_path / "data", schema, {**files, **{f"p=1/{name}": [] for name in empty}}, fmt)
    indexes: list[Index] = [
        MinMax("i"), NullCount("i"), Prefix("s"), GeoBox("d", "e"), MinMax("day"), MinMax("i + 1", expression=True),
    ]  # fmt: skip
    columns = ["i", "s", "d", "e", "day"]
    if fmt != "csv":
        indexes += [ValueList("st.f"), BloomFilter("ST.deep.G"), ValueList("tags")]
        columns += ["st.f", "st.deep.g", "tags"]
    given = schema if fmt in ("csv", "json") else None
    index = SkippingIndex.for_path(spark, path, format=fmt, schema=given)
    index.create(indexes)
    reader = spark.read.schema(given) if given else spark.read
    assert counted(index) == expected(reader.format(fmt).load(path), columns, empty)


def test_footers_have_the_counts_of_the_rows(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[MDS-O-6] Fields of structs as well, if parquet-mr has written the file."""
    rng = random.Random(7)
    files = {f"f{n}": rows_of(rng, n) for n in (0, 1, 9, 50)}
    path = write_once(spark, tmp_path / "data", NESTED, files, options={"parquet.block.size": "1024"})
    columns = ["i", "s", "day", "st.f", "st.deep.g"]
    index = made(spark, path, map(MinMax, columns))
    by_rows = expected(spark.read.parquet(path), columns, ["f0"])
    spark.conf.set("spark.xskip.build.footers", "false")
    index.drop()
    index.create([MinMax(column) for column in columns])
    assert counted(index) == by_rows
    spark.conf.set("spark.xskip.build.footers", "true")
    index.drop()
    monkeypatch.setattr(Dataset, "accumulate", lambda *_: pytest.fail("rows were read"))
    index.create([MinMax(column) for column in columns])
    assert counted(index) == by_rows


def test_footers_of_arrow(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-O-6] Arrow is not known to count a field of a NULL struct, whose NULLs are then unknown."""
    root = tmp_path / "data"
    root.mkdir()
    structs = pa.array([{"f": 1}, None, {"f": None}, {"f": 4}], pa.struct([("f", pa.int32())]))
    table = pa.table({"i": pa.array([1, None, 3, None], pa.int32()), "st": structs})
    pq.write_table(table, root / "a.parquet", row_group_size=3)
    index = made(spark, str(root), [MinMax("i"), MinMax("st.f")])
    assert counted(index) == {"a": {"rows": 4, "i": 2}}
    index.add([NullCount("st.f")])
    assert counted(index) == {"a": {"rows": 4, "i": 2, "st.f": 2}}


class Sums(OneColumn):
    """An index that Spark's aggregates collect."""

    name: ClassVar[str] = "sumsforcounts"

    def storage(self, types: Sequence[str]) -> Atomic:
        return Atomic("bigint")

    def aggregates(self, inputs: Sequence[Any]) -> list[Any]:
        return [F.sum(inputs[0])]

    def assemble(self, results: Sequence[pa.Array], types: Sequence[str]) -> pa.Array:
        return results[0]

    def translate(self, leaf: Any, definition: Any, storage: Any) -> None:
        return None


FILES: dict[str, list[Any]] = {
    "a": [(1, "x"), (None, "y"), (None, None)],
    "b": [(None, "z")],
    "c": [],
    "d": [(4, None)],
}
TRUE: Counts = {
    "a": {"rows": 3, "x": 2, "s": 1}, "b": {"rows": 1, "x": 1, "s": 0}, "c": {"rows": 0, "x": 0, "s": 0},
    "d": {"rows": 1, "x": 0, "s": 1},
}  # fmt: skip


def of(columns: str, files: str = "abcd") -> Counts:
    return {name: {c: TRUE[name][c] for c in ("rows", *columns)} for name in files}


@pytest.fixture
def path(spark: SparkSession, tmp_path: Path) -> str:
    return write_once(spark, tmp_path / "data", "x int, s string", FILES)


def test_aggregates_count_as_well(spark: SparkSession, path: str) -> None:
    """[MDS-O-6]"""
    assert counted(made(spark, path, [Sums("x")])) == of("x")
    index = SkippingIndex.for_path(spark, path)
    index.drop()
    index.create([Sums("x"), ValueList("s")])
    assert counted(index) == of("xs")


def test_files_that_no_build_reads_have_no_counts(spark: SparkSession, path: str) -> None:
    """[MDS-O-6] Names of files say nothing about their rows."""
    index = made(spark, path, [PathBounds("x", "{x}")])
    assert counted(index) == {name: {"rows": None} for name in FILES}
    index.add([ValueList("s")])
    assert counted(index) == of("s")


def test_operations_keep_counts(spark: SparkSession, path: str, tmp_path: Path) -> None:
    """[MDS-O-7] Each operation knows the counts of all files afterwards."""
    index = made(spark, path, [MinMax("x")])
    assert counted(index) == of("x")
    index.add([ValueList("s")])
    assert counted(index) == of("xs")
    os.remove(f"{path}/d.parquet")
    write_files(spark, Path(path), "x int, s string", {"e": [(None, None)] * 2})
    index.refresh()
    new: Counts = {"e": {"rows": 2, "x": 2, "s": 2}}
    assert counted(index) == of("xs", "abc") | new
    for version in (0, 4):
        index.migrate(version)
        assert counted(index) == of("xs", "abc") | new
    index.optimize()
    assert counted(index) == of("xs", "abc") | new
    falsify(spark, index, ("minmax", ("x",)), {"a": {"min": 7, "max": 7}})
    assert [Path(name).stem for name in index.repair().repaired] == ["a"]
    assert counted(index) == of("xs", "abc") | new
    index.remove(["minmax(x)"])
    left = {name: {c: n for c, n in each.items() if c != "x"} for name, each in (of("xs", "abc") | new).items()}
    assert counted(index) == left
    copied = shutil.copytree(path, tmp_path / "copy")
    adopted = SkippingIndex.for_path(spark, str(copied))
    adopted.adopt()
    assert counted(adopted) == left


def test_an_index_without_counts_gets_those_of_new_files(
    spark: SparkSession, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """[MDS-O-5] [MDS-O-7] An earlier release has written the index."""
    with monkeypatch.context() as patch:
        patch.setattr("xskip.metadatastore.codec._counts_entry", lambda *_: {})
        index = made(spark, path, [MinMax("x")])
    assert counted(index) == {name: {"rows": None} for name in FILES}
    write_files(spark, Path(path), "x int, s string", {"e": [(None, None)] * 2})
    index.refresh()
    new: Counts = {"e": {"rows": 2, "x": 2}}
    assert counted(index) == {name: {"rows": None, "x": None} for name in FILES} | new
    index.add([NullCount("x")])
    assert counted(index) == of("x") | new


@pytest.fixture
def keys(spark: SparkSession) -> Iterator[None]:
    xskip.use_kms(LocalKms({label: label.encode().ljust(16, b"!") for label in ("footer", "k", "new")}))
    spark.conf.set("spark.xskip.encryption.footer.key", "footer")
    yield
    xskip.use_kms(None)


@pytest.mark.usefixtures("keys")
def test_columns_of_encrypted_indexes_are_not_counted(spark: SparkSession, path: str) -> None:
    """[ENC-C-3] [MDS-O-7] A rotation keeps the other counts."""
    index = made(spark, path, [MinMax("x", key_label="k"), ValueList("s")])
    assert counted(index) == of("s")
    index.rotate_keys({"k": "new"})
    assert counted(index) == of("s")


def test_corrupt_records_leave_counts_unknown(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-O-6] Where values depend on the columns that a query reads, so can the rows."""
    root = tmp_path / "data"
    root.mkdir()
    (root / "good.json").write_text('{"a": 1, "b": {"c": 2}}\n{"b": {"c": 2}}\n')
    (root / "bad.json").write_text('{"a": 1, "b": {"c": "x}\n{"a": 2}\n')
    index = SkippingIndex.for_path(spark, str(root), format="json", schema="a int, b struct<c: int>")
    index.create([MinMax("a"), NullCount("b.c")])
    assert counted(index) == {"good": {"rows": 2, "a": 1, "b.c": 0}, "bad": {"rows": None, "a": None, "b.c": None}}


def test_times_without_a_date_leave_nulls_unknown(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-O-6] Whether such a text is a time can depend on the day; the number of rows cannot."""
    root = tmp_path / "data"
    root.mkdir()
    (root / "good.csv").write_text("1,2024-01-01 10:15:00\n,\n")
    (root / "bad.csv").write_text("1,10:15\n2,\n")
    index = SkippingIndex.for_path(spark, str(root), format="csv", schema="a int, ts timestamp")
    index.create([MinMax("a"), MinMax("ts")])
    assert counted(index) == {"good": {"rows": 2, "a": 1, "ts": 1}, "bad": {"rows": 2, "a": 0, "ts": None}}


def test_split_files_have_the_sum_of_their_parts(spark: SparkSession, tmp_path: Path) -> None:
    """[MDS-O-6] [JVM-AC-2]"""
    rows: Mapping[str, Any] = {"f": [(None if n % 3 else n, f"{n:0100d}") for n in range(4000)]}
    path = write_once(
        spark, tmp_path / "data", "x int, s string", rows,
        options={"parquet.block.size": "4096", "compression": "none"},
    )  # fmt: skip
    spark.conf.set("spark.sql.files.maxPartitionBytes", "20000")
    spark.conf.set("spark.sql.files.openCostInBytes", "1")
    assert spark.read.parquet(path).rdd.getNumPartitions() > 3
    assert counted(made(spark, path, [ValueList("x"), ValueList("s")])) == {"f": {"rows": 4000, "x": 2666, "s": 0}}
