"""A small dataset that grows, the metadata of its index, and the number of Spark jobs of an action."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

from tests.helpers import metadata
from xskip import SkippingIndex

SCHEMA = "a int, s string"


def rows(*numbers: int) -> dict[str, list[tuple[Any, ...]]]:
    return {f"f{n}": [(n, f"s{n}"), (n, None)] for n in numbers}


def by_name(made: SkippingIndex) -> dict[str, list[Any]]:
    """Return the metadata of each file by its base name."""
    table = metadata(made)
    columns = [column.values.to_pylist() for column in table.indexes.values()]
    names = [Path(name).stem for name in table.files.names.to_pylist()]
    return {name: [*values] for name, *values in zip(names, *columns, strict=True)}


def jobs(spark: SparkSession, action: Callable[[], Any]) -> int:
    """Return the number of Spark jobs that an action runs."""
    spark.sparkContext.setJobGroup("xskip-count", "")
    before = len(spark.sparkContext.statusTracker().getJobIdsForGroup("xskip-count"))
    try:
        action()
        spark.sparkContext._jsc.sc().listenerBus().waitUntilEmpty()
        return len(spark.sparkContext.statusTracker().getJobIdsForGroup("xskip-count")) - before
    finally:
        spark.sparkContext.setLocalProperty("spark.jobGroup.id", None)  # type: ignore[arg-type]  # None removes it
