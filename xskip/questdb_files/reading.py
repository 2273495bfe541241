"""Reads of a table as one transaction, while a server may write. Rules: [QDB-SN], [QDB-RD]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pyarrow as pa

from xskip.errors import DatasetError, TableDamagedError, XskipError
from xskip.questdb_files.files import FileStamp
from xskip.questdb_files.piece_values import PieceValues
from xskip.questdb_files.pieces import Piece
from xskip.questdb_files.retry import Retry
from xskip.questdb_files.selection import Chosen, Selection
from xskip.questdb_files.snapshot import PieceKey, TablePlace, missing_file, never_at_rest, read_snapshot
from xskip.questdb_files.symbols import one_dictionary

__all__ = ["count_rows", "read_table", "rows_as_table"]


@dataclass(frozen=True, slots=True)
class _Part:
    """Columns of a piece, which count as long as the files of the piece are the same."""

    key: PieceKey
    rows: range
    arrays: tuple[tuple[pa.Array, ...], ...]


@dataclass(slots=True)
class _Reader:
    """The state of a read over several attempts: the parts that are read, and the values of SYMBOL columns."""

    values: PieceValues
    parts: dict[PieceKey, _Part] = field(default_factory=dict)

    def forget(self, pieces: Sequence[Piece] | None) -> None:
        """Drop what was read of pieces; None drops all, because the table was truncated or dropped."""
        if pieces is None:
            self.parts.clear()
            self.values.forget()
            return
        records = {piece.record for piece in pieces}
        self.parts = {key: part for key, part in self.parts.items() if key.record not in records}

    def read(self, chosen: Chosen) -> tuple[list[_Part], dict[int, FileStamp | None]] | None:
        """Return the parts and the stamps of their pieces, or None if a server has begun to change pieces meanwhile."""
        snapshot = chosen.snapshot
        # the keys have the stamps from before anything is read [QDB-SN-3]
        pieces = chosen.pieces()
        keys = [snapshot.key(piece, chosen.columns) for piece in pieces]
        if not self.values.frozen and not snapshot.is_current():
            return None
        # parts of a former snapshot with equal keys have the same rows, and are not read again [QDB-SN-4]
        self.parts = {key: self.parts[key] for key in keys if key in self.parts}
        for piece, key in zip(pieces, keys, strict=True):
            if key not in self.parts:
                self.parts[key] = self._part(chosen, piece, key)
        stamps = {piece.position: key.stamp for piece, key in zip(pieces, keys, strict=True)}
        return [self.parts[key] for key in keys], stamps

    def _part(self, chosen: Chosen, piece: Piece, key: PieceKey) -> _Part:
        selected = self.values.selected(chosen, piece)
        rows = selected.rows
        arrays = [list(selected.values(column, rows)) for column in chosen.columns]
        if chosen.filter is not None:
            arrays = [column.chunks for column in chosen.rows(rows_as_table(chosen.schema, arrays)).columns]
        return _Part(key, rows, tuple(map(tuple, arrays)))


def read_table(place: TablePlace, selection: Selection, *, frozen: bool) -> pa.Table:
    """Return rows of a table of one transaction."""
    chosen, parts = _read_parts(place, selection, frozen=frozen)
    arrays = [[array for part in parts for array in part.arrays[i]] for i in chosen.positions]
    return rows_as_table(chosen.result_schema, arrays)


def rows_as_table(schema: pa.Schema, columns: Sequence[list[pa.Array]]) -> pa.Table:
    """Return arrays of each column as a table; those of a SYMBOL column get one dictionary [QDB-TY-8]."""
    arrays = [_column_of(arrays, field.type) for arrays, field in zip(columns, schema, strict=True)]
    return pa.Table.from_arrays(arrays, schema=schema)


def count_rows(place: TablePlace, selection: Selection, *, frozen: bool) -> int:
    """Return the number of rows in a range of time, with reads of single timestamps."""
    if not selection.has_range and selection.tokens is None:
        return read_snapshot(place).transaction.rows
    _, parts = _read_parts(place, replace(selection, columns=()), frozen=frozen)
    return sum(len(part.rows) for part in parts)


def _read_parts(place: TablePlace, selection: Selection, *, frozen: bool) -> tuple[Chosen, list[_Part]]:
    """Read until all parts are of one transaction."""
    # After the parts of a snapshot were read, the snapshot must still prove them. Parts that it no longer proves are
    # read from the next snapshot, and the others are kept if their keys are the same there.
    reader, retry = _Reader(PieceValues(frozen)), Retry()
    while True:
        failure: XskipError | None = None
        snapshot = read_snapshot(place)
        chosen = selection.of(snapshot)
        if chosen.new is not None:  # which rows of a piece are new depends on the pieces before it
            reader.forget(None)
        try:
            found = reader.read(chosen)
        except FileNotFoundError as error:
            failure = missing_file(error, snapshot)
        except DatasetError as error:
            # new rows cannot be told from others, if what tells them was not written meanwhile
            if frozen or snapshot.is_current():
                raise
            failure = error
        except TableDamagedError as error:
            failure = error
        else:
            invalid = () if frozen or found is None else snapshot.invalid(found[1])
            if found is not None and invalid == ():
                return chosen, found[0]
            reader.forget(None if invalid is None else [snapshot.pieces[i] for i in invalid])
        if failure is not None and frozen:
            raise failure
        if not retry.wait(snapshot.txn):
            break
    raise failure or never_at_rest(place, retry)


def _column_of(arrays: list[pa.Array], of: pa.DataType) -> pa.ChunkedArray:
    return pa.chunked_array(one_dictionary(arrays) if pa.types.is_dictionary(of) else arrays, of)
