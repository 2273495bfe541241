"""How large are indexes, against the data?

    python benchmarks/size.py [results.json] [--scale 0.5] [--only large,small]

Bytes of all files of the metadata directory / bytes of all data files.

large   32 objects of 8 MB and more. ``user`` has as many different values in each object as one row in ten, as where
        every user is seen some ten times within an object. A filter of 1 % takes 1.2 bytes for each different value,
        whatever the object holds: the same objects with another user in each row are stated without a limit.
small   1,000 objects of 2,000 rows, some 0.1 MB, each with its own different users
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from common import Lines, dataset, run, scaled, session
from pyspark.sql import SparkSession

import xskip

LARGE_OBJECTS = 32
LARGE_ROWS = {"parquet": 120_000, "avro": 130_000}
SMALL_OBJECTS = 1_000
SMALL_ROWS = 2_000
KINDS: dict[str, list[xskip.Index]] = {
    "MinMax": [xskip.MinMax("ts")],
    "ValueList": [xskip.ValueList("city")],
    "BloomFilter": [xskip.BloomFilter("user")],
    "all three": [xskip.MinMax("ts"), xskip.ValueList("city"), xskip.BloomFilter("user")],
}


def bytes_of(files: Iterable[Path]) -> int:
    """Without the checksums that Hadoop puts beside local files."""
    return sum(file.stat().st_size for file in files if file.is_file() and not file.name.endswith(".crc"))


def add(lines: Lines, index: xskip.SkippingIndex, what: str, kind: str, limit: str = "") -> None:
    """The size of one choice of indexes against the data's."""
    index.create(KINDS[kind])
    objects = list(Path(index.name).glob("part-*"))
    data, own = bytes_of(objects), bytes_of(Path(index.describe().location).rglob("*"))
    index.drop()
    each = f"{own:,} / {data:,} bytes; an object has {data / len(objects) / 2**20:.2f} MB"
    lines.add(f"{what}, {kind}", 100 * own / data, unit=" %", limit=limit, detail=each)


def large(spark: SparkSession, folder: Path, lines: Lines) -> None:
    for fmt, rows in LARGE_ROWS.items():
        for users, what in ((rows // 10, "a tenth of the users different"), (10**9, "all users different")):
            path = dataset(spark, fmt, folder / str(users), files=scaled(LARGE_OBJECTS), rows=rows, users=users)
            index = xskip.SkippingIndex.for_path(spark, path, format=fmt)
            limit = "<= 0.5" if users < rows else ""
            for kind in KINDS if limit else ["BloomFilter"]:
                add(lines, index, f"{fmt}: large objects, {what}", kind, limit)


def small(spark: SparkSession, folder: Path, lines: Lines) -> None:
    for fmt in ("parquet", "avro"):
        path = dataset(spark, fmt, folder, files=scaled(SMALL_OBJECTS), rows=SMALL_ROWS)
        for kind in KINDS:
            add(lines, xskip.SkippingIndex.for_path(spark, path, format=fmt), f"{fmt}: small objects", kind)


if __name__ == "__main__":
    run({"large": large, "small": small}, session())
