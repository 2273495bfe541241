"""Measure how much of a large file a query reads, and how fast it is, by statistics of parts.

    python benchmarks/ranges.py [results.json] [--scale 0.1] [--only avro,parquet,build,plan]

``avro`` writes an hour of messages in the order of time to one file of 128 MB, and times minutes of it, and one order,
against the same index without parts: an order has eight messages. ``parquet`` writes a file of 1 GB with 8 row groups
whose keys are in no order, and times one key by a Bloom filter of xskip against the Bloom filters that Spark writes.
``build`` compares builds with and without parts, and the size of the metadata with that of the data. ``plan`` plans
queries over 100,000 files of 32 parts.
"""

from __future__ import annotations

import itertools
import statistics
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from common import Lines, arguments, interleaved, planned, run, scaled, session
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from simulated import START, bounds, create, minmax, relation, table_of

import xskip
from xskip import BloomFilter, Index, MinMax, SkippingIndex
from xskip.metadata.file_counts import FileCounts
from xskip.metadata.file_parts import RANGE, FileParts

HOUR = 2_530_000
GIGABYTE = 8_000_000
GROUPS = 8
FILES = 100_000
PARTS = 32
ROUNDS = 5
SETTING = "spark.xskip.planning.ranges"


def hour(spark: SparkSession, folder: Path) -> str:
    """Write the messages of an hour to one Avro file: eight of each order, within a second or two."""
    rows = int(HOUR * arguments().scale)
    path = f"{folder}/hour"
    table = spark.range(0, rows, 1, 1).selectExpr(
        f"timestamp_millis(id * 3600000 div {rows}) AS ts",
        "substr(sha2(string((id div 800) * 100 + id % 100), 256), 1, 16) AS key",
        "concat('machine-', hash(id) & 255) AS machine",
        "rand(1) * 100 AS temperature", "randn(2) AS vibration", "CAST(rand(3) * 1000000 AS bigint) AS load",
        "concat('status ', hash(id, 1) & 7, ' of order line ', hex(hash(id, 2))) AS value",
    )  # fmt: skip
    table.write.format("avro").save(path)
    return path


def size_of(path: str, fmt: str) -> int:
    return sum(file.stat().st_size for file in Path(path).glob(f"*.{fmt}"))


def read_bytes(spark: SparkSession) -> int:
    report = xskip.last_report(spark)
    assert report is not None
    return sum(scan.kept_bytes for scan in report.scans)


def compare(spark: SparkSession, path: str, fmt: str, name: str, condition: str, lines: Lines) -> None:
    """Add lines for a query that reads parts, and the same query that reads whole files."""

    def query() -> None:
        rows = spark.read.format(fmt).load(path)
        rows.filter(condition).agg(F.count("*"), *map(F.max, rows.columns)).collect()

    spark.conf.set(SETTING, "true")
    query()
    lines.add(f"{name}: bytes of the file / bytes read", size_of(path, fmt) / read_bytes(spark), limit=">= 20")
    runs = [(partial(spark.conf.set, SETTING, on), query) for on in ("false", "true")]
    whole, parts = interleaved(runs, ROUNDS, 3)
    lines.ratio(f"{name}: whole file / parts", whole, parts, ">= 10")


def avro(spark: SparkSession, base: Path, lines: Lines) -> None:
    path = hour(spark, base)
    lines.add("MB of the Avro file", size_of(path, "avro") / 1e6)
    SkippingIndex.for_path(spark, path, format="avro").create([MinMax("ts"), BloomFilter("key")])
    for minute in (5, 30, 52):
        start = f"timestamp'1970-01-01 00:{minute:02}:00'"
        condition = f"ts >= {start} AND ts < {start} + interval 1 minute"
        compare(spark, path, "avro", f"minute {minute} of an hour", condition, lines)
    compare(spark, path, "avro", "a key", f"key = substr(sha2('{key(0.6)}', 256), 1, 16)", lines)


def key(share: float) -> int:
    """Return the number of the order at some share of the hour."""
    row = int(HOUR * arguments().scale * share)
    return row // 800 * 100 + row % 100


def parquet(spark: SparkSession, base: Path, lines: Lines) -> None:
    rows = int(GIGABYTE * arguments().scale)
    table = spark.range(0, rows, 1, 1).selectExpr(
        "sha2(string(id), 256) AS key", "repeat(sha2(hex(id), 256), 1) AS value"
    )
    groups = {"parquet.block.size": str(max(rows * 130 // GROUPS, 1 << 20)), "compression": "none"}
    theirs = {"parquet.bloom.filter.enabled#key": "true", "parquet.bloom.filter.expected.ndv#key": str(rows // GROUPS)}
    theirs["parquet.bloom.filter.max.bytes"] = str(1 << 22)  # by default, larger filters have more false positives
    own, other = f"{base}/own", f"{base}/other"
    table.write.options(**groups).parquet(own)
    table.write.options(**groups, **theirs).parquet(other)
    index = SkippingIndex.for_path(spark, own)
    index.create([BloomFilter("key")])
    key = f"key = sha2('{rows // 3}', 256)"
    runs = [(lambda: None, partial(count, spark, path, key)) for path in (other, own)]
    theirs_runs, own_runs = interleaved(runs, ROUNDS, 3)
    lines.ratio("a key of a Parquet file: Parquet's Bloom filters / parts", theirs_runs, own_runs, ">= 1")
    filters = size_of(other, "parquet") - size_of(own, "parquet")
    lines.add("size: index / Parquet's Bloom filters", index.describe().metadata_bytes / filters, limit="< 1")


def count(spark: SparkSession, path: str, condition: str) -> None:
    spark.read.parquet(path).filter(condition).agg(F.count("*"), F.max("value")).collect()


def build(spark: SparkSession, base: Path, lines: Lines) -> None:
    path = hour(spark, base)
    index = SkippingIndex.for_path(spark, path, format="avro")

    def drop() -> None:
        if index.exists():
            index.drop()

    chosen: dict[str, list[Index]] = {"MinMax": [MinMax("ts")], "MinMax, Bloom": [MinMax("ts"), BloomFilter("key")]}
    for name, kinds in chosen.items():
        runs = [(drop, partial(index.create, kinds, parts=parts)) for parts in (None, "auto")]
        without, with_parts = interleaved(runs, ROUNDS, 1)
        lines.ratio(f"build of {name}: with / without parts", with_parts, without, "<= 1.1")
        share = 100 * index.describe().metadata_bytes / size_of(path, "avro")
        lines.add(f"metadata of {name} in % of the data", share, limit="<= 1")
    drop()


def plan(spark: SparkSession, base: Path, lines: Lines) -> None:
    files, root = scaled(FILES), f"{base}/many"
    table = table_of(root, 0, [minmax("ts", *bounds("ts", files))])
    firsts, lasts = (np.asarray(each.cast(pa.int64())) for each in bounds("ts", files))
    steps = np.linspace(0, 1, PARTS + 1)
    edges = firsts[:, None] + ((lasts - firsts)[:, None] * steps).astype(np.int64)
    columns = (np.tile(np.arange(PARTS) * 3, files), np.full(files * PARTS, 3), np.full(files * PARTS, 9))
    ranges = pa.StructArray.from_arrays([pa.array(column) for column in columns], fields=list(RANGE))
    values = minmax("ts", *(pa.array(side.reshape(-1)) for side in (edges[:, :-1], edges[:, 1:]))).values
    counts = FileCounts(pa.array(np.full(files, 9 * PARTS)), {"ts": pa.array(np.zeros(files, np.int64))})
    parts = FileParts.of_files(np.full(files, PARTS), ranges, {next(iter(table.indexes)): values})
    create(spark, root, {"ts": "timestamp", "id": "bigint"}, [replace(table, parts=parts, counts=counts)])
    relation(spark, root, files, anew=False)[0].createOrReplaceTempView("t")
    spark.conf.set("spark.sql.adaptive.enabled", "false")  # which would run parts of a query to plan it
    span = 30_000_000_000_000
    for name, share in (("1 of 100,000", 1e-5), ("1 in 100", 0.01), ("all", 1)):
        numbers = itertools.count(1)

        def query(share: float = share, numbers: Any = numbers) -> None:
            end = START + int(span * share) - next(numbers)
            planned(spark.sql(f"SELECT sum(id) FROM t WHERE ts < timestamp_micros({end})"))

        runs = [(partial(spark.conf.set, SETTING, on), query) for on in ("false", "true")]
        whole, by_parts = (statistics.median(r.seconds for r in each) * 1000 for each in interleaved(runs, ROUNDS, 3))
        line = f"planning of {files:,} files of {PARTS} parts, {name} left"
        lines.add(line, by_parts, unit=" ms", limit="<= 60", detail=f"without {whole:.1f} ms")


if __name__ == "__main__":
    started = session()
    xskip.enable(started)
    run({"avro": avro, "parquet": parquet, "build": build, "plan": plan}, started)
