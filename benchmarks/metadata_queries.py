"""Measure queries that need few rows of what matches, or none, because the index knows more than what to skip.

    python benchmarks/metadata_queries.py [results.json] [--scale 0.1] [--only counts,joins]

counts  10,000 files of 100 rows, clustered by time: the count and the bounds of all rows, and of a window of a tenth of
        the files; 100 rows of the window in a subquery; the 100 latest rows of the window
joins   a star of 1,000 files of facts, of whose 1,000 keys a filter on the other side leaves 5, and one that leaves all

Each query runs in turn without xskip, with an index of MinMax, and with the same index and the rewrites of plans off. A
line has the ratio of the first to the second, or of the third to the second. The number of files that the query has
read stands in the line.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from common import START, Lines, dataset, interleaved, run, scaled, session
from pyspark.sql import SparkSession

import xskip
from xskip import MinMax

FILES, ROWS = 10_000, 100
FACTS = 1_000
ROUNDS = 7
REWRITES = ("limit", "topK", "aggregates", "joins", "subqueries", "ranges")


def prepare(spark: SparkSession, mode: str) -> None:
    """Switch to a mode: without xskip, with it, or with skipping alone."""
    (xskip.disable if mode == "without" else xskip.enable)(spark)
    for name in REWRITES:
        spark.conf.set(f"spark.xskip.planning.{name}", "false" if mode == "skipping" else "true")


def compare(spark: SparkSession, lines: Lines, name: str, query: str) -> None:
    """Add lines for a query in all modes."""
    prepare(spark, "with")
    spark.sql(query).collect()
    report = xskip.last_report(spark)
    files = sum(scan.kept - scan.pruned for scan in report.scans) if report is not None else 0
    modes = ("without", "with", "skipping")
    runs = [(partial(prepare, spark, mode), lambda: spark.sql(query).collect()) for mode in modes]
    without, with_it, skipping = interleaved(runs, ROUNDS)
    lines.ratio(f"{name} ({files} files): without / with xskip", without, with_it, "")
    lines.ratio(f"{name}: skipping alone / with rewrites", skipping, with_it, "")


def queries(files: int) -> dict[str, str]:
    """Return the queries of a view ``t`` of the given number of files by description."""
    first = START + files * ROWS // 2 + 7
    window = f"ts >= timestamp_seconds({first}) AND ts < timestamp_seconds({first + files * ROWS // 10})"
    return {
        "count and bounds": "SELECT count(*), min(ts), max(ts) FROM t",
        "count and bounds of a window": f"SELECT count(*), min(ts), max(ts) FROM t WHERE {window}",
        "100 rows of a window": f"SELECT sum(n) FROM (SELECT n FROM t WHERE {window} LIMIT 100)",
        "latest 100 of a window": f"SELECT * FROM t WHERE {window} ORDER BY ts DESC LIMIT 100",
    }


def counts(spark: SparkSession, folder: Path, lines: Lines) -> None:
    files = scaled(FILES)
    for fmt in ("parquet", "avro"):
        path = dataset(spark, fmt, folder, files=files, rows=ROWS)
        xskip.SkippingIndex.for_path(spark, path, format=fmt).create([MinMax("ts")])
        spark.read.format(fmt).load(path).createOrReplaceTempView("t")
        for name, query in queries(files).items():
            compare(spark, lines, f"{fmt}: {name}", query)


def joins(spark: SparkSession, folder: Path, lines: Lines) -> None:
    files = scaled(FACTS)
    for fmt in ("parquet", "avro"):
        path = dataset(spark, fmt, folder, files=files)
        xskip.SkippingIndex.for_path(spark, path, format=fmt).create([MinMax("ts")])
        keys = spark.range(files).selectExpr(
            f"timestamp_seconds({START} + id * 2000 + 5) AS ts", "concat('name', id) AS name"
        )
        keys.write.format(fmt).save(f"{path}-keys")
        spark.read.format(fmt).load(path).createOrReplaceTempView("facts")
        spark.read.format(fmt).load(f"{path}-keys").createOrReplaceTempView("keys")
        names = ", ".join(f"'name{number * files // 5}'" for number in range(5))
        query = "SELECT sum(n), count(*) FROM facts JOIN keys ON facts.ts = keys.ts WHERE"
        compare(spark, lines, f"{fmt}: star of 5 keys", f"{query} name IN ({names})")
        compare(spark, lines, f"{fmt}: star of all keys", f"{query} name >= ''")


if __name__ == "__main__":
    run({"counts": counts, "joins": joins}, session())
