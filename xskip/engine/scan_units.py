"""The units of a scan: the files that are left, or their parts, of which statistics decide one by one.

Rules: [PLN-RG], [JVM-AN-6], [JVM-AN-7].
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.clause import Clause, Mask
from xskip.engine.decision import Evidence
from xskip.engine.ports import Functions
from xskip.engine.selection import prune_with_functions
from xskip.metadata.data_files import DataFiles, join_ids
from xskip.metadata.file_counts import FileCounts
from xskip.metadata.file_parts import FileParts
from xskip.metadata.read_profile import ReadProfile, zones_differ
from xskip.metadata.table import IndexKey, MetadataTable, PartitionKey, Requirement
from xskip.metadatastore.snapshot import Snapshot
from xskip.metadatastore.time_zones import in_every_zone
from xskip.protocol.answer import Answer
from xskip.pruning.complement import complement_clause
from xskip.pruning.prune import requirements
from xskip.results.read_ranges import RANGES
from xskip.types.masks import from_mask

__all__ = ["FileRanges", "ScanParts", "ScanUnits"]

#: The number of ranges of a file that the query reads whole.
_WHOLE = -1
#: The most units of a scan: of more, the rewrites of plans get facts about whole files.
_MAX_UNITS = 20_000
#: The parts above which it is worthwhile to find out first which files match wholly.
_MANY_PARTS = 50_000
_Int64s = npt.NDArray[np.int64]
_Files = TypeVar("_Files", MetadataTable, FileCounts)


@dataclass(frozen=True, slots=True)
class FileRanges:
    """The ranges of the files that are left, in their order."""

    #: The number of ranges of each file; -1 for a file that the query reads whole.
    counts: _Int64s
    #: The starts and the lengths of all ranges, in bytes.
    starts: _Int64s
    lengths: _Int64s

    def lists(self) -> pa.Array:
        """Return the ranges in the form of :data:`~xskip.results.read_ranges.RANGES`."""
        kind = RANGES.value_type
        flat = pa.StructArray.from_arrays([pa.array(each) for each in (self.starts, self.lengths)], fields=list(kind))
        offsets = np.append(0, np.cumsum(np.maximum(self.counts, 0)))
        return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), flat, mask=from_mask(self.counts < 0))

    def to_bytes(self) -> bytes:
        """Return the content of the section of the answer."""
        return b"".join(map(Answer.integers, (self.counts, self.starts, self.lengths)))


@dataclass(frozen=True, slots=True, eq=False)
class ScanParts:
    """The parts of the files of a snapshot that a scan reads."""

    #: All files of the snapshot.
    files: DataFiles
    #: The positions in the snapshot of the files that are left.
    left: _Int64s
    #: The positions in ``left`` of the files that have parts; those that match wholly can be missing.
    divided: _Int64s
    #: The parts of these files, with the values of the indexes that the filters need.
    parts: FileParts
    #: True for each part that certainly has no matching row.
    skip: Mask

    @staticmethod
    def of(evidence: Evidence, snapshot: Snapshot, skip: Mask) -> ScanParts | None:
        """Return the parts of the files at which ``skip`` is not True; None if none of them has parts."""
        parts = snapshot.parts(_keys(evidence.selection.needed))
        if parts is None:
            return None
        left = np.flatnonzero(~skip)
        divided = np.flatnonzero(parts.counts[left] > 0)
        if not len(divided):
            return None
        chosen = left[divided]
        if parts.counts[chosen].sum() > _MANY_PARTS:
            # no part of a file that matches wholly can be ruled out
            cut = ~_match_wholly(evidence, snapshot, chosen)
            divided, chosen = divided[cut], chosen[cut]
        known = parts.take(pa.array(chosen))
        table = snapshot.load(evidence.selection.needed)
        by_part = _proven(_by_part(table.take(pa.array(chosen)), known), snapshot, evidence.profile)
        pruned = prune_with_functions(evidence.selection.clause, by_part, evidence.functions)
        return ScanParts(table.files, left, divided, known, pruned.skip)

    def ranges_of(self, files: DataFiles) -> pa.Array | None:
        """Return the ranges of listed files, of which the index need not know all; None if all are read whole.

        They have the form of :data:`~xskip.results.read_ranges.RANGES`.
        """
        found = self.ranges()
        if found is None:
            return None
        known = self.files.take(pa.array(self.left))
        rows = pc.index_in(join_ids(files.names, files.modified), join_ids(known.names, known.modified))
        is_same = pc.equal(known.sizes.take(rows), files.sizes).fill_null(False)
        return found.lists().take(pc.if_else(is_same, rows, pa.scalar(None, rows.type)))

    def ranges(self) -> FileRanges | None:
        """Return the ranges of files that can hold matching rows; None if the query reads all files whole.

        Parts that follow each other without a gap are one range.
        """
        of = np.repeat(np.arange(len(self.parts)), self.parts.counts)
        first, size = self._bounds()
        is_cut = np.zeros(len(self.parts), np.bool_)
        is_cut[of[self.skip]] = True
        if not is_cut.any():
            return None
        kept = np.flatnonzero(~self.skip & is_cut[of])
        of, first, end = of[kept], first[kept], (first + size)[kept]
        begins = np.ones(len(kept), np.bool_)
        begins[1:] = (of[1:] != of[:-1]) | (first[1:] != end[:-1])
        positions = np.flatnonzero(begins)
        ends = end[np.append(positions[1:], len(kept)) - 1] if len(kept) else end
        counts = np.where(is_cut, np.bincount(of[positions], minlength=len(self.parts)), _WHOLE)
        of_left = np.full(len(self.left), _WHOLE)
        of_left[self.divided] = counts
        return FileRanges(of_left, first[positions], ends - first[positions])

    def _bounds(self) -> tuple[_Int64s, _Int64s]:
        flat = self.parts.ranges.flatten()
        return _numbers(flat.field("start")), _numbers(flat.field("length"))


@dataclass(frozen=True, slots=True, eq=False)
class ScanUnits:
    """The units that a scan reads, in the order of the files and of their parts."""

    snapshot: Snapshot
    profile: ReadProfile
    #: int64: the positions in the snapshot of the files that are left; None for all files.
    left: pa.Array | None
    #: The parts of the files that are left; a file without parts is a unit. None if all of them are.
    parts: FileParts | None = None
    #: int64: the positions of the units among the parts of all these files and the files without parts.
    kept: pa.Array | None = None

    @staticmethod
    def of_files(evidence: Evidence, snapshot: Snapshot, skip: Mask) -> ScanUnits:
        """Return the files at which ``skip`` is not True as units."""
        left = pa.array(np.flatnonzero(~skip)) if skip.any() else None
        return ScanUnits(snapshot, evidence.profile, left)

    def by_part(self, found: ScanParts, columns: Collection[str | None]) -> ScanUnits:
        """Return the parts of the same files as units; the files themselves if they are too many.

        ``columns`` are those whose numbers of NULLs the facts need. A file with NULLs in one of them is a unit: their
        numbers in parts are not known.
        """
        if len(found.left) + np.count_nonzero(~found.skip) > _MAX_UNITS:
            return self
        counts = self._counts_of_files()
        has_nulls = np.zeros(len(counts), np.bool_)
        for column in columns:
            nulls = counts.nulls.get(column or "")
            if nulls is not None:
                has_nulls |= _numbers(nulls.fill_null(0)) > 0
        row_of = np.full(len(counts), -1)
        row_of[found.divided] = np.arange(len(found.divided))
        parts = found.parts.take(pa.array(row_of, mask=row_of < 0)).complete(counts).without_files(has_nulls)
        sizes = _sizes(parts)
        skip = np.zeros(int(sizes.sum()), np.bool_)
        is_part = np.repeat(parts.counts > 0, sizes)
        skip[is_part] = found.skip[np.repeat(parts.counts[found.divided] > 0, found.parts.counts)]
        if parts.is_none:
            return self
        return replace(self, parts=parts, kept=pa.array(np.flatnonzero(~skip)))

    def load(self, needs: Iterable[Requirement]) -> MetadataTable:
        """Return the metadata of the units, without statistics that prove nothing about what the query reads."""
        needed = tuple(needs)
        if self.parts is None:
            return _taken(self.snapshot.load_proven(needed, self.profile), self.left)
        values = self.snapshot.parts(_keys(needed))
        table = _taken(self.snapshot.load(needed), self.left)
        if values is not None and self.left is not None:
            values = values.take(self.left)
        units = _by_part(table, FileParts(self.parts.ranges, {} if values is None else values.values)).take(self.kept)
        return _proven(units, self.snapshot, self.profile)

    def ruled_out(self, clause: Clause, functions: Functions) -> Mask:
        """Return the units that a clause rules out."""
        table = replace(self.load(requirements(clause)), counts=self.counts())
        return prune_with_functions(clause, table, functions).skip

    def counts(self) -> FileCounts:
        """Return the plausible numbers of rows and NULLs of the units."""
        counts = self._counts_of_files()
        if self.parts is None:
            return counts
        sizes = _sizes(self.parts)
        is_part = np.repeat(self.parts.counts > 0, sizes)
        of_units = counts.take(pa.array(np.repeat(np.arange(len(counts)), sizes)))
        rows = _numbers(of_units.rows.fill_null(_WHOLE)).copy()
        rows[is_part] = _numbers(self.parts.ranges.flatten().field("rows"))
        # only a file without NULLs tells the number of NULLs in its parts
        mask = pa.array(is_part)
        nulls = {
            name: pc.if_else(pc.and_(mask, pc.greater(each, 0).fill_null(False)), pa.scalar(None, pa.int64()), each)
            for name, each in of_units.nulls.items()
        }
        return FileCounts(pa.array(rows, mask=rows < 0), nulls).take(self.kept)

    def sizes(self) -> pa.Array:
        """Return the number of bytes of each unit."""
        sizes = _taken(self.snapshot.load(()), self.left).files.sizes
        if self.parts is None:
            return sizes
        repeated = _sizes(self.parts)
        lengths = np.repeat(_numbers(sizes), repeated)
        lengths[np.repeat(self.parts.counts > 0, repeated)] = _numbers(self.parts.ranges.flatten().field("length"))
        return pa.array(lengths).take(self.kept)

    def ranges(self) -> FileRanges | None:
        """Return the ranges of the units of each file, -1 for a file that is one; None if all files are."""
        if self.parts is None:
            return None
        sizes = _sizes(self.parts)
        kept = _numbers(self.kept)
        of = np.repeat(np.arange(len(sizes)), sizes)
        is_part = np.repeat(self.parts.counts > 0, sizes)
        flat = self.parts.ranges.flatten()
        chosen = np.cumsum(is_part)[kept[is_part[kept]]] - 1
        starts, lengths = (_numbers(flat.field(name))[chosen] for name in ("start", "length"))
        counts = np.where(self.parts.counts > 0, np.bincount(of[kept], minlength=len(sizes)), _WHOLE)
        return FileRanges(counts, starts, lengths)

    def _counts_of_files(self) -> FileCounts:
        return _taken(self.snapshot.counts(), self.left).plausible()


def _match_wholly(evidence: Evidence, snapshot: Snapshot, files: _Int64s) -> Mask:
    """Return which files certainly match the filters of a scan wholly."""
    clause = complement_clause(evidence.selection.predicate, evidence.selection.catalog)
    return ScanUnits(snapshot, evidence.profile, pa.array(files)).ruled_out(clause, evidence.functions)


def _taken(files: _Files, left: pa.Array | None) -> _Files:
    return files if left is None else files.take(left)


def _keys(needs: Iterable[Requirement]) -> set[IndexKey]:
    return {need for need in needs if not isinstance(need, PartitionKey)}


def _sizes(parts: FileParts) -> _Int64s:
    """Return the number of units of each file: its parts, or the file."""
    return np.maximum(parts.counts, 1)


def _by_part(table: MetadataTable, parts: FileParts) -> MetadataTable:
    """Return the metadata of parts, and of files without parts, with those of the file where an index has none."""
    of = np.repeat(np.arange(len(table)), _sizes(parts))
    spread = replace(table.take(pa.array(of)), counts=None, parts=None)
    indexes = {
        key: replace(column, values=_values(column.values, of, parts, key)) for key, column in table.indexes.items()
    }
    return replace(spread, indexes=indexes)


def _values(of_files: pa.Array, of: _Int64s, parts: FileParts, key: IndexKey) -> pa.Array:
    lists = parts.values.get(key)
    if lists is None:
        return of_files.take(pa.array(of))
    has_values = np.asarray(lists.is_valid().to_numpy(zero_copy_only=False)) & (parts.counts > 0)
    is_part = has_values[of]
    # lists of files without parts have no values, so that those that are there are the values of parts in order
    if not has_values.all():
        lists = pc.if_else(pa.array(has_values), lists, pa.scalar(None, lists.type))
    flat = lists.flatten()
    if is_part.all():
        return flat.cast(of_files.type)
    # the values of parts come after those of files
    rows = of.copy()
    rows[is_part] = len(of_files) + np.arange(len(flat))
    return pa.concat_arrays([of_files, flat.cast(of_files.type)]).take(pa.array(rows))


def _proven(table: MetadataTable, snapshot: Snapshot, profile: ReadProfile) -> MetadataTable:
    """Return metadata without statistics that prove nothing about what a query reads."""
    if zones_differ(snapshot.read_profile or ReadProfile(profile.format), profile):
        return in_every_zone(table, (definition for definition, _ in snapshot.indexes))
    return table


def _numbers(values: pa.Array) -> _Int64s:
    return np.asarray(values.to_numpy(zero_copy_only=False), np.int64)
