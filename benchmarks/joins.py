"""Measure how much faster a join is if Spark knows the size of the files that an index leaves of one side.

    python benchmarks/joins.py [results.json] [--scale 0.1]

The facts are 1,000 files of 2,000 rows, clustered by time, of which the filter leaves 1 %. The other side has ten times
the rows in 100 files, without an index. Spark may broadcast a tenth of the facts, which are too large as a whole. Each
query runs in turn with ``spark.xskip.planning.statistics`` on and off; both skip the same files. "static" is without
adaptive execution. The last lines are for a query without a join, which Spark plans without sizes.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

from common import START, Lines, dataset, interleaved, run, scaled, session
from pyspark.sql import DataFrame, SparkSession

import xskip
from xskip import MinMax

FILES = 1_000
ROWS = 2_000
SETTING = "spark.xskip.planning.statistics"


def switch(spark: SparkSession, value: str) -> None:
    spark.conf.set(SETTING, value)


def joined(facts: DataFrame, large: DataFrame, end: int) -> int:
    """Join 1 % of the facts to a large table, and return the number of rows."""
    few = facts.filter(f"ts < timestamp_seconds({end})")
    return int(few.join(large, few.n == large.k).selectExpr("sum(temp + v)", "count(*)").collect()[0][1])


def filtered(facts: DataFrame, end: int) -> int:
    return int(facts.filter(f"ts < timestamp_seconds({end})").agg({"n": "sum"}).collect()[0][0])


def joins(spark: SparkSession, folder: Path, lines: Lines) -> None:
    files = scaled(FILES)
    for fmt in ("parquet", "avro"):
        path = dataset(spark, fmt, folder, files=files, rows=ROWS)
        xskip.SkippingIndex.for_path(spark, path, format=fmt).create([MinMax("ts")])
        xskip.enable(spark)
        facts = spark.read.format(fmt).load(path)
        other = f"{folder}/large-{fmt}"
        rows = files * ROWS * 10
        spark.range(0, rows, 1, 100).selectExpr("id AS k", "id % 97 AS v").write.format(fmt).save(other)
        large = spark.read.format(fmt).load(other)
        size = sum(file.stat().st_size for file in Path(path).rglob(f"*.{fmt}"))
        spark.conf.set("spark.sql.autoBroadcastJoinThreshold", str(size // 10))
        first, last = (int(x) for x in facts.selectExpr("min(unix_seconds(ts))", "max(unix_seconds(ts))").collect()[0])
        assert first >= START
        end = first + (last - first) // 100
        actions = {"join": partial(joined, facts, large, end), "no join": partial(filtered, facts, end)}
        for adaptive in ("true", "false"):
            spark.conf.set("spark.sql.adaptive.enabled", adaptive)
            kind = "adaptive" if adaptive == "true" else "static"
            for name, action in actions.items():
                runs = [(partial(switch, spark, value), action) for value in ("false", "true")]
                without, with_it = interleaved(runs, rounds=9)
                limit = ">= 2" if name == "join" else ">= 0.99"
                lines.ratio(f"{fmt}, {kind}: {name}: without / with sizes", without, with_it, limit)


if __name__ == "__main__":
    run({"joins": joins}, session())
