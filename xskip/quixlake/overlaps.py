"""Segments that can hold the same offset, by their claims. Rules: [QLK-RD-5] [QLK-CK-3] [QLK-CP-8]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

__all__ = ["Comparison", "Overlap", "groups", "mixed", "overlaps"]

_STREAM = ("partition",)
_KEY = ("partition", "stream_key")
_Numbers = npt.NDArray[np.int64]
_Mask = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Overlap:
    """Two segments with the same offsets."""

    #: Paths relative to the base.
    path: str
    other: str
    #: The offsets that both segments claim.
    first: int
    last: int
    #: Whether both segments must hold the same offset, because they have more messages than there are offsets.
    is_certain: bool


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """The segments of a read of distinct offsets, as masks of the segments of a topic [QLK-RD-6]."""

    #: The segments to read whose offsets no other segment can hold.
    alone: _Mask
    #: The other segments to read.
    beside: _Mask
    #: The segments with which these are compared, and these themselves.
    compared: _Mask

    @classmethod
    def of(cls, whole: pa.Table, is_chosen: _Mask) -> Comparison:
        """Return the comparison for the chosen segments among all segments of a topic."""
        group, is_shared = groups(whole)
        alone, beside = is_chosen & ~is_shared, is_chosen & is_shared
        # The other segments of a group count whether they are chosen or not: a filter must not change which message
        # counts.
        return cls(alone, beside, np.isin(group, group[beside]))


def groups(segments: pa.Table, by: Sequence[str] = _STREAM) -> tuple[_Numbers, _Mask]:
    """Return for each segment the number of its group, and whether the group has other segments.

    Segments of different groups have no offset in common. Those of a group are equal in the columns ``by``.

    >>> columns = {"partition": [0, 0, 0, 1], "first": [0, 10, 5, 0], "last": [5, 20, 7, 9]}
    >>> [each.tolist() for each in groups(pa.table(columns))]
    [[0, 1, 0, 2], [True, False, True, False]]
    """
    bounds = _Bounds.of(segments, by)
    # A segment without partition or offsets can share offsets with each other segment: all are one group.
    if not bounds.is_known.all():
        return np.zeros(len(segments), np.int64), np.full(len(segments), len(segments) > 1)
    order, is_new, _ = bounds.sorted()
    found = np.empty(len(segments), np.int64)
    found[order] = np.cumsum(is_new) - 1
    return found, (np.bincount(found) > 1)[found]


def mixed(segments: pa.Table) -> _Mask:
    """Return which segments can hold an offset twice, alone or with another of their key and day [QLK-CP-8]."""
    bounds = _Bounds.of(segments, ("stream_key", "date"))
    known = segments.filter(pa.array(bounds.is_known)).combine_chunks()
    # A segment with unknown offsets can share them with each one of its stream key and day.
    found = np.isin(bounds.codes, bounds.codes[~bounds.is_known])
    found[bounds.is_known] |= groups(known, ("stream_key", "partition", "date"))[1]
    offsets = pc.add(pc.subtract(segments["last"], segments["first"]), 1)
    return np.asarray(found | pc.greater(segments["rows"], offsets).fill_null(False).to_numpy(), np.bool_)


def overlaps(segments: pa.Table) -> Iterator[Overlap]:
    """Yield for each segment that shares offsets with an earlier one by their claims a pair of the two [QLK-CK-3]."""
    segments = segments.sort_by("path")  # of two equal ranges, the latter path is named
    dense = segments.filter(_is_dense(segments))
    found = {}
    # Within a stream key, bounds of offsets that overlap are enough. Segments of different stream keys lie between each
    # other in every lake, so that they count only where each holds all offsets within its bounds.
    for part, by in ((segments, _KEY), (dense, _STREAM)):
        known = part.filter(pa.array(_Bounds.of(part, ("partition",)).is_known))
        for pair in _pairs(known, by):
            found[pair.path, pair.other] = pair
    yield from found.values()


def _pairs(segments: pa.Table, by: Sequence[str]) -> Iterator[Overlap]:
    order, is_new, reaching = _Bounds.of(segments, by).sorted()
    rows = segments.select(["path", "first", "last", "rows"]).to_pylist()
    for at in np.flatnonzero(~is_new):
        own, other = rows[order[at]], rows[order[reaching[at]]]
        both = own["rows"] is not None and other["rows"] is not None
        # All offsets of both lie between these ends. More messages than that hold an offset twice.
        offsets = max(own["last"], other["last"]) - other["first"] + 1
        certain = both and own["rows"] + other["rows"] > offsets
        yield Overlap(own["path"], other["path"], own["first"], min(own["last"], other["last"]), certain)


def _is_dense(segments: pa.Table) -> pa.ChunkedArray:
    count = pc.add(pc.subtract(segments["last"], segments["first"]), 1)
    return pc.equal(segments["rows"], count).fill_null(False)


@dataclass(frozen=True, slots=True)
class _Bounds:
    """The bounds of offsets of segments: a number for the values of columns, and the least and greatest offset."""

    codes: _Numbers
    first: _Numbers
    last: _Numbers
    is_known: _Mask

    @classmethod
    def of(cls, segments: pa.Table, by: Sequence[str]) -> _Bounds:
        codes = np.zeros(len(segments), np.int64)
        for name in by:
            encoded = segments[name].combine_chunks().dictionary_encode(null_encoding="encode")
            codes = codes * (len(encoded.dictionary) + 1) + encoded.indices.to_numpy()
            codes = np.unique(codes, return_inverse=True)[1].reshape(-1)  # so that products stay small
        known = pc.and_(segments["partition"].is_valid(), segments["first"].is_valid())
        known = pc.and_(known, segments["last"].is_valid()).to_numpy()
        first, last = (segments[name].fill_null(0).to_numpy() for name in ("first", "last"))
        return cls(codes, first, last, np.asarray(known, np.bool_))

    def sorted(self) -> tuple[_Numbers, _Mask, _Numbers]:
        """Return an order of the segments, in which groups that overlap are adjacent.

        Return also for each place in the order whether its segment overlaps none before it, and the place of the
        segment before it that reaches farthest.
        """
        order = np.lexsort((self.last, self.first, self.codes))
        codes, first, last = (each[order].tolist() for each in (self.codes, self.first, self.last))  # faster in a loop
        is_new = np.ones(len(order), np.bool_)
        reaching = np.zeros(len(order), np.int64)
        farthest = 0
        for at in range(1, len(order)):
            if codes[at] != codes[at - 1]:
                farthest = at
                continue
            reaching[at] = farthest
            # The farthest segment overlaps this one if any before it does.
            is_new[at] = first[at] > last[farthest]
            if last[at] > last[farthest]:
                farthest = at
        return order, is_new, reaching
