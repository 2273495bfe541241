"""Reads in which each offset of a partition occurs once. Rules: [QLK-RD-5] [QLK-RD-6]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from xskip.quixlake.overlaps import Comparison
from xskip.quixlake.segment_frame import COLUMNS
from xskip.quixlake.topic_source import TopicSource

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["distinct_rows"]

_PLACE, _PARTITION, _OFFSET, _FIRST = "_place", "_partition", "_offset", "_first"


def distinct_rows(
    spark: SparkSession, source: TopicSource, whole: pa.Table, masks: Comparison, index: str | None
) -> DataFrame:
    """Return the messages of segments without those whose offset another message has that counts before.

    ``whole`` has all segments of the topic, also those of other stream keys and times, and ``masks`` say which of
    them to read. Filters on the DataFrame skip the segments that are read, and filters on offsets and partitions also
    those whose offsets are only compared [QLK-RD-6].
    """
    parts = []
    # If no segment is chosen, an empty DataFrame has the columns.
    if masks.alone.any() or not masks.beside.any():
        parts.append(source.rows(spark, whole.filter(pa.array(masks.alone)), index, is_distinct=True))
    if masks.beside.any():
        rows, others = (
            _placed(source.rows(spark, whole.filter(pa.array(mask)), index, is_distinct=True))
            for mask in (masks.beside, masks.compared)
        )
        parts.append(_without_copies(rows, others))
    return parts[0] if len(parts) == 1 else parts[0].unionByName(parts[1])


def _placed(rows: DataFrame) -> DataFrame:
    """Add the place of each message: the URI of its segment."""
    from pyspark.sql import functions as F

    return rows.select(*COLUMNS, F.col("_metadata.file_path").alias(_PLACE))


def _without_copies(rows: DataFrame, others: DataFrame) -> DataFrame:
    """Leave out the messages whose offset a message at a lesser place has."""
    from pyspark.sql import functions as F

    places = others.select(F.col("partition").alias(_PARTITION), F.col("offset").alias(_OFFSET), _PLACE)
    # A message without partition or offset has no copies [QLK-RD-5].
    places = places.filter(f"{_PARTITION} IS NOT NULL AND {_OFFSET} IS NOT NULL")
    first = places.groupBy(_PARTITION, _OFFSET).agg(F.min(_PLACE).alias(_FIRST), F.count(F.lit(1)).alias("_count"))
    copies = first.filter("_count > 1").drop("_count")
    # Each segment has each offset once, so that no two copies have the same place.
    is_copy = (
        (F.col("partition") == F.col(_PARTITION))
        & (F.col("offset") == F.col(_OFFSET))
        & (F.col(_PLACE) > F.col(_FIRST))
    )
    # An anti join lets Spark push filters below it, so that they skip segments; what it leaves out depends on none.
    return rows.join(copies, is_copy, "left_anti").select(*COLUMNS)
