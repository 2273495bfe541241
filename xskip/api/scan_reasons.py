"""The reasons why a scan of a query asked no index, as sentences of a report."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from xskip.errors import SettingError, message_of
from xskip.hints import Call, Words
from xskip.metadatastore.commit_records import list_records
from xskip.metadatastore.definition_copy import find_copy
from xskip.metadatastore.location import IndexLocation
from xskip.protocol.scan_records import ExecutedScan
from xskip.settings import LOCATION
from xskip.spark.bridge.hadoop_filesystem import storage_for
from xskip.spark.query.spark_engine import SparkEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["reason_of"]

_ONLY_PARTITIONS = "only filters on partition columns reach this scan, by which Spark itself selects files"
_MAX_PARENTS = 32


def reason_of(engine: SparkEngine, spark: SparkSession, scan: ExecutedScan) -> str:
    """Return why a scan asked no index."""
    if scan.is_indexed:
        return _ONLY_PARTITIONS if scan.is_partition_filtered else "no filter reaches this scan"
    if scan.off:
        return scan.off
    if scan.refusal:
        return f"xskip does not support {scan.refusal}"
    if not scan.path:
        return "Spark's partition pruning leaves no partition of the table"
    with suppress(Exception):  # a report does not fail because of a hint
        try:
            engine.settings.of(spark, LOCATION)
        except SettingError as error:
            return message_of(error)
        if _has_index(engine, spark, scan.path):
            return "the index did not exist when Spark planned this query; a new DataFrame uses it"
    if engine.settings.or_default(spark, LOCATION):
        return f"the dataset has no index below {LOCATION.key}, which replaces the indexes inside of datasets"
    return Words("the dataset has no index{}", _elsewhere(engine, scan.path))


def _has_index(engine: SparkEngine, spark: SparkSession, path: str) -> bool:
    """Return whether a path, or a directory above its partitions, has an index."""
    hook, root = engine.hook, engine.hook.locations.normalized(path)
    for _ in range(_MAX_PARENTS):
        for location in hook.locations.of_path(spark, root):
            if list_records(storage_for(hook, location.directory), location.directory):
                return True
        root, _, name = root.rpartition("/")
        if not root or "=" not in name:
            return False
    return False


def _elsewhere(engine: SparkEngine, path: str) -> str:
    """Return a hint at the index of another path in the folder of a dataset, or an empty text."""
    with suppress(Exception):  # a report does not fail because of a hint
        root = engine.hook.locations.normalized(path)
        location = IndexLocation.inside(root)
        own = location.directory
        copy = find_copy(storage_for(engine.hook, root), location)
        if copy is not None:
            why = " any more: it was overwritten since its indexes were defined ({}), or its index was deleted; {}"
            return Words(f"{why}, which builds it again", copy.time, Call("refresh"))
        if engine.indexes.knows(own):
            why = " any more: it was overwritten, or its index was deleted; {} again"
            return Words(why, Call("create"))
        folder = own.rpartition("/")[0]
        found = storage_for(engine.hook, folder).directories(folder)
        if found and own not in (each.rstrip("/") for each in found):
            return Words(" of this path, but one of another path: {} if it was moved or copied", Call("adopt"))
    return ""
