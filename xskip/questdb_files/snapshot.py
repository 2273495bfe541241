"""One transaction of a table: its columns, its pieces and their files. Rules: [QDB-SN]."""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from xskip.errors import TableChangedError, TableDamagedError
from xskip.questdb_files.column_versions import ColumnFiles, ColumnVersions, read_column_versions
from xskip.questdb_files.files import CHECKPOINT_HINT, FileStamp
from xskip.questdb_files.metadata_file import Column, Metadata, read_metadata, read_table_id
from xskip.questdb_files.partition_names import PartitionUnit
from xskip.questdb_files.pieces import Piece, Pieces
from xskip.questdb_files.retry import Retry
from xskip.questdb_files.transaction_file import PartitionRecord, Transaction, read_transaction, read_version

__all__ = ["PieceKey", "Snapshot", "TablePlace", "missing_file", "never_at_rest", "read_snapshot"]

_TODO = struct.Struct("<2q")
_TODO_AT = 32
_TODO_TRUNCATE = 1


@dataclass(frozen=True, slots=True)
class TablePlace:
    """The folders of a table.

    Attributes
    ----------
    data : Path
        The folder with the partitions and the symbol files.
    control : Path
        The folder with ``_meta``, ``_txn`` and ``_cv``: that of the data, or that of a checkpoint.
    """

    data: Path
    control: Path


@dataclass(frozen=True, slots=True)
class PieceKey:
    """The identity of the content of a piece: two snapshots with equal keys have equal rows [QDB-SN-7]."""

    #: See :attr:`Snapshot.identity`.
    table: tuple[int, int]
    record: PartitionRecord
    #: For each column its writer index, its type, its files and the transaction of its symbol files.
    columns: tuple[tuple[int, int, ColumnFiles | None, int], ...]
    #: That of the file of the designated timestamp or of ``data.parquet``. A squash can write rows of a former piece
    #: into a file in place, and servers before the squash counter leave no other sign of it.
    stamp: FileStamp | None


@dataclass(frozen=True, slots=True, eq=False)
class Snapshot:
    """One transaction of a table.

    Attributes
    ----------
    place : TablePlace
    metadata : Metadata
    transaction : Transaction
    versions : ColumnVersions
    pieces : Pieces
    """

    place: TablePlace
    metadata: Metadata
    transaction: Transaction
    versions: ColumnVersions
    pieces: Pieces

    @property
    def txn(self) -> int:
        """Return the number of the transaction."""
        return self.transaction.txn

    @property
    def identity(self) -> tuple[int, int]:
        """Return the identifier of the table, and the truncate version if the table has no partitions, otherwise 0.

        The removal of a partition raises the truncate version, too, and leaves the rows of the others. If the table was
        truncated and has a partition again, the files of the partition are others, with another stamp.
        """
        unpartitioned = self.metadata.clock.unit is PartitionUnit.NONE
        return self.metadata.table_id, self.transaction.truncate_version if unpartitioned else 0

    def fingerprint(self) -> str:
        """Return a digest that two transactions of a table share only if they have the same pieces and columns.

        A table that was restored from a copy and then written can have the number of a transaction a second time.
        """
        numbers = (*self.identity, self.txn, self.transaction.last_rows, self.metadata.version, self.versions.version)
        digest = hashlib.blake2b(repr((numbers, self.transaction.symbol_counts)).encode(), digest_size=16)
        digest.update(self.transaction.entries.tobytes())
        return digest.hexdigest()

    def files(self, piece: Piece, column: Column) -> ColumnFiles | None:
        """Return the files of a column in a native piece, or None if all rows are null there."""
        return self.versions.files(piece.record.timestamp, column.writer_index, piece.rows)

    def path(self, piece: Piece, column: Column, files: ColumnFiles, extension: str) -> Path:
        """Return the path of a file of a column: ``d``, ``i``, ``k`` or ``v``."""
        return piece.folder / _file_name(column.name, extension, files.txn)

    def symbol_path(self, column: Column, extension: str) -> Path:
        """Return the path of a file with the values of a SYMBOL column: ``o`` or ``c``."""
        return self.place.data / _file_name(column.name, extension, self.versions.symbol_txn(column.writer_index))

    def symbol_count(self, column: Column) -> int:
        """Return the number of values of a SYMBOL column that the transaction has committed."""
        return self.transaction.symbol_counts[column.symbols] if column.symbols is not None else 0

    def stamp(self, piece: Piece) -> FileStamp | None:
        """Return the stamp of the file whose changes show that a piece was written in place.

        Raises
        ------
        FileNotFoundError
            If the file no longer exists.
        """
        if piece.is_parquet:
            return FileStamp.of(f"{piece.path}/data.parquet")
        column = self.metadata.timestamp or (self.metadata.columns[0] if self.metadata.columns else None)
        files = self.files(piece, column) if column else None
        return FileStamp.of(f"{piece.path}/{_file_name(column.name, 'd', files.txn)}") if column and files else None

    def key(self, piece: Piece, columns: Iterable[Column]) -> PieceKey:
        """Return the identity of the content of columns of a piece.

        Raises
        ------
        FileNotFoundError
            If a server has removed the piece.
        """
        return PieceKey(
            self.identity,
            piece.record,
            tuple(
                (c.writer_index, c.type_code, self.files(piece, c), self.versions.symbol_txn(c.writer_index))
                for c in columns
            ),
            self.stamp(piece),
        )

    def is_current(self) -> bool:
        """Return whether no squash or truncation can have begun that later stamps of the pieces would not show.

        A squash follows the commit of a split. Stamps that were taken before this method returns True are of a time
        before that commit.

        Raises
        ------
        TableDamagedError
            If ``_txn`` contradicts itself.
        """
        return self._later() is True

    def invalid(self, stamps: Mapping[int, FileStamp | None]) -> tuple[int, ...] | None:
        """Return the pieces whose rows this snapshot no longer proves, after their files were read.

        Parameters
        ----------
        stamps : Mapping of int to FileStamp
            By position, the stamps of the pieces, which were taken before :meth:`is_current` returned True.

        Returns
        -------
        tuple of int or None
            Positions of pieces; None if the table is being truncated, or was dropped, so that no file counts.

        Raises
        ------
        TableDamagedError
            If ``_txn`` contradicts itself.
        """
        # a table that was dropped and created again has another identifier [QDB-SN-5]
        if read_table_id(self.place.data / "_meta") != self.metadata.table_id:
            return None
        later = self._later()
        if later is None:
            return None
        if later is True:
            return ()
        return tuple(position for position, stamp in stamps.items() if not self._untouched(position, stamp, later))

    def _later(self) -> Transaction | Literal[True] | None:
        """Return True if rows were only appended, None if no file counts any more, or else the last transaction."""
        if _truncation_begun(self.place.data):
            return None
        try:
            if read_version(self.place.data / "_txn") == self.txn:
                return True
            now = _retried_transaction(self.place.data / "_txn")
        except FileNotFoundError:  # the table was dropped
            return None
        # the result is the last transaction where single pieces can still count
        if now.truncate_version != self.transaction.truncate_version:
            return now
        if self.place.control != self.place.data:  # while there is a checkpoint, the server squashes nothing
            return True if _version_now(self.place) == self.txn else None
        return True if now.partition_version == self.transaction.partition_version else now

    def _untouched(self, position: int, stamp: FileStamp | None, now: Transaction) -> bool:
        """Return whether neither a squash nor a truncation can have written into a piece."""
        piece = self.pieces[position]
        committed = now.rows_of_piece(piece.record.timestamp, piece.record.name_txn)
        if now.truncate_version != self.transaction.truncate_version:  # truncated, or other partitions were removed
            if committed is None or stamp is None:
                return False
        elif piece.is_parquet:  # the file only grows
            return True
        # A server writes only after the rows that it has committed. If these are fewer than the rows of the piece, a
        # squash can have written some columns and not yet the stamped file. If not, what wrote into the piece is
        # committed, and the stamp shows it [QDB-SN-3].
        if (committed is not None and committed < piece.rows) or (stamp is not None and not stamp.settled):
            return False
        try:
            return self.stamp(piece) == stamp
        except FileNotFoundError:
            return False


def read_snapshot(place: TablePlace) -> Snapshot:
    """Return the last transaction of a table, after a bounded number of attempts."""
    retry = Retry()
    while True:
        damage: TableDamagedError | None = None
        try:
            snapshot = _attempt(place)
        except FileNotFoundError as error:
            damage = TableDamagedError(
                "a file of a table does not exist", where=str(error.filename),
                hint="name the folder of a table, which contains _meta, _txn and _cv",
            )  # fmt: skip
        except TableDamagedError as error:
            damage = error
        else:
            if snapshot is not None:
                return snapshot
        if not retry.wait(_version_now(place)):
            raise damage or TableChangedError(
                "the files of a table are not of one transaction", where=str(place.control),
                found=f"{retry.attempts} attempts", hint=f"if a server writes to the table, {CHECKPOINT_HINT}",
            )  # fmt: skip


def missing_file(error: FileNotFoundError, snapshot: Snapshot) -> TableDamagedError:
    """Return the error of a file that a transaction names and that does not exist."""
    return TableDamagedError(
        "a file that the transaction of a table names does not exist", where=str(error.filename),
        expected=f"a file of transaction {snapshot.txn}",
        hint=f"restore the file; if a server writes to the table, {CHECKPOINT_HINT}",
    )  # fmt: skip


def never_at_rest(place: TablePlace, retry: Retry) -> TableChangedError:
    """Return the error of a table that a server changed during every attempt to read it."""
    return TableChangedError(
        "a server changed the table during every attempt to read it", where=str(place.data),
        found=f"{retry.attempts} attempts", hint=CHECKPOINT_HINT,
    )  # fmt: skip


def _version_now(place: TablePlace) -> int | None:
    try:
        return read_version(place.control / "_txn")
    except (FileNotFoundError, TableDamagedError):
        return None


def _truncation_begun(folder: Path) -> bool:
    """Return whether a server has begun a truncation of the table and not committed it, as ``_todo_`` says."""
    try:
        with (folder / "_todo_").open("rb") as file:
            file.seek(_TODO_AT)
            data = file.read(_TODO.size)
    except FileNotFoundError:
        return False
    if len(data) < _TODO.size:
        return False
    count, code = _TODO.unpack(data)
    return bool(count > 0 and code == _TODO_TRUNCATE)


def _attempt(place: TablePlace) -> Snapshot | None:
    """Return the transaction, or None if the three files are not of one transaction [QDB-SN-1]."""
    transaction = read_transaction(place.control / "_txn")
    if transaction is None or _truncation_begun(place.data):
        return None
    versions = read_column_versions(place.control / "_cv")
    if versions is None or versions.version != transaction.column_version:
        return None
    metadata = read_metadata(place.control / "_meta")
    if metadata.version & 0xFFFFFFFF != transaction.metadata_version:
        return None
    if read_version(place.control / "_txn") != transaction.txn:
        return None
    symbols = sum(column.symbols is not None for column in metadata.columns)
    if symbols != len(transaction.symbol_counts):
        raise TableDamagedError(
            "the transaction file and the metadata of a table contradict each other", where=str(place.control),
            found=f"{len(transaction.symbol_counts)} counts of symbols", expected=str(symbols),
        )  # fmt: skip
    return Snapshot(place, metadata, transaction, versions, Pieces(place.data, metadata, transaction))


def _retried_transaction(path: Path) -> Transaction:
    retry = Retry()
    while True:
        transaction = read_transaction(path)
        if transaction is not None:
            return transaction
        if not retry.wait(None):
            break
    raise TableChangedError(
        "a server commits faster than the transaction can be read", where=str(path), hint=CHECKPOINT_HINT
    )  # fmt: skip


def _file_name(column: str, extension: str, txn: int) -> str:
    return f"{column}.{extension}.{txn}" if txn >= 0 else f"{column}.{extension}"
