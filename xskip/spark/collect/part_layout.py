"""The parts into which a build divides large files, and their statistics. Rules: [MDS-PT]."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from xskip.metadata.file_parts import FileParts
from xskip.metadata.table import IndexKey

__all__ = ["DEFAULT_LAYOUT", "NO_PARTS", "Borders", "PartLayout", "PartResults", "borders_of"]

_Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class PartLayout:
    """The size of parts, and of the files that have parts."""

    #: The number of bytes of a part. Row groups are not divided, and small ones are joined.
    part_bytes: int
    #: The least number of bytes of a file with parts.
    least_bytes: int

    @property
    def least_divided(self) -> int:
        """Return the least number of bytes of a file that can have parts."""
        return max(self.least_bytes, self.part_bytes + 1)

    def starts(self, size: int, groups: _Int64s | None = None) -> _Int64s:
        """Return where the parts of a file begin, the first at 0; none for a file without parts.

        ``groups`` are the starts of the row groups, without which parts have the same size.

        >>> PartLayout(4, 10).starts(10).tolist(), PartLayout(4, 10).starts(9).tolist()
        ([0, 4, 8], [])
        >>> PartLayout(4, 10).starts(20, np.array([2, 5, 7, 16])).tolist()
        [0, 5, 16]
        """
        if not self.part_bytes or size < self.least_divided:
            return np.zeros(0, np.int64)
        if groups is None:
            return np.arange(0, size, self.part_bytes, dtype=np.int64)
        starts = [0]
        for start in groups[1:].tolist():
            if start - starts[-1] >= self.part_bytes:
                starts.append(start)
        return np.array(starts if len(starts) > 1 else [], np.int64)

    @staticmethod
    def of(part_bytes: int | None) -> PartLayout:
        """Return the layout that a commit record states."""
        return DEFAULT_LAYOUT if part_bytes is None else PartLayout(part_bytes, 0)


DEFAULT_LAYOUT, NO_PARTS = PartLayout(4 << 20, 32 << 20), PartLayout(0, 0)


@dataclass(frozen=True, slots=True)
class Borders:
    """The starts of the parts of files, by the ordinals of the files."""

    starts: Mapping[int, _Int64s] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self.starts)

    def to_bytes(self) -> bytes:
        """Return the borders in the form of ``io.xskip.collect.FileBorders``."""
        numbers = [np.concatenate(([ordinal, len(starts)], starts)) for ordinal, starts in self.starts.items()]
        return np.concatenate(numbers).astype("<i8").tobytes()

    def lengths(self, ordinals: _Int64s, starts: _Int64s, sizes: _Int64s) -> _Int64s:
        """Return the number of bytes of some parts; ``sizes`` are those of all files."""
        lengths = np.zeros(len(starts), np.int64)
        for ordinal, known in self.starts.items():
            rows = np.flatnonzero(ordinals == ordinal)
            ends = np.append(known[1:], sizes[ordinal])
            lengths[rows] = ends[np.searchsorted(known, starts[rows])] - starts[rows]
        return lengths


@dataclass(frozen=True, slots=True, eq=False)
class PartResults:
    """The results of several indexes, with one row for each part that has rows, in the order of files and parts."""

    ordinals: _Int64s
    starts: _Int64s
    #: The numbers of rows of the parts.
    rows: _Int64s
    #: The result columns of each index.
    columns: Sequence[Sequence[pa.ChunkedArray]]

    def parts(
        self, borders: Borders, sizes: _Int64s, chosen: _Int64s, values: Mapping[IndexKey, pa.Array]
    ) -> FileParts:
        """Return the parts of chosen files, with values in the order of the results.

        ``sizes`` are those of all files, and ``chosen`` the ordinals of some.
        """
        counts = np.bincount(self.ordinals, minlength=len(sizes))[chosen]
        order = _order(self.ordinals, chosen)
        columns = (self.starts, borders.lengths(self.ordinals, self.starts, sizes), self.rows)
        ranges = pa.StructArray.from_arrays(
            [pa.array(column, pa.int64()) for column in columns], ["start", "length", "rows"]
        )
        ordered = {key: each.take(order) for key, each in values.items()}
        return FileParts.of_files(counts, ranges.take(order), ordered)


def _order(ordinals: _Int64s, chosen: _Int64s) -> pa.Array:
    """Return the positions of parts in the order of the chosen files."""
    place = np.full(int(max(ordinals.max(initial=0), chosen.max(initial=0))) + 1, len(chosen))
    place[chosen] = np.arange(len(chosen))
    return pa.array(np.argsort(place[ordinals], kind="stable"))


def borders_of(
    chosen: _Int64s, sizes: _Int64s, layout: PartLayout,
    groups_of: Callable[[_Int64s], Sequence[_Int64s | None]] | None,
) -> Borders:  # fmt: skip
    """Return the borders of the parts of chosen files.

    ``sizes`` are those of all files. ``groups_of`` returns where the row groups of Parquet files begin, None for a file
    of which that is not known; without it, files have parts of the same size.
    """
    large = chosen[sizes[chosen] >= layout.least_divided] if layout.part_bytes else chosen[:0]
    if not len(large):
        return Borders()
    if groups_of is None:
        found = {ordinal: layout.starts(int(sizes[ordinal])) for ordinal in large.tolist()}
    else:
        known = zip(large.tolist(), groups_of(large), strict=True)
        found = {o: layout.starts(int(sizes[o]), groups) for o, groups in known if groups is not None and len(groups)}
    return Borders({ordinal: starts for ordinal, starts in found.items() if len(starts)})
