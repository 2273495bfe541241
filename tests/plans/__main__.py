"""Run the suite: ``python -m tests.plans [NAME ...] [--api v1|v2] [--scale 0.01]``.

Question: does an index ever make Spark read more files in a scan, or plan more exchanges? Each query of TPC-H and
TPC-DS runs without and with indexes on every table, with adaptive execution on and off. The table shows the files that
all scans of a query read, and what is worse with indexes in each of five attempts. The exit code is 1 if
anything is, or if a query fails.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import sys
import tempfile
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from tests.plans.data import SUITES, create_indexes, queries, register, write_tables
from tests.plans.measure import APIS, INTERPRETED, Comparison, Run, compare
from xskip.results.render import text_table


def session(api: str) -> SparkSession:
    """Return a session that reads files by the first or the second data source API."""
    builder = SparkSession.builder.master("local[2]").appName("plans")
    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "ERROR",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "3g",
        "spark.buffer.pageSize": "4m",  # tables that queries broadcast stay until the next garbage collection
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.ansi.enabled": "false",  # some sums of the small tables are 0, and queries divide by them
        "spark.sql.sources.useV1SourceList": APIS[api],
        **INTERPRETED,
        "spark.sql.codegen.factoryMode": "NO_CODEGEN",
        "spark.xskip.strict": "true",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def run_all(spark: SparkSession, root: Path, texts: dict[str, str]) -> dict[tuple[str, str], Comparison | str]:
    """Compare each query with adaptive execution on and off; a query that fails gives the reason."""
    found: dict[tuple[str, str], Comparison | str] = {}
    suites = [suite for suite in SUITES if (root / suite).is_dir()]
    for suite, adaptive in itertools.product(suites, ("true", "false")):
        register(spark, root, suite)
        spark.conf.set("spark.sql.adaptive.enabled", adaptive)
        for name in (name for name in texts if name.startswith(suite)):
            try:
                found[name, adaptive] = compare(spark, partial(spark.sql, texts[name]))
            except PySparkException as error:
                found[name, adaptive] = str(error).splitlines()[0][:120]
            print(".", end="", flush=True, file=sys.stderr)
    return found


def report(found: dict[tuple[str, str], Comparison | str]) -> bool:
    """Print the table of all queries, and return whether every query ran and none is worse with indexes."""
    rows: list[tuple[object, ...]] = []
    compared = [comparison for comparison in found.values() if isinstance(comparison, Comparison)]
    for key, each in found.items():
        if isinstance(each, str):
            rows.append((*key, "", "", "", "", each))
            continue
        plain, indexed = each.plain, each.indexed
        exchanges = [f"{run.exchanges} + {run.reused}" for run in (plain, indexed)]
        rows.append((*key, plain.files, indexed.files, *exchanges, "; ".join(each.worse)))
    headers = ("query", "adaptive", "files", "indexed", "exchanges + reused", "indexed", "worse, or an error")
    print(text_table(headers, rows))
    fewer = sum(each.indexed.files < each.plain.files for each in compared)
    worse = sum(bool(each.worse) for each in compared)
    refused = len(found) - len(compared)
    print(
        f"{len(compared)} plans: {fewer} with fewer files, {worse} worse; "
        f"{_total(each.plain for each in compared):,} files without indexes, "
        f"{_total(each.indexed for each in compared):,} with indexes; {refused} refused"
    )
    return not worse and not refused


def _total(runs: Iterable[Run]) -> int:
    return sum(run.files for run in runs)


def main() -> int:
    """Write the tables, run the queries, and print the comparison."""
    parser = argparse.ArgumentParser(prog="python -m tests.plans")
    parser.add_argument("names", nargs="*", help="queries such as tpcds5 or tpch3 (all)")
    parser.add_argument("--api", choices=tuple(APIS), default="v1", help="the data source API (v1)")
    parser.add_argument("--scale", type=float, default=0.01, help="the scale factor of the data (0.01)")
    arguments = parser.parse_args()
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL)  # the table names what Spark refuses
    texts = queries()
    if arguments.names:
        texts = {name: texts[name] for name in arguments.names}
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        write_tables(root, texts, arguments.scale)
        spark = session(arguments.api)
        print(f"Spark {pyspark.__version__}, {arguments.api}")
        create_indexes(spark, root)
        return 0 if report(run_all(spark, root, texts)) else 1


if __name__ == "__main__":
    sys.exit(main())
