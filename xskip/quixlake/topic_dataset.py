"""The segments of a topic as a dataset: what a build and a read see of them. Rules: [QLK-SE] [QLK-RE-3]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from xskip.metadata.data_files import DataFiles
from xskip.metadata.table import MetadataTable, PartitionColumn
from xskip.quixlake.names import RAW, are_named
from xskip.quixlake.segment_frame import PARTITIONS, Reading, segment_frame
from xskip.quixlake.store import LakeStore
from xskip.quixlake.topic_segments import TopicSegments
from xskip.spark.bridge.gateway import Hook
from xskip.spark.quixlake.segments import SegmentCalls

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["TopicSource"]


class TopicSource(TopicSegments):
    """The segments of a topic, and their rows in Spark."""

    def __init__(self, hook: Hook, store: LakeStore, topic: str) -> None:
        super().__init__(store, topic)
        self._hook = hook

    @property
    def root(self) -> str:
        """Return the folder of the topic as a URI, at which the rule looks for the index."""
        return f"{self.store.uri}/{RAW}/{self.folders[0]}"

    def rows(
        self, spark: SparkSession, segments: pa.Table, index: str | None = None, *, is_distinct: bool = False
    ) -> DataFrame:
        """Return a DataFrame that reads segments and does nothing else.

        ``index`` is the directory of the index; None finds the index by the folder of the topic. If ``is_distinct``,
        each segment has each offset of a partition once: its first message counts [QLK-RD-5].
        """
        names = self._names(segments)
        files = DataFiles(names, *(segments[name].combine_chunks() for name in ("size", "modified")))
        partitions = {
            name: PartitionColumn(name, kind, segments[name].combine_chunks()) for name, kind in PARTITIONS.items()
        }
        # The hook takes the partitions of other segments from their names [QLK-RE-3].
        odd = pc.and_(pc.invert(are_named(names)), segments["partition"].combine_chunks().is_valid())
        claimed = (names.filter(odd).to_pylist(), segments["partition"].combine_chunks().filter(odd).to_pylist())
        table = MetadataTable(files, partitions, {})
        reading = Reading(dict(zip(*claimed, strict=True)), is_distinct)
        rows = segment_frame(spark, self._hook, table, self.root, reading)
        if index is not None:
            SegmentCalls(self._hook).use_index_at(rows, index)
        return rows

    def uris(self, segments: pa.Table) -> list[str]:
        """Return the URIs that Spark's column ``_metadata.file_path`` has for segments."""
        return SegmentCalls(self._hook).uris(self.root, self._names(segments).to_pylist())

    def _names(self, segments: pa.Table) -> pa.Array:
        return pc.binary_join_element_wise(f"{self.store.root}/", segments["path"].combine_chunks(), "")
