"""Reads of a table in batches, as one transaction, while a server may write. Rules: [QDB-SN], [QDB-BA]."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeVar

import pyarrow as pa

from xskip.errors import DatasetError, TableChangedError, TableDamagedError, XskipError
from xskip.questdb_files.files import CHECKPOINT_HINT
from xskip.questdb_files.piece_values import PieceValues, SelectedRows
from xskip.questdb_files.pieces import Piece
from xskip.questdb_files.reading import rows_as_table
from xskip.questdb_files.retry import Retry
from xskip.questdb_files.selection import Chosen, Selection
from xskip.questdb_files.snapshot import PieceKey, TablePlace, missing_file, never_at_rest, read_snapshot

__all__ = ["read_batches"]

_Read = TypeVar("_Read")


@dataclass(frozen=True, slots=True)
class _Proof:
    """A piece in a snapshot that can prove its rows, with the key from before anything was read."""

    chosen: Chosen
    piece: Piece
    key: PieceKey


def read_batches(place: TablePlace, selection: Selection, batch_rows: int, *, frozen: bool) -> pa.RecordBatchReader:
    """Return a reader of the rows of the last transaction, in batches of at most so many rows."""
    chosen, proofs = _begin(place, selection, frozen=frozen)
    stream = _Stream(chosen, batch_rows, PieceValues(frozen))
    return pa.RecordBatchReader.from_batches(chosen.result_schema, stream.batches(proofs))


class _Stream:
    """The batches of a read: each is returned after a snapshot has proved it."""

    def __init__(self, chosen: Chosen, batch_rows: int, values: PieceValues) -> None:
        # later transactions can have other names for the columns
        self._schema, self._positions = chosen.schema, list(chosen.positions)
        self._batch_rows, self._values = batch_rows, values
        self._open: tuple[_Proof, SelectedRows] | None = None

    def batches(self, proofs: list[_Proof]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of pieces in the order of the pieces."""
        for proof in proofs:
            # what tells new rows from others is proved before a row is returned [QDB-TK-4]
            if proof.chosen.new is not None and proof.piece.record.timestamp in proof.chosen.new.checks:
                self._proved(proof, self._selected)
        for first in proofs:
            steps, proof = self._proved(first, lambda p: list(self._selected(p).steps(self._batch_rows)))
            for step in steps:
                # steps are the same in all snapshots in which the piece has the same key [QDB-SN-7]
                table, proof = self._proved(proof, partial(self._step, rows=step))
                yield from table.select(self._positions).to_batches(max_chunksize=self._batch_rows)

    def _step(self, proof: _Proof, rows: range) -> pa.Table:
        selected = self._selected(proof)
        arrays = [list(selected.values(column, rows)) for column in proof.chosen.columns]
        return proof.chosen.rows(rows_as_table(self._schema, arrays))

    def _selected(self, proof: _Proof) -> SelectedRows:
        if self._open is None or self._open[0] is not proof:
            self._open = proof, self._values.selected(proof.chosen, proof.piece)
        return self._open[1]

    def _proved(self, proof: _Proof, read: Callable[[_Proof], _Read]) -> tuple[_Read, _Proof]:
        """Read until a snapshot proves what was read, and return both."""
        retry = Retry()
        while True:
            failure: XskipError | None = None
            snapshot = proof.chosen.snapshot
            try:
                found = read(proof)
            except FileNotFoundError as error:
                failure = missing_file(error, snapshot)
            except DatasetError as error:
                # new rows cannot be told from others, if what tells them was not written meanwhile
                if self._values.frozen or snapshot.is_current():
                    raise
                failure = error
            except TableDamagedError as error:
                failure = error
            else:
                if self._values.frozen or snapshot.invalid({proof.piece.position: proof.key.stamp}) == ():
                    return found, proof
            if failure is not None and self._values.frozen:
                raise failure
            if not retry.wait(snapshot.txn):
                raise failure or never_at_rest(snapshot.place, retry)
            self._values.forget()
            proof = _later(proof, retry)


def _begin(place: TablePlace, selection: Selection, *, frozen: bool) -> tuple[Chosen, list[_Proof]]:
    """Return what is selected of the last transaction, and its pieces with their keys."""
    retry = Retry()
    while True:
        failure: XskipError | None = None
        snapshot = read_snapshot(place)
        chosen = selection.of(snapshot)
        try:
            proofs = [_Proof(chosen, piece, snapshot.key(piece, chosen.columns)) for piece in chosen.pieces()]
            # the keys are from before anything is read [QDB-SN-3]
            if frozen or snapshot.is_current():
                return chosen, proofs
        except FileNotFoundError as error:
            failure = missing_file(error, snapshot)
        if (failure is not None and frozen) or not retry.wait(snapshot.txn):
            raise failure or never_at_rest(place, retry)


def _later(proof: _Proof, retry: Retry) -> _Proof:
    """Return the proof of a piece by the last transaction, or raise an error if it has other rows there."""
    former = proof.chosen.snapshot
    while True:
        snapshot = read_snapshot(former.place)
        shown = {column.writer_index: column for column in snapshot.metadata.columns}
        columns = tuple(shown[c.writer_index] for c in proof.chosen.columns if c.writer_index in shown)
        record = proof.key.record
        piece = next((p for p in snapshot.pieces if p.record.timestamp == record.timestamp), None)
        if piece is None or len(columns) < len(proof.chosen.columns):
            raise _changed(proof, snapshot.txn)
        try:
            key = snapshot.key(piece, columns)
            current = snapshot.is_current()
        except FileNotFoundError:  # the server has removed the files of the snapshot
            current = False
        if current:
            # the noted stamp proves nothing of changes in the same tick [QDB-SN-3]
            stamp = proof.key.stamp
            if key != proof.key or (stamp is not None and not stamp.settled):
                raise _changed(proof, snapshot.txn)
            return _Proof(replace(proof.chosen, snapshot=snapshot, columns=columns), piece, key)
        if not retry.wait(snapshot.txn):
            raise never_at_rest(former.place, retry)


def _changed(proof: _Proof, txn: int) -> TableChangedError:
    return TableChangedError(
        "a server changed a piece of the table before all its rows were read", where=str(proof.piece.folder),
        found=f"transaction {txn}", expected=f"the piece as in transaction {proof.chosen.snapshot.txn}",
        hint=f"read again, or read a smaller range of time; {CHECKPOINT_HINT}",
    )  # fmt: skip
