"""Compaction: many small segments become few, and so do index files. Rules: [QLK-CP]."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.errors import CommitConflictError
from xskip.hints import Call, Words
from xskip.indexing.reader import FrameReader
from xskip.indexing.source import open_source
from xskip.quixlake.compacted import added_paths
from xskip.quixlake.compaction_groups import gainful, mergeable
from xskip.quixlake.index_file_merge import merge_index_files
from xskip.quixlake.manifests import UNDONE, Manifest, new_token
from xskip.quixlake.names import METADATA, RAW, topic_folder
from xskip.quixlake.overlaps import mixed
from xskip.quixlake.sink import Sink
from xskip.quixlake.topic_dataset import TopicSource
from xskip.results.result_view import KeyValueView
from xskip.spark.query.spark_engine import engine_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["Compaction", "CompactionResult"]

_MILLISECOND = timedelta(milliseconds=1)


@dataclass(frozen=True, slots=True, repr=False)
class CompactionResult(KeyValueView):
    """The changes of a compaction.

    Attributes
    ----------
    replaced, added : int
        The number of segments that the compaction has replaced and added.
    messages : int
        The number of messages in these segments.
    index_files : tuple of two int
        The number of index files that were merged, and the number that hold their descriptors now.
    """

    replaced: int
    added: int
    messages: int
    index_files: tuple[int, int]

    def _caption(self) -> str:
        return "Compaction of the topic"

    def _pairs(self) -> Sequence[tuple[str, Any]]:
        merged = f"{self.index_files[0]} -> {self.index_files[1]}"
        return [("segments replaced", self.replaced), ("segments added", self.added), ("messages", self.messages),
                ("index files", merged)]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Compaction:
    """The compaction of a topic. The options of ``sink`` limit the size of new segments."""

    spark: SparkSession
    source: TopicSource
    sink: Sink

    def run(self, older_than: timedelta) -> CompactionResult:
        """Merge the small segments of each stream key, partition and day, and the index files of stream keys.

        Nothing changes if a segment cannot be read or written, or if another writer has compacted the topic, or
        changed, deleted or removed a segment meanwhile.
        """
        limit = int(time.time() * 1000 - older_than / _MILLISECOND)
        log = self.sink.completion.log
        name = self.sink.completion.complete_all(log.recorded()).next_compaction
        chosen = self._chosen(self.source.segments(), limit)
        if not len(chosen):
            return CompactionResult(0, 0, 0, self._merge(limit))
        token = new_token(is_compaction=True)
        chosen, written = self._gainful(chosen, self._rewritten(chosen, token))
        if not len(chosen):
            return CompactionResult(0, 0, 0, self._merge(limit))
        replaced = chosen["path"].combine_chunks()
        manifest = Manifest(name, token, time.time_ns() // 1_000, self.sink.options.index_rows, written, replaced)
        # Of two compactions at the same time, one finds the number in the name taken [QLK-CP-5].
        if not self._are_unchanged(chosen) or not log.commit(manifest):
            log.withdraw(manifest)
            self.sink.discard(written)
            raise CommitConflictError(
                "another writer changed the segments during the compaction", where=self.source.root,
                hint=Words("{} again", Call("compact", command="quix compact")),
            )  # fmt: skip
        self.sink.completion.complete(manifest)
        count = pc.sum(written["rows"], min_count=0).as_py()
        return CompactionResult(len(chosen), len(written), count, self._merge(limit))

    def _rewritten(self, chosen: pa.Table, token: str) -> pa.Table:
        """Write the messages of segments into new ones that no reader sees."""
        opened = open_source(
            self.spark, engine_of(self.spark),
            FrameReader(f"topic {self.source.topic}", lambda session: self.source.rows(session, chosen)),
        )  # fmt: skip
        # whatever the session says, a subset fails at segments that are corrupt or missing
        messages = opened.dataset.subset(np.ones(opened.dataset.listing().count, np.bool_))
        # Names that no other segment can have: none is replaced by itself.
        return self.sink.write_segments(messages, token, f".{token}")

    def _gainful(self, chosen: pa.Table, written: pa.Table) -> tuple[pa.Table, pa.Table]:
        """Return the segments to replace and to add, and remove the other new ones."""
        replaced, added = gainful(chosen, written)
        self.sink.discard(written.filter(pa.array(~added)))
        return chosen.filter(pa.array(replaced)), written.filter(pa.array(added))

    def clean(self, older_than: timedelta) -> int:
        """Remove segments that compactions have replaced or that undone ones have added, and return their number.

        ``older_than`` is the least age of the marks of these compactions [QLK-CP-3].
        """
        limit = time.time() * 1000 - older_than / _MILLISECOND
        log, store = self.sink.completion.log, self.source.store
        folder = topic_folder(METADATA, self.source.topic).partition("/")[2]
        recorded = log.recorded()
        gone: dict[str, pa.Array] = {}
        count = 0
        for name, (manifest, token) in store.compactions.read(folder, recorded).items():
            is_complete = token == manifest.token
            if name in recorded.marks and recorded.marks[name].modified < limit and (is_complete or token == UNDONE):
                gone[name] = manifest.replaced if is_complete else added_paths(manifest, folder)
                count += len(manifest.replaced if is_complete else manifest.segments)
        if gone:
            # One pass for all compactions: requests do not multiply with their number [QLK-CP-3].
            paths = pa.chunked_array([*gone.values()])
            self.sink.remove_segments(paths)
            self._merge(int(limit), paths)
        # The manifests go last: without a manifest, a replaced segment that still exists would count again.
        log.forget(gone, recorded, limit)
        return count

    def _chosen(self, segments: pa.Table, limit: int) -> pa.Table:
        """Return the segments to merge: small, old ones, of which a stream key, partition and day needs fewer."""
        # The sink writes into no other folder of the topic.
        own = pc.starts_with(segments["path"], f"{topic_folder(RAW, self.source.topic)}/")
        # Two segments below half of the limit fit into one.
        small = pc.less(segments["size"], self.sink.options.max_bytes // 2)
        old = pc.less(segments["modified"], limit)
        # other writers' segments can hold what a rewritten record would not: further fields, marks of gaps
        known = pc.and_(segments["is_exact"], pc.is_valid(segments["date"]))
        # which message of an offset counts depends on the segments [QLK-RD-5]
        apart = pc.and_(known, pa.array(~mixed(segments)))
        found = segments.filter(pc.and_(pc.and_(own, small), pc.and_(old, apart)))
        return mergeable(found.combine_chunks(), self.sink.options)

    def _are_unchanged(self, chosen: pa.Table) -> bool:
        """Return whether all segments still exist as they were, and are not deleted."""
        present = self.source.segments()
        rows = pc.index_in(chosen["path"], present["path"].combine_chunks())
        if rows.null_count:
            return False
        found = present.take(rows)
        return bool(found["size"].equals(chosen["size"]) and found["modified"].equals(chosen["modified"]))

    def _merge(self, limit: int, gone: pa.ChunkedArray | None = None) -> tuple[int, int]:
        return merge_index_files(self.source.store, self.source.topic, limit, gone)
