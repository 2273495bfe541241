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

__all__ = ["Presence", "Sample", "presence_of", "samples_of", "some"]

_MAX_TIMES = 16
#: A sample has no rows of a time that has more of them.
_MAX_ROWS = 1000
#: The digests of all samples of a partition, which its times share.
_MAX_DIGESTS = 64
_DIGEST_BYTES = 8


@dataclass(frozen=True, slots=True)
class Sample:
    """Rows of a partition at one time."""

    #: The timestamp in ticks.
    time: int
    #: The least digests of the rows, sorted; empty if there are too many rows.
    rows: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Presence:
    """The sampled rows that a table has."""

    #: Whether it has rows at each sampled time. An update changes rows, but not their times.
    all_times: bool
    #: Whether it is known that it has each of the sampled rows at these times.
    all_rows: bool
    #: Whether it is known that it has one of them.
    some_rows: bool


def some(times: Iterable[int]) -> list[int]:
    """Return a few of the times in ascending order, spread evenly, with the first and the last one.

    >>> some(range(100))
    [0, 6, 13, 19, 26, 33, 39, 46, 52, 59, 66, 72, 79, 85, 92, 99]
    """
    ordered = sorted(set(times))
    last = len(ordered) - 1
    if last < _MAX_TIMES:
        return ordered
    return [ordered[i * last // (_MAX_TIMES - 1)] for i in range(_MAX_TIMES)]


def samples_of(place: TablePlace, columns: Sequence[Column], times: Sequence[int]) -> tuple[Sample, ...]:
    """Return rows that a table has at some times, few enough for a record of many partitions."""
    most = _MAX_DIGESTS // max(len(times), 1)
    return tuple(Sample(time, tuple(sorted(_rows(place, columns, time).elements())[:most])) for time in times)


def presence_of(snapshot: Snapshot, indexes: Iterable[int], samples: Sequence[Sample]) -> Presence:
    """Return what a table has of sampled rows, whose columns have some writer indexes."""
    place, wanted = snapshot.place, [*indexes]
    present = [
        sample for sample in samples if count_rows(place, Selection(None, sample.time, sample.time + 1), frozen=False)
    ]
    by_index = {i: column for column in snapshot.metadata.columns for i in (column.writer_index, *column.former)}
    columns = [by_index[index] for index in wanted if index in by_index]
    known = [sample for sample in present if sample.rows and len(columns) == len(wanted)]
    pairs = [(Counter(sample.rows), _rows(place, columns, sample.time)) for sample in known]
    return Presence(
        all_times=len(present) == len(samples),
        all_rows=bool(pairs) and all(rows <= found for rows, found in pairs),
        some_rows=any(rows & found for rows, found in pairs),
    )


def _rows(place: TablePlace, columns: Sequence[Column], time: int) -> Counter[str]:
    """Return digests of the rows at a time, or none if there are too many of them."""
    if count_rows(place, Selection(None, time, time + 1), frozen=False) > _MAX_ROWS:
        return Counter()
    selection = Selection(tuple(column.name for column in columns), time, time + 1)
    table = read_table(place, selection, frozen=False)
    rows = zip(*map(_values, table.columns), strict=True)
    return Counter(hashlib.blake2b(repr(row).encode(), digest_size=_DIGEST_BYTES).hexdigest() for row in rows)


def _values(column: pa.ChunkedArray) -> list[object]:
    # Python has no times in nanoseconds
    is_time = pa.types.is_timestamp(column.type)
    values: list[object] = (column.cast(pa.int64()) if is_time else column).to_pylist()
    return values
