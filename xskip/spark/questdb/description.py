"""The description of a transaction of a table for the JVM, ``io.xskip.questdb.TableDescription``. Rules: [QDB-SP]."""

from __future__ import annotations

import hashlib
import json
import struct
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from xskip.questdb_files.column_types import column_type
from xskip.questdb_files.column_versions import DEFAULT_RECORD, SYMBOL_RECORD
from xskip.questdb_files.metadata_file import Column
from xskip.questdb_files.pieces import Piece
from xskip.questdb_files.snapshot import Snapshot
from xskip.spark.questdb.cold_columns import described_files
from xskip.spark.questdb.cold_tier import ColdTier
from xskip.spark.questdb.schema import described_columns, known_columns, schema_json
from xskip.spark.questdb.tier_parts import Parts, parts

__all__ = ["Cold", "pack"]

_MIN, _MAX = np.iinfo(np.int64).min, np.iinfo(np.int64).max
#: The planned size in bytes of a value whose size varies.
_VARYING_BYTES = 24
_DIGEST_BYTES = 8
#: As a time in milliseconds, a digest must have a form as a date, in Python and pandas too: this is the year 2248.
_DIGESTS = 1 << 43

_Record = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class Cold:
    """A cold tier to describe, with its folder."""

    root: str
    tier: ColdTier


def pack(snapshot: Snapshot, cold: Cold | None = None, *, frozen: bool) -> bytes:
    """Return the description of a transaction, without the pieces whose rows are read from the cold tier."""
    columns = known_columns(snapshot)
    pieces = _Pieces(snapshot, columns)
    header: dict[str, object] = _header(snapshot, pieces, frozen=frozen)
    found = Parts(frozenset(), ())
    if cold is not None:
        found = parts(snapshot, cold.tier)
        header["cold"] = {"root": cold.root, **described_files(snapshot, columns, cold.tier, found.cold)}
    numbers, folders = pieces.packed(found.left_out)
    header["fingerprint"] = snapshot.fingerprint() if frozen or pieces.settled else ""
    text = json.dumps({**header, "pieces": len(folders)}).encode()
    return b"".join(
        [b"T", struct.pack("<i", len(text)), text, numbers, "\0".join(folders).encode("utf-8", "surrogateescape")]
    )


def _header(snapshot: Snapshot, pieces: _Pieces, *, frozen: bool) -> dict[str, object]:
    place, transaction, metadata = snapshot.place, snapshot.transaction, snapshot.metadata
    database = place.data.parent
    beside = str(database.parent / "xskip" / place.data.name) if database.name == "db" else ""
    return {
        "data": str(place.data),
        "control": str(place.control),
        "indexDirectory": beside,
        "txn": snapshot.txn,
        "partitionVersion": transaction.partition_version,
        "truncateVersion": transaction.truncate_version,
        "tableId": metadata.table_id,
        "frozen": frozen,
        "timestamp": metadata.timestamp.name if metadata.timestamp else None,
        "columns": described_columns(snapshot, pieces.columns),
        "schema": schema_json(pieces.columns),
        "defaults": [number for record in pieces.defaults for number in record],
    }


@dataclass(frozen=True, slots=True)
class _Shared:
    """The identity of the columns that a piece has, and the planned size of a row in bytes."""

    identity: bytes
    row_bytes: int


@dataclass(slots=True)
class _Pieces:
    """The pieces of a snapshot, and the records of ``_cv`` by the piece for which they are."""

    snapshot: Snapshot
    columns: Sequence[Column]
    #: Whether all stamps prove rows. Otherwise the next query needs a new description, unless the table is frozen.
    settled: bool = True
    defaults: list[_Record] = field(default_factory=list)
    _symbols: list[_Record] = field(default_factory=list)
    _of_pieces: dict[int, list[_Record]] = field(default_factory=lambda: defaultdict(list))
    _known: dict[tuple[int, tuple[int, ...]], _Shared] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for (time, column), (txn, top) in self.snapshot.versions.records.items():
            if time == DEFAULT_RECORD:
                self.defaults.append((column, txn, top))
            elif time == SYMBOL_RECORD:
                self._symbols.append((column, txn, top))
            else:
                self._of_pieces[time].append((column, txn, top))
        self.defaults.sort(key=lambda record: record[2])

    def packed(self, left_out: frozenset[int]) -> tuple[bytes, list[str]]:
        """Return the numbers of all pieces with rows but some, and their folders or files."""
        pieces = [piece for piece in self.snapshot.pieces if piece.rows and piece.position not in left_out]
        fields, records, first = [], [], [0]
        for piece in pieces:
            own = self._of_pieces.get(piece.record.timestamp, [])
            records += own
            first.append(len(records))
            fields.append(self._fields(piece, own))
        parts: list[npt.NDArray[np.int64]] = [np.array(part, np.int64).ravel() for part in (fields, first, records)]
        folders = [f"{piece.path}/data.parquet" if piece.is_parquet else piece.path for piece in pieces]
        return b"".join(part.tobytes() for part in parts), folders

    def _fields(self, piece: Piece, own: Sequence[_Record]) -> list[int]:
        stamp = self.snapshot.stamp(piece)
        numbers = (-1, -1) if stamp is None else (_signed(stamp.inode), stamp.modified)
        settled = stamp is None or stamp.settled
        self.settled &= settled
        modified = numbers[1] if settled else -1
        parquet_size = -1 if piece.record.parquet_size is None else piece.record.parquet_size
        start, end = _MIN if piece.start is None else piece.start, _MAX if piece.end is None else piece.end
        size = parquet_size if piece.is_parquet else piece.rows * self._shared(piece.record.timestamp, own).row_bytes
        return [
            piece.record.timestamp, piece.rows, parquet_size, numbers[0], modified, start, end, max(size, 1),
            self._digest(piece, own, numbers), piece.record.name_txn,
        ]  # fmt: skip

    def _digest(self, piece: Piece, own: Sequence[_Record], stamp: tuple[int, int]) -> int:
        """Return a digest of everything that identifies the rows of a piece [QDB-SN-7]."""
        record = piece.record
        numbers = (
            record.timestamp, record.rows, record.name_txn, record.squashes, record.stamp, record.parquet_size or -1,
            *stamp, *(number for each in own for number in each),
        )  # fmt: skip
        digest = hashlib.blake2b(self._shared(record.timestamp, own).identity, digest_size=_DIGEST_BYTES)
        digest.update(struct.pack(f"<{len(numbers)}q", *numbers))
        return int.from_bytes(digest.digest(), "little") % _DIGESTS

    def _shared(self, time: int, own: Sequence[_Record]) -> _Shared:
        """Return what pieces share that begin at a time and have some records of ``_cv``."""
        # a column that was added after a piece changes nothing of the piece [QDB-SP-6]
        added = sum(1 for record in self.defaults if record[2] <= time)
        key = (added, tuple(record[0] for record in own))
        if key not in self._known:
            present = {record[0] for record in (*own, *self.defaults[:added])}
            later = {record[0] for record in self.defaults[added:]} - present
            columns = [column for column in self.columns if column.writer_index not in later]
            types = [(column.name, column.writer_index, column.type_code) for column in columns]
            symbols = [record for record in self._symbols if record[0] not in later]
            identity = (*self.snapshot.identity, types, self.defaults[:added], symbols)
            row_bytes = sum(column_type(c.type_code, c.name).width or _VARYING_BYTES for c in columns)
            self._known[key] = _Shared(repr(identity).encode(), row_bytes)
        return self._known[key]


def _signed(number: int) -> int:
    """Return a number of 64 bits as Java has it."""
    return number - (1 << 64) if number > _MAX else number
