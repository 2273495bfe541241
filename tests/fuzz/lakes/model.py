"""The content of a lake: segments and descriptors as they were written, and the messages that a read has to return."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

__all__ = ["DAY", "Descriptor", "Message", "Model", "Origin", "Segment", "day_of"]

#: The columns of a read, without ``time`` and ``topic``. Headers are a text.
#: ``origin`` tells the message from all others.
Message = dict[str, Any]
#: The segment or the batch that had the message first, the size of the segment, and the place in it.
Origin = tuple[str, int, int]
#: A row of an index file in the columns of the document, without the form in which its path is written.
Descriptor = dict[str, Any]
DAY = 86_400_000
_EPOCH = dt.date(1970, 1, 1)


def day_of(timestamp: int) -> dt.date:
    """Return the day of a timestamp in UTC."""
    return _EPOCH + dt.timedelta(days=timestamp // DAY)


@dataclass(frozen=True, slots=True)
class Segment:
    """A segment as it was written.

    Attributes
    ----------
    path : str
        The path relative to the base.
    size : int
    key : str or None
        The stream key of the folder.
    date : date or None
        The date of the folder.
    partition : int or None
        The partition in the name.
    messages : tuple of Message
        The messages; ``partition`` is absent from those whose records lack it.
    """

    path: str
    size: int
    key: str | None
    date: dt.date | None
    partition: int | None
    messages: tuple[Message, ...]

    @property
    def folder(self) -> str:
        return self.path.rpartition("/")[0]

    @property
    def has_partitions(self) -> bool:
        """Return whether the records contain their partition."""
        return all("partition" in message for message in self.messages)


@dataclass(slots=True)
class Model:
    """The content of a lake.

    Attributes
    ----------
    segments : dict of str to Segment
        The segments by path, without those that a compaction has replaced.
    descriptors : dict of str to list of Descriptor
        The descriptors of each segment, by its path.
    settled : list of Message
        The messages of segments that xskip has written.
    sites : dict of str to str
        The value of the custom metadata ``site`` of stream keys.
    """

    segments: dict[str, Segment] = field(default_factory=dict)
    descriptors: dict[str, list[Descriptor]] = field(default_factory=dict)
    settled: list[Message] = field(default_factory=list)
    sites: dict[str | None, str] = field(default_factory=dict)

    def messages(self) -> list[Message]:
        """Return the messages of the lake."""
        return [*self.settled, *(message for path in self.segments for message in self.messages_of(path))]

    def messages_of(self, path: str) -> Iterator[Message]:
        """Yield the messages of a segment, as a read returns them; a deleted segment has none."""
        segment, latest = self.segments[path], self._latest(path)
        if latest and all(row["DeletedAt"] is not None for row in latest):
            return
        key = self._stream_key(segment)
        claimed = _agreed(latest, "Partition") if _agreed(latest, "FileSizeBytes") in (None, segment.size) else None
        partition = claimed if segment.partition is None else segment.partition
        for place, message in enumerate(segment.messages):
            origin = (path, segment.size, place)
            yield {"partition": partition, **message, "stream_key": key, "date": segment.date, "origin": origin}

    def settle(self, paths: Iterable[str]) -> None:
        """Take the messages of segments that a compaction has replaced into those of the segments that it has added."""
        replaced = [path for path in paths if path in self.segments]
        found = [message for path in replaced for message in self.messages_of(path)]
        self.settled += [message | {"date": day_of(message["timestamp"])} for message in found]
        for path in replaced:
            del self.segments[path]

    def _stream_key(self, segment: Segment) -> str | None:
        """Return the stream key of the descriptor, else that of the folder's other descriptors, else the folder's."""
        own = _agreed(self._latest(segment.path), "Key")
        if own is not None:
            return str(own)
        beside = {
            _agreed(self._latest(path), "Key") for path, each in self.segments.items() if each.folder == segment.folder
        }
        claimed = beside - {None}
        return str(claimed.pop()) if len(claimed) == 1 else segment.key

    def _latest(self, path: str) -> list[Descriptor]:
        """Return the descriptors of a segment with the greatest time of creation."""
        rows = self.descriptors.get(path, [])
        times = [-1 if row["CreatedAt"] is None else row["CreatedAt"] for row in rows]
        return [row for row, time in zip(rows, times, strict=True) if time == max(times)]


def _agreed(rows: list[Descriptor], column: str) -> Any:
    """Return the claim of all rows, or None if they differ."""
    found = {row[column] for row in rows}
    return found.pop() if len(found) == 1 else None
