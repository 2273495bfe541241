"""Tokens: what a topic held at one moment, as a text that a later read compares with. Rules: [QLK-TK]."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from xskip.errors import PredicateError
from xskip.token_text import TokenForm

__all__ = ["TopicState", "group_of", "marks_of"]

_FORM = TokenForm("lake", 1, "token() of the lake")
_PATH_BITS = np.uint64(16)
_SIZE_MASK = np.uint64((1 << 16) - 1)
#: The number of messages of a segment without a known number, and the span of one without bounds.
_UNKNOWN = -1
#: The numbers of each segment, and those of each group.
_COLUMNS, _GROUPS = ("mark", "first", "span", "rows"), ("group", "count")
Marks = npt.NDArray[np.uint64]
_Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class TopicState:
    """The segments of a topic at one moment. The arrays have an element for each segment."""

    topic: str
    #: A digest of the path of the lake.
    lake: str
    #: A digest of the path in the upper 48 bits, and of the size in the lower 16, in ascending order.
    marks: Marks
    #: A number for the stream key, partition and day, which are those of segments that a compaction merges.
    groups: Marks
    #: The least and the greatest offset; a segment without bounds has a greatest one that is less.
    first: _Numbers
    last: _Numbers
    #: The number of messages, or -1.
    rows: _Numbers

    @classmethod
    def of(cls, root: str, segments: pa.Table, topic: str) -> TopicState:
        """Return the state in which a topic of the lake at ``root`` has these segments."""
        marks = marks_of(segments["path"].to_pylist(), segments["size"].to_pylist())
        places = (segments[name].to_pylist() for name in ("stream_key", "partition", "date"))
        listed = [*zip(*places, strict=True)]
        numbers = {place: group_of(*place) for place in set(listed)}
        groups = np.array([numbers[place] for place in listed], np.uint64)
        first, last, rows = (
            segments[name].fill_null(_UNKNOWN).to_numpy().astype(np.int64) for name in ("first", "last", "rows")
        )
        is_known = np.asarray(segments["first"].is_valid().to_numpy() & segments["last"].is_valid().to_numpy())
        first, last = np.where(is_known, first, 0), np.where(is_known, last, _UNKNOWN)
        order = np.argsort(marks)
        return cls(topic, _digest(root), marks[order], groups[order], first[order], last[order], rows[order])

    def text(self) -> str:
        """Return the token."""
        order = np.lexsort((self.last, self.first, self.groups))
        groups, counts = np.unique(self.groups, return_counts=True)
        first = self.first[order]
        # differences within a group are small numbers, which compress well; those between groups wrap around
        columns = {
            "mark": self.marks[order], "first": np.diff(first, prepend=0), "span": (self.last - self.first)[order],
            "rows": self.rows[order], "group": groups, "count": counts,
        }  # fmt: skip
        header = {"topic": self.topic, "lake": self.lake, "segments": len(order), "groups": len(groups)}
        data = json.dumps(header).encode() + b"\n" + b"".join(_planes(columns[name]) for name in (*_COLUMNS, *_GROUPS))
        return _FORM.text(data)

    @classmethod
    def parse(cls, text: object, argument: str, topic: str) -> TopicState:
        """Return the state of a token that is the value of an argument of a read of a topic."""
        where = f"topic {topic}"
        data = _FORM.data(text, argument, where)
        try:
            state = cls._unpacked(data)
        except (ValueError, KeyError, TypeError) as error:
            raise _FORM.damaged(argument, where) from error
        if state.topic != topic:
            raise PredicateError(f"{argument} is a token of another topic", found=state.topic, expected=topic)
        return state

    @classmethod
    def _unpacked(cls, data: bytes) -> TopicState:
        head, _, body = data.partition(b"\n")
        header: dict[str, Any] = json.loads(head)
        counts = dict.fromkeys(_COLUMNS, int(header["segments"])) | dict.fromkeys(_GROUPS, int(header["groups"]))
        columns, at = {}, 0
        for name, count in counts.items():
            columns[name] = _joined(body[at : at + 8 * count], count)
            at += 8 * count
        marks, groups = columns["mark"].view(np.uint64), columns["group"].view(np.uint64)
        first = np.cumsum(columns["first"])
        order = np.argsort(marks)
        groups, last = np.repeat(groups, columns["count"])[order], (first + columns["span"])[order]
        names = str(header["topic"]), str(header["lake"])
        return cls(*names, marks[order], groups, first[order], last, columns["rows"][order])

    def is_of(self, root: str) -> bool:
        """Return whether the token was made of the lake at a path."""
        return self.lake == _digest(root)

    def rows_of(self, paths: Sequence[str]) -> _Numbers:
        """Return the positions of paths among the segments of the state, and -1 for those that it does not have."""
        return self._positions(marks_of(paths, [0] * len(paths)))

    def positions(self, segments: pa.Table) -> _Numbers:
        """Return the positions of present segments, and -1 for those that the state does not have.

        A segment with another size than the state's is an error, because its new messages cannot be told from others.
        """
        marks = marks_of(segments["path"].to_pylist(), segments["size"].to_pylist())
        found = self._positions(marks)
        is_other = (
            (found >= 0) & (self.marks[found] & _SIZE_MASK != marks & _SIZE_MASK) if len(self.marks) else found > 0
        )
        if is_other.any():
            path = segments["path"][int(np.flatnonzero(is_other)[0])].as_py()
            raise PredicateError(
                "a segment was rewritten since the token was made", where=path, found="another size",
                expected="segments that stay as they are", hint="read the topic whole, and go on with a new token",
            )  # fmt: skip
        return found

    def _positions(self, marks: Marks) -> _Numbers:
        own, wanted = self.marks >> _PATH_BITS, marks >> _PATH_BITS
        at = np.searchsorted(own, wanted)
        if not len(own):
            return np.full(len(wanted), -1)
        return np.where(own[np.minimum(at, len(own) - 1)] == wanted, at, -1)


def marks_of(paths: Iterable[str], sizes: Iterable[int | None]) -> Marks:
    """Return a number for each segment: a digest of its path, and below it one of its size."""
    digests = [hashlib.blake2b(path.encode("utf-8", "surrogatepass"), digest_size=6).digest() for path in paths]
    numbers = np.array([int.from_bytes(each, "big") for each in digests], np.uint64)
    # sizes that differ by a multiple of 65,536 have other products as well
    lower = np.array([((size or 0) * 0x9E3779B97F4A7C15 >> 24) & 0xFFFF for size in sizes], np.uint64)
    return np.asarray((numbers << _PATH_BITS) | lower, np.uint64)


def group_of(stream_key: str | None, partition: int | None, date: Any) -> int:
    """Return a number for a stream key, a partition and a day."""
    text = json.dumps([stream_key, partition, str(date)])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _planes(values: npt.NDArray[Any]) -> bytes:
    """Return the first bytes of all numbers, then the second ones, and so on, of which the upper ones are equal."""
    little = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
    return bytes(little.view(np.uint8).reshape(-1, 8).T.tobytes())


def _joined(data: bytes, count: int) -> _Numbers:
    return np.asarray(np.frombuffer(data, np.uint8).reshape(8, count).T.copy().reshape(-1).view("<i8"), np.int64)
