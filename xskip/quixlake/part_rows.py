"""The rows of parts of segments in Spark. Rules: [QLK-TK]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from xskip.quixlake.new_messages import Check, Part, undecided
from xskip.quixlake.ranges import EVERY, Ranges
from xskip.quixlake.segment_frame import COLUMNS
from xskip.quixlake.topic_source import TopicSource

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["PLACE", "PartRows"]

#: The column with the URI of a message's segment.
PLACE = "_place"
_GROUP = {"stream_key": "string", "partition": "bigint", "date": "date"}


@dataclass(frozen=True, slots=True)
class PartRows:
    """The reads of parts of segments. ``is_distinct`` is that of :meth:`TopicSource.rows`."""

    spark: SparkSession
    source: TopicSource
    index: str | None
    is_distinct: bool = False

    def of(self, segments: pa.Table, ranges: Sequence[Ranges], *, placed: bool = False) -> DataFrame:
        """Return the messages of segments whose offsets are in the ranges of their segment.

        If ``placed``, the DataFrame has the column :data:`PLACE`.
        """
        whole = np.array([each == EVERY for each in ranges], np.bool_)
        partial = np.array([bool(each) for each in ranges], np.bool_) & ~whole
        frames = []
        if whole.any() or not partial.any():  # without any segment, an empty DataFrame has the columns
            frames.append(self._rows(segments, whole, placed=placed))
        if partial.any():
            rows = self._rows(segments, partial, placed=placed)
            frames.append(rows.join(self._limits(segments, ranges, partial), self._is_within(rows), "left_semi"))
        return reduce(lambda one, other: one.unionAll(other), frames)

    def new(self, segments: pa.Table, parts: Sequence[Part]) -> DataFrame:
        """Return the new messages of segments."""
        self.check(segments, parts)
        return self.of(segments, [part.new for part in parts])

    def check(self, segments: pa.Table, parts: Sequence[Part]) -> None:
        """Raise an error if a merged segment does not have the messages that it may have replaced."""
        doubtful = np.array([bool(part.checks) for part in parts], np.bool_)
        places = segments.select([*_GROUP, "first", "last", "path"]).to_pylist()
        listed = [
            (*(place[name] for name in _GROUP), check.first, check.last, check.rows, place["path"])
            for place, part in zip(places, parts, strict=True)
            for check in part.checks
        ]
        wanted = [*dict.fromkeys(listed)]  # two tokens have most checks in common
        if not wanted:
            return
        for place, part in zip(places, parts, strict=True):
            bounds = place["first"], place["last"]
            if part.checks and (None in bounds or not all(_lies_in(check, bounds) for check in part.checks)):
                raise undecided(f"{self.source.store.uri}/{place['path']}")
        from pyspark.sql import functions as F

        rows = self._rows(segments, doubtful, placed=False)
        names = ["_first", "_last", "_rows", "_path"]
        checks = self._frame(wanted, "_first bigint, _last bigint, _rows bigint, _path string")
        found = rows.join(F.broadcast(checks), self._is_within(rows)).groupBy(*names)
        counts = found.agg(F.count("*").alias("n"), F.min("offset").alias("low"), F.max("offset").alias("high"))
        right = {
            tuple(row[name] for name in names)
            for row in counts.collect()
            if (row.low, row.high) == (row._first, row._last) and row._rows in (-1, row.n)
        }
        for each in wanted:
            if each[len(_GROUP) :] not in right:
                raise undecided(f"{self.source.store.uri}/{each[-1]}")

    def _rows(self, segments: pa.Table, mask: Any, *, placed: bool) -> DataFrame:
        from pyspark.sql import functions as F

        chosen = segments.filter(pa.array(mask))
        rows = self.source.rows(self.spark, chosen, self.index, is_distinct=self.is_distinct)
        return rows.select(*COLUMNS, F.col("_metadata.file_path").alias(PLACE)) if placed else rows

    def _limits(self, segments: pa.Table, ranges: Sequence[Ranges], mask: Any) -> DataFrame:
        from pyspark.sql import functions as F

        places = segments.select([*_GROUP, "first", "last"]).to_pylist()
        rows = []
        for at in np.flatnonzero(mask).tolist():
            place = places[at]
            low, high = place["first"], place["last"]
            # within the bounds of the segment, so that no range selects messages of another one
            bounds = [(first if low is None else max(first, low), last if high is None else min(last, high))
                      for first, last in ranges[at]]  # fmt: skip
            rows += [(*(place[name] for name in _GROUP), first, last) for first, last in bounds if first <= last]
        return F.broadcast(self._frame(rows, "_first bigint, _last bigint"))

    def _frame(self, rows: list[Any], columns: str) -> DataFrame:
        group = ", ".join(f"_{name} {kind}" for name, kind in _GROUP.items())
        return self.spark.createDataFrame(rows, f"{group}, {columns}")

    @staticmethod
    def _is_within(rows: DataFrame) -> Column:
        from pyspark.sql import functions as F

        equal = (rows[name].eqNullSafe(F.col(f"_{name}")) for name in _GROUP)
        return reduce(and_, equal) & rows["offset"].between(F.col("_first"), F.col("_last"))


def _lies_in(check: Check, bounds: tuple[int, int]) -> bool:
    return bounds[0] <= check.first and check.last <= bounds[1]
