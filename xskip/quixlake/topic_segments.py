"""The segments of a topic that exist. Rules: [QLK-SE] [QLK-CM-5]."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.quixlake.custom_metadata import keys_of_topic
from xskip.quixlake.names import RAW, first_key_folders, first_parts, folder, is_first_of, split_names
from xskip.quixlake.new_messages import NewMessages, Part, Present
from xskip.quixlake.overlaps import Comparison
from xskip.quixlake.segments import kept
from xskip.quixlake.selection import Selection
from xskip.quixlake.store import Described, KeyChoice, LakeStore
from xskip.quixlake.token import NO_COMPACTION, LastCompaction, TopicState

__all__ = ["TopicSegments"]


class TopicSegments:
    """The segments of a topic."""

    def __init__(self, store: LakeStore, topic: str) -> None:
        self.topic = topic
        self.store = store
        self.folders = store.folders_of(topic)

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

    def compared(self, selection: Selection) -> tuple[pa.Table, list[Part], Comparison]:
        """Return all segments of the topic, their parts, and which a read of distinct offsets needs [QLK-RD-6]."""
        whole, keys = self.all_segments(selection.keys, selection.metadata)
        parts = self.parts(selection, whole)
        fits = replace(selection, keys=keys).fits(whole).combine_chunks()
        is_chosen = np.asarray(fits.to_numpy(zero_copy_only=False), np.bool_)
        if parts is None:
            parts = [Part()] * len(whole)
        return whole, parts, Comparison.of(whole, is_chosen & np.array([each.is_needed for each in parts], np.bool_))

    def chosen(self, selection: Selection) -> tuple[pa.Table, list[Part], pa.ChunkedArray]:
        """Return the segments of a selection's stream keys, their parts, and which of them can hold its messages."""
        found = self.segments(selection.keys, selection.metadata)
        parts, fits = self.parts(selection, found), selection.fits(found)
        if parts is None:
            return found, [Part()] * len(found), fits
        is_needed = pa.array([each.is_needed for each in parts], pa.bool_())
        return found, parts, pc.and_(fits, pa.chunked_array([is_needed]))

    def state(self) -> TopicState:
        """Return what the topic holds now, of which the text is a token [QLK-TK-1]."""
        segments = self.segments()
        ended = self.store.compactions.ended(folder("Topic", self.topic))
        last = max(ended.items(), default=NO_COMPACTION)
        return TopicState.of(self.store.root, segments, self.topic, LastCompaction(*last))

    def parts(self, selection: Selection, segments: pa.Table) -> list[Part] | None:
        """Return what a selection between tokens returns of each segment, or None without tokens.

        ``segments`` are all segments of some or all stream keys.
        """
        states = [each for each in (selection.since, selection.until) if each is not None]
        if not states:
            return None
        compactions = self.store.compactions
        is_merged = NewMessages.needs_manifests(segments)
        manifests = compactions.complete(self.folders) if is_merged else {}
        ended = compactions.ended(folder("Topic", self.topic), {each.compaction.number for each in states})
        present = Present(self.store.root, segments, self.segments, manifests, ended)
        return NewMessages(selection.since, selection.until).parts(present)

    def _counting(self, segments: pa.Table) -> pa.Table:
        """Return the segments of the topic that are not deleted."""
        counts = pc.and_(pc.invert(segments["is_deleted"]), _is(segments["topic"], [self.topic]))
        return kept(segments, counts).combine_chunks()

    def _key_folders(self, described: Described, keys: Collection[str | None]) -> list[str]:
        """Return the names of the folders ``Key=`` that can hold segments of stream keys."""
        segments = described.files.segments
        paths = segments.filter(_is(segments["stream_key"], [*keys]))["path"]
        # A descriptor can give a stream key to a segment in any folder [QLK-DE-8]. In the others, the folder ``Key=``
        # is named by the stream key or by its first part, encoded or not.
        found = {key for _, key in first_key_folders(split_names(paths.combine_chunks())[0].dictionary)}
        parts = first_parts(keys)
        for name in self.folders:
            found |= {each for each in self.store.key_folders(RAW, name) if is_first_of(each, parts)}
        return sorted(found)


def _is(values: pa.ChunkedArray, wanted: Sequence[str | None]) -> pa.ChunkedArray:
    return pc.is_in(values, pa.array(wanted, pa.string()))
