"""Files of one day each, whose metadata answer aggregates, and random conditions on their columns."""

from __future__ import annotations

import random
from pathlib import Path

from pyspark.sql import SparkSession

from tests.helpers import index, write_indexed, write_once
from xskip import MinMax, ValueList

FORMATS = ("parquet", "avro", "orc")
_SCHEMA = "k int, day int, n bigint, s string"
#: In file 5, some n are NULL, and in file 6 all are.
_FILES = {
    f"f{day}": [(k, day, None if day == 6 or (day == 5 and k % 2) else 100 * day + k, f"s{k % 3}") for k in range(20)]
    for day in range(10)
}
_INDEXES = [MinMax("k"), MinMax("day"), MinMax("n"), ValueList("s")]


def write_days(spark: SparkSession, home: Path) -> dict[str, str]:
    """Write the files in all formats, with indexes, and return the paths of the datasets by their formats."""
    return {fmt: write_indexed(spark, home / fmt, _SCHEMA, _FILES, _INDEXES, fmt) for fmt in FORMATS}


def write_files_without_metadata(spark: SparkSession, home: Path) -> None:
    """Define the view ``t`` of three indexed files, of which f1 has changed since, and of g, which is new."""
    path = write_once(spark, home / "data", "k int", {f"f{i}": [(i,)] * 5 for i in range(3)})
    index(spark, path, [MinMax("k")])
    write_once(spark, home / "more", "k int", {"g": [(7,)] * 50})
    (home / "more" / "g.parquet").rename(Path(path, "g.parquet"))
    Path(path, "f1.parquet").touch()
    spark.read.parquet(path).createOrReplaceTempView("t")


def condition(chooser: random.Random) -> str:
    """Return a random condition."""
    leaves = [
        f"{chooser.choice(['k', 'day', 'n'])} {chooser.choice(['<', '<=', '=', '<>', '>=', '>', '<=>'])} "
        f"{chooser.choice([-1, 0, 3, 5, 6, 9, 10, 19, 400, 415, 919])}"
        for _ in range(chooser.randrange(1, 4))
    ]
    leaves += chooser.choice([[], ["n is null"], ["n is not null"], ["s in ('s0', 's1', 's2')"], ["s <> 's1'"]])
    text = leaves[0]
    for leaf in leaves[1:]:
        text = f"({text} {chooser.choice(['and', 'or'])} {leaf})"
    return f"not ({text})" if chooser.random() < 0.2 else text
