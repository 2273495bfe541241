"""Measure how much of a large file a query reads, and how fast it is, by statistics of parts.

    python benchmarks/ranges.py [results.json] [--scale 0.1] [--only avro,parquet,build]

``avro`` writes an hour of messages in the order of time to one file of 128 MB, uncompressed, and times a minute of it,
and one key, against the same index without parts. ``parquet`` writes a file of 1 GB with 8 row groups whose keys are in
no order, and times one key by a Bloom filter of xskip against the Bloom filters that Spark writes into Parquet.
``build`` compares builds with and without parts, and the size of the metadata with that of the data.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from common import Lines, arguments, interleaved, run, session
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import xskip
from xskip import BloomFilter, Index, MinMax, SkippingIndex

HOUR = 1_000_000
GIGABYTE = 8_000_000
GROUPS = 8
ROUNDS = 5
SETTING = "spark.xskip.planning.ranges"


def hour(spark: SparkSession, folder: Path) -> str:
    """Write the messages of an hour to one Avro file, each with a key of its own."""
    rows = int(HOUR * arguments().scale)
    path = f"{folder}/hour"
    spark.conf.set("spark.sql.avro.compression.codec", "uncompressed")
    table = spark.range(0, rows, 1, 1).selectExpr(
        f"timestamp_millis(id * 3600000 div {rows}) AS ts",
        "sha2(string(id), 256) AS key",
        "repeat(hex(id), 7) AS value",
    )
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
        spark.read.format(fmt).load(path).filter(condition).agg(F.count("*"), F.max("value")).collect()

    spark.conf.set(SETTING, "true")
    query()
    lines.add(f"{name}: bytes of the file / bytes read", size_of(path, fmt) / read_bytes(spark), limit=">= 20")
    runs = [(partial(spark.conf.set, SETTING, on), query) for on in ("false", "true")]
    whole, parts = interleaved(runs, ROUNDS, 3)
    lines.ratio(f"{name}: whole file / parts", whole, parts, ">= 10")


def avro(spark: SparkSession, base: Path, lines: Lines) -> None:
    path = hour(spark, base)
    SkippingIndex.for_path(spark, path, format="avro").create([MinMax("ts"), BloomFilter("key")])
    minute = "ts >= timestamp'1970-01-01 00:30:00' AND ts < timestamp'1970-01-01 00:31:00'"
    compare(spark, path, "avro", "a minute of an hour", minute, lines)
    key = f"key = sha2('{int(HOUR * arguments().scale) // 2}', 256)"
    compare(spark, path, "avro", "a key", key, lines)


def parquet(spark: SparkSession, base: Path, lines: Lines) -> None:
    rows = int(GIGABYTE * arguments().scale)
    table = spark.range(0, rows, 1, 1).selectExpr(
        "sha2(string(id), 256) AS key", "repeat(sha2(hex(id), 256), 1) AS value"
    )
    groups = {"parquet.block.size": str(max(rows * 130 // GROUPS, 1 << 20)), "compression": "none"}
    theirs = {"parquet.bloom.filter.enabled#key": "true", "parquet.bloom.filter.expected.ndv#key": str(rows // GROUPS)}
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


if __name__ == "__main__":
    started = session()
    xskip.enable(started)
    run({"avro": avro, "parquet": parquet, "build": build}, started)
