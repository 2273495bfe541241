"""A dataset of facts with an index and one of days without, whose values leave out files while a query runs."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

import xskip
from tests.helpers import index, write_once
from xskip import BloomFilter, MinMax, ValueList

#: k grows from file to file, m has all values in each file, j is scattered, and v and s are the number of the file.
_FACTS = {f"f{i}": [(10 * i + j, j, (7 * (10 * i + j)) % 100, i, f"s{i}") for j in range(10)] for i in range(10)}
_DAYS = {"d": [(k, f"day{k}", k % 7) for k in range(120)]}


def write_star(spark: SparkSession, home: Path, fmt: str) -> None:
    """Write ten files of facts and one of days into folders of these names."""
    path = write_once(spark, home / "facts", "k int, m int, j int, v int, s string", _FACTS, fmt)
    index(spark, path, [MinMax("k"), ValueList("m"), BloomFilter("j"), ValueList("s")], fmt)
    write_once(spark, home / "days", "k int, name string, g int", _DAYS, fmt)


def read_star(spark: SparkSession, query: str, dataset: str = "facts") -> list[int]:
    """Assert that a query has the same rows without xskip, and return how many files the scans of a dataset read."""
    frame = spark.sql(query)
    rows = sorted(map(repr, frame.collect()))
    report = xskip.last_report(spark)
    xskip.disable(spark)
    try:
        plain = spark.sql(query)
        assert rows == sorted(map(repr, plain.collect())), query
        assert frame.schema == plain.schema
    finally:
        xskip.enable(spark)
    assert report is not None
    return [scan.kept - scan.pruned for scan in report.scans if scan.dataset.endswith(dataset)]
