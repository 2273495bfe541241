"""Comparison of xskip with the data skipping of a table format, for ``delta.py`` and ``iceberg.py``."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import pyspark
from common import START, Lines, dataset, planned, run, scaled, session, switched
from pyspark.sql import DataFrame, SparkSession

import xskip

FILES = 1_000
ROUNDS = 11


def queries(files: int) -> dict[str, str]:
    """Return the filters of the comparison by description.

    Parameters
    ----------
    files : int
        The number of files in the dataset.

    Returns
    -------
    dict of str to str
        The filters, with ``{}`` for a number that differs in each run.
    """
    begin = START + files * 1_000
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
    parts: Mapping[str, Callable[[SparkSession, Path, Lines], None]] = MappingProxyType({}),
) -> None:
    """Measure queries with the table format and with xskip.

    If no package exists for this Spark, or if the session does not start with the package, print a message and measure
    nothing.

    Parameters
    ----------
    peer : str
        The name of the table format.
    packages : mapping of str to str
        The Maven coordinate of the table format's package by Spark version, such as ``4.1``.
    settings : mapping of str to str
        The session's settings for the table format.
    table : callable
        Takes the session and a folder whose subfolder ``parquet`` has the files, and returns the table format's table
        of the same rows.
    parts : mapping of str to callable
        More parts of the benchmark, see :func:`common.run`.
    """

    def compare(spark: SparkSession, folder: Path, lines: Lines) -> None:
        files = scaled(FILES)
        path = dataset(spark, "parquet", folder, files=files)
        xskip.SkippingIndex.for_path(spark, path).create([xskip.MinMax(column) for column in ("ts", "n", "temp")])
        theirs, ours = table(spark, folder), spark.read.parquet(path)
        number = itertools.count(1)
        for name, query in queries(files).items():
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
    run({peer: compare, **parts}, spark)
