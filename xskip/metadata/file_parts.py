"""The parts of data files: ranges of bytes that have statistics of their own. Rules: [MDS-PT]."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.types.masks import from_mask

if TYPE_CHECKING:
    from xskip.metadata.file_counts import FileCounts

__all__ = ["RANGE", "FileParts", "IndexKey", "as_lists", "with_values"]

#: The identity of an index: its name and its columns.
IndexKey = tuple[str, tuple[str, ...]]

#: The first byte of a part, the number of its bytes, and the number of its rows.
RANGE = pa.struct([("start", pa.int64()), ("length", pa.int64()), ("rows", pa.int64())])
_Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class FileParts:
    """The parts of many files, as lists with one list per file.

    >>> ranges = pa.array([[(0, 4, 10), (4, 9, 20)], None], pa.list_(RANGE))
    >>> parts = FileParts(ranges, {("minmax", ("a",)): pa.array([["x", "y"], None])})
    >>> parts.counts.tolist(), parts.take(pa.array([1, 0])).counts.tolist()
    ([2, 0], [0, 2])
    """

    #: A list of :data:`RANGE` for each file, in the order of the file. Null for a file without parts. Parts do not
    #: overlap; the bytes between them hold no rows.
    ranges: pa.Array
    #: For each index a list with a value for each part. The list is null, or has another length than the ranges, where
    #: the index has no values for parts; a value in it is null where nothing is known of a part.
    values: Mapping[IndexKey, pa.Array] = field(default_factory=dict)

    @staticmethod
    def none(files: int) -> FileParts:
        """Return the parts of files that have none."""
        return FileParts(pa.nulls(files, pa.list_(RANGE)))

    def __len__(self) -> int:
        return len(self.ranges)

    @property
    def counts(self) -> _Int64s:
        """Return the number of parts of each file."""
        return _lengths(self.ranges)

    @property
    def is_none(self) -> bool:
        """Return whether no file has parts."""
        return not self.counts.any()

    @property
    def nbytes(self) -> int:
        """Return the bytes in memory."""
        return int(self.ranges.nbytes + sum(values.nbytes for values in self.values.values()))

    def take(self, rows: pa.Array) -> FileParts:
        """Return the parts of the files at the given positions; none at a position that is null."""
        return self._each(lambda values: values.take(rows))

    def of_indexes(self, keys: Collection[IndexKey]) -> FileParts:
        """Return the parts without the values of other indexes."""
        return FileParts(self.ranges, {key: values for key, values in self.values.items() if key in keys})

    def without_files(self, files: npt.NDArray[np.bool_]) -> FileParts:
        """Return the parts without those of the files at which a mask is true."""
        return self._each(lambda values: pc.if_else(from_mask(files), pa.scalar(None, values.type), values))

    def merged(self, other: FileParts) -> FileParts:
        """Return the values of two collections of the same files, where both have divided a file into the same parts.

        Where they have not, the parts are those of ``self``, unless only ``other`` has some.
        """
        mine, others = self.counts > 0, other.counts > 0
        differ = mine & others & ~_are_equal(self.ranges, other.ranges)
        added = other.without_files(differ)
        ranges = pc.if_else(from_mask(mine), self.ranges, other.ranges)
        return FileParts(ranges, {**self.values, **added.values})

    def plausible(self, sizes: pa.Array) -> FileParts:
        """Return the parts without those of files whose parts overlap, are empty or not inside of the file.

        ``sizes`` has the number of bytes of each file. Lists of values that do not fit to the parts become null.
        """
        counts = self.counts
        flat = self.ranges.flatten()
        of = np.repeat(np.arange(len(self)), counts)
        starts, lengths, rows = (_numbers(flat.field(name)) for name in ("start", "length", "rows"))
        ends = starts + lengths
        is_first = np.diff(of, prepend=-1) != 0
        before = np.where(is_first, 0, np.roll(ends, 1))
        wrong = (starts < before) | (lengths <= 0) | (rows < 0) | (ends > _numbers(sizes)[of]) | (ends < starts)
        has_wrong = np.zeros(len(self), np.bool_)
        has_wrong[of[wrong]] = True
        kept = self.without_files(has_wrong) if has_wrong.any() else self
        counts = kept.counts
        fitting = {
            key: pc.if_else(from_mask(_lengths(values) == counts), values, pa.scalar(None, values.type))
            for key, values in kept.values.items()
        }
        return FileParts(kept.ranges, fitting)

    def complete(self, counts: FileCounts) -> FileParts:
        """Return the parts without those of files whose rows are not those of all their parts."""
        rows = as_sums(self.counts, _numbers(self.ranges.flatten().field("rows")))
        return self.without_files(rows != counts.rows.fill_null(-1).to_numpy(zero_copy_only=False))

    @staticmethod
    def concat(parts: Sequence[FileParts]) -> FileParts:
        """Concatenate the parts of several lists of files.

        An index has no values where a list of files lacks it. An index whose values differ in their type is left out.
        """
        kinds: dict[IndexKey, set[pa.DataType]] = {}
        for part in parts:
            for key, values in part.values.items():
                kinds.setdefault(key, set()).add(values.type)
        values = {
            key: pa.concat_arrays([part.values.get(key, pa.nulls(len(part), kind)) for part in parts])
            for key, (kind, *others) in ((key, tuple(found)) for key, found in kinds.items())
            if not others
        }
        return FileParts(pa.concat_arrays([pa.nulls(0, pa.list_(RANGE)), *(part.ranges for part in parts)]), values)

    @staticmethod
    def of_files(counts: Iterable[int], ranges: pa.Array, values: Mapping[IndexKey, pa.Array]) -> FileParts:
        """Return parts from those of all files in a row; ``counts`` has the number of parts of each file."""
        sizes = np.fromiter(counts, np.int64)
        return FileParts(as_lists(sizes, ranges), {key: as_lists(sizes, flat) for key, flat in values.items()})

    def _each(self, change: Callable[[pa.Array], pa.Array]) -> FileParts:
        return FileParts(change(self.ranges), {key: change(values) for key, values in self.values.items()})


def as_lists(counts: _Int64s, flat: pa.Array) -> pa.Array:
    """Return lists with some numbers of the given values; a list without values is null."""
    offsets = pa.array(np.append(0, np.cumsum(counts)), pa.int32())
    return pa.ListArray.from_arrays(offsets, flat, mask=from_mask(counts == 0))


def as_sums(counts: _Int64s, flat: _Int64s) -> _Int64s:
    """Return the sum of some numbers of the given values, in order.

    >>> as_sums(np.array([2, 0, 1]), np.array([1, 2, 3])).tolist()
    [3, 0, 3]
    """
    sums = np.append(0, np.cumsum(flat))
    ends = np.cumsum(counts)
    found: _Int64s = sums[ends] - sums[ends - counts]
    return found


def with_values(lists: pa.Array, flat: pa.Array) -> pa.Array:
    """Return lists of the lengths of others, with other values.

    >>> with_values(pa.array([[1, 2], None, []]), pa.array(["a", "b"])).to_pylist()
    [['a', 'b'], None, []]
    """
    offsets = pa.array(np.append(0, np.cumsum(_lengths(lists))), pa.int32())
    return pa.ListArray.from_arrays(offsets, flat, mask=lists.is_null())


def _lengths(lists: pa.Array) -> _Int64s:
    return _numbers(pc.list_value_length(lists))


def _numbers(values: pa.Array) -> _Int64s:
    return np.asarray(values.fill_null(0).to_numpy(zero_copy_only=False), np.int64)


def _are_equal(one: pa.Array, other: pa.Array) -> npt.NDArray[np.bool_]:
    """Return for each file whether two arrays of ranges have the same list, whatever the numbers of rows."""
    equal = _lengths(one) == _lengths(other)
    chosen = np.flatnonzero(equal)
    left, right = (ranges.take(pa.array(chosen)) for ranges in (one, other))
    of = np.repeat(chosen, _lengths(left))
    for name in ("start", "length"):
        differ = _numbers(left.flatten().field(name)) != _numbers(right.flatten().field(name))
        equal[of[differ]] = False
    found: npt.NDArray[np.bool_] = equal
    return found
