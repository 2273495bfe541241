"""The pieces of a table: partitions, and pieces of split partitions, with their bounds of time. Rules: [QDB-PN]."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import overload

import numpy as np

from xskip.errors import TableDamagedError
from xskip.questdb_files.metadata_file import Metadata
from xskip.questdb_files.partition_names import PartitionUnit, Times
from xskip.questdb_files.transaction_file import PartitionRecord, Transaction

__all__ = ["Piece", "Pieces"]

_MIN, _MAX = -(1 << 63), (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class Piece:
    """A partition, or a piece of a split partition.

    Attributes
    ----------
    position : int
        The place among the pieces of the snapshot, in the order of time.
    record : PartitionRecord
    path : str
        The folder of the piece.
    rows : int
    start, end : int or None
        The half-open bounds of the designated timestamp in ticks: no row is before ``start``, and all are before
        ``end``. None if the bound is unknown.
    """

    position: int
    record: PartitionRecord
    path: str
    rows: int
    start: int | None
    end: int | None

    @property
    def folder(self) -> Path:
        """Return the folder of the piece."""
        return Path(self.path)

    @property
    def is_parquet(self) -> bool:
        """Return whether the piece is a Parquet file."""
        return self.record.parquet_size is not None


class Pieces(Sequence[Piece]):
    """The pieces of a snapshot, in the order of time.

    Parameters
    ----------
    data : Path
        The folder of the table.
    metadata : Metadata
    transaction : Transaction

    Raises
    ------
    TableDamagedError
        If the pieces do not have the rows of the transaction.
    """

    def __init__(self, data: Path, metadata: Metadata, transaction: Transaction) -> None:
        self._data, self._metadata, self._transaction = data, metadata, transaction
        if metadata.clock.unit is PartitionUnit.NONE:
            self._rows = np.full(min(transaction.rows, 1), transaction.rows)
            self._starts, self._ends = self._only_bounds()
            return
        # A table can have tens of thousands of pieces, of which a query needs few. So rows and bounds are arrays, and
        # objects of pieces are created when they are needed.
        self._rows = transaction.rows_of_pieces()
        self._starts, self._ends = self._bounds()
        if int(self._rows.sum()) != transaction.rows:
            raise TableDamagedError(
                "the partitions of a table do not have the rows of its transaction", where=str(data),
                found=f"{int(self._rows.sum()):,} rows", expected=f"{transaction.rows:,}",
            )  # fmt: skip

    def __len__(self) -> int:
        return len(self._rows)

    @overload
    def __getitem__(self, position: int) -> Piece: ...

    @overload
    def __getitem__(self, position: slice) -> Sequence[Piece]: ...

    def __getitem__(self, position: int | slice) -> Piece | Sequence[Piece]:
        if isinstance(position, slice):
            return [self[i] for i in range(*position.indices(len(self)))]
        position = range(len(self))[position]
        record, start, end = self._record(position), int(self._starts[position]), int(self._ends[position])
        path = f"{self._data}/{self._metadata.clock.folder(record.timestamp, record.name_txn)}"
        return Piece(
            position, record, path, int(self._rows[position]), None if start == _MIN else start,
            None if end == _MAX else end,
        )  # fmt: skip

    def overlapping(self, start: int | None, end: int | None) -> Iterator[Piece]:
        """Yield the pieces that can have rows in a half-open range of time."""
        # the greatest number as the end of a piece means that the piece has no known end
        first = 0 if start is None else int(np.searchsorted(self._ends, min(start, _MAX - 1), side="right"))
        stop = len(self) if end is None else int(np.searchsorted(self._starts, end, side="left"))
        for position in range(first, stop):
            yield self[position]

    def _record(self, position: int) -> PartitionRecord:
        if self._metadata.clock.unit is PartitionUnit.NONE:  # the entry in the file says nothing
            return PartitionRecord(0, int(self._rows[position]), -1, None, 0, -1, remote=False)
        return self._transaction.record(position)

    def _bounds(self) -> tuple[Times, Times]:
        least, greatest = self._transaction.least, self._transaction.greatest
        starts = self._transaction.entries[:, 0].copy()
        ends = self._metadata.clock.ends(starts)
        ends = np.where(ends > starts, ends, _MAX)  # the last partition can end after all times
        if (np.diff(starts) <= 0).any():
            raise TableDamagedError("the partitions of a table are not in the order of time", where=str(self._data))
        ends[:-1] = np.minimum(ends[:-1], starts[1:])
        if len(starts) and starts[0] <= least < ends[0]:
            starts[0] = least
        if len(starts) and starts[-1] <= greatest < ends[-1]:
            ends[-1] = greatest + 1
        return starts, ends

    def _only_bounds(self) -> tuple[Times, Times]:
        """Return the bounds of a table without partitions."""
        least, greatest = self._transaction.least, self._transaction.greatest
        designated = self._metadata.timestamp is not None
        # servers leave the least time unknown
        known = designated and least <= greatest < _MAX
        return (
            np.full(len(self._rows), least if known else _MIN),
            np.full(len(self._rows), greatest + 1 if designated and greatest < _MAX else _MAX),
        )
