"""The segments of a topic as a dataset: what a build and a read see of them. Rules: [QLK-SE] [QLK-RE-3]."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from xskip.metadata.data_files import DataFiles
from xskip.metadata.table import MetadataTable, PartitionColumn
from xskip.quixlake.custom_metadata import keys_of_topic
from xskip.quixlake.names import RAW, are_named, first_key_folders, first_parts, is_first_of, split_names
from xskip.quixlake.segment_frame import PARTITIONS, Reading, segment_frame
from xskip.quixlake.segments import kept
from xskip.quixlake.store import Described, KeyChoice, LakeStore
from xskip.spark.bridge.gateway import Hook
from xskip.spark.quixlake.segments import SegmentCalls

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

__all__ = ["TopicSource"]


class TopicSource:
    """The segments of a topic."""

    def __init__(self, hook: Hook, store: LakeStore, topic: str) -> None:
        self.topic = topic
        self.store = store
        self._hook = hook
        self.folders = store.folders_of(topic)

    @property
    def root(self) -> str:
        """Return the folder of the topic as a URI, at which the rule looks for the index."""
        return f"{self.store.uri}/{RAW}/{self.folders[0]}"

    def segments(
        self,
        keys: Collection[str | None] | None = None,
        metadata: Mapping[str, str | Iterable[str]] | None = None,
    ) -> pa.Table:
        """List the segments, without deleted ones, of all or of chosen stream keys.

        ``keys`` and the values of custom metadata [QLK-CM-5] choose stream keys; None chooses all.
        """

        def choose(described: Described) -> KeyChoice:
            chosen = None if keys is None else frozenset(keys)
            if metadata:
                chosen = keys_of_topic(described.values, self.topic, metadata, chosen)
            return KeyChoice(self._key_folders(described, chosen or frozenset()), chosen)

        is_chosen = keys is not None or bool(metadata)
        return self._counting(
            self.store.segments(self.folders, choose if is_chosen else None, with_values=bool(metadata))
        )

    def all_segments(
        self,
        keys: frozenset[str | None] | None = None,
        metadata: Mapping[str, str | Iterable[str]] | None = None,
    ) -> tuple[pa.Table, frozenset[str | None] | None]:
        """List the segments of all stream keys, and choose stream keys as :meth:`segments` does; None chooses all."""
        if not metadata:
            return self.segments(), keys
        chosen = keys

        def choose(described: Described) -> KeyChoice:
            nonlocal chosen
            chosen = keys_of_topic(described.values, self.topic, metadata, keys)
            return KeyChoice(sorted({name for f in self.folders for name in self.store.key_folders(RAW, f)}))

        found = self._counting(self.store.segments(self.folders, choose, with_values=True))
        return found, chosen

    def _counting(self, segments: pa.Table) -> pa.Table:
        """Return the segments of the topic that are not deleted."""
        counts = pc.and_(pc.invert(segments["is_deleted"]), _is(segments["topic"], [self.topic]))
        return kept(segments, counts).combine_chunks()

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

    def _names(self, segments: pa.Table) -> pa.Array:
        return pc.binary_join_element_wise(f"{self.store.root}/", segments["path"].combine_chunks(), "")

    def _key_folders(self, described: Described, keys: Collection[str | None]) -> list[str]:
        """Return the names of the folders ``Key=`` that can hold segments of stream keys."""
        segments = described.files.segments
        paths = segments.filter(_is(segments["stream_key"], [*keys]))["path"]
        # A descriptor can give a stream key to a segment in any folder [QLK-DE-8]. In the others, the folder ``Key=``
        # is named by the stream key or by its first part, encoded or not.
        found = {key for _, key in first_key_folders(split_names(paths.combine_chunks())[0].dictionary)}
        parts = first_parts(keys)
        for folder in self.folders:
            found |= {name for name in self.store.key_folders(RAW, folder) if is_first_of(name, parts)}
        return sorted(found)


def _is(values: pa.ChunkedArray, wanted: Sequence[str | None]) -> pa.ChunkedArray:
    return pc.is_in(values, pa.array(wanted, pa.string()))
