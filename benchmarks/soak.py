"""Does anything grow with the number of queries, refreshes and sessions?

    python benchmarks/soak.py [results.json] [--scale 0.1] [--only queries,threads,refreshes,sessions]

10,000 queries from one thread, 10,000 from eight, 500 refreshes after each of which a query asks, 100 sessions. Every
query is a new one, aggregates or joins, and is planned and run by threads that Spark makes for it and ends a minute
later. Of this process and of the driver's JVM: threads, open handles, resident memory, and what is alive in the heap
once Spark's cleaner has run, at the end of each part against after its first quarter, in which caches fill. The same
queries follow with skipping off: what grows there as well is Spark's.
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
#: Spark remembers the last queries, jobs and stages for its pages: few of them.
SETTINGS = {
    "spark.sql.ui.retainedExecutions": "10",
    "spark.ui.retainedJobs": "10",
    "spark.ui.retainedStages": "10",
    "spark.ui.retainedTasks": "100",
    "spark.sql.shuffle.partitions": "2",
}
number = count()


class State(NamedTuple):
    """What is held at a moment."""

    python_threads: float
    python_handles: float
    python_megabytes: float
    java_answering_threads: float
    java_sockets: float
    java_live_megabytes: float


def state(spark: SparkSession) -> State:
    """What this process and the driver's JVM hold now."""
    gc.collect()
    for _ in range(3):  # Spark's cleaner takes away what a collection has found
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
    """Takes a step many times, and says what was held at the end of them against after a quarter of them."""
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
    """A new query: of two, one aggregates, one joins."""
    n = next(number)
    least = 1_700_000_000 + n % (FILES * ROWS - 50)
    df = spark.read.parquet(path).filter(f"ts >= timestamp_seconds({least}) AND ts < timestamp_seconds({least + 40})")
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
    """Eight at a time, each in a new thread of Python."""
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
        os.utime(files[i % len(files)])  # as if it was written anew
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
