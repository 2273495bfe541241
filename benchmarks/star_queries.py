"""Measure how much less the facts of TPC-DS and TPC-H are read if joins and subqueries leave out files.

    python benchmarks/star_queries.py [results.json] [--scale 0.1] [--only tpcds]

Question: of the bytes of facts that filters alone leave, how many do all rewrites of plans leave, and is a query slower
for it? The scale is that of the suites. The facts are clustered by date, as daily loads leave them, in 100 files each;
all columns have bounds. Each query runs in turn with the rewrites off and on. A line has the sum of the bytes over the
queries of a suite whose facts are read less, another one over all queries. Each query that seems slower by 3 % in a few
rounds runs in more rounds, and has a line.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import sysconfig
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pyarrow.parquet as pq
from common import Lines, Run, arguments, interleaved, run, session
from metadata_queries import REWRITES
from pyspark.sql import SparkSession

import xskip

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.plans.data import FACT_DATES, create_indexes, queries, readable, register
from tests.plans.measure import measure

FILES = 100
#: The facts of each suite with the date by which loads cluster them.
FACTS = {"tpcds": FACT_DATES, "tpch": {"lineitem": "l_shipdate", "orders": "o_orderdate"}}
SLOWER = 1.03
CONF = {"spark.sql.shuffle.partitions": "8", "spark.buffer.pageSize": "4m", "spark.driver.memory": "8g"}


def write_suite(suite: str, root: Path) -> None:
    """Write the tables of a suite below ``root/SUITE``, the facts in files of some days each."""
    generated = root / "generated"
    generator = Path(sysconfig.get_path("scripts")) / "tpcgen-cli"
    scale = str(arguments().scale)
    command = [str(generator), suite, "parquet", "-s", scale, "--output-dir", str(generated)]
    subprocess.run(command, check=True, capture_output=True)
    for path in sorted(generated.glob("*.parquet")):
        table = readable(pq.read_table(path))
        date = FACTS[suite].get(path.stem)
        folder = root / suite / path.stem
        folder.mkdir(parents=True)
        size = max(table.num_rows, 1)
        if date is not None:
            table, size = table.sort_by(date), -(-table.num_rows // FILES)
        for number in range(-(-table.num_rows // size)):
            pq.write_table(table.slice(number * size, size), folder / f"{number:03}.parquet")
    shutil.rmtree(generated)


def switch(spark: SparkSession, value: str) -> None:
    """Switch the rewrites of plans on or off."""
    for name in REWRITES:
        spark.conf.set(f"spark.xskip.planning.{name}", value)


def fact_bytes(spark: SparkSession, suite: str, query: str, value: str) -> tuple[tuple[str, ...], int]:
    """Run a query, and return its rows and the bytes of the facts that it has read."""
    switch(spark, value)
    found = measure(spark.sql(query))
    return found.rows, sum(scan.size for scan in found.scans if scan.table in FACTS[suite])


def timed(spark: SparkSession, query: str, rounds: int) -> list[list[Run]]:
    runs = [(partial(switch, spark, value), lambda: spark.sql(query).collect()) for value in ("false", "true")]
    return interleaved(runs, rounds, warm=1)


def compare(spark: SparkSession, folder: Path, lines: Lines, suite: str) -> None:
    """Add the lines of a suite."""
    texts = {name: text for name, text in queries().items() if name.startswith(suite)}
    write_suite(suite, folder)
    create_indexes(spark, folder)
    register(spark, folder, suite)
    xskip.enable(spark)
    spark.conf.set("spark.sql.ansi.enabled", "false")  # some sums of small tables are 0, and queries divide by them
    sums = {"queries that read less": [0, 0], "all queries": [0, 0]}
    seconds = [0.0, 0.0]
    slower = []
    assert spark._jvm is not None
    for name, text in texts.items():
        spark._jvm.java.lang.System.gc()  # the tables that queries broadcast stay until then
        (expected, before), (rows, after) = (fact_bytes(spark, suite, text, value) for value in ("false", "true"))
        assert rows == expected, name
        for kind in ("queries that read less", "all queries")[before <= after :]:
            sums[kind][0] += before
            sums[kind][1] += after
        without, with_it = timed(spark, text, 2)
        medians = [statistics.median(each.seconds for each in runs) for runs in (without, with_it)]
        seconds = [total + each for total, each in zip(seconds, medians, strict=True)]
        slower += [name] * (medians[1] > medians[0] * SLOWER)
        print(f"{name}: {before:,} and {after:,} bytes of facts, {medians[0]:.2f} s and {medians[1]:.2f} s", flush=True)
    for kind, (before, after) in sums.items():
        lines.add(
            f"{suite}: {kind}: bytes of facts: filters alone / with rewrites", before / max(after, 1), limit=">= 2"
        )
    lines.add(f"{suite}: all queries: seconds: filters alone / with rewrites", seconds[0] / seconds[1])
    for name in slower:
        without, with_it = timed(spark, texts[name], 9)
        lines.ratio(f"{name}: with rewrites / filters alone", with_it, without, f"<= {SLOWER}")


PARTS: dict[str, Callable[[SparkSession, Path, Lines], None]] = {
    suite: partial(compare, suite=suite) for suite in FACTS
}

if __name__ == "__main__":
    run(PARTS, session(conf=CONF))
