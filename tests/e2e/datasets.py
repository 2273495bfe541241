"""A small dataset that grows, the metadata of its index, the jobs of an action, and writers that meet."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import xskip.indexing.builder
import xskip.metadatastore.maintenance.rewrite
from tests.helpers import metadata, rows_of
from xskip import Index, SkippingIndex
from xskip.metadatastore.commit import publish

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


def interrupt(monkeypatch: pytest.MonkeyPatch, *others: Callable[[], object]) -> None:
    """Run the k-th of the other actions just before the k-th commit; commits of the actions do not count."""
    waiting = list(others)
    running: list[bool] = []

    def slow(*args: Any) -> Any:
        if waiting and not running:
            running.append(True)
            waiting.pop(0)()
            running.clear()
        return publish(*args)

    for module in (xskip.indexing.builder, xskip.metadatastore.maintenance.rewrite):
        monkeypatch.setattr(module, "publish", slow)


def rows_of_new(spark: SparkSession, path: str, kinds: list[Index], **options: Any) -> list[str]:
    """Return the metadata of a new index, which replaces that of a path."""
    made = SkippingIndex.for_path(spark, path)
    made.drop()
    made.create(kinds, **options)
    return rows_of(made)
