"""The kernel collects the same statistics as Spark's aggregates, for every type, in whole and split files."""

from __future__ import annotations

import datetime as dt
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F

import xskip
from tests.helpers import index as made
from tests.helpers import metadata, write_files, write_once
from xskip.column_paths import quoted
from xskip.indexes import BloomFilter, Index, MinMax, ValueList
from xskip.spark.bridge.sessions import clone_session
from xskip.spark.collect.collector import Collector
from xskip.spark.collect.relation import Dataset
from xskip.spark.query.spark_engine import engine_of
from xskip.types import bloom_bits

SCHEMA = """b boolean, i8 tinyint, i16 smallint, i32 int, i64 bigint, f float, d double, s string, bin binary,
    dec9 decimal(9,2), dec38 decimal(38,10), day date, ts timestamp, ntz timestamp_ntz,
    months int, dt interval day to second, st struct<x: int, deep: struct<y: string>>"""
NAMES = ["b", "i8", "i16", "i32", "i64", "f", "d", "s", "bin", "dec9", "dec38", "day", "ts", "ntz", "dt"]
BLOOMS = ["i8", "i16", "i32", "i64", "s", "bin", "day", "ts", "ntz", "st.deep.y"]


def row(n: int) -> tuple[Any, ...]:
    """Return a row whose values grow with n, with a few special values."""
    odd = {3: math.nan, 5: -0.0, 7: math.inf, 11: -math.inf}.get(n, n / 3)
    text = {3: "", 5: "\U0001f600", 7: "\ufffd", 11: "é"}.get(n, f"v{n % 4}")
    moment = dt.datetime(2020, 1, 1) + dt.timedelta(hours=n, microseconds=n)
    values = (
        n % 2 == 0, n - 9, n * -100, n * 1000, n * 2**40, odd, odd, text, bytes([n, 255 - n]),
        Decimal(n) / 4 - 3, Decimal(n) ** 9 / 7, dt.date(1500 + 40 * n, 1, 1 + n), moment, moment,
        7 * n - 20, dt.timedelta(days=n, microseconds=-n), (n - 4, (text,)),
    )  # fmt: skip
    return tuple(None if (n + k) % 13 == 0 else value for k, value in enumerate(values))


FILES: dict[str, list[Any]] = {
    "small": [row(n) for n in range(6)],
    "large": [row(n) for n in range(25)],
    "nulls": [(None,) * 17] * 3,
    "none": [],
}
FILES["pair"] = [row(3), row(5)]


def write(spark: SparkSession, root: Path, files: Mapping[str, Sequence[Any]], **options: str) -> str:
    """Write files with intervals of months, which Spark creates from numbers because Python lacks them."""
    plain = write_files(spark, root.with_name(root.name + "-plain"), SCHEMA, files)
    for name in files:
        df = spark.read.schema(SCHEMA).parquet(f"{plain}/{name}.parquet").coalesce(1)
        df = df.withColumn("ym", F.make_ym_interval(F.lit(0), F.col("months"))).drop("months")
        df.write.options(**options).parquet(f"{root}/file={name}")
    return str(root)


@pytest.fixture(scope="module")
def path(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    return write(session, tmp_path_factory.mktemp("kernel") / "data", FILES)


#: A field of a struct has Spark make rows of its own; columns alone come in the scan's batches, or in its rows.
WAYS = {
    "batches": [*NAMES, "ym"],
    "rows": [*NAMES, "ym"],
    "fields": [*NAMES, "ym", "st.x", "st.deep.y"],
}


def indexes(columns: Sequence[str]) -> list[Index]:
    bounds = [MinMax(c) for c in columns]
    values = [ValueList(c, max_values=20 if c == "i32" else 10_000) for c in columns]
    return [*bounds, *values, *(BloomFilter(c) for c in BLOOMS if c in columns)]


def plain(spark: SparkSession, path: str, way: str) -> dict[tuple[str, str, str], str]:
    """Return the metadata of a new index as plain values by file and index, with sorted lists."""
    spark.conf.set("spark.sql.parquet.enableVectorizedReader", str(way != "rows").lower())
    index = xskip.SkippingIndex.for_path(spark, path)
    if index.exists():
        index.drop()
    index.create(indexes(WAYS[way]))
    table = metadata(index)
    names = [name.rpartition("/")[2] for name in table.files.names.to_pylist()]
    found = {}
    for (kind, (column,)), content in table.indexes.items():
        for name, value in zip(names, content.values.to_pylist(), strict=True):
            found[name, kind, column] = repr(distinct(value) if kind == "valuelist" and value else value)
    return found


def distinct(values: list[Any]) -> list[str]:
    """Return the distinct values in order, with zeros without their signs, because some Sparks keep both zeros."""
    return sorted({repr(value + 0.0 if isinstance(value, float) else value) for value in values})


SEED_0 = -1693959553  # Murmur3 of this int with Spark's seed 42 is 0, and a hash seeds the next


def bounds(index: MinMax, inputs: Sequence[Column]) -> tuple[Column, ...]:
    return F.min(inputs[0]), F.max(inputs[0])


def values(index: ValueList, inputs: Sequence[Column]) -> tuple[Column, ...]:
    found = F.collect_set(inputs[0])
    return (F.when(F.size(found) <= index.max_values, found),)


def hashes(index: BloomFilter, inputs: Sequence[Column]) -> tuple[Column, ...]:
    """Return pairs of hashes by Spark's own functions, with integers and dates as longs."""
    column = next(c for c in BLOOMS if str(F.expr(quoted(c))) == str(inputs[0]))
    value = F.col(column).cast("bigint") if column.startswith("i") else F.col(column)
    if column == "day":
        value = F.datediff(F.col(column), F.lit("1970-01-01").cast("date")).cast("bigint")
    first, second = (F.hash(F.lit(SEED_0), *values).cast("bigint") for values in ((value,), (value, value)))
    pair = F.shiftleft(first, 32).bitwiseOR(second.bitwiseAND(F.lit(0xFFFFFFFF)))
    return (F.collect_set(F.when(F.col(column).isNotNull(), pair)),)


@pytest.mark.parametrize("way", WAYS)
def test_the_kernel_finds_what_spark_aggregates_find(
    spark: SparkSession, path: Any, monkeypatch: pytest.MonkeyPatch, way: Any
) -> None:
    by_kernel = plain(spark, path, way)
    monkeypatch.setattr(Dataset, "accumulate", lambda *_: pytest.fail("the kernel ran"))
    for kind, aggregates in ((MinMax, bounds), (ValueList, values), (BloomFilter, hashes)):
        monkeypatch.setattr(kind, "accumulators", ())
        monkeypatch.setattr(kind, "aggregates", aggregates)
    monkeypatch.setattr(Collector, "_footers_may_do", lambda *_: False)
    by_aggregates = plain(spark, path, way)
    assert by_kernel.keys() == by_aggregates.keys()
    assert {k: v for k, v in by_kernel.items() if by_aggregates[k] != v} == {}
    assert len(by_kernel) == 5 * len(indexes(WAYS[way]))


@pytest.fixture(scope="module")
def large(session: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> str:
    """Return the path of a dataset of one file with many row groups."""
    many = [row(n % 25) for n in range(4000)]
    return write(session, tmp_path_factory.mktemp("split") / "data", {"large": many}, **{"parquet.block.size": "4096"})


@pytest.mark.parametrize("way", WAYS)
def test_files_split_into_several_tasks_give_the_same(spark: SparkSession, large: str, way: Any) -> None:
    """A file of many row groups gives the same metadata as a whole and in pieces."""
    path = large
    whole = plain(spark, path, way)
    spark.conf.set("spark.sql.files.maxPartitionBytes", "20000")
    spark.conf.set("spark.sql.files.openCostInBytes", "1")
    tasks = spark.read.parquet(path).rdd.getNumPartitions()
    assert tasks > 3
    assert plain(spark, path, way) == whole


def filters(spark: SparkSession, path: str, index: Index) -> list[bytes]:
    built = made(spark, path, [index])
    (content,) = metadata(built).indexes.values()
    built.drop()
    found: list[bytes] = content.values.to_pylist()
    return found


@pytest.mark.parametrize("rows", [1, 4096, 4097, 70_000])
def test_filters_of_many_values_hold_each_once(spark: SparkSession, tmp_path: Path, rows: int) -> None:
    """[PRU-BF-5] Filters of many values count each once; both hashes of an empty string are 0."""
    texts = ["", *(f"v{n}" for n in range(1, rows))]
    given = [(text,) for text in texts for _ in range(3)]
    path = write_files(spark, tmp_path / "many", "s string", {"a": given})
    pairs = [bloom_bits.hash_bytes(text.encode()) for text in texts]
    hashes = np.array([first << 32 | second & 0xFFFFFFFF for first, second in pairs], np.int64)
    for index, items in ((BloomFilter("s"), rows), (BloomFilter("s", fpp=0.3, ndv=777), 777)):
        (found,) = filters(spark, path, index)
        assert found == bloom_bits.build(hashes, *bloom_bits.size_for(items, index.fpp))


def test_filters_are_made_where_the_rows_are_unless_a_file_is_split(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_files(
        spark, tmp_path / "data", "a bigint", {"large": [(n,) for n in range(4000)], "small": [(n,) for n in range(9)]},
        options={"parquet.block.size": "4096", "compression": "none"},
    )  # fmt: skip
    built: list[int] = []
    build = bloom_bits.build

    def noted(*args: Any) -> bytes:
        built.append(len(args[0]))
        return build(*args)

    monkeypatch.setattr(bloom_bits, "build", noted)
    whole = filters(spark, path, BloomFilter("a"))
    assert not built
    spark.conf.set("spark.sql.files.maxPartitionBytes", "10000")
    spark.conf.set("spark.sql.files.openCostInBytes", "1")
    assert filters(spark, path, BloomFilter("a")) == whole
    assert built == [4000]


def test_files_are_kept_whole_where_there_are_enough_for_all_cores(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        f"f{i}": [(n, f"{n:0100d}") for n in range(i, 2000)] for i in range(4 * spark.sparkContext.defaultParallelism)
    }
    path = write_once(
        spark, tmp_path / "data", "a bigint, pad string", files,
        options={"parquet.block.size": "4096", "compression": "none"},
    )  # fmt: skip
    spark.conf.set("spark.sql.files.maxPartitionBytes", "100000")
    spark.conf.set("spark.sql.files.openCostInBytes", "1")
    assert spark.read.parquet(path).rdd.getNumPartitions() > len(files)
    monkeypatch.setattr(bloom_bits, "build", lambda *_: pytest.fail("a file was split"))
    assert len(filters(spark, path, BloomFilter("a"))) == len(files)
    assert spark.conf.get("spark.sql.files.maxPartitionBytes") == "100000"


def shared_out(spark: SparkSession, path: str, most: int, opening: int) -> Dataset:
    """Return a dataset in a session with these maximum bytes of a task and this cost of opening a file."""
    settings = {"spark.sql.files.maxPartitionBytes": str(most), "spark.sql.files.openCostInBytes": str(opening)}
    hook = engine_of(spark).hook
    return Dataset(hook, clone_session(hook, spark, settings).read.parquet(path))


def test_small_files_share_tasks(spark: SparkSession, tmp_path: Path) -> None:
    path = write_files(spark, tmp_path / "data", "a bigint", {f"f{i}": [(i,)] for i in range(40)})
    dataset = shared_out(spark, path, 16 << 20, 4 << 20)
    everything = np.ones(40, np.bool_)
    assert dataset.subset(everything).rdd.getNumPartitions() > 9, "of four files, or fewer"
    for _ in range(2):  # chunk by chunk
        dataset.share_out(dataset.listing().files().sizes.to_numpy())
        assert dataset.subset(everything).rdd.getNumPartitions() == 3


def test_each_core_has_some_tasks_if_they_have_enough_to_do(spark: SparkSession, tmp_path: Path) -> None:
    """The cost of opening a file, in MB, gives each core up to four tasks of 128 MB.

    There are fewer tasks if they would get less than 64 MB with the least cost of 1 MB. The cost never exceeds that of
    the session.
    """
    path = write_files(spark, tmp_path / "data", "a bigint", {"f": [(1,)]})
    dataset = shared_out(spark, path, 128 << 20, 4 << 20)
    frugal = shared_out(spark, path, 128 << 20, 1)
    cores, found = dataset.cores, []
    for files, size in ((20, 0), (64, 0), (256, 0), (10**6, 0), (256, 200), (20, 10**6)):
        for each in (dataset, frugal):
            each.share_out(np.full(files * cores, (size << 20) // files))
        cost = dataset._spark.conf.get("spark.sql.files.openCostInBytes")
        assert cost is not None
        found.append(int(cost) / (1 << 20))
        assert frugal._spark.conf.get("spark.sql.files.openCostInBytes") == "1"
    assert cores == 2
    assert found == [4, 4, 2, 1, pytest.approx((4 * 128 - 200) / 256, abs=0.001), 1]


def test_a_list_beyond_its_cap_is_none_though_each_piece_is_within(spark: SparkSession, tmp_path: Path) -> None:
    root = tmp_path / "cap"
    path = write_files(
        spark, root, "a bigint, pad string", {"large": [(n, f"{n:0200d}") for n in range(4000)]},
        options={"parquet.block.size": "4096", "compression": "none"},
    )  # fmt: skip
    spark.conf.set("spark.sql.files.maxPartitionBytes", "100000")
    spark.conf.set("spark.sql.files.openCostInBytes", "1")
    assert spark.read.parquet(path).rdd.getNumPartitions() > 3
    table = metadata(made(spark, path, [ValueList("a", max_values=3999), MinMax("a")]))
    assert table.indexes["valuelist", ("a",)].values.to_pylist() == [None]
    assert table.indexes["minmax", ("a",)].values.to_pylist() == [{"min": 0, "max": 3999}]
