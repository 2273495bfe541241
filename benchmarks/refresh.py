"""How long does a refresh take after 1 % new objects, against the full build?

    python benchmarks/refresh.py [results.json] [--scale 0.1]

20,000 Avro objects of 100 rows. Each round times the build of the index of all but the newest 1 %, brings those objects
in, times the refresh, and one more, which finds nothing new. Spark's listing of the objects, which every reading of the
dataset begins with, is timed by itself: no refresh can be faster.
"""

from __future__ import annotations

import shutil
from pathlib import Path

from common import ALL, Lines, interleaved, run, scaled, session, write
from pyspark.sql import SparkSession

import xskip

OBJECTS = 20_000
ROWS = 100
ROUNDS = 3


def refresh(spark: SparkSession, folder: Path, lines: Lines) -> None:
    objects = scaled(OBJECTS)
    added = max(2, objects // 100)
    path, later = folder / "avro", folder / "later"
    write(spark, "avro", str(path), (0, objects - added), rows=ROWS)
    write(spark, "avro", str(later), (objects - added, objects), rows=ROWS)
    newest = sorted(later.glob("part-*"))
    index = xskip.SkippingIndex.for_path(spark, str(path), format="avro")

    def take_away() -> None:
        for file in newest:
            (path / file.name).unlink(missing_ok=True)
        if index.exists():
            index.drop()

    def bring_in() -> None:
        for file in newest:
            shutil.copy(file, path / file.name)

    runs = [
        (take_away, lambda: index.create(ALL)),
        (bring_in, index.refresh),
        (lambda: None, index.refresh),
        (lambda: None, lambda: spark.read.format("avro").load(str(path))),
    ]
    full, some, none, listing = interleaved(runs, ROUNDS, 1, rotate=False)
    assert index.describe().objects == objects
    lines.ratio(f"{objects:,} objects, {added:,} new: refresh / build", some, full, "<= 0.05")
    lines.ratio(f"{objects:,} objects, none new: refresh / build", none, full)
    lines.ratio(f"{objects:,} objects: Spark's own listing / build", listing, full)


if __name__ == "__main__":
    run({"refresh": refresh}, session())
