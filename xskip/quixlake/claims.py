"""The claims of descriptors and names as statistics of an index. Rules: [QLK-IX] [QLK-TR]."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.indexes import MinMax
from xskip.metadata.data_files import DataFiles
from xskip.metadatastore.snapshot import Snapshot
from xskip.spark.collect.claims import Claim
from xskip.spark.collect.planned_index import PlannedIndex
from xskip.types.datatypes import arrow_type
from xskip.types.masks import from_mask

__all__ = ["IndexTrust", "SegmentClaims", "differing"]

#: Which timestamps an index has: those that count anyway, those that descriptors and names claim, or those of the data.
IndexTrust: TypeAlias = Literal["checked", "names", "data"]
_TIMES = ("timestamp", "time")
_COLUMNS = {"offset": ("first", "last"), "partition": ("partition", "partition")} | dict.fromkeys(
    _TIMES, ("start", "end")
)
_CLAIMS = ["size", "modified", "partition", "first", "last", "start", "end", "is_exact"]
#: The greatest number of milliseconds whose microseconds fit into 64 bits.
_MAX_MILLIS = (2**63 - 1) // 1000


class SegmentClaims:
    """The claims about the segments of the latest listing.

    ``root`` is the path of the base, without scheme and authority. Unless a build ``may_read`` segments, bounds that do
    not count are unknown.
    """

    def __init__(self, root: str, trust: IndexTrust, *, may_read: bool = True) -> None:
        self._root = root
        self._trust = trust
        self._may_read = may_read
        self._segments: pa.Table | None = None
        self._latest: tuple[DataFiles | None, pa.Table | None] = None, None
        #: The number of segments whose claims a build has already taken.
        self._done = 0

    def use(self, segments: pa.Table) -> None:
        """Replace the segments, which have the columns of :data:`~xskip.quixlake.segments.SEGMENT`."""
        self._segments, self._latest, self._done = segments, (None, None), 0

    def of(self, planned: PlannedIndex, files: DataFiles) -> Claim | None:
        """Return the bounds of offsets, partitions or timestamps, see :meth:`xskip.spark.collect.claims.Claims.of`."""
        is_plain = isinstance(planned.index, MinMax) and not planned.index.expression
        if self._segments is None or not is_plain or planned.columns[0] not in _COLUMNS:
            return None
        found = self._of_files(files, self._segments)
        # Claims are about the listed content: a file that has changed since then has none.
        is_same = pc.and_(_equal(found["size"], files.sizes), _equal(found["modified"], files.modified))
        low, high = (found[name] for name in _COLUMNS[planned.columns[0]])
        counts = pc.and_(is_same, pc.and_(low.is_valid(), high.is_valid()))
        is_time = planned.columns[0] in _TIMES
        if is_time and self._trust != "names":
            counts = pc.and_(counts, found["is_exact"].fill_null(False))
        kind = arrow_type(planned.storage)
        # ``time`` is null where its microseconds do not fit into 64 bits [QLK-RD-1]: such bounds are unknown.
        if planned.columns[0] == "time":
            counts = pc.and_(counts, pc.and_(_has_micros(low), _has_micros(high)))
            low, high = (pc.multiply(pc.if_else(counts, side, 0), 1000) for side in (low, high))
        is_known = counts.combine_chunks().to_numpy(zero_copy_only=False)
        sides = [side.combine_chunks().cast(kind[0].type) for side in (low, high)]
        values = pa.StructArray.from_arrays(sides, fields=list(kind), mask=from_mask(~is_known))
        # A segment without bounds that count is open if the data must decide: always for offsets and partitions, and
        # for timestamps if the trust is ``data``. Else its bounds are unknown.
        reads = self._may_read and (not is_time or self._trust == "data")
        is_open = ~is_known if reads else np.zeros(len(files), np.bool_)
        return Claim(values, is_open)

    def _of_files(self, files: DataFiles, segments: pa.Table) -> pa.Table:
        """Return the claims about files, with nulls for files that are no segments; the latest result is remembered."""
        latest, found = self._latest
        if latest is not files or found is None:
            below = pc.utf8_slice_codeunits(files.names, len(self._root) + 1)
            paths = segments["path"].combine_chunks()
            if paths.slice(self._done, len(files)).equals(below):  # a build takes segments in their order
                found = segments.select(_CLAIMS).slice(self._done, len(files))
                self._done += len(files)
            else:
                found = segments.select(_CLAIMS).take(pc.index_in(below, paths)).combine_chunks()
            self._latest = files, found
        return found


def differing(
    snapshot: Snapshot, planned: Iterable[PlannedIndex], claims: SegmentClaims, *, wider: bool = False
) -> npt.NDArray[np.bool_]:
    """Return for each segment of a snapshot whether its bounds differ from those that count now.

    With ``wider``, bounds differ only if both are known, and those that count now do not lie within those of the
    snapshot [QLK-IX-3].
    """
    indexes = {each.definition.key: each for each in planned}
    table = snapshot.load(indexes)
    found = np.zeros(len(table.files), np.bool_)
    for key, stored in table.indexes.items():
        claim = claims.of(indexes[key], table.files)
        if claim is not None and stored.values.type == claim.values.type:
            for side, exceeds in (("min", pc.less), ("max", pc.greater)):
                now, before = (pc.struct_field(values, side) for values in (claim.values, stored.values))
                differs = exceeds(now, before).fill_null(False) if wider else pc.invert(_equal_or_null(now, before))
                found |= differs.to_numpy(zero_copy_only=False)
    return found


def _equal_or_null(one: pa.Array, other: pa.Array) -> pa.Array:
    return pc.or_(_equal(one, other), pc.and_(one.is_null(), other.is_null()))


def _has_micros(millis: pa.ChunkedArray) -> pa.ChunkedArray:
    within = pc.and_(pc.greater_equal(millis, -_MAX_MILLIS), pc.less_equal(millis, _MAX_MILLIS))
    return within.fill_null(False)


def _equal(one: pa.ChunkedArray | pa.Array, other: pa.Array) -> pa.ChunkedArray | pa.Array:
    return pc.equal(one, other).fill_null(False)
