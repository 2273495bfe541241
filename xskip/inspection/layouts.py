"""Layouts of the data, as a sample of rows shows them: the share of files that bounds rule out in each of them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.results.index_usage import ConditionKind
from xskip.types.sort_keys import sort_key

__all__ = ["MeasuredLayout", "RowSample", "Shares", "bits_of", "layouts_of", "on_curve"]

Integers = npt.NDArray[np.int64]
Shares = Mapping[ConditionKind, float]
#: The bits of the places on a curve: at least, for each file, and at most.
_BITS, _MORE_BITS, _MOST_BITS = 12, 4, 16
#: The least number of sampled rows that stand for a file.
_ROWS_PER_FILE = 50
_NULL = -1


def bits_of(columns: int, files: int | None = None) -> int:
    """Return the bits of each column, so that a curve through all buckets has places enough for some files.

    >>> bits_of(2), bits_of(3), bits_of(2, 1000), bits_of(8)
    (6, 4, 7, 2)
    """
    total = _BITS if files is None else max(_BITS, math.ceil(math.log2(max(files, 1))) + _MORE_BITS)
    return min(math.ceil(total / columns), _MOST_BITS // columns)


def on_curve(columns: Sequence[Integers], bits: int) -> Integers:
    """Return the places on a Hilbert curve of points, whose coordinates are numbers below 2 ** bits.

    Source: John Skilling, Programming the Hilbert curve, AIP Conference Proceedings 707 (2004).

    >>> on_curve([np.array([0, 0, 1, 1]), np.array([0, 1, 1, 0])], 1).tolist()
    [0, 1, 2, 3]
    """
    point = [column.astype(np.int64) for column in columns]
    for high in (1 << bit for bit in range(bits - 1, 0, -1)):  # undo the rotations and reflections of each level
        for i in range(len(point)):
            has_bit = (point[i] & high) != 0
            swapped = np.where(has_bit, 0, (point[0] ^ point[i]) & (high - 1))
            point[i] = point[i] ^ swapped
            point[0] = np.where(has_bit, point[0] ^ (high - 1), point[0] ^ swapped if i else point[0])
    return _gray_decoded(point, bits)


def _gray_decoded(point: list[Integers], bits: int) -> Integers:
    """Return the numbers whose Gray code is spread over the coordinates, the first of them with the highest bits."""
    for i in range(1, len(point)):
        point[i] = point[i] ^ point[i - 1]
    flips = np.zeros_like(point[0])
    for high in (1 << bit for bit in range(bits - 1, 0, -1)):
        flips ^= np.where((point[-1] & high) != 0, high - 1, 0)
    places = np.zeros_like(point[0])
    for bit in range(bits - 1, -1, -1):
        for coordinate in point:
            places = (places << 1) | (((coordinate ^ flips) >> bit) & 1)
    return places


@dataclass(frozen=True, slots=True)
class MeasuredLayout:
    """A layout, and the mean shares of the files that bounds of its columns rule out for values of rows."""

    #: In their order; the layout by one column is in its order, and by several ones along a curve.
    columns: tuple[str, ...]
    shares: Mapping[str, Shares]


@dataclass(frozen=True, slots=True)
class RowSample:
    """Rows of some files of a dataset."""

    #: By columns: the dense ranks of the values, and -1 for NULL.
    ranks: Mapping[str, Integers]
    #: The number of the file of each row.
    files: Integers
    #: The number of the directory of each row, which no layout changes.
    directories: Integers

    @staticmethod
    def of(table: pa.Table, files: str, directories: str | None = None) -> RowSample:
        """Return the sample of a table with the numbers of the files, and of the directories, in columns."""
        columns = [name for name in table.column_names if name not in (files, directories)]
        numbers = table[files].to_numpy().astype(np.int64)
        groups = np.zeros_like(numbers)
        if directories is not None:
            groups = np.unique(table[directories].to_numpy(), return_inverse=True)[1].astype(np.int64)
        return RowSample({name: _ranks(table[name].combine_chunks()) for name in columns}, numbers, groups)

    def __len__(self) -> int:
        return len(self.files)

    def present(self, files: int) -> Mapping[str, Shares]:
        """Return the shares of all files that bounds rule out in the present layout."""
        read = len(np.unique(self.files))
        more = 1.0 if read < 2 or files <= read else read / (read - 1) * (files - 1) / files
        found = {name: _ruled_out(ranks, self.files) for name, ranks in self.ranks.items()}
        # The value of a row is in its own file, and the other files lack it as often as the other files of the sample.
        return {name: {kind: min(share * more, 1.0) for kind, share in each.items()} for name, each in found.items()}

    def layout(self, columns: Sequence[str], files: int) -> MeasuredLayout:
        """Return the layout by columns, in a number of files of the same size."""
        order = np.lexsort((self._keys(columns, files), self.directories))
        parts = max(1, min(files, len(self) // _ROWS_PER_FILE))
        numbers = np.empty(len(self), np.int64)
        numbers[order] = np.arange(len(self)) * parts // max(len(self), 1)
        # a part of several directories is a file in each of them
        numbers = numbers * (int(self.directories.max(initial=0)) + 1) + self.directories
        return MeasuredLayout(tuple(columns), {name: _ruled_out(ranks, numbers) for name, ranks in self.ranks.items()})

    def _keys(self, columns: Sequence[str], files: int) -> Integers:
        if len(columns) == 1:
            return self.ranks[columns[0]]
        bits = bits_of(len(columns), files)
        places = on_curve([_buckets(self.ranks[name], bits) for name in columns], bits)
        first = self.ranks[columns[0]]
        return places * (int(first.max(initial=0)) + 2) + first + 1


def layouts_of(sample: RowSample, files: int) -> Iterator[MeasuredLayout]:
    """Yield the layouts by each column of a sample, and by each group of columns."""
    for count in range(1, len(sample.ranks) + 1):
        for columns in combinations(sample.ranks, count):
            yield sample.layout(columns, files)


def _ranks(values: pa.Array) -> Integers:
    if pa.types.is_null(values.type):
        return np.full(len(values), _NULL)
    ranks = pc.rank(sort_key(values), tiebreaker="dense").to_numpy().astype(np.int64)
    return np.where(values.is_null().to_numpy(zero_copy_only=False), _NULL, ranks)


def _buckets(ranks: Integers, bits: int) -> Integers:
    """Return the numbers of buckets with equal numbers of rows; NULL is in the first one."""
    order = np.sort(ranks)
    return np.searchsorted(order, ranks, "left") * (1 << bits) // max(len(ranks), 1)


def _ruled_out(ranks: Integers, files: Integers) -> Shares:
    """Return the mean shares of files that bounds rule out, for conditions with the values of rows."""
    numbers, place = np.unique(files, return_inverse=True)
    known = ranks != _NULL
    low, high = np.full(len(numbers), np.iinfo(np.int64).max), np.full(len(numbers), _NULL)
    np.minimum.at(low, place[known], ranks[known])
    np.maximum.at(high, place[known], ranks[known])
    values = ranks[known]
    if not len(values):
        return {"equal": 1.0, "above": 1.0, "below": 1.0}
    # for a value v, the files with a greatest value below v, and those with a least value above v
    before = np.searchsorted(np.sort(high), values, "left") / len(numbers)
    behind = 1 - np.searchsorted(np.sort(low), values, "right") / len(numbers)
    return {
        "equal": float((before + behind - _without_values(high, low)).mean()), "above": float(before.mean()),
        "below": float(behind.mean()),
    }  # fmt: skip


def _without_values(high: Integers, low: Integers) -> float:
    """Return the share of files without values, which bounds rule out from both sides."""
    return float(np.mean(high < low))
