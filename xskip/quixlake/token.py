"""Tokens: what a topic held at one moment, as a text that a later read compares with. Rules: [QLK-TK]."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from xskip.errors import PredicateError
from xskip.token_text import TokenForm

__all__ = ["NO_COMPACTION", "LastCompaction", "TopicState", "group_of", "marks_of", "second_of"]

_FORM = TokenForm("lake", 2, "token() of the lake")
#: The number of messages of a segment without a known number, and the span of one without bounds.
_UNKNOWN = -1
#: A bit above those of sizes: the time of the first message is known.
_IS_TIMED = 1 << 16
#: The numbers of each segment, and those of each group.
_COLUMNS, _GROUPS = ("mark", "size", "first", "span", "rows", "start"), ("group", "count")
Marks = npt.NDArray[np.uint64]
_Numbers = npt.NDArray[np.int64]
_Mask = npt.NDArray[np.bool_]


class LastCompaction(NamedTuple):
    """The last compaction of a topic that has ended."""

    #: The numbers of a topic's compactions grow from 1 on.
    number: int
    #: The token in its mark, or a digest of it; empty if it is not known.
    token: str


NO_COMPACTION = LastCompaction(0, "")


@dataclass(frozen=True, slots=True, eq=False)
class TopicState:
    """The segments of a topic at one moment. The arrays have an element for each segment."""

    topic: str
    #: A digest of the path of the lake.
    lake: str
    compaction: LastCompaction
    #: Digests of the paths, in ascending order.
    marks: Marks
    #: Digests of the sizes, of 16 bits.
    sizes: _Numbers
    #: A number for the stream key and partition, which are those of segments that a compaction merges.
    groups: Marks
    #: The least and the greatest offset; a segment without bounds has a greatest one that is less.
    first: _Numbers
    last: _Numbers
    #: The number of messages, or -1.
    rows: _Numbers
    #: The least timestamp in seconds, 0 where ``is_timed`` is false: it is known if it was computed from all messages.
    start: _Numbers
    is_timed: _Mask

    @classmethod
    def of(cls, root: str, segments: pa.Table, topic: str, compaction: LastCompaction = NO_COMPACTION) -> TopicState:
        """Return the state in which a topic of the lake at ``root`` has these segments."""
        marks = marks_of(segments["path"].to_pylist())
        places = (segments[name].to_pylist() for name in ("stream_key", "partition"))
        listed = [*zip(*places, strict=True)]
        numbers = {place: group_of(*place) for place in set(listed)}
        groups = np.array([numbers[place] for place in listed], np.uint64)
        first, last, rows = (
            segments[name].fill_null(_UNKNOWN).to_numpy().astype(np.int64) for name in ("first", "last", "rows")
        )
        is_known = _mask(segments["first"].is_valid()) & _mask(segments["last"].is_valid())
        first, last = np.where(is_known, first, 0), np.where(is_known, last, _UNKNOWN)
        is_timed = _mask(segments["is_exact"]) & _mask(segments["start"].is_valid())
        start = np.where(is_timed, second_of(segments["start"].fill_null(0).to_numpy().astype(np.int64)), 0)
        digest = LastCompaction(compaction.number, compaction.token and _digest(compaction.token))
        sizes, order = _digests_of(segments["size"].to_pylist()), np.argsort(marks)
        return cls(
            topic, _digest(root), digest, marks[order], sizes[order], groups[order], first[order], last[order],
            rows[order], start[order], is_timed[order],
        )  # fmt: skip

    def text(self) -> str:
        """Return the token."""
        order = np.lexsort((self.last, self.first, self.groups))
        groups, counts = np.unique(self.groups, return_counts=True)
        # differences within a group are small numbers, which compress well; those between groups wrap around
        first, start = (np.diff(each[order], prepend=0) for each in (self.first, self.start))
        columns = {
            "mark": self.marks[order], "size": (self.sizes + _IS_TIMED * self.is_timed)[order], "first": first,
            "span": (self.last - self.first)[order], "rows": self.rows[order], "start": start, "group": groups,
            "count": counts,
        }  # fmt: skip
        header = {
            "topic": self.topic, "lake": self.lake, "compaction": self.compaction, "segments": len(order),
            "groups": len(groups),
        }  # fmt: skip
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
        number, compaction = header["compaction"]
        counts = dict.fromkeys(_COLUMNS, int(header["segments"])) | dict.fromkeys(_GROUPS, int(header["groups"]))
        columns, at = {}, 0
        for name, count in counts.items():
            columns[name] = _joined(body[at : at + 8 * count], count)
            at += 8 * count
        marks, groups = columns["mark"].view(np.uint64), columns["group"].view(np.uint64)
        first, start = np.cumsum(columns["first"]), np.cumsum(columns["start"])
        order = np.argsort(marks)
        groups, sizes = np.repeat(groups, columns["count"])[order], columns["size"][order]
        names = str(header["topic"]), str(header["lake"])
        return cls(
            *names, LastCompaction(int(number), str(compaction)), marks[order], sizes % _IS_TIMED, groups, first[order],
            (first + columns["span"])[order], columns["rows"][order], start[order], sizes >= _IS_TIMED,
        )  # fmt: skip

    def is_of(self, root: str) -> bool:
        """Return whether the token was made of the lake at a path."""
        return self.lake == _digest(root)

    def precedes(self, compactions: Mapping[int, str]) -> bool:
        """Return whether a topic can have come after the state.

        ``compactions`` are the tokens of the compactions that have ended and are still known, by their numbers. The
        last one is always known.
        """
        number, digest = self.compaction
        token = compactions.get(number)
        is_another = bool(token and digest) and _digest(token or "") != digest
        return max(compactions, default=0) >= number and not is_another

    def positions_of(self, paths: Sequence[str]) -> _Numbers:
        """Return the positions of paths among the segments of the state, and -1 for those that it does not have."""
        wanted = marks_of(paths)
        if not len(self.marks):
            return np.full(len(wanted), -1)
        at = np.minimum(np.searchsorted(self.marks, wanted), len(self.marks) - 1)
        return np.where(self.marks[at] == wanted, at, -1)

    def positions(self, segments: pa.Table) -> _Numbers:
        """Return the positions of present segments, and -1 for those that the state does not have.

        A segment with another size than the state's is an error, because its new messages cannot be told from others.
        """
        found = self.positions_of(segments["path"].to_pylist())
        known = np.flatnonzero(found >= 0)
        sizes = _digests_of(segments["size"].take(pa.array(known)).to_pylist())
        others = known[self.sizes[found[known]] != sizes]
        if len(others):
            raise PredicateError(
                "a segment was rewritten since the token was made", where=segments["path"][int(others[0])].as_py(),
                found="another size", expected="segments that stay as they are",
                hint="read the topic whole, and go on with a new token",
            )  # fmt: skip
        return found


def marks_of(paths: Iterable[str]) -> Marks:
    """Return a digest of each path. Of a million paths, two have the same one with a chance of 1 in 37 million."""
    digests = [hashlib.blake2b(path.encode("utf-8", "surrogatepass"), digest_size=8).digest() for path in paths]
    return np.frombuffer(b"".join(digests), ">u8").astype(np.uint64)


def group_of(stream_key: str | None, partition: int | None) -> int:
    """Return a number for a stream key and a partition."""
    text = json.dumps([stream_key, partition])
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "big")


def second_of(millis: Any) -> Any:
    """Return the second of timestamps in milliseconds."""
    return millis // 1000


def _digests_of(sizes: Iterable[int | None]) -> _Numbers:
    # sizes that differ by a multiple of 65,536 have other products as well
    return np.array([((size or 0) * 0x9E3779B97F4A7C15 >> 24) & 0xFFFF for size in sizes], np.int64)


def _mask(values: pa.ChunkedArray) -> _Mask:
    return np.asarray(values.fill_null(False).to_numpy(), np.bool_)


def _digest(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _planes(values: npt.NDArray[Any]) -> bytes:
    """Return the first bytes of all numbers, then the second ones, and so on, of which the upper ones are equal."""
    little = np.ascontiguousarray(values, values.dtype.newbyteorder("<"))
    return bytes(little.view(np.uint8).reshape(-1, 8).T.tobytes())


def _joined(data: bytes, count: int) -> _Numbers:
    return np.asarray(np.frombuffer(data, np.uint8).reshape(8, count).T.copy().reshape(-1).view("<i8"), np.int64)
