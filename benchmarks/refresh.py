"""Measure the time of a refresh after 1 % new files against the full build.

    python benchmarks/refresh.py [results.json] [--scale 0.1] [--only refresh,small]

The data is 20,000 Avro files in 100 directories by day, of 2,000 rows (``refresh``) and of 100 rows (``small``). Each
round times these actions:

* the build of an index of all files but the newest 1 %;
* a refresh after those files arrive, and a refresh that finds nothing new;
* both refreshes with ``trust_listing``, which lists only the last day's directory;
* Spark's listing of the files, with which each read of the dataset begins.
"""

from __future__ import annotations

import datetime as dt
import shutil
from pathlib import Path

from common import ALL, ROWS, Lines, interleaved, run, scaled, session, write
from pyspark.sql import SparkSession

import xskip

FILES = 20_000
SMALL_ROWS = 100
DAYS = 100
ROUNDS = 3


def days(spark: SparkSession, folder: Path, files: int, rows: int) -> tuple[Path, Path]:
    """Write Avro files into directories by day, each with a hundredth of the files.

    Parameters
    ----------
    spark : SparkSession
    folder : pathlib.Path
        The folder in which to create the dataset's directory.
    files : int
        The number of files.
    rows : int
        The number of rows in each file.

    Returns
    -------
    (pathlib.Path, pathlib.Path)
        The directory of the dataset, and the directory of its last day.
    """
    write(spark, "avro", str(folder / "flat"), (0, files), rows=rows)
    each = -(-files // DAYS)
    for number, file in enumerate(sorted((folder / "flat").glob("part-*"))):
        day = folder / "avro" / f"day={dt.date(2026, 1, 1) + dt.timedelta(number // each)}"
        day.mkdir(parents=True, exist_ok=True)
        file.rename(day / f"{number:06d}.avro")
    return folder / "avro", day


def refresh(spark: SparkSession, folder: Path, lines: Lines, rows: int = ROWS) -> None:
    files = scaled(FILES)
    path, last = days(spark, folder, files, rows)
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
    assert index.describe().files == files
    kind = f"{files:,} files of {rows:,} rows"
    lines.ratio(f"{kind}, {added:,} new: refresh / build", some, full, "<= 0.05")
    lines.ratio(f"{kind}, none new: refresh / build", none, full)
    lines.ratio(f"{kind}, {added:,} new: refresh that trusts / build", some_trusting, full, "<= 0.05")
    lines.ratio(f"{kind}, none new: refresh that trusts / build", none_trusting, full)
    lines.ratio(f"{kind}: Spark's own listing / build", listing, full)


def small(spark: SparkSession, folder: Path, lines: Lines) -> None:
    refresh(spark, folder, lines, SMALL_ROWS)


if __name__ == "__main__":
    run({"refresh": refresh, "small": small}, session())
