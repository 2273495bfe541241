"""Validation of parts: their numbers of rows and their values are compared with the rows. Rules: [PRU-VA-5]."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from xskip.indexes import Index
from xskip.metadata.file_parts import FileParts, IndexKey
from xskip.metadata.table import MetadataTable
from xskip.results.validation import WrongStatistics
from xskip.spark.collect.part_layout import Borders
from xskip.spark.collect.planned_index import PlannedIndex

__all__ = ["WrongParts", "borders_of_parts"]

_Int64s = npt.NDArray[np.int64]
#: Returns where stored values leave out a row that the actual values have; null where they do not tell.
Omits = Callable[[Index, pa.Array, pa.Array], pa.BooleanArray]


def borders_of_parts(parts: FileParts | None, chosen: _Int64s, sizes: _Int64s) -> Borders:
    """Return borders at which the recorded parts of files begin and end; ``chosen`` are their ordinals.

    ``sizes`` are those of all files.
    """
    found: dict[int, _Int64s] = {}
    if parts is None:
        return Borders(found)
    for ordinal, ranges in zip(chosen.tolist(), parts.ranges.to_pylist(), strict=True):
        if ranges:
            edges = {0, *(each["start"] for each in ranges), *(each["start"] + each["length"] for each in ranges)}
            found[ordinal] = np.array(sorted(edge for edge in edges if edge < sizes[ordinal]), np.int64)
    return Borders(found)


@dataclass(frozen=True, slots=True)
class WrongParts:
    """The recorded parts of files, beside the parts that their rows give at the same borders."""

    recorded: MetadataTable
    actual: FileParts
    omits: Omits
    #: Returns a text of a value.
    text: Callable[[pa.Scalar], str]

    def found(self, planned: Sequence[PlannedIndex]) -> Iterator[WrongStatistics]:
        """Yield what the rows contradict."""
        parts = self.recorded.parts
        if parts is None:
            return
        ours, theirs = [], []
        recorded, actual = (_by_start(each) for each in (parts, self.actual))
        divided = {file for file, _ in actual}
        for key, (position, rows) in recorded.items():
            if key[0] not in divided:  # the rows do not tell its parts
                continue
            other, found = actual.get(key, (None, 0))
            if found != rows:
                yield self._wrong_rows(key, rows, found)
            if other is not None:
                ours.append(position)
                theirs.append(other)
        for key, (_, found) in actual.items():
            if key not in recorded and found:
                yield self._wrong_rows(key, 0, found)
        keys = list(recorded)
        for each in planned:
            yield from self._wrong_values(each, [keys[i] for i in ours], pa.array(ours), pa.array(theirs))

    def _wrong_rows(self, key: tuple[int, int], claimed: int, found: int) -> WrongStatistics:
        file, start = key
        return WrongStatistics(self._name(file), f"part at byte {start}", f"{claimed} rows", f"{found} rows")

    def _wrong_values(
        self, planned: PlannedIndex, keys: Sequence[tuple[int, int]], ours: pa.Array, theirs: pa.Array
    ) -> Iterator[WrongStatistics]:
        assert self.recorded.parts is not None
        key = planned.definition.key
        claimed, actual = (_values(parts, key) for parts in (self.recorded.parts, self.actual))
        if claimed is None or actual is None or not len(ours):
            return
        claimed, actual = claimed.take(ours), actual.take(theirs)
        for i, verdict in enumerate(self.omits(planned.index, claimed, actual).to_pylist()):
            if verdict:
                file, start = keys[i]
                index = f"{planned.definition}, part at byte {start}"
                yield WrongStatistics(self._name(file), index, self.text(claimed[i]), self.text(actual[i]))

    def _name(self, file: int) -> str:
        return str(self.recorded.files.names[file].as_py())


def _by_start(parts: FileParts) -> dict[tuple[int, int], tuple[int, int]]:
    """Return for the file and the start of each part its position among all parts, and its number of rows."""
    files = np.repeat(np.arange(len(parts)), parts.counts).tolist()
    flat = parts.ranges.flatten().to_pylist()
    return {(file, each["start"]): (i, each["rows"]) for i, (file, each) in enumerate(zip(files, flat, strict=True))}


def _values(parts: FileParts, key: IndexKey) -> pa.Array | None:
    """Return the values of an index for each part of all files, null where it has none; None without the index."""
    lists = parts.values.get(key)
    if lists is None:
        return None
    flat = lists.flatten()
    has_values = np.asarray(lists.is_valid().to_numpy(zero_copy_only=False))
    is_there = np.repeat(has_values, parts.counts)
    rows = np.cumsum(is_there) - 1
    return flat.take(pa.array(rows, mask=~is_there))
