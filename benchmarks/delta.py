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

from pathlib import Path

from common import dataset, scaled
from peers import OBJECTS, measure
from pyspark.sql import DataFrame, SparkSession

PACKAGES = {
    "3.5": "io.delta:delta-spark_2.12:3.3.2",
    "4.0": "io.delta:delta-spark_2.13:4.0.0",
    "4.1": "io.delta:delta-spark_2.13:4.1.0",
}
SETTINGS = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.databricks.delta.snapshotPartitions": "2",
}


def table(spark: SparkSession, folder: Path) -> DataFrame:
    """The same rows, as files of Delta's."""
    return spark.read.format("delta").load(dataset(spark, "delta", folder, files=scaled(OBJECTS)))


if __name__ == "__main__":
    measure("Delta", PACKAGES, SETTINGS, table)
