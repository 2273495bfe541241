"""The groups of segments that a compaction merges, and whether it gains by a group. Rules: [QLK-CP-1]."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.quixlake.sink import SinkOptions

__all__ = ["gainful", "mergeable"]

_DAY_RUN = ("stream_key", "partition", "date")
_RUN = ("stream_key", "partition")
Codes = npt.NDArray[np.int64]


def mergeable(segments: pa.Table, options: SinkOptions) -> pa.Table:
    """Return the segments of stream keys, partitions and days that fewer segments can hold [QLK-CP-7].

    The bounds of ``segments`` must have been computed from all messages.
    """
    if not len(segments):
        return segments
    codes = _codes(segments, _DAY_RUN)
    counts = np.bincount(codes)
    # ``least`` is a lower bound of the number of new segments. The limit of bytes adds nothing to it, because small
    # segments have less than half of the limit, and an unknown number of rows counts as 0.
    least = np.ones(len(counts), np.int64)
    if options.max_rows is not None:
        rows = np.zeros(len(counts), np.int64)
        np.add.at(rows, codes, segments["rows"].fill_null(0).to_numpy())
        least = np.maximum(least, -(-rows // options.max_rows))
    least = np.maximum(least, _least_by_time(segments, codes, options.max_millis))
    return segments.filter(pa.array((least < counts)[codes])).combine_chunks()


def gainful(chosen: pa.Table, written: pa.Table) -> tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]:
    """Return which segments a compaction replaces, and which it adds: those of partitions with fewer segments then.

    ``chosen`` are the segments that were merged, and ``written`` those with their messages.
    """
    columns = [*_RUN, "rows"]
    both = pa.concat_tables([chosen.select(columns), written.select(columns)])
    codes = _codes(both, _RUN)
    sides = codes[: len(chosen)], codes[len(chosen) :]
    before, after = (np.bincount(side, minlength=codes.max(initial=-1) + 1) for side in sides)
    # The surplus of a stream key and partition is the number of messages that the written segments lack there.
    rows = both["rows"].fill_null(0).to_numpy() * np.where(np.arange(len(both)) < len(chosen), 1, -1)
    surplus = np.zeros(len(before), np.int64)
    np.add.at(surplus, codes, rows)
    if surplus.any() or both["rows"].null_count:  # descriptors mislead: messages can be in other groups than claimed
        is_gain = np.full(len(before), len(written) < len(chosen))
    else:
        is_gain = after < before
    return is_gain[sides[0]], is_gain[sides[1]]


def _codes(table: pa.Table, columns: tuple[str, ...]) -> Codes:
    """Return a number for each row, which is equal where the columns are; null equals null."""
    codes = np.zeros(len(table), np.int64)
    for name in columns:
        encoded = table[name].combine_chunks().dictionary_encode(null_encoding="encode")
        codes = codes * (len(encoded.dictionary) + 1) + encoded.indices.to_numpy()
        codes = np.unique(codes, return_inverse=True)[1].reshape(-1)  # so that products stay small
    return codes


def _least_by_time(segments: pa.Table, codes: Codes, max_millis: int) -> Codes:
    """Return for each group a number of segments that a limit of time makes necessary."""
    names = ("first", "last", "start", "end")
    least = np.ones(codes.max(initial=-1) + 1, np.int64)
    first, last, start, end = (segments[name].fill_null(0).to_numpy() for name in names)
    is_ordered = pc.and_(segments["first"].is_valid(), segments["last"].is_valid()).to_numpy()
    order = np.lexsort((first, codes))
    for rows in np.split(order, np.flatnonzero(np.diff(codes[order])) + 1):
        is_apart = end[rows].max() - start[rows].min() > max_millis
        # Where offsets are unknown or overlap, the order of the messages is unknown, and only 1 is certain.
        if is_apart and is_ordered[rows].all() and (first[rows][1:] > last[rows][:-1]).all():
            least[codes[rows[0]]] = _chain(start[rows], end[rows], max_millis)
    return least


def _chain(start: Codes, end: Codes, max_millis: int) -> int:
    """Return the least number of new segments for segments in the order of offsets.

    >>> _chain(np.array([0, 10, 20, 30]), np.array([9, 19, 29, 39]), 10), _chain(np.array([0, 5]), np.array([4, 9]), 9)
    (2, 1)
    """
    # A new segment whose first message lies in segment ``i`` ends before segment ``j > i`` if ``start[j] > end[i] +
    # max_millis``: every message of ``j`` is later than this first message by more than the limit. ``reach[i]`` is at
    # least the least such ``j``, because suffix minima are not greater than ``start``.
    suffix = np.minimum.accumulate(start[::-1])[::-1]
    reach = np.maximum(np.searchsorted(suffix, end + max_millis, side="right"), np.arange(len(start)) + 1)
    reach = np.maximum.accumulate(reach)
    # The n-th new segment begins at the latest where the one before ends, so that it reaches at most the maximum of
    # ``reach`` up to there.
    count, at = 0, 0
    while at < len(start):
        at, count = int(reach[at]), count + 1
    return count
