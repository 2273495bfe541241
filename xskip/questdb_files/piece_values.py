"""The values of a piece, native or Parquet, in the rows that a range of time selects. Rules: [QDB-RD], [QDB-PQ]."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from xskip.questdb_files.metadata_file import Column
from xskip.questdb_files.native_columns import NativeFiles
from xskip.questdb_files.new_rows import RowCheck
from xskip.questdb_files.parquet_partitions import ParquetPartition
from xskip.questdb_files.pieces import Piece
from xskip.questdb_files.selection import Chosen
from xskip.questdb_files.snapshot import Snapshot
from xskip.questdb_files.symbols import read_symbols

__all__ = ["PieceValues", "SelectedRows"]


@dataclass(frozen=True, slots=True)
class SelectedRows:
    """The selected rows of a piece, and the functions that read them.

    ``values`` returns the values of a column in a range of rows. ``steps`` returns the ranges to read in turn:
    of so many rows at most in a native piece, and of a row group in a Parquet piece.
    """

    rows: range
    values: Callable[[Column, range], Iterator[pa.Array]]
    steps: Callable[[int], Iterator[range]]


@dataclass(slots=True)
class PieceValues:
    """The values of the pieces of a table, and the values of its SYMBOL columns, which are read once."""

    frozen: bool
    _dictionaries: dict[tuple[str, int, int, int], pa.Array] = field(default_factory=dict)

    def forget(self) -> None:
        """Drop the values of SYMBOL columns, because the table was truncated or dropped."""
        self._dictionaries.clear()

    def selected(self, chosen: Chosen, piece: Piece) -> SelectedRows:
        """Return the rows of a piece in the chosen range of time, and of them the new ones."""
        found = self._selected(chosen, piece)
        for check in () if chosen.new is None else chosen.new.checks.get(piece.record.timestamp, ()):
            self._check(chosen.snapshot, piece, check)
        return found

    def time_at(self, snapshot: Snapshot, piece: Piece, row: int) -> int:
        """Return the designated timestamp of a row of a piece in ticks."""
        column = snapshot.metadata.timestamp
        assert column is not None
        selected = self._selected(Chosen(snapshot, (column,), (), None, None), piece)
        parts = selected.values(column, range(row, row + 1))
        return int(next(time for part in parts for time in part.cast(pa.int64()).to_pylist()))

    def _check(self, snapshot: Snapshot, piece: Piece, check: RowCheck) -> None:
        rows = [row for row in (check.first - 1, check.first, check.last) if row >= 0]
        times = [self.time_at(snapshot, piece, row) for row in rows if row < piece.rows]
        if times[-2:] != [check.time] * 2 or (check.first > 0 and times[0] == check.time):
            raise check.failure

    def _selected(self, chosen: Chosen, piece: Piece) -> SelectedRows:
        snapshot = chosen.snapshot
        if piece.record.parquet_size is not None:
            file = ParquetPartition(piece.folder, piece.record.parquet_size, piece.rows, snapshot.metadata)
            rows = _rows(chosen, piece, file.row_at)
            return SelectedRows(rows, file.values, lambda _: file.row_groups(rows))
        native = NativeFiles(snapshot, lambda column: self._dictionary(snapshot, column), self.frozen)
        rows = _rows(chosen, piece, lambda time: native.row_at(piece, time))
        return SelectedRows(
            rows, lambda column, part: native.values(piece, column, part), lambda most: _steps(rows, most)
        )

    def _dictionary(self, snapshot: Snapshot, column: Column) -> pa.Array:
        count, path = snapshot.symbol_count(column), snapshot.symbol_path(column, "o")
        key = (str(path), count, snapshot.metadata.table_id, snapshot.transaction.truncate_version)
        if key not in self._dictionaries:
            self._dictionaries[key] = read_symbols(path, snapshot.symbol_path(column, "c"), count)
        return self._dictionaries[key]


def _rows(chosen: Chosen, piece: Piece, row_at: Callable[[int], int]) -> range:
    """Return the rows of a piece in the range of time; only a bound within the piece needs a search."""
    first, stop = 0, piece.rows
    if chosen.start is not None and (piece.start is None or piece.start < chosen.start):
        first = row_at(chosen.start)
    if chosen.end is not None and (piece.end is None or chosen.end < piece.end):
        stop = row_at(chosen.end)
    if chosen.new is not None:
        new = chosen.new.rows[piece.record.timestamp]
        first, stop = max(first, new.start), min(stop, new.stop)
    return range(first, max(first, stop))


def _steps(rows: range, most: int) -> Iterator[range]:
    for start in range(rows.start, rows.stop, most):
        yield range(start, min(start + most, rows.stop))
