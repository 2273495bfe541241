"""The drop of the index of a path that does not exist any more. Rule: [MDS-DC-7]."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from xskip.indexing.reader import PathReader
from xskip.indexing.source import base_location, chosen_location
from xskip.metadata.data_files import table_identifier
from xskip.metadatastore.definition_copy import has_dataset
from xskip.metadatastore.location import IndexLocation, metadata_directory
from xskip.metadatastore.maintenance.gone_dataset import drop_without_dataset
from xskip.results.operations import DropResult
from xskip.spark.bridge.hadoop_filesystem import storage_for
from xskip.spark.query.spark_engine import SparkEngine

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["drop_gone_dataset"]


def drop_gone_dataset(spark: SparkSession, engine: SparkEngine, read: PathReader) -> DropResult | None:
    """Remove what is left of the index of a path that does not exist.

    None means that the path exists, or that nothing is left.
    """
    locations = engine.hook.locations
    root = locations.qualified(read.path).rstrip("/")
    parent, _, name = root.rpartition("/")
    # metadata names the dataset without symbolic links
    for each in dict.fromkeys((root, f"{locations.resolved(parent).rstrip('/')}/{name}")):
        if has_dataset(storage_for(engine.hook, each), each):
            continue
        for location in _locations(spark, engine, read, each):
            result = drop_without_dataset(storage_for(engine.hook, location.directory), location)
            if result is not None:
                return result
    return None


def _locations(spark: SparkSession, engine: SparkEngine, read: PathReader, root: str) -> Iterator[IndexLocation]:
    if read.place:
        yield chosen_location(spark, engine, root, read, read.place)
        return
    base = base_location(spark, engine)
    if base is not None:
        yield IndexLocation(root, metadata_directory(root, base), table_identifier(root))
    yield IndexLocation.inside(root)
