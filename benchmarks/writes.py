"""Measure what a write costs that collects the statistics of its files.

    python benchmarks/writes.py [results.json] [--scale 0.1] [--rows 2000000] [--only large,small,batch,commits]

``large`` appends 100 files, of ``--rows`` rows each, to a dataset in Parquet and in Avro, and ``small`` 1,000 files of
2,000 rows: without an index, with MinMax on two columns, with ValueList and BloomFilter as well, and without statistics
but with a refresh after the write. ``batch`` appends 100 files of 20 rows to a dataset of 10,000 files, as streams do.
``commits`` appends a file of one row again and again, and compares the last appends with the first.
"""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from common import Lines, arguments, dataset, interleaved, run, scaled, session, write
from pyspark.sql import SparkSession

import xskip
from xskip import BloomFilter, Index, MinMax, SkippingIndex, ValueList

BOUNDS = (MinMax("ts"), MinMax("n"))
ALL = (*BOUNDS, ValueList("city"), BloomFilter("user"))
ROUNDS = 5
SETTING = "spark.xskip.writes.enabled"
COMMITS = 10_000
#: A batch varies by more than what is to be measured.
BATCHES = 60
#: The appends at either end of ``commits`` that are compared.
ENDS = 20


class Target:
    """A dataset with one file, to which a benchmark appends again and again."""

    def __init__(self, spark: SparkSession, folder: Path, fmt: str, indexes: Sequence[Index]) -> None:
        self.spark, self.fmt, self.seed = spark, fmt, folder / "seed"
        self.path = folder / "data"
        write(spark, fmt, str(self.path), (0, 1), rows=10)
        self.index = SkippingIndex.for_path(spark, str(self.path), format=fmt)
        if indexes:
            self.index.create(indexes)
        self.path.rename(self.seed)

    def restore(self, *, writes: bool) -> None:
        """Bring the dataset back to its first state, and switch the statistics of writes on or off."""
        shutil.rmtree(self.path, ignore_errors=True)
        shutil.copytree(self.seed, self.path)
        self.spark.conf.set(SETTING, str(writes).lower())

    def append(self, files: int, rows: int) -> None:
        """Append files of some rows each."""
        write(self.spark, self.fmt, str(self.path), (0, files), rows=rows)

    def append_and_refresh(self, files: int, rows: int) -> None:
        """Append files, and let a refresh read them."""
        self.append(files, rows)
        self.index.refresh()


def compare(spark: SparkSession, folder: Path, lines: Lines, files: int, rows: int) -> None:
    for fmt in ("parquet", "avro"):
        targets = [Target(spark, folder / f"{fmt}-{i}", fmt, kinds) for i, kinds in enumerate(((), BOUNDS, ALL))]
        runs = [(partial(each.restore, writes=True), partial(each.append, files, rows)) for each in targets]
        last = targets[-1]
        runs.append((partial(last.restore, writes=False), partial(last.append_and_refresh, files, rows)))
        none, bounds, all_kinds, refreshed = interleaved(runs, ROUNDS, 1)
        name = f"{fmt}, {files:,} files of {rows:,} rows"
        lines.ratio(f"{name}: with MinMax x2 / without", bounds, none, "<= 1.05")
        lines.ratio(f"{name}: with all / without", all_kinds, none, "<= 1.15")
        lines.ratio(f"{name}: with a refresh / without", refreshed, none, "")
        last.restore(writes=True)
        last.append(2, rows)
        status = last.index.status()
        assert (status.indexed, status.missing) == (3, 0), status


def large(spark: SparkSession, folder: Path, lines: Lines) -> None:
    compare(spark, folder, lines, scaled(100), arguments().rows)


def small(spark: SparkSession, folder: Path, lines: Lines) -> None:
    compare(spark, folder, lines, scaled(1_000), 2_000)


def batch(spark: SparkSession, folder: Path, lines: Lines) -> None:
    files = scaled(10_000)
    path = dataset(spark, "parquet", folder, files=files, rows=10)
    SkippingIndex.for_path(spark, path).create(BOUNDS)

    def append() -> None:
        write(spark, "parquet", path, (files, files + 100), rows=20)

    runs = [(partial(spark.conf.set, SETTING, on), append) for on in ("false", "true")]
    none, indexed = interleaved(runs, BATCHES, 5)
    added = statistics.median(on.seconds - off.seconds for off, on in zip(none, indexed, strict=True))
    lines.add(
        f"milliseconds that a batch of 100 files takes longer, beside {files:,} files", 1000 * added, limit="<= 50"
    )


def commits(spark: SparkSession, folder: Path, lines: Lines) -> None:
    target = Target(spark, folder / "commits", "parquet", BOUNDS)
    target.restore(writes=True)
    seconds = []
    for _ in range(scaled(COMMITS)):
        before = time.perf_counter()
        target.append(1, 1)
        seconds.append(time.perf_counter() - before)
    first, last = (statistics.median(each) for each in (seconds[ENDS : 2 * ENDS], seconds[-ENDS:]))
    lines.add(f"one of the last of {len(seconds):,} appends / one of the first", last / first, limit="<= 1.1")


if __name__ == "__main__":
    parts: dict[str, Callable[[SparkSession, Path, Lines], None]] = {
        "large": large, "small": small, "batch": batch, "commits": commits,
    }  # fmt: skip
    spark = session()
    xskip.enable(spark)
    run(parts, spark)
