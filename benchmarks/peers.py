"""Skipping of a table format against that of an index, on the same rows: what ``delta.py`` and ``iceberg.py`` share."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path

import pyspark
from common import START, Lines, dataset, planned, run, scaled, session, switched
from pyspark.sql import DataFrame, SparkSession

import xskip

OBJECTS = 1_000
ROUNDS = 11


def queries(objects: int) -> dict[str, str]:
    """Filters by what they ask of; ``{}`` is a number that is another one in each run."""
    begin = START + objects * 1_000
    narrow = f"ts >= timestamp_seconds({begin}) AND ts < timestamp_seconds({begin + 600})"
    return {
        "ten minutes of ts": narrow + " AND n <> {}",
        "ten minutes of ts, and temp": narrow + " AND temp < 50 AND n <> {}",
        "half of ts": f"ts >= timestamp_seconds({begin})" + " AND n <> {}",
    }


def total(df: DataFrame) -> None:
    df.select("ts", "n", "temp").collect()


def asked(
    df: DataFrame, query: str, action: Callable[[DataFrame], None], number: itertools.count[int]
) -> Callable[[], None]:
    return lambda: action(df.filter(query.format(-next(number))))


def measure(
    peer: str,
    packages: Mapping[str, str],
    settings: Mapping[str, str],
    table: Callable[[SparkSession, Path], DataFrame],
) -> None:
    """Measures both where the peer can be had for this Spark, and says so where it cannot.

    Parameters
    ----------
    peer : str
    packages : dict of str to str
        The peer's package by the version of Spark.
    settings : dict of str to str
        Of the session.
    table : callable
        Given the session and a folder, whose ``parquet`` has the files, the peer's table of the same rows.
    """

    def compare(spark: SparkSession, folder: Path, lines: Lines) -> None:
        objects = scaled(OBJECTS)
        path = dataset(spark, "parquet", folder, files=objects)
        xskip.SkippingIndex.for_path(spark, path).create([xskip.MinMax(column) for column in ("ts", "n", "temp")])
        theirs, ours = table(spark, folder), spark.read.parquet(path)
        number = itertools.count(1)
        for name, query in queries(objects).items():
            for what, action in (("planning", planned), ("total", total)):
                other, own = (asked(df, query, action, number) for df in (theirs, ours))
                runs = switched(spark, own, ROUNDS, theirs=other)
                lines.ratio(f"{name}, {what}: {peer} / ours", *runs, ">= 1")

    package = packages.get(".".join(pyspark.__version__.split(".")[:2]))
    if package is None:
        print(f"no {peer} is known for Spark {pyspark.__version__}: nothing was measured")
        return
    try:
        spark = session([package], settings)
    except Exception as error:  # noqa: BLE001 - whatever the reason, there is no peer
        print(f"{peer} cannot be resolved, nothing was measured: {type(error).__name__}")
        return
    run({peer: compare}, spark)
