"""Measure how fast Spark reads tables of QuestDB from disk, against Parquet and against JDBC over the server's port.

    python benchmarks/questdb.py [results.json] [--scale 0.1] [--only scan,planning]

A server writes the tables (QuestDB 9.3.0 from Maven). ``scan`` has 100,000,000 rows of 20 columns (long, double,
timestamp) over a year, in partitions by day. It times

* a sum over three columns, against Spark's own read of the same columns from Parquet;
* the same over a tenth of the rows, against JDBC over one connection;
* one hour of the year, against a Parquet file with just these rows;
* an index of three kinds over the 365 partitions, against a sum over its columns;
* the latest rows of 10,000 symbols, against a read of the last day.

``planning`` times the plan of a query for one hour of a table with 10,000 partitions.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from common import Lines, arguments, interleaved, run, session
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

import xskip
from xskip.questdb import latest_on

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.questdb.server import Server, running_server
from tests.quixlake.broker import free_ports

ROWS = 100_000_000
PARTITIONS = 10_000
CHUNK = 1_000_000
SYMBOLS = 10_000
YEAR_MICROS = 365 * 86_400_000_000
HOUR = "ts >= '1970-06-15T09:00:00Z' AND ts < '1970-06-15T10:00:00Z'"
LAST_DAY = "ts >= '1970-12-31T00:00:00Z'"
JDBC_SHARE = 10


@contextmanager
def server_with_jdbc(folder: Path) -> Iterator[tuple[Server, str]]:
    """Yield a server, and the address for JDBC."""
    (port,) = free_ports(1)
    settings = f"pg.enabled=true\npg.net.bind.to=127.0.0.1:{port}\n"
    folder.mkdir()
    with running_server(folder, settings=settings, is_optimized=True) as server:
        yield server, f"jdbc:postgresql://127.0.0.1:{port}/qdb?user=admin&password=quest&sslmode=disable"


def write_year(server: Server, rows: int) -> Path:
    """Write a table of nine longs, nine doubles, a symbol and a timestamp, and return its folder."""
    numbers = [f"l{i} long" for i in range(9)] + [f"d{i} double" for i in range(9)]
    server.exec(
        f"create table year ({', '.join(numbers)}, s symbol capacity {2 * SYMBOLS}, ts timestamp)"
        " timestamp(ts) partition by day bypass wal"
    )
    values = ["rnd_long(0, 1000000, 0)"] * 9 + ["rnd_double()"] * 9
    step = YEAR_MICROS // (rows + 1)
    for first in range(0, rows, CHUNK):
        row = f"({first} + x)"
        server.exec(
            f"insert into year select {', '.join(values)}, 'k' || ({row} % {SYMBOLS}), ({row} * {step})::timestamp"
            f" from long_sequence({min(CHUNK, rows - first)})"
        )
    return server.folder("year")


def summed(df: DataFrame) -> None:
    df.agg(F.sum("l3"), F.sum("d5"), F.max("ts")).collect()


def scan(spark: SparkSession, base: Path, lines: Lines) -> None:
    rows = int(ROWS * arguments().scale)
    with server_with_jdbc(base / "server") as (server, url):
        folder = write_year(server, rows)
        table = spark.read.format("questdb").load(str(folder))
        compare_with_jdbc(spark, table, url, rows, lines)
        compare_with_parquet(spark, table, base, rows, lines)
        compare_index(spark, folder, table, lines)
        compare_latest(table, lines)


def compare_with_parquet(spark: SparkSession, table: DataFrame, base: Path, rows: int, lines: Lines) -> None:
    table.write.parquet(f"{base}/parquet")
    table.filter(HOUR).coalesce(1).write.parquet(f"{base}/hour")
    whole, hour = spark.read.parquet(f"{base}/parquet"), spark.read.parquet(f"{base}/hour")
    runs: Sequence[Any] = [(lambda: None, lambda: summed(table)), (lambda: None, lambda: summed(whole))]
    native, parquet = interleaved(runs, 5, 2)
    lines.ratio(f"3 of 20 columns, {rows:,} rows: QuestDB / Parquet", native, parquet, "<= 1.2")
    runs = [(lambda: None, lambda: summed(table.filter(HOUR))), (lambda: None, lambda: summed(hour))]
    native, parquet = interleaved(runs, 10, 5)
    lines.ratio("an hour of a year: QuestDB / a Parquet file with its rows", native, parquet, "<= 1.3")


def compare_with_jdbc(spark: SparkSession, table: DataFrame, url: str, rows: int, lines: Lines) -> None:
    end = YEAR_MICROS // JDBC_SHARE
    query = f"(select l3, d5, ts from year where ts < {end}::timestamp) part"
    remote = spark.read.jdbc(url, query, properties={"driver": "org.postgresql.Driver", "fetchsize": "10000"})
    part = table.filter(F.col("ts") < F.timestamp_micros(F.lit(end)))
    runs: Sequence[Any] = [(lambda: None, lambda: summed(part)), (lambda: None, lambda: summed(remote))]
    native, jdbc = interleaved(runs, 3, 2)
    lines.ratio(f"3 columns of {rows // JDBC_SHARE:,} rows: JDBC / QuestDB", jdbc, native, ">= 20")


def compare_index(spark: SparkSession, folder: Path, table: DataFrame, lines: Lines) -> None:
    index = xskip.SkippingIndex.for_path(spark, str(folder), format="questdb")
    kinds = [xskip.MinMax("l3"), xskip.ValueList("s"), xskip.BloomFilter("l5")]

    def read() -> None:
        table.agg(F.sum("l3"), F.max("s"), F.sum("l5")).collect()

    def drop() -> None:
        if index.exists():
            index.drop()

    runs: Sequence[Any] = [(drop, lambda: index.create(kinds)), (lambda: None, read)]
    built, scanned = interleaved(runs, 3, 1)
    lines.ratio("an index of three kinds / a scan of its columns", built, scanned, "<= 1.5")
    drop()


def compare_latest(table: DataFrame, lines: Lines) -> None:
    def latest() -> None:
        latest_on(table.select("s", "ts", "d5"), "ts", "s", order=()).agg(F.count("*")).collect()

    def last_day() -> None:
        table.filter(LAST_DAY).agg(F.max("s"), F.max("ts"), F.sum("d5")).collect()

    runs: Sequence[Any] = [(lambda: None, latest), (lambda: None, last_day)]
    found, read = interleaved(runs, 10, 5)
    lines.ratio(f"latest_on of {SYMBOLS:,} symbols over a year / a read of the last day", found, read, "<= 2")


def planning(spark: SparkSession, base: Path, lines: Lines) -> None:
    (base / "server").mkdir()
    with running_server(base / "server", is_optimized=True) as server:
        server.exec(
            "create table hours (a long, b double, ts timestamp) timestamp(ts) partition by hour bypass wal",
            f"insert into hours select x, x, (x * 1800000000L)::timestamp from long_sequence({2 * PARTITIONS - 1})",
        )
        table = spark.read.format("questdb").load(str(server.folder("hours")))

        def plan() -> None:
            query = table.filter(HOUR).select("b")  # an aggregation would run the first stage
            query._jdf.queryExecution().executedPlan().execute().getNumPartitions()

        (runs,) = interleaved([(lambda: None, plan)], 20, 20)
        middle = sorted(each.seconds for each in runs)[len(runs) // 2]
        lines.add(f"plan of an hour of {PARTITIONS:,} partitions in ms", middle * 1000, limit="<= 50", detail="median")


if __name__ == "__main__":
    started = session(packages=("org.postgresql:postgresql:42.7.4",))
    xskip.enable(started)
    run({"scan": scan, "planning": planning}, started)
