"""What an index wrote."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import xskip
from xskip.metadatastore.codec import encode
from xskip.metadatastore.snapshot import open_snapshot
from xskip.metadatastore.storage import LocalStorage
from xskip.metadatastore.versions import Form
from xskip.spark.scan import engine_of


def written(index: xskip.SkippingIndex, name: str, *columns: str) -> dict[str, Any]:
    """The metadata of an index by the names of the files, without extension."""
    snapshot = open_snapshot(LocalStorage(), index.describe().location)
    assert snapshot is not None
    table = snapshot.load()
    values = table.indexes[name, columns].values.to_pylist()
    return dict(zip((Path(n).stem for n in table.objects.names.to_pylist()), values, strict=True))


def lists_of(index: xskip.SkippingIndex, name: str, *columns: str) -> dict[str, set[Any] | None]:
    """The same as sets, None where there is no list."""
    found = written(index, name, *columns)
    return {file: None if values is None else set(values) for file, values in found.items()}


def without_record(spark: SparkSession, index: xskip.SkippingIndex, path: str) -> None:
    """Writes the same metadata once more, as if another program had: without xskip's own record."""
    directory = Path(index.describe().location)
    snapshot = open_snapshot(LocalStorage(), str(directory))
    assert snapshot is not None
    table = snapshot.load()
    index.drop()
    directory.mkdir(parents=True)
    encode(table, path, directory / "part-00000-6f2d0a6e-5b0c-4c3e-9d0e-3f5a2f1c7b11-c000.snappy.parquet", Form(4))
    engine_of(spark).forget_all()
    assert index.exists()
