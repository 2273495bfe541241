"""Measure the time that rewrites of plans add to the planning of a query, by the number of files.

    python benchmarks/planning_rewrites.py [results.json] [--scale 0.1]

The metadata describes 1,000 and 100,000 files that do not exist, with ten rows each. The JVM makes their listing, which
does not change between queries. Each query filters a window of 1 file in 100, and is planned up to the lists of files,
in turn with all rewrites off and on. A line has the difference of the medians.

Both sides of a join of bounds have as many files. The query of "sum" is one that no rewrite concerns. The "join" runs,
because its keys are known only then: no file has one of them, and the line has the whole time of the query.
"""

from __future__ import annotations

import itertools
import statistics
from functools import partial

import numpy as np
import pyarrow as pa
from common import Lines, arguments, interleaved, planned, scratch, session
from metadata_queries import REWRITES
from pyspark.sql import SparkSession
from simulated import START, bounds, create, files_of, minmax, relation

import xskip
from xskip.metadata.file_counts import FileCounts
from xskip.metadata.table import MetadataTable

FILES = (1_000, 100_000)
ROUNDS = 9
TYPES = {"id": "bigint", "ts": "timestamp"}
NEW = itertools.count()
WINDOW = f"WHERE ts < timestamp_micros({START} + 300000000000 + {{i}})"
#: Spark would read a side that it broadcasts.
MERGE = "/*+ MERGE(t, u) */"
QUERIES = {
    "sum": f"SELECT sum(id) FROM t {WINDOW}",
    "limit": f"SELECT sum(id) FROM (SELECT id FROM t {WINDOW} LIMIT 100)",
    "latest": f"SELECT * FROM t {WINDOW} ORDER BY ts DESC LIMIT 100",
    "count and bounds": f"SELECT count(*), min(ts), max(ts) FROM t {WINDOW}",
    "count of all files": "SELECT count(*), max(id) + {i} FROM t",
    "groups": f"SELECT id, count(*) FROM t {WINDOW} GROUP BY id",
    "bounds of a join": f"SELECT {MERGE} sum(t.id) FROM t JOIN (SELECT * FROM u {WINDOW}) u ON t.id = u.id",
    "a join of all files": f"SELECT {MERGE} sum(t.id + {{i}}) FROM t JOIN u ON t.id = u.id",
}
JOIN = "SELECT sum(t.id) FROM t JOIN keys ON t.id = keys.id WHERE keys.id < -{i}"


def described(root: str, files: int) -> MetadataTable:
    """Return the metadata of files of ten rows without NULLs: the bounds of two columns."""
    counts = FileCounts(pa.array(np.full(files, 10)), {name: pa.array(np.zeros(files, np.int64)) for name in TYPES})
    indexes = [minmax(name, *bounds(name, files)) for name in TYPES]
    return MetadataTable(
        files_of(root, 0, files), {}, {index.definition.key: index for index in indexes}, counts=counts
    )


def rewrite(spark: SparkSession, value: str) -> None:
    """Switch all rewrites on or off."""
    for name in REWRITES:
        spark.conf.set(f"spark.xskip.planning.{name}", value)


def compare(spark: SparkSession, lines: Lines, what: str, query: str) -> None:
    """Add a line with the time that rewrites add to the planning of a query."""

    def plan() -> None:
        planned(spark.sql(query.format(i=next(NEW))))

    off, on = interleaved([(partial(rewrite, spark, value), plan) for value in ("false", "true")], ROUNDS)
    before, after = (statistics.median(run.seconds for run in runs) * 1000 for runs in (off, on))
    rewrite(spark, "true")
    kept = sum(scan.kept for scan in xskip.explain(spark.sql(query.format(i=next(NEW)))).scans)
    lines.add(what, after - before, unit=" ms", limit="<= 20", detail=f"{before:.1f} and {after:.1f} ms, {kept:,} read")


def join(spark: SparkSession) -> None:
    """Run a join of which no file has a key."""
    spark.sql(JOIN.format(i=next(NEW) + 1)).collect()


def main() -> None:
    lines = Lines()
    with scratch() as folder:
        spark = session(conf={"spark.sql.adaptive.enabled": "false"})  # which would run parts of a query to plan it
        xskip.enable(spark)
        spark.range(1000).selectExpr("-id AS id").write.parquet(f"{folder}/keys")
        spark.read.parquet(f"{folder}/keys").createOrReplaceTempView("keys")
        for most in FILES:
            files = int(most * arguments().scale)
            for view in ("t", "u"):
                root = f"{folder}/{view}-of-{files}"
                create(spark, root, TYPES, [described(root, files)])
                relation(spark, root, files, anew=False)[0].createOrReplaceTempView(view)
            for name, query in QUERIES.items():
                compare(spark, lines, f"{files:,} files: {name}", query)
            rewrite(spark, "true")
            (runs,) = interleaved([(lambda: None, partial(join, spark))], ROUNDS)
            lines.add(f"{files:,} files: join", statistics.median(run.seconds for run in runs) * 1000, unit=" ms")
        spark.stop()
    lines.write()


if __name__ == "__main__":
    main()
