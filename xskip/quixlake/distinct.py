"""Reads in which each offset of a partition occurs once. Rules: [QLK-RD-5] [QLK-RD-6]."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from xskip.quixlake.new_messages import Part
from xskip.quixlake.overlaps import Comparison
from xskip.quixlake.part_rows import PLACE, PartRows
from xskip.quixlake.ranges import NONE
from xskip.quixlake.segment_frame import COLUMNS

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

__all__ = ["distinct_rows"]

_PARTITION, _OFFSET, _FIRST = "_partition", "_offset", "_first"


def distinct_rows(rows: PartRows, whole: pa.Table, parts: Sequence[Part], masks: Comparison) -> DataFrame:
    """Return the new messages of segments without those whose offset another message has that counts before.

    ``whole`` has all segments of the topic, also those of other stream keys and times, and ``masks`` say which of
    them to read. Filters on the DataFrame skip segments, and filters on offsets and partitions also those whose offsets
    are only compared [QLK-RD-6]. Old messages count before new ones [QLK-TK-5].
    """
    from pyspark.sql import functions as F

    def frame(mask: npt.NDArray[np.bool_], side: str, *, placed: bool = True) -> DataFrame:
        ranges = [getattr(parts[at], side) or NONE for at in np.flatnonzero(mask).tolist()]
        return rows.of(whole.filter(pa.array(mask)), ranges, placed=placed)

    is_needed = masks.alone | masks.compared
    rows.check(whole.filter(pa.array(is_needed)), [parts[at] for at in np.flatnonzero(is_needed).tolist()])
    frames = []
    # If no segment is chosen, an empty DataFrame has the columns.
    if masks.alone.any() or not masks.beside.any():
        frames.append(frame(masks.alone, "new", placed=False))
    if masks.beside.any():
        others = frame(masks.compared, "new")
        has_old = masks.compared & np.array([bool(part.old) for part in parts], np.bool_)
        if has_old.any():
            others = others.unionAll(frame(has_old, "old").withColumn(PLACE, F.lit("")))
        frames.append(_without_copies(frame(masks.beside, "new"), others))
    return frames[0] if len(frames) == 1 else frames[0].unionByName(frames[1])


def _without_copies(rows: DataFrame, others: DataFrame) -> DataFrame:
    """Leave out the messages whose offset a message at a lesser place has."""
    from pyspark.sql import functions as F

    places = others.select(F.col("partition").alias(_PARTITION), F.col("offset").alias(_OFFSET), PLACE)
    # A message without partition or offset has no copies [QLK-RD-5].
    places = places.filter(f"{_PARTITION} IS NOT NULL AND {_OFFSET} IS NOT NULL")
    first = places.groupBy(_PARTITION, _OFFSET).agg(F.min(PLACE).alias(_FIRST), F.count(F.lit(1)).alias("_count"))
    copies = first.filter("_count > 1").drop("_count")
    # Each segment has each offset once, so that no two copies have the same place.
    is_copy = (
        (F.col("partition") == F.col(_PARTITION)) & (F.col("offset") == F.col(_OFFSET)) & (F.col(PLACE) > F.col(_FIRST))
    )
    # An anti join lets Spark push filters below it, so that they skip segments; what it leaves out depends on none.
    return rows.join(copies, is_copy, "left_anti").select(*COLUMNS)
