"""Discovery: what a lake holds, from descriptors, names and listings, without a look into segments. Rules: [QLK-DI]."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from xskip.api.arguments import check_flag, check_text
from xskip.errors import PredicateError
from xskip.hints import Phrase
from xskip.quixlake.arguments import check_key, check_topic
from xskip.quixlake.custom_metadata import keys_of_topic, keys_with
from xskip.quixlake.location import LakeLocation
from xskip.quixlake.names import RAW, first_parts, is_first_of
from xskip.quixlake.results import LakeTable, TimeRange, summarize, times_of
from xskip.quixlake.segments import SEGMENT, kept, listed_segments
from xskip.quixlake.selection import Filters, Moment, Selection
from xskip.quixlake.store import Described, LakeStore
from xskip.quixlake.topic_segments import TopicSegments

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = ["LakeDiscovery"]


class LakeDiscovery:
    """What a lake holds.

    The segments of a stream key are those that its descriptors name, or those in its folder if it has no index file.
    With ``listed=True`` they are the segments that exist.
    """

    def __init__(self, base: str, location: LakeLocation) -> None:
        self.base = base
        self._store = LakeStore(location)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.base!r})"

    def topics(self, *, listed: bool = False) -> LakeTable:
        """Return the topics, with their numbers of stream keys, segments, bytes and messages, and their bounds.

        Parameters
        ----------
        listed : bool
            Whether to list all folders of the lake.

        Returns
        -------
        LakeTable
            A row for each topic with ``topic``, ``keys``, ``segments``, ``bytes``, ``messages``, ``start`` and ``end``.
            No rows if the folder is empty, because nothing was written yet.

        Raises
        ------
        DatasetError
            If there is no such folder, or if it holds other entries than a lake.
        """
        table = summarize(self._segments(self._store.all_folders(), listed=listed), ["topic"], keys=True)
        return LakeTable("topics", table.drop_columns(["first", "last"]))

    def keys(self, topic: str, *, listed: bool = False) -> LakeTable:
        """Return the stream keys of a topic.

        Parameters
        ----------
        topic : str
        listed : bool
            Whether to list all folders of the topic.

        Returns
        -------
        LakeTable
            A row for each stream key with ``stream_key``, ``segments``, ``bytes``, ``messages``, ``first`` and ``last``
            offset, ``start`` and ``end``.

        Raises
        ------
        DatasetError
            If the lake has no such topic.
        """
        return LakeTable("keys", summarize(self._of(topic, listed=listed), ["stream_key"]))

    def partitions(self, topic: str, key: str | None = None, *, listed: bool = False) -> LakeTable:
        """Return the Kafka partitions of a topic or of one stream key.

        Parameters
        ----------
        topic : str
        key : str, optional
            The stream key; None means all.
        listed : bool
            Whether to list all folders of the topic.

        Returns
        -------
        LakeTable
            A row for each partition with ``partition``, ``segments``, ``bytes``, ``messages``, ``first`` and ``last``
            offset, ``start`` and ``end``.

        Raises
        ------
        DatasetError
            If the lake has no such topic.
        """
        check_key(key)
        segments = self._of(topic, listed=listed)
        if key is not None:
            segments = segments.filter(pc.equal(segments["stream_key"], key))
        return LakeTable("partitions", summarize(segments, ["partition"]))

    def time_range(self, topic: str, *, listed: bool = False, **filters: Unpack[Filters]) -> TimeRange:
        """Return the range of time that the segments of a selection claim.

        Parameters
        ----------
        topic : str
        listed : bool
            Whether to list all folders of the topic.
        **filters
            See :class:`~xskip.quixlake.Filters`.

        Raises
        ------
        DatasetError
            If the lake has no such topic.
        PredicateError
            If a filter is invalid.
        """
        found = self._selected(Selection.of(topic, filters), listed=listed)
        starts, ends = times_of(found["start"]), times_of(found["end"])
        return TimeRange(pc.min(starts).as_py(), pc.max(ends).as_py(), starts.null_count)

    def segments(self, topic: str, *, listed: bool = False, **filters: Unpack[Filters]) -> LakeTable:
        """Return the segments that can hold a message of a selection.

        A window selects by the timestamps that segments claim, whether these count as bounds in a read or not.

        Parameters
        ----------
        topic : str
        listed : bool
            Whether to list all folders of the topic.
        **filters
            See :class:`~xskip.quixlake.Filters`.

        Returns
        -------
        LakeTable
            A row for each segment with ``path`` (relative to the base), ``stream_key``, ``date``, ``partition``,
            ``first`` and ``last`` offset, ``start``, ``end``, ``messages`` and ``bytes``.

        Raises
        ------
        DatasetError
            If the lake has no such topic.
        PredicateError
            If a filter is invalid.
        """
        found = self._selected(Selection.of(topic, filters), listed=listed)
        columns = {name: found[name] for name in ("path", "stream_key", "date", "partition", "first", "last")}
        columns |= {"start": times_of(found["start"]), "end": times_of(found["end"])}
        columns |= {"messages": found["rows"], "bytes": found["size"]}
        order = [(name, "ascending") for name in ("stream_key", "partition", "first", "path")]
        return LakeTable("segments", pa.table(columns).sort_by(order))

    def token(self, topic: str) -> str:
        """Return a token of what a topic holds now, from which a later read goes on.

        A read with ``since=token`` returns the messages that came after it, and one with ``until=token`` those that
        came before.

        Parameters
        ----------
        topic : str

        Returns
        -------
        str
            Letters, digits, ``-`` and ``_``. The length grows with the number of segments, by some 20 characters each,
            so that a compaction makes it shorter. It contains the name of the topic, and digests of paths.

        Raises
        ------
        DatasetError
            If the lake has no such topic.
        """
        check_topic(topic)
        return TopicSegments(self._store, topic).state().text()

    def metadata(self, topic: str, key: str | None = None) -> LakeTable:
        """Return the custom metadata of a topic or of one stream key.

        Parameters
        ----------
        topic : str
        key : str, optional
            The stream key; None means all.

        Returns
        -------
        LakeTable
            A row for each name with ``topic``, ``stream_key``, ``name``, ``value`` and ``updated``.

        Raises
        ------
        DatasetError
            If the lake has no such topic.
        """
        check_key(key)
        table, _ = self._store.custom_metadata(self._store.folders_of(topic))
        if key is not None:
            table = table.filter(pc.equal(table["stream_key"], key))
        return LakeTable("values", table)

    def find(
        self,
        text: str | None = None,
        *,
        metadata: Mapping[str, str | Iterable[str]] | None = None,
        start: Moment | None = None,
        end: Moment | None = None,
    ) -> LakeTable:
        """Return the stream keys of all topics that fit a text, custom metadata and a window of time.

        Parameters
        ----------
        text : str, optional
            A text that the topic, the stream key, or a name or value of custom metadata contains, in any case.
        metadata : mapping of str to str or iterable of str, optional
            The value, or the allowed values, of each name of custom metadata.
        start, end : datetime, int or str, optional
            The window: from ``start`` on, and before ``end``, which is exclusive. A stream key fits if one of its
            segments claims timestamps in it, or claims none.

        Returns
        -------
        LakeTable
            A row for each stream key with ``topic``, ``stream_key``, ``segments``, ``bytes``, ``messages``, ``start``
            and ``end``, over the segments in the window.

        Raises
        ------
        DatasetError
            If there is no such folder, or if it holds other entries than a lake.
        PredicateError
            If the window is invalid.
        """
        if text is not None:
            check_text(Phrase("text", "text"), text)
        # Discovery selects by all claims, whether they count in a read or not [QLK-DI-4].
        selection = Selection.of("", {"start": start, "end": end, "metadata": metadata, "trust": "names"})
        wanted = selection.metadata

        def choose(values: pa.Table) -> Collection[str | None] | None:
            return {key for _, key in keys_with(values, wanted)} if wanted else None

        has_condition = text is not None or bool(wanted)
        segments, values = self._described(self._store.all_folders(), choose, with_values=has_condition)
        found = selection.overlapping(segments)
        table = summarize(found, ["topic", "stream_key"]).drop_columns(["first", "last"])
        if has_condition:
            places = list(zip(table["topic"].to_pylist(), table["stream_key"].to_pylist(), strict=True))
            by_values = keys_with(values, wanted) if wanted else set(places)
            by_text = set(places) if text is None else _keys_that_mention(values, text)
            by_text |= {place for place in places if text is not None and _mentions(place, text)}
            table = table.filter(pa.array([place in by_values and place in by_text for place in places], pa.bool_()))
        return LakeTable("keys", table)

    def _of(self, topic: str, *, listed: bool) -> pa.Table:
        return self._segments(self._store.folders_of(topic), listed=listed, topic=topic)

    def _selected(self, selection: Selection, *, listed: bool) -> pa.Table:
        """Return the segments of a selection by all claims, whether they count in a read or not."""
        check_flag("listed", listed)
        if selection.since is not None or selection.until is not None:
            raise PredicateError(
                "tokens select messages, and not segments", found="since or until", expected="filters on segments"
            )
        topic, keys = selection.topic, selection.keys
        if listed:
            listing = TopicSegments(self._store, topic)
            return replace(selection, trust="names").overlapping(listing.segments(keys, selection.metadata))

        def choose(values: pa.Table) -> frozenset[str | None] | None:
            return keys_of_topic(values, topic, selection.metadata, keys) if selection.metadata else keys

        folders = self._store.folders_of(topic)
        found, values = self._described(folders, choose, with_values=bool(selection.metadata))
        found = kept(found, pc.equal(found["topic"], topic))
        return replace(selection, keys=choose(values), trust="names").overlapping(found)

    def _segments(self, folders: list[str], *, listed: bool, topic: str | None = None) -> pa.Table:
        """Return the segments of topics' folders that are not deleted [QLK-DI-2] [QLK-DI-3]."""
        check_flag("listed", listed)
        found = self._store.segments(folders) if listed else self._described(folders)[0]
        found = kept(found, pc.invert(found["is_deleted"]))
        return found if topic is None else kept(found, pc.equal(found["topic"], topic))

    def _described(
        self,
        folders: list[str],
        choose: Callable[[pa.Table], Collection[str | None] | None] = lambda _: None,
        *,
        with_values: bool = False,
    ) -> tuple[pa.Table, pa.Table]:
        """Return the segments by descriptors or, for stream keys without them, by listings; and custom metadata.

        ``choose`` takes custom metadata, and returns the stream keys to list; None lists all.
        """
        found, described = self._store.described(folders, with_values=with_values)
        keys = choose(described.values)
        parts = [found, *(self._undescribed(folder, described, keys) for folder in folders)]
        return pa.concat_tables([part for part in parts if len(part)] or [SEGMENT.empty_table()]), described.values

    def _undescribed(self, folder: str, described: Described, keys: Collection[str | None] | None) -> pa.Table:
        """Return the segments in those folders ``Key=`` of a topic's folder in which no descriptor names a segment."""
        names = self._store.key_folders(RAW, folder)
        missing = [name for name in names if (folder, name) not in described.files.key_folders]
        if keys is not None:
            parts = first_parts(keys)
            missing = [name for name in missing if is_first_of(name, parts)]
        if not missing:
            return SEGMENT.empty_table()
        return listed_segments(self._store.raw_files([folder], missing), described.files.decisive)


def _mentions(place: tuple[str | None, str | None], text: str) -> bool:
    return any(text.lower() in (part or "").lower() for part in place)


def _keys_that_mention(values: pa.Table, text: str) -> set[tuple[str | None, str | None]]:
    """Return the topics and stream keys with a name or value of custom metadata that contains a text."""
    hits = [pc.match_substring(values[column], text, ignore_case=True).fill_null(False) for column in ("name", "value")]
    rows = values.filter(pc.or_(*hits))
    return set(zip(rows["topic"].to_pylist(), rows["stream_key"].to_pylist(), strict=True))
