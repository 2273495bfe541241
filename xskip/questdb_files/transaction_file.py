"""The file ``_txn``: the last transaction of a table, and the partitions it consists of. Rules: [QDB-FI]."""

from __future__ import annotations

import os
import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from xskip.errors import TableDamagedError

__all__ = ["PartitionRecord", "Transaction", "read_transaction", "read_version"]

_VERSION = struct.Struct("<q")
_HALF = struct.Struct("<3i")
_HALVES_AT = (8, 32)  # for even and odd versions
_HEADER_BYTES = 64
_RECORD = struct.Struct("<11q")
_SYMBOL_COUNT_AT = 128
_SYMBOLS_AT = 132
_PARTITION_BYTES = 32
_ROWS_MASK = (1 << 44) - 1
_SQUASH_SHIFT, _SQUASH_MASK = 44, 0xFFFF
_PARQUET_BIT = 1 << 61
_REMOTE_BIT = 1 << 63
_PARQUET_SIZE_MASK = (1 << 56) - 1
_MAX_BYTES = 1 << 28


@dataclass(frozen=True, slots=True)
class PartitionRecord:
    """A partition, or a piece of a split partition, as ``_txn`` has it."""

    #: The least time that the piece can hold.
    timestamp: int
    rows: int
    name_txn: int
    #: The committed size of ``data.parquet``; None for a native piece.
    parquet_size: int | None
    #: How often other pieces were appended to this piece, as newer servers count it.
    squashes: int
    #: The fourth field of the record as it is: newer servers stamp native pieces there.
    stamp: int
    #: Whether the data of the partition are in an object store only.
    remote: bool


@dataclass(frozen=True, slots=True, eq=False)
class Transaction:
    """The content of ``_txn``."""

    txn: int
    rows: int
    #: The rows of the last partition.
    last_rows: int
    #: The bounds of the designated timestamp; for a table without partitions the least one is unknown.
    least: int
    greatest: int
    #: The versions of ``_meta`` and ``_cv`` that belong to the transaction.
    metadata_version: int
    column_version: int
    #: Changes when the table is truncated and when partitions are removed.
    truncate_version: int
    #: Changes when partitions are added, removed, split or joined.
    partition_version: int
    #: Changes when the table is truncated.
    data_version: int
    #: The last transaction of the write-ahead log that the table contains.
    sequencer_txn: int
    symbol_counts: tuple[int, ...]
    #: Four numbers for each piece, as they are in the file.
    entries: npt.NDArray[np.int64]

    def rows_of_pieces(self) -> npt.NDArray[np.int64]:
        """Return the rows of each piece."""
        rows = self.entries[:, 1] & _ROWS_MASK
        # the rows of the last piece are in the head of the record, not in its entry [QDB-FI-1]
        rows[-1:] = self.last_rows
        return rows

    def rows_of_piece(self, timestamp: int, name_txn: int) -> int | None:
        """Return the rows of the piece in a folder, or None if the transaction has no piece there."""
        position = int(np.searchsorted(self.entries[:, 0], timestamp))
        if position == len(self.entries):
            return None
        record = self.record(position)
        return record.rows if (record.timestamp, record.name_txn) == (timestamp, name_txn) else None

    def record(self, position: int) -> PartitionRecord:
        """Return the entry of a piece."""
        timestamp, packed, name_txn, stamp = self.entries[position].tolist()
        parquet = bool(packed & _PARQUET_BIT)
        return PartitionRecord(
            timestamp,
            self.last_rows if position == len(self.entries) - 1 else packed & _ROWS_MASK,
            name_txn,
            stamp & _PARQUET_SIZE_MASK if parquet else None,
            packed >> _SQUASH_SHIFT & _SQUASH_MASK,
            stamp,
            parquet and bool(stamp & _REMOTE_BIT),
        )


def read_version(path: Path) -> int:
    """Return the version at the start of a file ``_txn`` or ``_cv``."""
    with path.open("rb") as file:
        data = file.read(_VERSION.size)
    if len(data) < _VERSION.size:
        raise _torn(path, f"{len(data)} bytes")
    return int(_VERSION.unpack(data)[0])


def read_transaction(path: Path) -> Transaction | None:
    """Return the last transaction, or None if a writer committed another one meanwhile."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        header = os.pread(descriptor, _HEADER_BYTES, 0)
        if len(header) < _HEADER_BYTES:
            raise _torn(path, f"{len(header)} bytes")
        # A writer fills the half of the file that is not in use, and then raises the version, whose parity selects the
        # half. So a record counts if the version is the same after the read [QDB-FI-1].
        (version,) = _VERSION.unpack_from(header)
        offset, symbol_bytes, partition_bytes = _HALF.unpack_from(header, _HALVES_AT[version & 1])
        size = _SYMBOLS_AT + symbol_bytes + 4 + partition_bytes
        plausible = offset >= _HEADER_BYTES and symbol_bytes >= 0 and partition_bytes >= 0 and size <= _MAX_BYTES
        data = os.pread(descriptor, size, offset) if plausible else b""
        if _VERSION.unpack(os.pread(descriptor, _VERSION.size, 0))[0] != version:
            return None
    finally:
        os.close(descriptor)
    if not plausible or len(data) < size:
        raise _torn(path, f"a record at {offset} of {size} bytes")
    return _parse(data, version, (symbol_bytes, partition_bytes), path)


def _parse(data: bytes, version: int, sizes: tuple[int, int], path: Path) -> Transaction:
    symbol_bytes, partition_bytes = sizes
    txn, last, fixed, least, greatest, structure, data_version, partition_version, columns, truncate, sequencer = (
        _RECORD.unpack_from(data)
    )
    (symbols,) = struct.unpack_from("<i", data, _SYMBOL_COUNT_AT)
    (stated,) = struct.unpack_from("<i", data, _SYMBOLS_AT + symbol_bytes)
    if txn != version or symbols * 8 != symbol_bytes or stated != partition_bytes or last < 0 or fixed < 0:
        raise _torn(path, f"transaction {txn} of version {version}")
    if partition_bytes % _PARTITION_BYTES:
        raise _torn(path, f"partition records of {partition_bytes} bytes")
    counts = np.frombuffer(data, np.int32, 2 * symbols, _SYMBOLS_AT)[::2]
    records = np.frombuffer(data, np.int64, partition_bytes // 8, _SYMBOLS_AT + symbol_bytes + 4).reshape(-1, 4)
    return Transaction(
        txn, last + fixed, last, least, greatest, structure & 0xFFFFFFFF, columns, truncate, partition_version,
        data_version, sequencer, tuple(counts.tolist()), records,
    )  # fmt: skip


def _torn(path: Path, found: str) -> TableDamagedError:
    return TableDamagedError("the transaction file of a table contradicts itself", where=str(path), found=found)
