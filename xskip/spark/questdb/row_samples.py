"""Samples of exported rows, which tell whether the table still has the rows. Rules: [QDB-CT-4]."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from xskip.questdb_files.metadata_file import Column
from xskip.questdb_files.reading import count_rows, read_table
from xskip.questdb_files.selection import Selection
from xskip.questdb_files.snapshot import Snapshot, TablePlace

__all__ = ["Sample", "has_samples", "samples_of", "some"]

_MOST_TIMES = 16
#: A sample has no more rows of one time.
_MOST_ROWS = 1000
_DIGEST_BYTES = 8


@dataclass(frozen=True, slots=True)
class Sample:
    """All rows of a partition at one time.

    Attributes
    ----------
    time : int
        The timestamp in ticks.
    rows : tuple of str
        Digests of the rows, sorted; empty if there are too many rows.
    """

    time: int
    rows: tuple[str, ...]


def some(times: Iterable[int]) -> list[int]:
    """Return a few of the times in ascending order, spread evenly, with the first and the last one.

    Examples
    --------
    >>> some(range(100))
    [0, 6, 13, 19, 26, 33, 39, 46, 52, 59, 66, 72, 79, 85, 92, 99]
    """
    ordered = sorted(set(times))
    last = len(ordered) - 1
    if last < _MOST_TIMES:
        return ordered
    return [ordered[i * last // (_MOST_TIMES - 1)] for i in range(_MOST_TIMES)]


def samples_of(place: TablePlace, columns: Sequence[Column], times: Iterable[int]) -> tuple[Sample, ...]:
    """Return the rows that a table has at some times."""
    return tuple(Sample(time, tuple(sorted(_rows(place, columns, time).elements()))) for time in times)


def has_samples(snapshot: Snapshot, indexes: Iterable[int], samples: Sequence[Sample]) -> bool | None:
    """Return whether a table has sampled rows: False if rows are missing for certain, and None if it is not known.

    An update changes rows, but not their times. So only a time without rows proves that rows were dropped.

    Parameters
    ----------
    snapshot : Snapshot
    indexes : iterable of int
        The writer indexes of the columns of the samples.
    samples : sequence of Sample
    """
    place = snapshot.place
    if not all(count_rows(place, Selection(None, sample.time, sample.time + 1), frozen=False) for sample in samples):
        return False
    by_index = {column.writer_index: column for column in snapshot.metadata.columns}
    columns = [by_index[index] for index in indexes if index in by_index]
    known = [sample for sample in samples if sample.rows]
    same = len(columns) == len([*indexes]) and all(
        Counter(sample.rows) <= _rows(place, columns, sample.time) for sample in known
    )
    return True if same and known else None


def _rows(place: TablePlace, columns: Sequence[Column], time: int) -> Counter[str]:
    """Return digests of the rows at a time, or none if there are too many of them."""
    if count_rows(place, Selection(None, time, time + 1), frozen=False) > _MOST_ROWS:
        return Counter()
    selection = Selection(tuple(column.name for column in columns), time, time + 1)
    table = read_table(place, selection, frozen=False)
    rows = zip(*map(_values, table.columns), strict=True)
    return Counter(hashlib.blake2b(repr(row).encode(), digest_size=_DIGEST_BYTES).hexdigest() for row in rows)


def _values(column: pa.ChunkedArray) -> list[object]:
    """Return the values of a column; Python has no times in nanoseconds."""
    is_time = pa.types.is_timestamp(column.type)
    values: list[object] = (column.cast(pa.int64()) if is_time else column).to_pylist()
    return values
