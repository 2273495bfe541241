"""The messages between two tokens: the segments, and the offsets in merged segments, that hold them. Rules: [QLK-TK].

A segment is new as a whole unless the token has it. A compaction merges segments that do not overlap, old and new ones
alike, so that of a merged segment the bounds of the old ones tell which messages are old.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.errors import DatasetError, PredicateError
from xskip.quixlake.manifests import Manifest
from xskip.quixlake.names import parse_paths, split_names
from xskip.quixlake.ranges import EVERY, NONE, Ranges, difference, union
from xskip.quixlake.token import TopicState, group_of

__all__ = ["Check", "NewMessages", "Part", "is_fulfilled", "undecided", "within"]

#: The last suffix of a segment that a compaction has added, or of one whose name was taken.
_SUFFIX = re.compile(r"\.([0-9a-f]{32})$")
_Mask: TypeAlias = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Check:
    """The messages that a merged segment must have within the bounds of a segment that it may have replaced."""

    first: int
    last: int
    rows: int


@dataclass(frozen=True, slots=True)
class Part:
    """The messages of a segment that a read between two tokens returns."""

    #: The offsets of the messages that are returned, and of those that the first token has.
    new: Ranges = EVERY
    old: Ranges = NONE
    #: What proves that the segment has replaced those of a token; empty if a manifest does.
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, slots=True)
class NewMessages:
    """The messages that came after one token and up to another; None leaves an end open."""

    since: TopicState | None
    until: TopicState | None

    def parts(self, root: str, segments: pa.Table, manifests: Mapping[str, Manifest]) -> list[Part]:
        """Return the part of each segment of a topic.

        ``segments`` are all segments of some stream keys, and ``manifests`` those of compactions by their tokens.
        """
        before, after = (
            None if state is None else _Membership(state, argument).of(root, segments, manifests)
            for state, argument in ((self.since, "since"), (self.until, "until"))
        )
        every = [_Held(EVERY)] * len(segments)
        nothing = [_Held(NONE)] * len(segments)
        return [
            Part(difference(now.offsets, then.offsets), then.offsets, (*then.checks, *now.checks))
            for then, now in zip(before or nothing, after or every, strict=True)
        ]

    @staticmethod
    def needs_manifests(segments: pa.Table) -> bool:
        """Return whether a segment can be one that a compaction has added."""
        return bool(pc.any(pc.match_substring_regex(segments["path"], _SUFFIX.pattern), min_count=0).as_py())


@dataclass(frozen=True, slots=True)
class _Held:
    """The messages of a segment that a token has."""

    offsets: Ranges
    checks: tuple[Check, ...] = ()


@dataclass(frozen=True, slots=True)
class _Membership:
    """The messages of present segments that the state of a token has."""

    state: TopicState
    argument: str

    def of(self, root: str, segments: pa.Table, manifests: Mapping[str, Manifest]) -> list[_Held]:
        positions = self.state.positions(segments)
        found = [_Held(EVERY if at >= 0 else NONE) for at in positions.tolist()]
        is_gone = np.ones(len(self.state.marks), np.bool_)
        is_gone[positions[positions >= 0]] = False
        sources = _Sources(self.state, manifests)
        names = ["path", "stream_key", "partition", "date", "first", "last", "rows"]
        others = np.flatnonzero(positions < 0)
        for at, segment in zip(others.tolist(), segments.select(names).take(pa.array(others)).to_pylist(), strict=True):
            if suffix := _SUFFIX.search(segment["path"]):
                manifest = manifests.get(suffix[1])
                held = None if manifest is None else sources.held(segment, manifest)
                found[at] = self._gone_in(segment, is_gone) if held is None else held
        self._check_lake(root, segments, found)
        return found

    def _gone_in(self, segment: Mapping[str, Any], is_gone: _Mask) -> _Held:
        """Return what a segment holds if a manifest has gone: the segments of the state that have gone, too."""
        rows = np.flatnonzero(_overlapping(self.state, segment) & is_gone)
        first, last, counts = (each[rows].tolist() for each in (self.state.first, self.state.last, self.state.rows))
        bounds, checks = union(zip(first, last, strict=True)), tuple(map(Check, first, last, counts))
        # a segment that has their messages has no others if the numbers are equal
        has_equal_number = bounds and -1 not in counts and segment["rows"] == sum(counts)
        if has_equal_number and (segment["first"], segment["last"]) == (min(first), max(last)):
            return _Held(EVERY)
        return _Held(bounds, checks)

    def _check_lake(self, root: str, segments: pa.Table, found: Sequence[_Held]) -> None:
        """Raise an error if the token seems to be one of another lake."""
        # a lake that was moved or copied has the segments of the token
        is_foreign = not self.state.is_of(root) and len(self.state.marks) and not any(each.offsets for each in found)
        if is_foreign and len(segments):
            raise PredicateError(
                f"{self.argument} is a token of another lake", where=root,
                found="a lake at another path, without the segments of the token",
                hint="read the topic whole, and go on with a new token",
            )  # fmt: skip


@dataclass(frozen=True, slots=True, eq=False)
class _Origin:
    """What a compaction has replaced, through the compactions before it."""

    #: The positions of segments of the state.
    known: npt.NDArray[np.intp]
    #: What the names of the other segments say, see :func:`~xskip.quixlake.names.parse_paths`.
    others: pa.Table
    #: That of those among them which another compaction can have added, whose manifest has gone.
    merged: pa.Table


@dataclass(frozen=True, slots=True)
class _Sources:
    """The segments from which compactions have made others."""

    state: TopicState
    manifests: Mapping[str, Manifest]
    _origins: dict[str, _Origin] = field(default_factory=dict)

    def held(self, segment: Mapping[str, Any], manifest: Manifest) -> _Held | None:
        """Return the messages of a segment that a compaction has added and that the state has.

        None if manifests do not tell, because that of a compaction before this one has gone.
        """
        if manifest.token not in self._origins:
            self._origins[manifest.token] = self._origin(manifest)
        origin = self._origins[manifest.token]
        if _can_be_in(segment, origin.merged):
            return None
        rows = origin.known[_overlapping(self.state, segment, origin.known)]
        if len(rows) and not _can_be_in(segment, origin.others):
            return _Held(EVERY)
        return _Held(union(zip(self.state.first[rows].tolist(), self.state.last[rows].tolist(), strict=True)))

    def _origin(self, manifest: Manifest) -> _Origin:
        paths = [*self._paths(manifest, {manifest.token})]
        positions = self.state.rows_of(paths)
        others = [path for path, at in zip(paths, positions.tolist(), strict=True) if at < 0]
        merged = [path for path in others if _SUFFIX.search(path)]
        tables = (parse_paths(*split_names(pa.array(each, pa.string()))) for each in (others, merged))
        return _Origin(np.unique(positions[positions >= 0]), *tables)

    def _paths(self, manifest: Manifest, seen: set[str]) -> Iterator[str]:
        """Yield the segments that a compaction has replaced; those of the state, and those of no other compaction."""
        replaced: list[str] = manifest.replaced.to_pylist()
        for path, at in zip(replaced, self.state.rows_of(replaced).tolist(), strict=True):
            suffix = _SUFFIX.search(path)
            source = self.manifests.get(suffix[1]) if suffix and at < 0 else None
            if source is None:
                yield path
            elif source.token not in seen:  # once, also where it has added several segments
                seen.add(source.token)
                yield from self._paths(source, seen)


def _overlapping(
    state: TopicState, segment: Mapping[str, Any], rows: slice | npt.NDArray[np.intp] = slice(None)
) -> _Mask:
    """Return which of some segments of a state are of the group of a merged segment, and overlap its bounds."""
    group = np.uint64(group_of(segment["stream_key"], segment["partition"], segment["date"]))
    first, last = state.first[rows], state.last[rows]
    found = (state.groups[rows] == group) & (last >= first)
    if segment["first"] is not None and segment["last"] is not None:
        found &= (last >= segment["first"]) & (first <= segment["last"])
    return np.asarray(found)


def _can_be_in(segment: Mapping[str, Any], named: pa.Table) -> bool:
    """Return whether one of some segments can be a part of a merged segment, by their names."""
    if not len(named) or segment["first"] is None or segment["last"] is None:
        return len(named) > 0
    apart = pc.or_kleene(pc.less(named["last"], segment["first"]), pc.greater(named["first"], segment["last"]))
    if segment["partition"] is not None:
        apart = pc.or_kleene(apart, pc.not_equal(named["partition"], segment["partition"]))
    return not pc.all(apart.fill_null(False), min_count=0).as_py()


def within(messages: pa.Table, ranges: Ranges) -> pa.Table:
    """Return the messages whose offsets are in ranges; all of them if the ranges have every offset."""
    if ranges == EVERY:
        return messages
    return messages.filter(pa.array(_are_within(messages, ranges)))


def is_fulfilled(check: Check, messages: pa.Table) -> bool:
    """Return whether messages have those of a segment that may have been replaced."""
    found = within(messages, ((check.first, check.last),))["offset"]
    bounds = pc.min_max(found).as_py()
    return bounds == {"min": check.first, "max": check.last} and check.rows in (-1, len(found))


def undecided(where: str) -> DatasetError:
    """Return the error of a merged segment of which no manifest tells the origin."""
    return DatasetError(
        "the new messages of a merged segment cannot be told from those before the token", where=where,
        found="a segment without the manifest of its compaction, which does not have the messages of the token",
        hint="read the topic whole, and go on with a new token; read more often than replaced segments are cleaned",
    )  # fmt: skip


def _are_within(messages: pa.Table, ranges: Ranges) -> _Mask:
    offsets = messages["offset"]
    values = offsets.fill_null(0).to_numpy()
    found = np.zeros(len(values), np.bool_)
    for first, last in ranges:
        found |= (values >= first) & (values <= last)
    return np.asarray(found & offsets.is_valid().to_numpy())
