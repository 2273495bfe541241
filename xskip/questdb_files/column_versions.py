"""The file ``_cv``: where the files of columns differ between partitions. Rules: [QDB-FI]."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from xskip.errors import TableDamagedError

__all__ = ["DEFAULT_RECORD", "SYMBOL_RECORD", "ColumnFiles", "ColumnVersions", "read_column_versions"]

_HEADER = struct.Struct("<5q")
_RECORD_BYTES = 32
#: The times of records that are for no piece: the default files of a column, and its symbol files.
DEFAULT_RECORD = -(1 << 63)
SYMBOL_RECORD = DEFAULT_RECORD + 1
_MAX_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class ColumnFiles:
    """The files of a column in a piece."""

    #: The transaction that the names of the files end with, or -1.
    txn: int
    #: The number of rows at the start of the piece for which the files have no values: they are null.
    top: int


@dataclass(frozen=True, slots=True)
class ColumnVersions:
    """The content of ``_cv``."""

    version: int
    #: By timestamp of the piece and writer index: the transaction in the names of files, and the column top. At
    #: :data:`DEFAULT_RECORD`, the second number is the time of the partition in which the column was added.
    records: Mapping[tuple[int, int], tuple[int, int]]

    def files(self, timestamp: int, writer_index: int, rows: int) -> ColumnFiles | None:
        """Return the files of a column in a piece, or None if all rows are null there [QDB-FI-4]."""
        record = self.records.get((timestamp, writer_index))
        default = self.records.get((DEFAULT_RECORD, writer_index))
        if record is None:
            if default is not None and default[1] > timestamp:
                return None  # the column was added in a later partition
            return ColumnFiles(default[0] if default else -1, 0) if rows else None
        txn, top = record
        if rows <= top:
            return None
        return ColumnFiles(txn if txn != -1 or default is None else default[0], top)

    def symbol_txn(self, writer_index: int) -> int:
        """Return the transaction that the names of the symbol files of a column end with, or -1."""
        record = self.records.get((SYMBOL_RECORD, writer_index)) or self.records.get((DEFAULT_RECORD, writer_index))
        return record[0] if record else -1


def read_column_versions(path: Path) -> ColumnVersions | None:
    """Return the content of ``_cv``, or None if a writer changed it meanwhile."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        header = os.pread(descriptor, _HEADER.size, 0)
        if len(header) < _HEADER.size:
            raise _torn(path, f"{len(header)} bytes")
        version, *halves = _HEADER.unpack(header)
        # as in _txn, the parity of the version selects the half that is in use
        offset, size = halves[2:] if version & 1 else halves[:2]
        plausible = offset >= 0 and 0 <= size <= _MAX_BYTES and size % _RECORD_BYTES == 0
        data = os.pread(descriptor, size, offset) if plausible and size else b""
        if struct.unpack("<q", os.pread(descriptor, 8, 0))[0] != version:
            return None
    finally:
        os.close(descriptor)
    if not plausible or len(data) < size:
        raise _torn(path, f"records at {offset} of {size} bytes")
    rows = np.frombuffer(data, np.int64).reshape(-1, 4).tolist()
    return ColumnVersions(version, {(time, column): (txn, top) for time, column, txn, top in rows})


def _torn(path: Path, found: str) -> TableDamagedError:
    return TableDamagedError(
        "the file with the versions of columns contradicts itself", where=str(path), found=found
    )  # fmt: skip
