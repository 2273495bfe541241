"""Measure what skipping costs and saves for a query.

    python benchmarks/query.py [results.json] [--scale 0.1] [--only planning,none,many]

planning   The data is 1,000 files of 2,000 rows, clustered by time, with the index in memory. The benchmark measures
           the time in the index inside a query's planning, as the hook measures it (median of 20), and the whole query
           with skipping off and on
none       The dataset has no index. Many short queries run in turn with the hook off and on. A further measurement
           plans the queries without running them, and takes the least time
many       The data is 10,000 Avro files of 1,000 rows, clustered by time. A query that 10 files match runs without
           skipping, with skipping, and as the oracle, which reads a given list of the matching files. A query that all
           files match runs without and with skipping. The DataFrames exist before the measurement and have listed
           their files
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from common import ALL, START, Lines, dataset, hook_milliseconds, interleaved, run, scaled, session, switched
from pyspark.sql import DataFrame, Row, SparkSession

import xskip

FILES = 1_000
SHORT_QUERIES = 200
PLANS = 1_000
MANY_FILES = 10_000
MANY_ROWS = 1_000
MATCHING = 10
SHORT_ROUNDS = 31
QUERIES = {
    "range on ts (MinMax)": "ts BETWEEN timestamp_seconds(1700500000) AND timestamp_seconds(1700500600)",
    "one user (BloomFilter)": "user = 'user-4711'",
    "city and range (ValueList, MinMax)": "city = 'city-7' AND temp < 0.2",
}


def overhead(spark: SparkSession, fmt: str, path: str, predicate: str, *, fresh: bool) -> float:
    """Return the median time in the index for one query, in milliseconds.

    Parameters
    ----------
    spark : SparkSession
    fmt : str
        The format of the dataset.
    path : str
        The directory of the dataset.
    predicate : str
        The query's filter.
    fresh : bool
        Whether the filter differs in each run, so that no cached answer applies.

    Returns
    -------
    float
    """

    def query(number: int) -> DataFrame:
        text = f"({predicate}) AND n <> {-1 - number}" if fresh else predicate
        return spark.read.format(fmt).load(path).filter(text)

    return hook_milliseconds(query)


def planning(spark: SparkSession, folder: Path, lines: Lines) -> None:
    for fmt in ("parquet", "avro"):
        path = dataset(spark, fmt, folder, files=scaled(FILES))
        index = xskip.SkippingIndex.for_path(spark, path, format=fmt)
        index.create(ALL)
        xskip.enable(spark)
        df = spark.read.format(fmt).load(path)
        for name, predicate in QUERIES.items():
            new = overhead(spark, fmt, path, predicate, fresh=True)
            again = overhead(spark, fmt, path, predicate, fresh=False)
            lines.add(f"{fmt}: planning, new query: {name}", new, unit=" ms", limit="<= 10")
            lines.add(f"{fmt}: planning, again: {name}", again, unit=" ms", limit="<= 10")
            runs = switched(spark, partial(collected, df, predicate))
            lines.ratio(f"{fmt}: plain / skipping: {name}", *runs, ">= 5" if "range on ts" in name else "")


def none(spark: SparkSession, folder: Path, lines: Lines) -> None:
    for fmt in ("parquet", "avro"):
        df = spark.read.format(fmt).load(dataset(spark, fmt, folder, files=2))
        plain, ours = switched(spark, partial(collected, df, "n < 10"), scaled(SHORT_QUERIES))
        lines.ratio(f"{fmt}: short queries without an index: hook on / off", ours, plain, "<= 1.01")
        runs = switched(spark, partial(plan, df, "n < 10"), scaled(PLANS))
        least_off, least_on = (min(run.seconds for run in each) for each in runs)
        detail = f"the least of {scaled(PLANS)}: {least_on * 1e3:.3f} ms / {least_off * 1e3:.3f} ms"
        lines.add(f"{fmt}: the hook's part, planning alone", (least_on - least_off) * 1e3, unit=" ms", detail=detail)


def many(spark: SparkSession, folder: Path, lines: Lines) -> None:
    files = scaled(MANY_FILES)
    what = f"avro: {files:,} files"
    path = dataset(spark, "avro", folder, files=files, rows=MANY_ROWS)
    xskip.SkippingIndex.for_path(spark, path, format="avro").create([xskip.MinMax("ts"), xskip.MinMax("n")])
    df = spark.read.format("avro").load(path)
    begin = START + files // 2 * MANY_ROWS
    chosen = f"ts >= timestamp_seconds({begin}) AND ts < timestamp_seconds({begin + MATCHING * MANY_ROWS})"
    xskip.disable(spark)
    matching = [row.file_path for row in df.filter(chosen).select("_metadata.file_path").distinct().collect()]
    assert len(matching) == MATCHING
    oracle = spark.read.format("avro").load(matching)
    lines.ratio(f"{what}, {MATCHING} match: plain / ours", *switched(spark, lambda: summed(df, chosen)), ">= 20")
    runs = ((xskip.enable, df), (xskip.disable, oracle))
    short = [(partial(switch, spark), partial(summed, asked, chosen)) for switch, asked in runs]
    ours, theirs = interleaved(short, SHORT_ROUNDS, 5)
    lines.ratio(f"{what}, {MATCHING} match: ours / oracle", ours, theirs, "<= 1.15")
    every = f"ts >= timestamp_seconds({START}) AND n >= 0"
    plain, ours = switched(spark, lambda: summed(df, every), 11)
    lines.ratio(f"{what}, all match: ours / plain", ours, plain, "<= 1.02")


def collected(df: DataFrame, predicate: str) -> list[Row]:
    """Run a query and return all its rows."""
    return df.filter(predicate).collect()


def plan(df: DataFrame, predicate: str) -> Any:
    """Plan a query and return its physical plan, a Java object."""
    return df.filter(predicate)._jdf.queryExecution().executedPlan()


def summed(df: DataFrame, predicate: str) -> None:
    """Run an aggregation over three columns that returns one row to the driver."""
    df.filter(predicate).selectExpr("sum(n)", "max(user)", "count(1)").collect()


if __name__ == "__main__":
    run({"planning": planning, "none": none, "many": many}, session())
