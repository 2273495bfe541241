"""Measure how the memory that a build, and the sink of a Quix Lake, take in the driver grows with their data.

    python benchmarks/memory.py [results.json] [--scale 0.1] [--only memory,sink]

``memory`` builds indexes of 1,000, 5,000, 10,000 and 20,000 Avro files of 100 rows, with executors in separate
processes. The first build only loads the code that a process loads once, and is not reported. For the driver's Python,
the result is the greatest resident size during a build. For the driver's JVM, the result is the live heap after the
garbage collection that follows each chunk, above the live heap after a plain scan. The scan is the baseline because
Spark itself caches listings.

``sink`` writes batches of 1,000 and 20,000 segments, of ten days and one message each, by ``QuixLake.write``, by
``QuixLake.stream``, and by Spark's own partitioned Avro write. For the driver's JVM, the result is the greatest live
heap during the write, above the live heap before it. The first round is not reported.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from build import scan
from common import ALL, Lines, dataset, run, scaled, session
from pyspark.sql import SparkSession

import xskip
from xskip.quixlake import QuixLake

FILES = (1_000, 5_000, 10_000, 20_000)
ROWS = 100
SEGMENTS = (1_000, 1_000, 20_000)
DAYS = 10


def memory(spark: SparkSession, folder: Path, lines: Lines) -> None:
    peaks = {}
    for number, files in enumerate(map(scaled, FILES)):
        path = dataset(spark, "avro", folder / str(number), files=files, rows=ROWS)
        index = xskip.SkippingIndex.for_path(spark, path, format="avro")
        scan(spark, "avro", path, [column for each in ALL for column in each.columns])
        before = heap(spark)
        peaks[number], alive = peak(spark, index)
        if number:
            lines.add(f"{files:,} files: Python's peak", peaks[number], unit=" MB")
            detail = f"{(alive - before) * 1024 / files:.1f} KB for each file"
            lines.add(f"{files:,} files: the driver's JVM", alive - before, unit=" MB", detail=detail)
    lines.add("Python's peak, most files / a quarter of them", peaks[3] / peaks[1], limit="<= 1.1")


def peak(spark: SparkSession, index: xskip.SkippingIndex) -> tuple[float, float]:
    """Build an index, and return the peak memory of the driver during the build.

    Parameters
    ----------
    spark : SparkSession
    index : SkippingIndex
        The index to create.

    Returns
    -------
    (float, float)
        The greatest resident size of Python, and the greatest live heap of the JVM after a chunk, in MiB.
    """
    alive: list[float] = []
    most = greatest_size(lambda: index.create(ALL, progress=lambda _: alive.append(heap(spark))))
    return most, max(alive)


def greatest_size(action: Callable[[], object]) -> float:
    """Run an action, and return the greatest resident size of Python during it, in MiB."""
    Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM, the peak resident size
    action()
    status = Path("/proc/self/status").read_text()
    return next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:")) / 1024


def heap(spark: SparkSession) -> float:
    """Collect the garbage of the driver's JVM, and return the used heap in MiB."""
    jvm: Any = spark._jvm
    jvm.System.gc()
    used: int = jvm.java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed()
    return used / 2**20


def sink(spark: SparkSession, folder: Path, lines: Lines) -> None:
    for number, segments in enumerate(map(scaled, SEGMENTS)):
        for name, write in writes(spark, folder / str(number), segments).items():
            before = heap(spark)
            size, alive = watched(spark, write)
            if number:
                lines.add(f"{segments:,} segments, {name}: Python's peak", size, unit=" MB")
                lines.add(f"{segments:,} segments, {name}: the driver's JVM", alive - before, unit=" MB")


def writes(spark: SparkSession, root: Path, segments: int) -> dict[str, Callable[[], object]]:
    """Return the ways to write a number of segments, each with one message."""
    spark.range(segments).selectExpr(
        f"id % {DAYS} * 86400000 AS timestamp", f"CAST(concat('key-', id DIV {DAYS}) AS BINARY) AS key",
        "CAST(repeat(sha2(CAST(id AS STRING), 256), 3) AS BINARY) AS value", "0L AS partition", "id AS offset",
    ).write.parquet(f"{root}/messages")  # fmt: skip
    messages = spark.read.parquet(f"{root}/messages")
    arriving = spark.readStream.schema(messages.schema).parquet(f"{root}/messages")
    placed = messages.selectExpr("*", "CAST(key AS STRING) AS stream_key", f"offset % {DAYS} AS day")

    def stream() -> None:
        lake = QuixLake(spark, f"{root}/stream")
        query = lake.stream(arriving, "t", f"{root}/checkpoint", availableNow=True)
        query.awaitTermination()

    def plain() -> None:
        writer = placed.repartition("stream_key", "day").write.format("avro")
        writer.partitionBy("stream_key", "day").save(f"{root}/plain")

    return {
        "a batch": lambda: QuixLake(spark, f"{root}/batch").write(messages, "t"),
        "a stream": stream,
        "Spark's Avro write": plain,
    }


def watched(spark: SparkSession, action: Callable[[], object]) -> tuple[float, float]:
    """Run an action, and return the greatest resident size of Python and the greatest live heap of the JVM, in MiB."""
    alive, is_done = [heap(spark)], threading.Event()

    def watch() -> None:
        while not is_done.wait(1):
            alive.append(heap(spark))

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        size = greatest_size(action)
    finally:
        is_done.set()
        watcher.join()
    return size, max(alive)


if __name__ == "__main__":
    run({"memory": memory, "sink": sink}, session(master="local-cluster[2,1,1024]"))
