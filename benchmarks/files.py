"""Measure what an index costs and saves on 100,000 small files that exist.

    python benchmarks/files.py [results.json] [--scale 0.1]

The data is 100,000 Parquet files of 10 rows in 100 directories by day, with MinMax indexes of two columns and a
ValueList. The benchmark measures

* the build, against a scan of the same columns;
* the planning time that the hook measures, where Spark lists the files once and where Spark lists them for each query;
* the whole planning and the whole query without and with the index, for a query that 100 files match.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from build import compare
from common import START, Lines, hook_milliseconds, planned, run, scaled, session, switched
from pyspark.sql import DataFrame, SparkSession

import xskip

FILES = 100_000
ROWS = 10
DIRECTORIES = 100
MATCHING = 100
RUNS = 9
INDEXES = (xskip.MinMax("ts"), xskip.MinMax("n"), xskip.ValueList("city"))


def written(root: Path, files: int) -> str:
    """Write Parquet files in directories by day, each file with the rows of ten seconds.

    Parameters
    ----------
    root : pathlib.Path
        The directory of the dataset.
    files : int
        The number of files.

    Returns
    -------
    str
        The directory of the dataset.
    """
    rows = np.arange(ROWS)
    for number in range(files):
        folder = root / f"day={number * DIRECTORIES // files:03d}"
        folder.mkdir(parents=True, exist_ok=True)
        table = pa.table(
            {
                "ts": pa.array((START + number * ROWS + rows) * 1_000_000, pa.timestamp("us", "UTC")),
                "n": pa.array(number * 7919 % 1000 + rows, pa.int32()),
                "city": [f"city-{number % 50}"] * ROWS,
            }
        )
        pq.write_table(table, folder / f"{number:06d}.parquet")
    return str(root)


def measure(spark: SparkSession, folder: Path, lines: Lines) -> None:
    files = scaled(FILES)
    path = written(folder / "data", files)
    runs = compare(spark, "parquet", path, INDEXES, (1, 1))
    lines.ratio(f"{files:,} files: MinMax x2 + ValueList / scan", *runs)
    xskip.enable(spark)
    known = spark.read.parquet(path)

    def chosen(df: DataFrame, number: int) -> DataFrame:
        begin = START + files // 2 * ROWS
        return df.filter(
            f"ts >= timestamp_seconds({begin}) AND ts < timestamp_seconds({begin + MATCHING * ROWS})"
        ).filter(f"n <> {-1 - number}")

    def by_number(df: Callable[[], DataFrame], first: int, number: int) -> DataFrame:
        return chosen(df(), first + number)

    def act(action: Callable[[DataFrame], object]) -> None:
        action(chosen(known, next(numbers)))

    ways: dict[str, Callable[[], DataFrame]] = {"once": lambda: known, "anew": lambda: spark.read.parquet(path)}
    for first, (how, df) in enumerate(ways.items()):  # other numbers, since the answers to known filters are kept
        found = hook_milliseconds(partial(by_number, df, 1_000 * first), RUNS, 2)
        lines.add(f"{files:,} files, planning, listed {how}", found, unit=" ms", limit="<= 50")
    numbers = iter(range(2_000, 10_000))
    actions: dict[str, Callable[[DataFrame], object]] = {"planning": planned, "query": DataFrame.collect}
    for what, action in actions.items():
        plain, ours = switched(spark, partial(act, action), 3, 2)
        lines.ratio(f"{files:,} files, {MATCHING} match, {what}: plain / ours", plain, ours)


if __name__ == "__main__":
    run({"files": measure}, session())
