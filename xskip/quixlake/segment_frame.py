"""DataFrames over chosen segments of a lake. Rules: [QLK-RE] [QLK-RD]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xskip.errors import DatasetError
from xskip.metadata.table import MetadataTable
from xskip.protocol.file_table import file_table
from xskip.spark.bridge.gateway import Hook
from xskip.spark.quixlake.segments import SegmentCalls, SegmentForm

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["COLUMNS", "PARTITIONS", "Reading", "segment_frame"]

#: The partition columns of segments with their Spark types, in the order of a read's columns.
PARTITIONS = {"topic": "string", "stream_key": "string", "date": "date"}
#: The columns of a read [QLK-RD-1].
COLUMNS = ("timestamp", "key", "headers", "value", "partition", "offset", "time", *PARTITIONS)


@dataclass(frozen=True, slots=True)
class Reading:
    """The choices of a read of segments."""

    #: The Kafka partition by the name of the segment, for messages without one [QLK-RE-3]. The name of a segment tells
    #: the partition of the others.
    partition_of: Mapping[str, int] = field(default_factory=dict)
    #: Whether each segment has each offset of a partition once: its first message counts [QLK-RD-5].
    is_distinct: bool = False


def segment_frame(spark: SparkSession, hook: Hook, table: MetadataTable, root: str, reading: Reading) -> DataFrame:
    """Return a DataFrame that reads chosen segments and does nothing else; Spark lists no directory.

    ``table`` has the columns of :data:`PARTITIONS`; its files of 0 bytes have no messages. Spark's rule looks for the
    index at the path ``root``, the folder of the topic in the hook's spelling.
    """
    _check(table, root)
    form = SegmentForm(PARTITIONS, reading.partition_of, reading.is_distinct)
    return SegmentCalls(hook).frame(spark, file_table(table).to_pieces(), root, form)


def _check(table: MetadataTable, root: str) -> None:
    found = {name: column.type for name, column in table.partitions.items()}
    if list(found.items()) != list(PARTITIONS.items()):
        raise DatasetError(
            "the table of segments has other partition columns", where=root, expected=str(PARTITIONS), found=str(found)
        )
    if table.files.sizes.null_count:  # Spark reads no byte of a file without a size
        name = table.files.names.filter(table.files.sizes.is_null())[0].as_py()
        raise DatasetError("the size of a segment is unknown", where=name, hint="list the segment")
