"""Compare skipping with Iceberg's own, on the same files.

    python benchmarks/iceberg.py [results.json] [--scale 0.1]

The data is 1,000 Parquet files of 2,000 rows, clustered by time, with an index. An Iceberg table holds the same files,
and its manifests hold the bounds of all columns from the footers. One session reads both, and the DataFrames exist
before the measurement.

planning   the time from ``df.filter(...)`` to the partitions of the scan: analysis, optimization, the physical plan and
           the choice of files. No data is read. The filter differs in each run, so that no cached answer applies
total      the planning time and the time of the query's run

The benchmark resolves Iceberg as a package. If that fails, it prints a message and measures nothing.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from peers import measure
from pyspark.sql import DataFrame, SparkSession

RUNTIME = "org.apache.iceberg:iceberg-spark-runtime"
PACKAGES = {
    "3.5": f"{RUNTIME}-3.5_2.12:1.10.0",
    "4.0": f"{RUNTIME}-4.0_2.13:1.10.0",
    "4.1": f"{RUNTIME}-4.1_2.13:1.11.0",
}


def table(spark: SparkSession, folder: Path) -> DataFrame:
    """Add the Parquet files to a new Iceberg table, and return the table."""
    path = f"{folder}/parquet"
    spark.read.parquet(path).limit(0).writeTo("peer.db.t").create()
    spark.sql(f"CALL peer.system.add_files(table => 'db.t', source_table => '`parquet`.`{path}`')").collect()
    return spark.table("peer.db.t")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory(prefix="xskip-bench-") as warehouse:
        settings = {
            "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
            "spark.sql.catalog.peer": "org.apache.iceberg.spark.SparkCatalog",
            "spark.sql.catalog.peer.type": "hadoop",
            "spark.sql.catalog.peer.warehouse": warehouse,
        }
        measure("Iceberg", PACKAGES, settings, table)
