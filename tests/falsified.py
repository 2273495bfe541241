"""Metadata of an index that a test changes, in a commit that readers take for xskip's own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

import xskip
from xskip.metadata.table import IndexKey, MetadataTable
from xskip.metadatastore.filesystem import LocalStorage
from xskip.metadatastore.maintenance.rewrite import Target, rewrite
from xskip.spark.query.spark_engine import engine_of

__all__ = ["falsify", "falsify_tables"]


def falsify(spark: SparkSession, made: xskip.SkippingIndex, key: IndexKey, lies: Mapping[str, Any]) -> None:
    """Replace the values of one index for files, by their base names without extension."""

    def changed(table: MetadataTable) -> MetadataTable:
        column = table.indexes[key]
        names = [Path(name).stem for name in table.files.names.to_pylist()]
        values = [lies.get(name, value) for name, value in zip(names, column.values.to_pylist(), strict=True)]
        return replace(
            table, indexes={**table.indexes, key: replace(column, values=pa.array(values, column.values.type))}
        )

    falsify_tables(spark, made, changed)


def falsify_tables(
    spark: SparkSession, made: xskip.SkippingIndex, change: Callable[[MetadataTable], MetadataTable]
) -> None:
    """Replace all metadata."""
    target = Target.open(LocalStorage(), made.describe().location, "test")
    rewrite(target, target.snapshot.write_options, lambda table, _: change(table))
    engine_of(spark).forget_all()
