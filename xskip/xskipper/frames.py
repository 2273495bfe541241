"""The DataFrames that the operations of Xskipper's API return."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING

from xskip.metadatastore.versions import VersionStatus, status_of
from xskip.results.index_status import IndexDescription, IndexStatus
from xskip.results.operations import RefreshResult
from xskip.results.render import percentage

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

    from xskip.metadatastore.snapshot import Snapshot

__all__ = ["described", "listed", "refreshed", "schema"]

_REFRESHED = "status string, new_entries_added int NOT NULL, old_entries_removed int NOT NULL"
_DEPRECATED = (VersionStatus.DEPRECATED_SUPPORTED.value, VersionStatus.DEPRECATED_UNSUPPORTED.value)
Row = tuple[str, str, str]


def schema(text: str) -> StructType | None:
    """Parse a schema from its JSON text; an empty text gives None."""
    from pyspark.sql.types import StructType

    return StructType.fromJson(json.loads(text)) if text else None


def refreshed(spark: SparkSession, result: RefreshResult) -> DataFrame:
    """Return the result of a build or a refresh as one row: status, number of added files, number of removed files."""
    return spark.createDataFrame([("SUCCESS", result.added, result.removed)], _REFRESHED)


def described(spark: SparkSession, identifier: str, index: IndexDescription, status: IndexStatus) -> DataFrame:
    """Return the description and the status of an index as rows of three strings.

    The dataset's path or table name, ``identifier``, becomes the name of the second column.
    """
    rows: list[Row] = [*_state(status), ("Total objects indexed", str(index.files), "")]
    if status.version in _DEPRECATED:
        rows.append(("# Metadata version status", status.version, ""))
    rows += [("# Metadata properties", "", ""), ("Metadata location", index.location, "")]
    rows += [("# Index information", "", ""), ("# Index type", "Columns", "Params")]
    rows += [(i.name, ",".join(i.columns), " ; ".join(f"{k} -> {v}" for k, v in i.params)) for i in index.indexes]
    return _texts(spark, rows, ("Data Skipping Index Stats", identifier, "Comment"))


def _state(status: IndexStatus) -> Iterable[Row]:
    if status.missing:
        total = status.indexed + status.missing
        yield "Status", "Out of date - please use REFRESH operation to update the index", ""
        share = (
            f"{percentage(status.missing, total, 0).replace(' %', '%')} of the objects ({status.missing} of {total})"
        )
        yield "Total new/modified objects", share, ""
    elif status.stale:
        advice = "you can use REFRESH operation to remove these objects"
        yield "Status", f"Index is up to date but contains {status.stale} obsolete objects - {advice}", ""
    else:
        yield "Status", "Up to date", ""


def listed(spark: SparkSession, base: str, found: Iterable[tuple[Snapshot, str]]) -> DataFrame:
    """Return the indexes below a base location as rows of three strings."""
    rows: list[Row] = [("# Metadatastore Manager parameters", "", ""), ("Metadata base path", base, "")]
    for snapshot, _ in found:
        status = status_of(snapshot.version).value
        name = f"{status} {snapshot.table_identifier}" if status in _DEPRECATED else snapshot.table_identifier
        for i, (definition, _) in enumerate(snapshot.indexes):
            # Only the first row of a dataset contains the name of the dataset.
            rows.append(("" if i else name, definition.name, ",".join(definition.columns)))
    return _texts(spark, rows, ("Dataset", "Index type", "Index columns"))


def _texts(spark: SparkSession, rows: list[Row], names: tuple[str, str, str]) -> DataFrame:
    from pyspark.sql.types import StringType, StructField, StructType

    return spark.createDataFrame(rows, StructType([StructField(name, StringType()) for name in names]))
