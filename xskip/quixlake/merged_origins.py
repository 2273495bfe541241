"""The segments from which compactions have made others, by the manifests that are left. Rules: [QLK-TK-3]."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.quixlake.manifests import Manifest
from xskip.quixlake.names import parse_paths, split_names
from xskip.quixlake.ranges import EVERY, NONE, Ranges, union
from xskip.quixlake.token import TopicState, group_of

__all__ = ["COMPACTED", "Check", "Held", "Origins", "Place", "overlapping"]

#: The end of the name of a segment that a compaction can have added: its token. Those of other batches have a ``b``,
#: where their segments found a name taken; those of former releases do not tell.
COMPACTED = re.compile(r"\.([0-9a-f]{12}[^b][0-9a-f]{19})$")
_Mask: TypeAlias = npt.NDArray[np.bool_]
_Numbers: TypeAlias = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Check:
    """The messages of a segment that a merged segment may have replaced: it must have all of them, or none."""

    first: int
    last: int
    rows: int
    #: The least timestamp in milliseconds lies within this second.
    second: int


@dataclass(frozen=True, slots=True)
class Held:
    """The messages of a segment that a token has."""

    #: Their offsets, among which the segment has no others; None if they cannot be told.
    offsets: Ranges | None
    #: What must be so; empty if manifests tell the offsets.
    checks: tuple[Check, ...] = ()


class Place(NamedTuple):
    """The stream key, the partition and the offsets of the messages of a merged segment."""

    stream_key: str | None
    partition: int | None
    #: The least and the greatest offset.
    first: int | None
    last: int | None

    @classmethod
    def of(cls, segment: Mapping[str, Any]) -> Place:
        """Return the place that a segment claims."""
        return cls(*(segment[name] for name in cls._fields))

    @property
    def group(self) -> int:
        """Return the number that tokens have for the stream key and partition."""
        return group_of(self.stream_key, self.partition)


def overlapping(state: TopicState, place: Place, rows: slice | npt.NDArray[np.intp] = slice(None)) -> _Mask:
    """Return which of some segments of a state have the stream key and partition of a place, and offsets within it."""
    first, last = state.first[rows], state.last[rows]
    found = (state.groups[rows] == np.uint64(place.group)) & (last >= first)
    if place.first is not None and place.last is not None:
        found &= (last >= place.first) & (first <= place.last)
    return np.asarray(found)


@dataclass(frozen=True, slots=True, eq=False)
class _Origin:
    """The segments that a compaction has replaced, through the compactions before it."""

    #: The positions of segments of the state.
    known: npt.NDArray[np.intp]
    #: What the names of the other segments say, see :func:`~xskip.quixlake.names.parse_paths`.
    others: pa.Table
    #: That of those among them which another compaction can have added, whose manifest has gone.
    merged: pa.Table
    #: That of segments whose messages went elsewhere than the token or a manifest says of them.
    moved: pa.Table


@dataclass(frozen=True, slots=True)
class Origins:
    """The origins of merged segments. ``manifests`` are those of complete compactions by their tokens."""

    state: TopicState
    manifests: Mapping[str, Manifest]
    _origins: dict[str, _Origin] = field(default_factory=dict)
    _added: dict[str, _Added] = field(default_factory=dict)

    def held(self, path: str, claimed: Place, manifest: Manifest) -> Held | None:
        """Return the messages of a segment that a compaction has added and that the state has.

        None if manifests do not tell, because that of a compaction before this one has gone.
        """
        if manifest.token not in self._origins:
            self._origins[manifest.token] = self._origin(manifest)
        origin = self._origins[manifest.token]
        # a descriptor can have changed since the compaction
        place = self._added_by(manifest).place(path) or claimed
        if _can_be_in(place, origin.merged):
            return None
        rows = origin.known[overlapping(self.state, place, origin.known)]
        has_others = _can_be_in(place, origin.others)
        if _can_be_in(place, origin.moved) or not (len(rows) or has_others):
            return Held(None)
        if not has_others:
            return Held(EVERY)
        if len(rows) == 0:
            return Held(NONE)
        bounds = self.state.first[rows], self.state.last[rows]
        if _share_offsets(place, *bounds, origin.others):
            return Held(None)
        return Held(union(zip(*(each.tolist() for each in bounds), strict=True)))

    def _added_by(self, manifest: Manifest) -> _Added:
        if manifest.token not in self._added:
            self._added[manifest.token] = _Added.of(manifest)
        return self._added[manifest.token]

    def _origin(self, manifest: Manifest) -> _Origin:
        known: list[int] = []
        others: list[str] = []
        moved: list[str] = []
        waiting, seen = [manifest], {manifest.token}
        while waiting:
            added, replaced = self._added_by(waiting[-1]), waiting.pop().replaced.to_pylist()
            positions = self.state.positions_of(replaced)
            moved += [replaced[at] for at in self._moved(positions, added)]
            known += positions[positions >= 0].tolist()
            for path in (path for path, at in zip(replaced, positions.tolist(), strict=True) if at < 0):
                suffix = COMPACTED.search(path)
                source = self.manifests.get(suffix[1]) if suffix else None
                if source is None:
                    others.append(path)
                    continue
                place = self._added_by(source).place(path)
                if place is None or not added.has(place):
                    moved.append(path)
                if source.token not in seen:  # once, also where it has added several segments
                    seen.add(source.token)
                    waiting.append(source)
        merged = [path for path in others if COMPACTED.search(path)]
        tables = (parse_paths(*split_names(pa.array(each, pa.string()))) for each in (others, merged, moved))
        return _Origin(np.unique(np.array(known, np.intp)), *tables)

    def _moved(self, positions: _Numbers, added: _Added) -> list[int]:
        """Return which replaced segments are not as the state has them: the compaction has put messages elsewhere."""
        known = np.flatnonzero(positions >= 0)
        at = positions[known]
        is_right = added.have(self.state.groups[at], self.state.first[at], self.state.last[at])
        found: list[int] = known[~is_right].tolist()
        return found


@dataclass(frozen=True, slots=True, eq=False)
class _Added:
    """The segments that a compaction has added."""

    token: str
    #: By the path below the folder of the topic.
    places: Mapping[str, Place]
    #: The least offsets of those of each group in order, and for each the greatest offset up to there.
    bounds: Mapping[int, tuple[_Numbers, _Numbers]]

    @classmethod
    def of(cls, manifest: Manifest) -> _Added:
        table = manifest.segments
        paths = pc.binary_join_element_wise(table["folder"], table["name"], "/").to_pylist()
        columns = (table[name].to_pylist() for name in Place._fields)
        places = {path: Place(*row) for path, *row in zip(paths, *columns, strict=True)}
        ranges: dict[int, list[tuple[int, int]]] = {}
        for place in places.values():
            if place.first is not None and place.last is not None:
                ranges.setdefault(place.group, []).append((place.first, place.last))
        sides = {group: np.array(sorted(each), np.int64) for group, each in ranges.items()}
        # those of several days can overlap
        bounds = {group: (each[:, 0], np.maximum.accumulate(each[:, 1])) for group, each in sides.items()}
        return cls(manifest.token, places, bounds)

    def place(self, path: str) -> Place | None:
        """Return what a segment holds messages of, by its path relative to the base."""
        below = path.split("/", 2)[-1]
        return self.places.get(below) or self.places.get(below.removesuffix(f".{self.token}"))

    def has(self, place: Place) -> bool:
        """Return whether the segments hold the first and the last offset of a place."""
        if place.first is None or place.last is None:
            return False
        bounds = np.array([place.first]), np.array([place.last])
        return bool(self.have(np.array([place.group], np.uint64), *bounds).all())

    def have(self, groups: npt.NDArray[np.uint64], first: _Numbers, last: _Numbers) -> _Mask:
        """Return for each segment by its group and offsets whether the added ones hold its first and last offset."""
        found = last >= first
        order = np.argsort(groups, kind="stable")
        starts = np.flatnonzero(np.diff(groups[order], prepend=0)) if len(order) else np.array([], np.intp)
        for rows in np.split(order, starts):
            if not len(rows):
                continue
            low, high = self.bounds.get(int(groups[rows[0]]), (np.array([], np.int64),) * 2)
            for offsets in (first[rows], last[rows]):
                at = np.searchsorted(low, offsets, side="right") - 1
                found[rows] &= (at >= 0) & (offsets <= high[at]) if len(low) else False
        return np.asarray(found)


def _can_be_in(place: Place, named: pa.Table) -> bool:
    """Return whether one of some segments can be a part of a merged segment, by their names."""
    return bool(_are_near(place, named).any())


def _are_near(place: Place, named: pa.Table) -> _Mask:
    """Return which segments can have messages at a place, by their names."""
    apart = pa.chunked_array([pa.repeat(pa.scalar(False), len(named))])
    if place.first is not None and place.last is not None:
        apart = pc.or_kleene(pc.less(named["last"], place.first), pc.greater(named["first"], place.last))
    if place.partition is not None:
        apart = pc.or_kleene(apart, pc.not_equal(named["partition"], place.partition))
    return ~np.asarray(apart.fill_null(False).to_numpy(), np.bool_)


def _share_offsets(place: Place, first: _Numbers, last: _Numbers, others: pa.Table) -> bool:
    """Return whether other segments of a place can have offsets within the bounds of the token's segments there.

    A compaction merges no segments that can share offsets, so that the token has other bounds than the compaction had.
    """
    is_own = _are_near(place, others)
    is_own &= np.array([key == place.stream_key for key in others["stream_key"].to_pylist()], np.bool_)
    near = others.filter(pa.array(is_own))
    if near["first"].null_count or near["last"].null_count:
        return True
    bounds = union(zip(first.tolist(), last.tolist(), strict=True))
    low, high = (np.array(side, np.int64) for side in zip(*bounds, strict=True))
    at = np.searchsorted(low, near["last"].to_numpy(), side="right") - 1
    return bool(((at >= 0) & (high[at] >= near["first"].to_numpy())).any())
