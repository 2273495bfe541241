"""The ranges of files that can hold matching rows, by the statistics of parts. Rules: [PLN-RG]."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from xskip.clauses.clause import Mask
from xskip.engine.decision import Evidence
from xskip.engine.selection import prune_with_functions
from xskip.metadata.file_parts import FileParts
from xskip.metadata.read_profile import ReadProfile, zones_differ
from xskip.metadata.table import IndexKey, MetadataTable, PartitionKey
from xskip.metadatastore.snapshot import Snapshot
from xskip.metadatastore.time_zones import in_every_zone
from xskip.protocol.answer import Answer, Section
from xskip.pruning.units import UnitKind, Units

__all__ = ["FileRanges", "file_ranges"]

#: The number of ranges of a file that the query reads whole.
_WHOLE = -1
_Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FileRanges:
    """The ranges of the files that are left, in their order."""

    #: The number of ranges of each file; -1 for a file that the query reads whole.
    counts: _Int64s
    #: The starts and the lengths of all ranges, in bytes.
    starts: _Int64s
    lengths: _Int64s

    @property
    def sections(self) -> Mapping[Section, bytes]:
        """Return the section of the answer."""
        numbers = (self.counts, self.starts, self.lengths)
        return {Section.RANGES: b"".join(map(Answer.integers, numbers))}


def file_ranges(evidence: Evidence, snapshot: Snapshot, skip: Mask) -> FileRanges | None:
    """Return the ranges of the files of a snapshot that are left; None if the query reads all of them whole.

    ``evidence`` is that of the decision about the filters, which rules out the files at which ``skip`` is True.
    """
    keys = {need for need in evidence.selection.needed if not isinstance(need, PartitionKey)}
    parts = snapshot.parts(keys) if keys else None
    if parts is None:
        return None
    left = np.flatnonzero(~skip)
    divided = parts.counts[left] > 0
    chosen = left[divided]
    if not len(chosen):
        return None
    table = snapshot.load(evidence.selection.needed).take(pa.array(chosen))
    chosen_parts = parts.take(pa.array(chosen))
    pruned = prune_with_functions(
        evidence.selection.clause, _proven(_by_part(table, chosen_parts), snapshot, evidence.profile),
        evidence.functions,
    )  # fmt: skip
    counts, starts, lengths = _kept(chosen_parts, pruned.skip)
    if (counts == _WHOLE).all():
        return None
    of_left = np.full(len(left), _WHOLE)
    of_left[divided] = counts
    return FileRanges(of_left, starts, lengths)


def _by_part(table: MetadataTable, parts: FileParts) -> MetadataTable:
    """Return the metadata of parts, with a row for each part: where an index has none, those of the file."""
    of = pa.array(np.repeat(np.arange(len(table)), parts.counts))
    spread = replace(table.take(of), counts=None, parts=None)
    indexes = dict(spread.indexes)
    for key, column in indexes.items():
        indexes[key] = replace(column, values=_values(key, column.values, parts))
    return replace(spread, indexes=indexes)


def _values(key: IndexKey, of_files: pa.Array, parts: FileParts) -> pa.Array:
    lists = parts.values.get(key)
    if lists is None:
        return of_files
    counts = parts.counts
    has_values = np.asarray(lists.is_valid().to_numpy(zero_copy_only=False))
    units = Units(UnitKind.FILE, counts)
    own = units.members(has_values)
    flat = lists.flatten()
    # the values of parts come after those of files
    rows = np.arange(len(own))
    rows[own] = len(of_files) + np.arange(len(flat))
    return pa.concat_arrays([of_files, flat.cast(of_files.type)]).take(pa.array(rows))


def _proven(table: MetadataTable, snapshot: Snapshot, profile: ReadProfile) -> MetadataTable:
    """Return metadata without statistics that prove nothing about what a query reads."""
    if zones_differ(snapshot.read_profile or ReadProfile(profile.format), profile):
        return in_every_zone(table, (definition for definition, _ in snapshot.indexes))
    return table


def _kept(parts: FileParts, skip: Mask) -> tuple[_Int64s, _Int64s, _Int64s]:
    """Return the number of ranges of each file, -1 if no part is skipped, and the starts and lengths of all ranges.

    Parts that follow each other without a gap are one range.
    """
    counts = parts.counts
    of = np.repeat(np.arange(len(parts)), counts)
    flat = parts.ranges.flatten()
    first, size = (np.asarray(flat.field(name).to_numpy(zero_copy_only=False)) for name in ("start", "length"))
    is_cut = np.zeros(len(parts), np.bool_)
    is_cut[of[skip]] = True
    kept = np.flatnonzero(~skip & is_cut[of])
    of, first, end = of[kept], first[kept], (first + size)[kept]
    begins = np.ones(len(kept), np.bool_)
    begins[1:] = (of[1:] != of[:-1]) | (first[1:] != end[:-1])
    positions = np.flatnonzero(begins)
    ends = end[np.append(positions[1:], len(kept)) - 1] if len(kept) else end
    numbers = np.where(is_cut, np.bincount(of[positions], minlength=len(parts)), _WHOLE)
    return numbers, first[positions], ends - first[positions]
