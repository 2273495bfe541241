"""The rows of parts of segments in Spark. Rules: [QLK-TK]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from xskip.quixlake.merged_origins import Check
from xskip.quixlake.new_messages import Part, has_all, undecided
from xskip.quixlake.ranges import EVERY, NONE, Ranges
from xskip.quixlake.segment_frame import COLUMNS
from xskip.quixlake.topic_dataset import TopicSource

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

__all__ = ["PLACE", "PartRows"]

#: The column with the URI of a message's segment.
PLACE = "_place"


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
            rows = self._rows(segments, partial, placed=True)
            found = rows.join(self._limits(segments, ranges, partial), self._is_within(rows), "left_semi")
            frames.append(found if placed else found.select(*COLUMNS))
        return reduce(lambda one, other: one.unionAll(other), frames)

    def new(self, segments: pa.Table, parts: Sequence[Part]) -> DataFrame:
        """Return the new messages of segments."""
        self.check(segments, parts)
        return self.of(segments, [part.new or NONE for part in parts])

    def check(self, segments: pa.Table, parts: Sequence[Part]) -> None:
        """Raise an error if a merged segment does not have the messages that it may have replaced."""
        for path, part in zip(segments["path"].to_pylist(), parts, strict=True):
            if part.new is None:
                raise undecided(f"{self.source.store.uri}/{path}")
        doubtful = segments.filter(pa.array([bool(part.checks) for part in parts], pa.bool_()))
        if not len(doubtful):
            return
        uris = self.source.uris(doubtful)
        checked = [set(part.checks) for part in parts if part.checks]  # two tokens have most checks in common
        wanted = [(uri, check) for uri, checks in zip(uris, checked, strict=True) for check in checks]
        wrong = self._unfulfilled(doubtful, wanted)
        for uri, path in zip(uris, doubtful["path"].to_pylist(), strict=True):
            if uri in wrong:
                raise undecided(f"{self.source.store.uri}/{path}")

    def _unfulfilled(self, segments: pa.Table, wanted: Sequence[tuple[str, Check]]) -> set[str]:
        """Return the URIs of segments that have some, but not just the messages of a check."""
        from pyspark.sql import functions as F

        # all copies of an offset count
        every = np.ones(len(segments), np.bool_)
        rows = replace(self, is_distinct=False)._rows(segments, every, placed=True)
        limits = [(uri, check.first, check.last, number) for number, (uri, check) in enumerate(wanted)]
        found = rows.join(F.broadcast(self._frame(limits, "_number bigint")), self._is_within(rows))
        counts = found.groupBy("_number").agg(
            F.count("*").alias("rows"), F.min("offset").alias("first"), F.max("offset").alias("last"),
            F.min("timestamp").alias("start"),
        )  # fmt: skip
        return {
            uri
            for row in counts.collect()
            for uri, check in [wanted[row["_number"]]]
            if not has_all(check, row["first"], row["last"], row["rows"], row["start"])
        }

    def _rows(self, segments: pa.Table, mask: npt.NDArray[np.bool_], *, placed: bool) -> DataFrame:
        from pyspark.sql import functions as F

        chosen = segments.filter(pa.array(mask))
        rows = self.source.rows(self.spark, chosen, self.index, is_distinct=self.is_distinct)
        return rows.select(*COLUMNS, F.col("_metadata.file_path").alias(PLACE)) if placed else rows

    def _limits(self, segments: pa.Table, ranges: Sequence[Ranges], mask: npt.NDArray[np.bool_]) -> DataFrame:
        from pyspark.sql import functions as F

        chosen = np.flatnonzero(mask).tolist()
        uris = self.source.uris(segments.filter(pa.array(mask)))
        limits = [(uri, *bounds) for uri, at in zip(uris, chosen, strict=True) for bounds in ranges[at]]
        return F.broadcast(self._frame(limits))

    def _frame(self, rows: list[Any], *columns: str) -> DataFrame:
        names = ", ".join(("_uri string", "_first bigint", "_last bigint", *columns))
        return self.spark.createDataFrame(rows, names)

    @staticmethod
    def _is_within(rows: DataFrame) -> Column:
        from pyspark.sql import functions as F

        return (rows[PLACE] == F.col("_uri")) & rows["offset"].between(F.col("_first"), F.col("_last"))
