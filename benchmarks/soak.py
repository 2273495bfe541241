"""Measure what grows with the number of queries, refreshes and sessions.

    python benchmarks/soak.py [results.json] [--scale 0.1] [--only queries,threads,refreshes,sessions]

The benchmark runs 10,000 queries from one thread, 10,000 from eight threads, 500 refreshes with a query after each, and
a query in each of 100 sessions. No query is asked twice. All queries aggregate, and every second query also joins.
Spark creates threads to plan and run a query, and ends these threads a minute later.

The results are the threads, open handles and resident memory of this process, and the threads of xskip, the sockets and
the live heap of the driver's JVM, after Spark's cleaner has run. Each result is the ratio of the value at the end of a
part to the value after the part's first quarter, in which caches fill. After the queries from one thread, a quarter as
many queries run with skipping off: Spark causes the growth that they show as well.
"""

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple

from common import Lines, run, scaled, session, write
from memory import heap
from pyspark import InheritableThread
from pyspark.sql import SparkSession

import xskip

QUERIES, REFRESHES, SESSIONS, THREADS = 10_000, 500, 100, 8
FILES, ROWS = 20, 100
#: Limits on the finished queries, jobs, stages and tasks that Spark retains for its UI, on the file listings that Spark
#: caches (each ``spark.read`` adds one, up to 250 MB by default), and two shuffle partitions.
SETTINGS = {
    "spark.sql.hive.filesourcePartitionFileCacheSize": str(1 << 20),
    "spark.sql.ui.retainedExecutions": "10",
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
    "spark.ui.retainedTasks": "100",
    "spark.sql.shuffle.partitions": "2",
}
number = count()


class State(NamedTuple):
    """The resources that this process and the driver's JVM hold at one moment."""

    python_threads: float
    python_handles: float
    python_megabytes: float
    java_answering_threads: float
    java_sockets: float
    java_live_megabytes: float


def state(spark: SparkSession) -> State:
    """Collect garbage in both processes, and return the resources that this process and the driver's JVM hold."""
    gc.collect()
    for _ in range(3):  # Spark's cleaner releases resources only after garbage collection
        heap(spark)
        time.sleep(1)
    status = Path("/proc/self/status").read_text()
    resident = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmRSS:"))
    jvm: Any = spark._jvm
    java = jvm.ProcessHandle.current().pid()
    names = [thread.getName() for thread in jvm.Thread.getAllStackTraces().keySet()]
    links = [os.readlink(link) for link in Path(f"/proc/{java}/fd").iterdir() if link.is_symlink()]
    return State(
        threading.active_count(),
        len(list(Path("/proc/self/fd").iterdir())),
        resident / 1024,
        sum(name.startswith("xskip-") for name in names),
        sum(link.startswith("socket:") for link in links),
        heap(spark),
    )


def grown(spark: SparkSession, lines: Lines, name: str, steps: int, step: Callable[[int], object]) -> None:
    """Repeat a step, and record how much the held resources grew after the first quarter of the steps.

    Parameters
    ----------
    spark : SparkSession
    lines : Lines
    name : str
        The description of the step.
    steps : int
        The number of steps.
    step : callable
        Takes the number of the step, from 0.
    """
    for i in range(steps // 4):
        step(i)
    before = state(spark)
    for i in range(steps // 4, steps):
        step(i)
    after = state(spark)
    for field, first, last in zip(State._fields, before, after, strict=True):
        limit = "<= 1.1" if "megabytes" in field else "<= 1"
        detail = f"{first:.0f} after {steps // 4:,}, {last:.0f} after {steps:,}"
        lines.add(
            f"{name}: {field.replace('_', ' ')}, end / first quarter", last / max(first, 1), limit=limit, detail=detail
        )


def query(spark: SparkSession, path: str) -> None:
    """Run an aggregation with a filter that no query had before, every second time over a join."""
    n = next(number)
    least = 1_700_000_000 + n % (FILES * ROWS - 50)
    between = f"ts >= timestamp_seconds({least}) AND ts < timestamp_seconds({least + 40})"
    df = spark.read.parquet(path).filter(f"{between} AND n <> {-1 - n}")
    if n % 2:
        df = df.join(spark.read.parquet(path).filter(f"n = {n % 1000}").select("user"), "user", "left")
    df.groupBy("city").count().collect()


def indexed(spark: SparkSession, folder: Path) -> tuple[str, xskip.SkippingIndex]:
    path = f"{folder}/parquet"
    write(spark, "parquet", path, (0, FILES), rows=ROWS)
    index = xskip.SkippingIndex.for_path(spark, path)
    index.create([xskip.MinMax("ts"), xskip.ValueList("city"), xskip.BloomFilter("user")])
    xskip.enable(spark)
    return path, index


def queries(spark: SparkSession, folder: Path, lines: Lines) -> None:
    path, _ = indexed(spark, folder)
    grown(spark, lines, "queries", scaled(QUERIES), lambda _: query(spark, path))
    xskip.disable(spark)
    grown(spark, lines, "queries, skipping off", scaled(QUERIES) // 4, lambda _: query(spark, path))


def threads(spark: SparkSession, folder: Path, lines: Lines) -> None:
    """Run eight queries at a time, first in new Python threads, then in the threads of a pool."""
    path, _ = indexed(spark, folder)

    def together(_: int) -> None:
        started = [InheritableThread(target=query, args=(spark, path)) for _ in range(THREADS)]
        for thread in started:
            thread.start()
        for thread in started:
            thread.join()

    grown(spark, lines, "queries of eight threads", scaled(QUERIES) // THREADS, together)
    with ThreadPoolExecutor(THREADS) as pool:
        grown(spark, lines, "eight threads that stay", scaled(QUERIES) // 4 // THREADS,
              lambda _: list(pool.map(lambda _: query(spark, path), range(THREADS))))  # fmt: skip


def refreshes(spark: SparkSession, folder: Path, lines: Lines) -> None:
    path, index = indexed(spark, folder)
    files = sorted(Path(path).glob("part-*"))

    def refreshed(i: int) -> None:
        os.utime(files[i % len(files)])  # a new modification time marks the file as changed
        index.refresh()
        query(spark, path)

    grown(spark, lines, "refreshes", scaled(REFRESHES), refreshed)


def sessions(spark: SparkSession, folder: Path, lines: Lines) -> None:
    path, _ = indexed(spark, folder)

    def another(_: int) -> None:
        own = spark.newSession()
        xskip.enable(own)
        query(own, path)
        xskip.disable(own)

    grown(spark, lines, "sessions", scaled(SESSIONS), another)


if __name__ == "__main__":
    parts = {"queries": queries, "threads": threads, "refreshes": refreshes, "sessions": sessions}
    run(parts, session(conf=SETTINGS))
