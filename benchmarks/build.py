"""How long does a build take, against one plain scan of the same columns?

    python benchmarks/build.py [results.json] [--scale 0.1] [--only kinds,small,memory,large,footers]

The scan writes the indexed columns to Spark's noop sink. Both warm, in turn; median of the rounds' ratios.

kinds     1,000 objects of 2,000 rows, with all three kinds of index
small     20,000 Avro objects of 100 rows, with all three
memory    the same: the most memory that the driver's Python takes during a build, and the most that is alive in the
          JVM (here driver and executors in one) after each chunk and its garbage collection; of 20,000 objects against
          5,000. Spark itself keeps listings, and Avro the schemas of files that were read: a plain scan, which comes
          before the build, shows how much of it
large     100 objects of LARGE_ROWS rows with Bloom filters sized for what each holds. The limit is for 2,000,000 rows,
          some 12 GB; the default is a tenth of that
footers   MinMax on Parquet where the footers vouch for the bounds, and where they cannot
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from common import ALL, ROUNDS, WARM, Lines, Run, build, dataset, interleaved, run, scaled, session
from pyspark.sql import SparkSession

import xskip

OBJECTS = 1_000
SMALL_OBJECTS = 20_000
SMALL_ROWS = 100
LARGE_OBJECTS = 100
LARGE_ROWS = 200_000


def scan(spark: SparkSession, fmt: str, path: str, columns: list[str]) -> None:
    spark.read.format(fmt).load(path).select(*columns).write.format("noop").mode("overwrite").save()


def compare(
    spark: SparkSession, fmt: str, path: str, indexes: Sequence[xskip.Index], rounds: int = ROUNDS
) -> tuple[list[Run], list[Run]]:
    """Seconds of builds and of scans, in turn."""
    columns = [column for each in indexes for column in each.columns]
    ours, plain = interleaved(
        [
            build(spark, fmt, path, indexes),
            (lambda: None, lambda: scan(spark, fmt, path, columns)),
        ],
        rounds,
        min(rounds, WARM),
    )
    return ours, plain


def kinds(spark: SparkSession, folder: Path, lines: Lines) -> None:
    for fmt, limit in (("parquet", "<= 1.5"), ("avro", "<= 1.3")):
        path = dataset(spark, fmt, folder, files=scaled(OBJECTS))
        name = f"{fmt}: MinMax x2 + ValueList + BloomFilter / scan"
        lines.ratio(name, *compare(spark, fmt, path, ALL), limit)


def small(spark: SparkSession, folder: Path, lines: Lines) -> None:
    objects = scaled(SMALL_OBJECTS)
    path = dataset(spark, "avro", folder, files=objects, rows=SMALL_ROWS)
    lines.ratio(f"avro: {objects:,} small objects / scan", *compare(spark, "avro", path, ALL, 2), "<= 1.3")


def memory(spark: SparkSession, folder: Path, lines: Lines) -> None:
    found: dict[int, tuple[float, float]] = {}
    columns = [column for each in ALL for column in each.columns]
    for i, objects in enumerate(scaled(SMALL_OBJECTS // part) for part in (20, 4, 2, 1)):
        path = dataset(spark, "avro", folder / str(objects), files=objects, rows=SMALL_ROWS)
        index = xskip.SkippingIndex.for_path(spark, path, format="avro")
        scan(spark, "avro", path, columns)
        after_scan = heap(spark)
        found[objects] = peaks(spark, index)
        if i:  # the first one is there to load what is loaded once
            lines.add(f"{objects:,} objects: Python's peak", found[objects][0], unit=" MB")
            lines.add(f"{objects:,} objects: alive in the JVM", found[objects][1], unit=" MB")
            lines.add(f"{objects:,} objects: alive in the JVM after a scan", after_scan, unit=" MB")
    _, few, _, many = found
    for k, what in enumerate(("Python's peak", "alive in the JVM")):
        lines.add(f"{what}, {many:,} objects / {few:,}", found[many][k] / found[few][k], limit="<= 1.1")


def peaks(spark: SparkSession, index: xskip.SkippingIndex) -> tuple[float, float]:
    """The most megabytes of Python and of the JVM's live heap during a build."""
    alive: list[float] = []
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    index.create(ALL, progress=lambda _: alive.append(heap(spark)))
    status = Path("/proc/self/status").read_text()
    peak = next(int(line.split()[1]) for line in status.splitlines() if line.startswith("VmHWM:"))
    return peak / 1024, max(alive)


def heap(spark: SparkSession) -> float:
    """Megabytes alive in the JVM."""
    jvm = spark._jvm
    jvm.System.gc()
    return jvm.java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage().getUsed() / 2**20


def large(spark: SparkSession, folder: Path, lines: Lines) -> None:
    objects = scaled(LARGE_OBJECTS)
    for fmt in ("parquet", "avro"):
        path = dataset(spark, fmt, folder, files=objects, rows=LARGE_ROWS)
        name = f"{fmt}: {objects:,} objects of {LARGE_ROWS:,} rows, BloomFilter / scan"
        lines.ratio(name, *compare(spark, fmt, path, [xskip.BloomFilter("user")], 2), "<= 1.5")


def footers(spark: SparkSession, folder: Path, lines: Lines) -> None:
    path = dataset(spark, "parquet", folder, files=scaled(OBJECTS))
    vouched = [xskip.MinMax(column) for column in ("ts", "n", "city")]
    for name, indexes, limit in (
        ("MinMax of ts, n, city, from footers", vouched, "<= 0.3"),
        ("MinMax of a double, from data", [xskip.MinMax("temp")], "<= 1.3"),
    ):
        lines.ratio(f"parquet: {name} / scan", *compare(spark, "parquet", path, indexes), limit)


if __name__ == "__main__":
    run({"kinds": kinds, "small": small, "memory": memory, "large": large, "footers": footers}, session())
