"""The columns of a native piece in a range of rows. Rules: [QDB-RD]."""

from __future__ import annotations

import struct
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import pyarrow as pa

from xskip.errors import TableDamagedError
from xskip.questdb_files.column_types import ColumnType, Kind, column_type
from xskip.questdb_files.column_versions import ColumnFiles
from xskip.questdb_files.files import TableFile
from xskip.questdb_files.fixed_columns import absent, fixed_values, symbol_values
from xskip.questdb_files.metadata_file import Column
from xskip.questdb_files.pieces import Piece
from xskip.questdb_files.snapshot import Snapshot
from xskip.questdb_files.variable_columns import variable_values

__all__ = ["NativeFiles"]

#: Types that are converted into longer values go into arrays of at most this many rows.
_MAX_CONVERTED_ROWS = 1 << 22
_CONVERTED = (Kind.CHAR, Kind.IPV4, Kind.GEOHASH, Kind.UUID, Kind.LONG128, Kind.LONG256, Kind.DECIMAL)


@dataclass(frozen=True, slots=True)
class NativeFiles:
    """The native files of a snapshot."""

    snapshot: Snapshot
    dictionary: Callable[[Column], pa.Array]
    frozen: bool

    def values(self, piece: Piece, column: Column, rows: range) -> Iterator[pa.Array]:
        """Yield the values of a column in a range of rows of a piece."""
        of = column_type(column.type_code, column.name)
        files = self.snapshot.files(piece, column)
        top = min(files.top, piece.rows) if files else piece.rows
        missing = range(rows.start, min(rows.stop, top))
        if missing:
            yield absent(of, len(missing))
        # the files begin with the row at the column top
        present = range(max(rows.start, top) - top, rows.stop - top)
        if not present or files is None:
            return
        with TableFile(self.snapshot.path(piece, column, files, "d"), frozen=self.frozen) as data:
            if of.width:
                yield from self._fixed(of, column, data, present)
                return
            with TableFile(self.snapshot.path(piece, column, files, "i"), frozen=self.frozen) as index:
                yield from variable_values(of, data, index, present)

    def row_at(self, piece: Piece, time: int) -> int:
        """Return the position of the first row whose designated timestamp is not less than a time in ticks."""
        column = self.snapshot.metadata.timestamp
        files = self.snapshot.files(piece, column) if column else None
        if column is None or files is None:
            raise TableDamagedError("a piece has no designated timestamp", where=str(piece.folder))
        with TableFile(self.snapshot.path(piece, column, files, "d"), frozen=self.frozen) as data:
            # reads of single timestamps touch few pages of the file [QDB-RD-3]
            return bisect_left(range(piece.rows), time, key=_time_reader(data, files))

    def _fixed(self, of: ColumnType, column: Column, data: TableFile, rows: range) -> Iterator[pa.Array]:
        for part in _parts(of, rows):
            content = data.read(part.start * of.width, len(part) * of.width)
            if of.kind is Kind.SYMBOL:
                yield symbol_values(content, self.dictionary(column), str(data.path))
            else:
                yield fixed_values(of, content, len(part))


def _time_reader(data: TableFile, files: ColumnFiles) -> Callable[[int], int]:
    def at(row: int) -> int:
        return int(struct.unpack("<q", data.read(8 * (row - files.top), 8))[0])

    return at


def _parts(of: ColumnType, rows: range) -> Iterator[range]:
    step = _MAX_CONVERTED_ROWS if of.kind in _CONVERTED else max(len(rows), 1)
    for start in range(rows.start, rows.stop, step):
        yield range(start, min(start + step, rows.stop))
