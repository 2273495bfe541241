"""Measure the time of a build against one plain scan of the same columns.

    python benchmarks/build.py [results.json] [--scale 0.1] [--only kinds,small,large,footers] [--rows 200000]

The scan writes the indexed columns to Spark's noop sink. Builds and scans run in turn, after warm-up rounds that do not
count. Each result is the median of the rounds' ratios.

kinds     1,000 files of 2,000 rows, with indexes of three types
small     20,000 Avro files of 100 rows, with the indexes of ``kinds``
large     100 files of many rows, with Bloom filters sized for the values of each file. The limit applies to files of
          2,000,000 rows, about 16 GB, which ``--rows 2000000`` writes. The default is a tenth of that
footers   MinMax on Parquet, for columns whose bounds the footers prove and for a column whose bounds they do not prove
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from common import ALL, Lines, Run, arguments, build, dataset, interleaved, run, scaled, session
from pyspark.sql import SparkSession

import xskip

FILES = 1_000
SMALL_FILES = 20_000
SMALL_ROWS = 100
LARGE_FILES = 100


def scan(spark: SparkSession, fmt: str, path: str, columns: list[str]) -> None:
    spark.read.format(fmt).load(path).select(*columns).write.format("noop").mode("overwrite").save()


def compare(
    spark: SparkSession,
    fmt: str,
    path: str,
    indexes: Sequence[xskip.Index],
    rounds: tuple[int, int] = (7, 12),
) -> tuple[list[Run], list[Run]]:
    """Run builds and scans in turn, and return the runs of both.

    Parameters
    ----------
    spark : SparkSession
    fmt : str
        The format of the dataset, ``avro`` or ``parquet``.
    path : str
        The directory of the dataset.
    indexes : sequence of Index
        The indexes to build. The scan reads their columns.
    rounds : (int, int)
        The number of measured rounds, and the number of warm-up rounds in which the JVM compiles the code.

    Returns
    -------
    (list of Run, list of Run)
        The builds and the scans, one of each per measured round.
    """
    columns = [column for each in indexes for column in each.columns]
    plain = (lambda: None, lambda: scan(spark, fmt, path, columns))
    ours, plains = interleaved([build(spark, fmt, path, indexes), plain], *rounds)
    return ours, plains


def kinds(spark: SparkSession, folder: Path, lines: Lines) -> None:
    for fmt, limit in (("parquet", "<= 1.5"), ("avro", "<= 1.3")):
        path = dataset(spark, fmt, folder, files=scaled(FILES))
        name = f"{fmt}: MinMax x2 + ValueList + BloomFilter / scan"
        lines.ratio(name, *compare(spark, fmt, path, ALL), limit)


def small(spark: SparkSession, folder: Path, lines: Lines) -> None:
    files = scaled(SMALL_FILES)
    path = dataset(spark, "avro", folder, files=files, rows=SMALL_ROWS)
    lines.ratio(f"avro: {files:,} small files / scan", *compare(spark, "avro", path, ALL, (3, 4)), "<= 1.3")


def large(spark: SparkSession, folder: Path, lines: Lines) -> None:
    files, rows = scaled(LARGE_FILES), arguments().rows
    for fmt in ("parquet", "avro"):
        path = dataset(spark, fmt, folder, files=files, rows=rows)
        name = f"{fmt}: {files:,} files of {rows:,} rows, BloomFilter / scan"
        lines.ratio(name, *compare(spark, fmt, path, [xskip.BloomFilter("user")], (3, 2)), "<= 1.5")


def footers(spark: SparkSession, folder: Path, lines: Lines) -> None:
    path = dataset(spark, "parquet", folder, files=scaled(FILES))
    vouched = [xskip.MinMax(column) for column in ("ts", "n", "city")]
    for name, indexes, limit in (
        ("MinMax of ts, n, city, from footers", vouched, "<= 0.3"),
        ("MinMax of a double, from data", [xskip.MinMax("temp")], "<= 1.3"),
    ):
        lines.ratio(f"parquet: {name} / scan", *compare(spark, "parquet", path, indexes), limit)


if __name__ == "__main__":
    run({"kinds": kinds, "small": small, "large": large, "footers": footers}, session())
