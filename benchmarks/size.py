"""Measure the size of indexes against the data.

    python benchmarks/size.py [results.json] [--scale 0.5] [--only large,small]

Each result is the size of all files of the metadata directory, in percent of the size of all data files.

large   32 files of 8 MB or more. In each file, ``user`` has about one distinct value for every ten rows, as if each
        user occurred about ten times. A Bloom filter with a false positive rate of 1 % takes 1.2 bytes for each
        distinct value, whatever else the file holds. The benchmark therefore also measures files whose rows nearly all
        have different users, and sets no limit for these files
small   1,000 files of 2,000 rows, about 0.1 MB each, whose rows nearly all have different users
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from common import Lines, dataset, run, scaled, session
from pyspark.sql import SparkSession

import xskip

LARGE_FILES = 32
LARGE_ROWS = {"parquet": 120_000, "avro": 130_000}
SMALL_FILES = 1_000
SMALL_ROWS = 2_000
KINDS: dict[str, list[xskip.Index]] = {
    "MinMax": [xskip.MinMax("ts")],
    "ValueList": [xskip.ValueList("city")],
    "BloomFilter": [xskip.BloomFilter("user")],
    "all three": [xskip.MinMax("ts"), xskip.ValueList("city"), xskip.BloomFilter("user")],
}


def bytes_of(files: Iterable[Path]) -> int:
    """Return the total size of files in bytes, without the checksum files that Hadoop writes beside local files."""
    return sum(file.stat().st_size for file in files if file.is_file() and not file.name.endswith(".crc"))


def add(lines: Lines, index: xskip.SkippingIndex, what: str, kind: str, limit: str = "") -> None:
    """Build indexes, record their size in percent of the data's size, and drop them.

    Parameters
    ----------
    lines : Lines
    index : SkippingIndex
        The index of the dataset. The function creates and drops it.
    what : str
        The description of the dataset.
    kind : str
        The key in ``KINDS`` of the indexes to build.
    limit : str
        The condition that the percentage must meet.
    """
    index.create(KINDS[kind])
    files = list(Path(index.name).glob("part-*"))
    data, own = bytes_of(files), bytes_of(Path(index.describe().location).rglob("*"))
    index.drop()
    each = f"{own:,} / {data:,} bytes; a data file has {data / len(files) / 2**20:.2f} MB"
    lines.add(f"{what}, {kind}", 100 * own / data, unit=" %", limit=limit, detail=each)


def large(spark: SparkSession, folder: Path, lines: Lines) -> None:
    for fmt, rows in LARGE_ROWS.items():
        for users, what in ((rows // 10, "a tenth of the users different"), (10**9, "all users different")):
            path = dataset(spark, fmt, folder / str(users), files=scaled(LARGE_FILES), rows=rows, users=users)
            index = xskip.SkippingIndex.for_path(spark, path, format=fmt)
            limit = "<= 0.5" if users < rows else ""
            for kind in KINDS if limit else ["BloomFilter"]:
                add(lines, index, f"{fmt}: large files, {what}", kind, limit)


def small(spark: SparkSession, folder: Path, lines: Lines) -> None:
    for fmt in ("parquet", "avro"):
        path = dataset(spark, fmt, folder, files=scaled(SMALL_FILES), rows=SMALL_ROWS)
        for kind in KINDS:
            add(lines, xskip.SkippingIndex.for_path(spark, path, format=fmt), f"{fmt}: small files", kind)


if __name__ == "__main__":
    run({"large": large, "small": small}, session())
