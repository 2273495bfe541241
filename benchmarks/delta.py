"""Compare skipping with Delta's own, on the same rows.

    python benchmarks/delta.py [results.json] [--scale 0.1]

The data is 1,000 Parquet files of 2,000 rows, clustered by time, written once as a Delta table and once as plain files
with an index. One session reads both. The Delta table's state has as many partitions as the session has cores. Delta's
snapshot and the index are in memory, and the DataFrames exist before the measurement.

planning   the time from ``df.filter(...)`` to the partitions of the scan: analysis, optimization, the physical plan and
           the choice of files. No data is read. The filter differs in each run, so that no cached answer applies
total      the planning time and the time of the query's run

The benchmark resolves Delta as a package. If that fails, it prints a message and measures nothing.
"""

from __future__ import annotations

from pathlib import Path

from common import dataset, scaled
from peers import FILES, measure
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
    """Write the rows of the dataset as a Delta table, and return the table."""
    return spark.read.format("delta").load(dataset(spark, "delta", folder, files=scaled(FILES)))


if __name__ == "__main__":
    measure("Delta", PACKAGES, SETTINGS, table)
