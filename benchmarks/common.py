"""What the benchmarks share: a session, 1,000 files of 2,000 rows, medians, and one line for each ratio."""

from __future__ import annotations

import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import xskip

FILES = 1_000
ROWS = 2_000
ROUNDS = 3


def session() -> SparkSession:
    """Two local cores, as little noise as can be."""
    builder = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.log.level", "ERROR")
        .config("spark.driver.memory", "4g")
        # Spark's default, INT96, has no statistics: footers say nothing of it
        .config("spark.sql.parquet.outputTimestampType", "TIMESTAMP_MICROS")
    )
    return xskip.configure(builder).getOrCreate()


def dataset(spark: SparkSession, fmt: str, root: Path) -> str:
    """1,000 files, clustered by time: ``ts``, ``n``, ``temp``, ``city``, ``user``, ``payload``."""
    path = f"{root}/{fmt}"
    rows = spark.range(FILES * ROWS).selectExpr(
        "id",
        "timestamp_micros(1700000000000000 + id * 1000000) AS ts",
        "CAST(id % 1000003 AS INT) AS n",
        "CAST(abs(hash(id)) % 1000 / 10 AS DOUBLE) AS temp",
        f"concat('city-', CAST(id / {ROWS} % 50 AS INT) + id % 3) AS city",
        "concat('user-', abs(hash(id, 7)) % 1000000) AS user",
        "sha2(CAST(id AS STRING), 256) AS payload",
    )
    rows.repartitionByRange(FILES, "id").drop("id").write.format(fmt).save(path)
    return path


def median(action: Callable[[], Any], before: Callable[[], Any] = lambda: None) -> float:
    """Median seconds of some runs, after two that do not count; ``before`` each, untimed."""
    for _ in range(2):
        before()
        action()
    times = []
    for _ in range(ROUNDS):
        before()
        started = time.perf_counter()
        action()
        times.append(time.perf_counter() - started)
    return statistics.median(times)


class Lines:
    """Prints one line for each ratio, and writes all as JSON to the file named on the command line, if one is."""

    def __init__(self) -> None:
        self.rows: list[dict[str, Any]] = []

    def add(self, name: str, value: float, *, unit: str = "", limit: str = "", detail: str = "") -> None:
        """One measurement, against what it must be."""
        self.rows.append({"name": name, "value": round(value, 4), "unit": unit, "limit": limit, "detail": detail})
        print(f"{name:<58} {value:8.3f}{unit:<3} {limit:<9} {detail}", flush=True)

    def write(self) -> None:
        """The JSON file."""
        if len(sys.argv) > 1:
            Path(sys.argv[1]).write_text(json.dumps(self.rows, indent=1))


def scratch() -> tempfile.TemporaryDirectory[str]:
    """A place for data."""
    return tempfile.TemporaryDirectory(prefix="xskip-bench-")
