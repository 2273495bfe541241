"""Measure how the memory that a build takes in the driver grows with the dataset.

    python benchmarks/memory.py [results.json] [--scale 0.1]

The benchmark builds indexes of 1,000, 5,000, 10,000 and 20,000 Avro files of 100 rows, with executors in separate
processes. The first build only loads the code that a process loads once, and is not reported. For the driver's Python,
the result is the greatest resident size during a build. For the driver's JVM, the result is the live heap after the
garbage collection that follows each chunk, above the live heap after a plain scan. The scan is the baseline because
Spark itself caches listings.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from build import scan
from common import ALL, Lines, dataset, run, scaled, session
from pyspark.sql import SparkSession

import xskip

FILES = (1_000, 5_000, 10_000, 20_000)
ROWS = 100


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
    Path("/proc/self/clear_refs").write_text("5")  # resets VmHWM, the peak resident size
    index.create(ALL, progress=lambda _: alive.append(heap(spark)))
    status = Path("/proc/self/status").read_text()
    most = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))
    return most / 1024, max(alive)


def heap(spark: SparkSession) -> float:
    """Collect the garbage of the driver's JVM, and return the used heap in MiB."""
    jvm: Any = spark._jvm
    jvm.System.gc()
    used: int = jvm.java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed()
    return used / 2**20


if __name__ == "__main__":
    run({"memory": memory}, session(master="local-cluster[2,1,1024]"))
