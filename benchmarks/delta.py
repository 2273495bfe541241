"""How does skipping compare with Delta's own, on the same rows?

    python benchmarks/delta.py [results.json] [--scale 0.1]

1,000 Parquet files of 2,000 rows, clustered by time, once as a Delta table, once as plain files with an index. One
session reads both, with as many partitions of Delta's state as there are cores; Delta's snapshot is in memory, and so
is the index; the DataFrames are there before.

planning   from ``df.filter(...)`` to the partitions of the scan: analysis, optimization, the physical plan, and the
           choice of files; no data is read. Each run asks something new, so that nothing is answered from memory
total      the same, and the query's own run

Delta is resolved as a package when this runs. Without it this says so, and measures nothing.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path

import pyspark
from common import START, Lines, dataset, interleaved, run, scaled, session
from pyspark.sql import DataFrame, SparkSession

import xskip

OBJECTS = 1_000
ROUNDS = 11
PACKAGES = {"3.5": "delta-spark_2.12:3.3.2", "4.0": "delta-spark_2.13:4.0.0", "4.1": "delta-spark_2.13:4.1.0"}
SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "2",
}


def queries(objects: int) -> dict[str, str]:
    """Filters by what they ask of; ``{}`` is a number that is another one in each run."""
    begin = START + objects * 1_000
    narrow = f"ts >= timestamp_seconds({begin}) AND ts < timestamp_seconds({begin + 600})"
    return {
        "ten minutes of ts": narrow + " AND n <> {}",
        "ten minutes of ts, and temp": narrow + " AND temp < 50 AND n <> {}",
        "half of ts": f"ts >= timestamp_seconds({begin})" + " AND n <> {}",
    }


def planned(df: DataFrame, predicate: str) -> None:
    df.filter(predicate)._jdf.queryExecution().toRdd().getNumPartitions()


def total(df: DataFrame, predicate: str) -> None:
    df.filter(predicate).select("ts", "n", "temp").collect()


def compare(spark: SparkSession, folder: Path, lines: Lines) -> None:
    objects = scaled(OBJECTS)
    path = dataset(spark, "parquet", folder, files=objects)
    index = xskip.SkippingIndex.for_path(spark, path)
    index.create([xskip.MinMax(column) for column in ("ts", "n", "temp")])
    theirs = spark.read.format("delta").load(dataset(spark, "delta", folder, files=objects))
    ours = spark.read.parquet(path)
    number = itertools.count(1)
    for name, query in queries(objects).items():
        for what, action in (("planning", planned), ("total", total)):
            runs = interleaved(
                [
                    (lambda: xskip.disable(spark), asked(theirs, query, action, number)),
                    (lambda: xskip.enable(spark), asked(ours, query, action, number)),
                ],
                ROUNDS,
            )
            lines.ratio(f"{name}, {what}: Delta / ours", *runs, ">= 1")


def asked(
    df: DataFrame, query: str, action: Callable[[DataFrame, str], None], number: itertools.count[int]
) -> Callable[[], None]:
    return lambda: action(df, query.format(-next(number)))


def main() -> None:
    package = PACKAGES.get(".".join(pyspark.__version__.split(".")[:2]))
    if package is None:
        print(f"no Delta is known for Spark {pyspark.__version__}: nothing was measured")
        return
    try:
        spark = session([f"io.delta:{package}"], SETTINGS)
    except Exception as error:  # noqa: BLE001 - whatever the reason, there is no peer
        print(f"Delta cannot be resolved, nothing was measured: {type(error).__name__}")
        return
    run({"delta": compare}, spark)


if __name__ == "__main__":
    main()
