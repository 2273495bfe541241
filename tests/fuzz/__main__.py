"""The command ``python -m tests.fuzz``, which the package's docstring describes."""

from __future__ import annotations

import argparse
import logging
import os
import shutil
import sys
import tempfile
import time
import traceback
from pathlib import Path

from pyspark.sql import SparkSession

import xskip
from tests.e2e.table_formats import EXTENSIONS, PACKAGES
from tests.fuzz.kinds import KINDS
from tests.fuzz.rewrites import COUNTED, COUNTS
from tests.fuzz.rounds import Round, Tally

_PREDICATES = 90
#: With several queries that metadata plan or answer for each predicate.
_PREDICATES_OF_PLANNED = 15


def main() -> int:
    """Run rounds until the number of tested pairs is reached."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="What is skipped holds no matching row.")
    parser.add_argument("--pairs", type=int, default=20_000, help="pairs of a file and a predicate (20000)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="of the first round; by default the time")
    parser.add_argument(
        "--delta", action="store_true", help="with tables of Delta beside, whose packages Spark fetches"
    )
    parser.add_argument("--planned", type=int, default=0, help="instead of pairs, queries that metadata plan or answer")
    parser.add_argument("--kind", choices=KINDS, help="of indexes; by default several, which each round draws")
    asked = parser.parse_args()
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        logging.getLogger(name).setLevel(logging.CRITICAL)  # filters that Spark refuses are not worth a word
    spark = session(delta=asked.delta)
    root = Path(tempfile.mkdtemp(prefix="xskip-fuzz-"))
    total, scripts, seed, started = Tally(), [], asked.seed, time.monotonic()
    try:
        while COUNTS["queries"] < asked.planned if asked.planned else total.pairs < asked.pairs:
            (root / str(seed)).mkdir()
            try:
                round_ = Round(spark, root / str(seed), seed, is_planned=bool(asked.planned))
                if asked.planned and (round_.plan.fmt not in COUNTED or round_.plan.damaged):
                    seed += 1
                    continue
                kinds = round_.kinds[-2:] if asked.planned else round_.kinds
                round_.kinds = (asked.kind, "all") if asked.kind else kinds
                tally, failures = round_.run(_PREDICATES_OF_PLANNED if asked.planned else _PREDICATES)
                found = [failure.script() for failure in failures]
                total.add(tally)
            except Exception:  # noqa: BLE001 - an error of one round is told with the wrong skips
                found = [f"# seed {seed}\n{traceback.format_exc()}"]
            scripts += found
            sys.stdout.write(
                f"seed {seed}: {total.pairs:,} pairs and {COUNTS['queries']:,} queries so far, {len(found)} wrong\n"
            )
            sys.stdout.flush()
            shutil.rmtree(root / str(seed))
            seed += 1
    finally:
        shutil.rmtree(root, ignore_errors=True)
        spark.stop()
    sys.stdout.write(
        f"seeds {asked.seed} to {seed - 1}: {total.pairs:,} pairs, {total.skipped:,} skipped, "
        f"{total.matching:,} matching, {total.whole:,} wholly, "
        f"{COUNTS['queries']:,} queries of which metadata planned {COUNTS['rewritten']:,}, "
        f"{total.predicates:,} predicates of which Spark refused {total.refused:,}, {len(scripts)} wrong, "
        f"{time.monotonic() - started:.0f} s\n"
    )
    for k, script in enumerate(scripts):
        sys.stdout.write(f"--- wrong skip {k + 1}: run this from the repository\n{script}\n")
    return 1 if scripts else 0


def session(*, delta: bool) -> SparkSession:
    """Return a small session that fails if an index cannot be used."""
    builder = SparkSession.builder.master("local[2]").appName("xskip fuzz")
    settings = {
        "spark.ui.enabled": "false", "spark.ui.showConsoleProgress": "false", "spark.log.level": "OFF",
        "spark.driver.memory": "2g", "spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": "2",
        "spark.sql.sources.parallelPartitionDiscovery.threshold": "256",
        "spark.xskip.strict": "true", "spark.sql.adaptive.enabled": "false",
    }  # fmt: skip
    if delta:
        settings["spark.sql.extensions"] = EXTENSIONS[0]
        settings["spark.sql.catalog.spark_catalog"] = "org.apache.spark.sql.delta.catalog.DeltaCatalog"
    for key, value in settings.items():
        builder = builder.config(key, value)
    packages, version = PACKAGES[:1] if delta else (), os.environ.get("XSKIP_TEST_AVRO")
    return xskip.configure(builder, extra_packages=packages, avro_version=version).getOrCreate()


if __name__ == "__main__":
    sys.exit(main())
