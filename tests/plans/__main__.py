"""Run the suite: ``python -m tests.plans [NAME ...] [--api v1|v2] [--scale 0.01]``.

Question: does an index ever make Spark read more files in a scan, or plan more exchanges? Each query of TPC-H and
TPC-DS runs without and with indexes on every table, with adaptive execution on and off. The table shows the files that
all scans of a query read, and what is worse with indexes. The exit code is 1 if anything is.
"""

from __future__ import annotations

import argparse
import itertools
import logging
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import pyspark
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

import xskip
from tests.plans.data import SUITES, create_indexes, queries, register, write_tables
from tests.plans.measure import APIS, Run, measure, regressions
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
        "spark.sql.shuffle.partitions": "4",
        "spark.sql.ansi.enabled": "false",  # some sums of the small tables are 0, and queries divide by them
        "spark.sql.sources.useV1SourceList": APIS[api],
        "spark.xskip.strict": "true",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def run_all(spark: SparkSession, root: Path, texts: dict[str, str]) -> dict[tuple[str, str], Run | str]:
    """Run each query with adaptive execution on and off; a query that Spark refuses gives the reason."""
    runs: dict[tuple[str, str], Run | str] = {}
    suites = [suite for suite in SUITES if (root / suite).is_dir()]
    for suite, adaptive in itertools.product(suites, ("true", "false")):
        register(spark, root, suite)
        spark.conf.set("spark.sql.adaptive.enabled", adaptive)
        for name in (name for name in texts if name.startswith(suite)):
            try:
                runs[name, adaptive] = measure(spark.sql(texts[name]))
            except PySparkException as error:
                runs[name, adaptive] = str(error).splitlines()[0][:120]
            print(".", end="", flush=True, file=sys.stderr)
    return runs


def report(plain: dict[tuple[str, str], Run | str], indexed: dict[tuple[str, str], Run | str]) -> bool:
    """Print the table of all runs, and return whether nothing is worse with indexes."""
    rows: list[tuple[object, ...]] = []
    refused, fewer, worse = set(), 0, 0
    for key, before in plain.items():
        after = indexed[key]
        if isinstance(before, str) or isinstance(after, str):
            refused.add(f"{key[0]}: {before if isinstance(before, str) else after}")
            if not (isinstance(before, str) and isinstance(after, str)):
                rows.append((*key, "", "", "", "", f"{before} / {after}"))
            continue
        found = regressions(before, after)
        worse += bool(found)
        fewer += after.files < before.files
        exchanges = [f"{run.exchanges} + {run.reused}" for run in (before, after)]
        rows.append((*key, before.files, after.files, *exchanges, "; ".join(found)))
    headers = ("query", "adaptive", "files", "indexed", "exchanges + reused", "indexed", "worse")
    print(text_table(headers, rows))
    print("\n".join(sorted(refused)))
    whole = [run for run in plain.values() if isinstance(run, Run)], [r for r in indexed.values() if isinstance(r, Run)]
    print(
        f"{len(rows)} plans: {fewer} with fewer files, {worse} worse; {_total(whole[0]):,} files without indexes,",
        end="",
    )
    print(f" {_total(whole[1]):,} with indexes; {len(refused)} queries refused by Spark")
    return worse == 0


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
        plain = run_all(spark, root, texts)
        create_indexes(spark, root)
        xskip.enable(spark)
        return 0 if report(plain, run_all(spark, root, texts)) else 1


if __name__ == "__main__":
    sys.exit(main())
