"""How long does a refresh take after 1 % new objects, against the full build?

    python benchmarks/refresh.py [results.json] [--scale 0.1] [--only refresh,small]

20,000 Avro objects in 100 directories by day, of 2,000 rows (refresh) and of 100 rows (small). Each round times the
build of the index of all but the newest 1 %, brings those objects in, times the refresh, and one more, which finds
nothing new; and both once more where the listing is trusted, which lists the last day alone. Spark's listing of the
objects, which every reading of the dataset begins with, is timed by itself.
"""

from __future__ import annotations

import datetime as dt
import shutil
from pathlib import Path

from common import ALL, ROWS, Lines, interleaved, run, scaled, session, write
from pyspark.sql import SparkSession

import xskip

OBJECTS = 20_000
SMALL_ROWS = 100
DAYS = 100
ROUNDS = 3


def days(spark: SparkSession, folder: Path, objects: int, rows: int) -> tuple[Path, Path]:
    """Objects in so many directories that each has one in a hundred, and the last day's place."""
    write(spark, "avro", str(folder / "flat"), (0, objects), rows=rows)
    each = -(-objects // DAYS)
    for number, file in enumerate(sorted((folder / "flat").glob("part-*"))):
        day = folder / "avro" / f"day={dt.date(2026, 1, 1) + dt.timedelta(number // each)}"
        day.mkdir(parents=True, exist_ok=True)
        file.rename(day / f"{number:06d}.avro")
    return folder / "avro", day


def refresh(spark: SparkSession, folder: Path, lines: Lines, rows: int = ROWS) -> None:
    objects = scaled(OBJECTS)
    path, last = days(spark, folder, objects, rows)
    added, later = len(list(last.glob("*.avro"))), folder / "later"
    shutil.move(last, later)
    index = xskip.SkippingIndex.for_path(spark, str(path), format="avro")

    def take_away() -> None:
        shutil.rmtree(last, ignore_errors=True)
        if index.exists():
            index.drop()

    def bring_in() -> None:
        shutil.copytree(later, last)

    def trusting() -> None:
        index.refresh(trust_listing=True)

    def take_back() -> None:
        shutil.rmtree(last)
        index.refresh()
        bring_in()

    runs = [
        (take_away, lambda: index.create(ALL)),
        (bring_in, index.refresh),
        (lambda: None, index.refresh),
        (take_back, trusting),
        (lambda: None, trusting),
        (lambda: None, lambda: spark.read.format("avro").load(str(path))),
    ]
    full, some, none, some_trusting, none_trusting, listing = interleaved(runs, ROUNDS, 1, rotate=False)
    assert index.describe().objects == objects
    kind = f"{objects:,} objects of {rows:,} rows"
    lines.ratio(f"{kind}, {added:,} new: refresh / build", some, full, "<= 0.05")
    lines.ratio(f"{kind}, none new: refresh / build", none, full)
    lines.ratio(f"{kind}, {added:,} new: refresh that trusts / build", some_trusting, full, "<= 0.05")
    lines.ratio(f"{kind}, none new: refresh that trusts / build", none_trusting, full)
    lines.ratio(f"{kind}: Spark's own listing / build", listing, full)


def small(spark: SparkSession, folder: Path, lines: Lines) -> None:
    refresh(spark, folder, lines, SMALL_ROWS)


if __name__ == "__main__":
    run({"refresh": refresh, "small": small}, session())
