"""Compare skipping with Delta's own, on the same rows.

    python benchmarks/delta.py [results.json] [--scale 0.1] [--rows 2000000] [--only Delta,metadata,writes,layouts]

The data is 1,000 Parquet files of 2,000 rows, clustered by time, written once as a Delta table and once as plain files
with an index. One session reads both. The Delta table's state has as many partitions as the session has cores. Delta's
snapshot and the index are in memory, and the DataFrames exist before the measurement.

planning   the time from ``df.filter(...)`` to the partitions of the scan: analysis, optimization, the physical plan and
           the choice of files. No data is read. The filter differs in each run, so that no cached answer applies
total      the planning time and the time of the query's run

The part ``metadata`` compares the queries of ``metadata_queries.py`` on 10,000 files of 100 rows. Delta answers a count
and bounds of all rows from its log. It has no such feature for the other queries, and skips files by their filters.

The part ``writes`` appends 100 files, of ``--rows`` rows each, to a Delta table, which collects statistics of all six
columns, and to a dataset in Parquet with an index of bounds of the same columns. The part ``layouts`` counts the files
that queries read of rows in Z-order, by Delta's ``OPTIMIZE``, and of as many files by ``xskip.cluster``.

The benchmark resolves Delta as a package. If that fails, it prints a message and measures nothing.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import metadata_queries
from common import Lines, arguments, dataset, interleaved, scaled, write
from peers import FILES, measure
from pyspark.sql import DataFrame, Row, SparkSession

import xskip

WRITE_ROUNDS = 5
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


def rows(spark: SparkSession, query: str) -> list[Row]:
    """Run a query."""
    return spark.sql(query).collect()


def metadata(spark: SparkSession, folder: Path, lines: Lines) -> None:
    files = scaled(metadata_queries.FILES)
    paths = {fmt: dataset(spark, fmt, folder, files=files, rows=metadata_queries.ROWS) for fmt in ("delta", "parquet")}
    xskip.SkippingIndex.for_path(spark, paths["parquet"]).create([xskip.MinMax("ts")])
    views = {fmt: spark.read.format(fmt).load(path) for fmt, path in paths.items()}
    xskip.enable(spark)
    for name, query in metadata_queries.queries(files).items():
        query_rows = partial(rows, spark, query)
        runs = [(partial(view.createOrReplaceTempView, "t"), query_rows) for view in views.values()]
        theirs, ours = interleaved(runs, metadata_queries.ROUNDS)
        lines.ratio(f"{name}: Delta / ours", theirs, ours, ">= 1")


def writes(spark: SparkSession, folder: Path, lines: Lines) -> None:
    paths = {fmt: str(folder / f"written-{fmt}") for fmt in ("delta", "parquet")}
    for fmt, path in paths.items():
        write(spark, fmt, path, (0, 1), rows=10)
    index = xskip.SkippingIndex.for_path(spark, paths["parquet"])
    columns = spark.read.parquet(paths["parquet"]).columns
    index.create([xskip.MinMax(column) for column in columns])
    xskip.enable(spark)
    files, size = scaled(100), arguments().rows
    append = [partial(write, spark, fmt, path, (0, files), rows=size) for fmt, path in paths.items()]
    theirs, ours = interleaved([(lambda: None, each) for each in append], WRITE_ROUNDS, 1)
    assert index.status().up_to_date
    name = f"append {files:,} files of {size:,} rows with bounds of {len(columns)} columns: Delta / ours"
    lines.ratio(name, theirs, ours, ">= 1")


def layouts(spark: SparkSession, folder: Path, lines: Lines) -> None:
    names = ("a", "b", "c")
    columns = [f"pmod(hash(id, {i}), 1000000) AS {name}" for i, name in enumerate(names)]
    rows = spark.range(0, scaled(64) * 20_000, 1, 8).selectExpr(*columns, "sha2(CAST(id AS STRING), 256) AS payload")
    xskip.enable(spark)
    for by in (names[:2], names):
        table = str(folder / f"z{len(by)}")
        rows.write.format("delta").save(table)
        size = sum(each.stat().st_size for each in Path(table).glob("*.parquet"))
        spark.conf.set("spark.databricks.delta.optimize.maxFileSize", str(size // scaled(64)))
        spark.sql(f"OPTIMIZE delta.`{table}` ZORDER BY ({', '.join(by)})")
        delta = spark.read.format("delta").load(table)
        files = len(delta.inputFiles())
        path = f"{table}-ours"
        xskip.write(xskip.cluster(rows, by=by, files=files), path, [xskip.MinMax(name) for name in by])
        ours = spark.read.parquet(path)
        read = [0, 0]
        for condition in (f"{name} BETWEEN {at} AND {at + 100}" for name in by for at in range(0, 1_000_000, 50_000)):
            read[0] += len(delta.filter(condition).inputFiles())
            (scan,) = xskip.explain(ours.filter(condition)).scans
            read[1] += scan.files - scan.skipped
        name = f"files that {20 * len(by)} queries of one of {len(by)} columns read, of {files}: Delta's Z-order / ours"
        lines.add(name, read[0] / read[1], limit=">= 1", detail=f"{read[0]:,} / {read[1]:,}")


if __name__ == "__main__":
    measure("Delta", PACKAGES, SETTINGS, table, {"metadata": metadata, "writes": writes, "layouts": layouts})
