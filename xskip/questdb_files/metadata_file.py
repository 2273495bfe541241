"""The file ``_meta``: the columns of a table and how the table is partitioned. Rules: [QDB-FI]."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from xskip.errors import TableDamagedError, TableVersionError
from xskip.questdb_files.column_types import NANOSECOND_TIMESTAMP, SYMBOL, TIMESTAMP
from xskip.questdb_files.partition_names import Clock, PartitionUnit

__all__ = ["Column", "Metadata", "prefixed_text", "read_metadata", "read_table_id"]

_FORMAT_VERSION = 426
_OLDER_HINT = "start the QuestDB server once, which migrates its tables"
_NEWER_HINT = "use a newer release of xskip"
_HEADER = struct.Struct("<5i")
_HEADER_BYTES = 128
_RECORD = struct.Struct("<iq2i4xi4x")
_METADATA_VERSION_AT, _WAL_AT = 32, 40
_INDEXED, _DEDUP_KEY = 1, 8
_MAX_COLUMNS = 1 << 20


@dataclass(frozen=True, slots=True)
class Column:
    """A column that the table has now."""

    name: str
    #: The position in ``_meta``, which never changes: other files refer to it.
    writer_index: int
    type_code: int
    #: Whether a SYMBOL column has bitmap indexes.
    indexed: bool
    dedup_key: bool
    #: The writer indexes of the columns that this column replaced by changes of its type, newest first.
    former: tuple[int, ...]
    #: The position among the symbol counts in ``_txn``; None if the type is not SYMBOL.
    symbols: int | None


@dataclass(frozen=True, slots=True)
class Metadata:
    """The content of ``_meta``."""

    #: In the order in which the server shows them.
    columns: tuple[Column, ...]
    #: By writer index, also of the columns that no longer exist.
    type_codes: tuple[int, ...]
    clock: Clock
    timestamp: Column | None
    table_id: int
    version: int
    wal: bool

    def column(self, name: str) -> Column | None:
        """Return the column with a name, which is compared without regard to case as the server does."""
        exact = next((column for column in self.columns if column.name == name), None)
        return exact or next((c for c in self.columns if c.name.lower() == name.lower()), None)


@dataclass(frozen=True, slots=True)
class _Record:
    type_code: int
    flags: int
    replaced: int


def read_metadata(path: Path) -> Metadata:
    """Return the content of a file ``_meta``, and refuse every format but 426 [QDB-FI-2]."""
    return _parse(path.read_bytes(), str(path))


def read_table_id(path: Path) -> int | None:
    """Return the identifier of the table of a file ``_meta``, or None without a complete file."""
    try:
        with path.open("rb") as file:
            data = file.read(_HEADER.size)
    except FileNotFoundError:
        return None
    return None if len(data) < _HEADER.size else int(_HEADER.unpack(data)[-1])


def prefixed_text(data: bytes, place: int) -> tuple[str, int]:
    """Return a text in UTF-16 that follows its length in units, and the place of its end."""
    (units,) = struct.unpack_from("<i", data, place)
    end = place + 4 + 2 * units
    if units < 0 or end > len(data):
        raise ValueError(f"a name of {units} characters")
    return data[place + 4 : end].decode("utf-16-le"), end


def _parse(data: bytes, where: str) -> Metadata:
    try:
        count, unit, timestamp, version, table_id = _HEADER.unpack_from(data)
        if version != _FORMAT_VERSION:
            raise TableVersionError(
                "a table has a format that this release does not read", where=where, found=str(version),
                expected=str(_FORMAT_VERSION), hint=_OLDER_HINT if version < _FORMAT_VERSION else _NEWER_HINT,
            )  # fmt: skip
        if not 0 < count <= _MAX_COLUMNS:
            raise ValueError(f"{count} columns")
        records = [_Record(*_fields(data, i)) for i in range(count)]
        columns = _columns(records, _names(data, count))
        designated = next((c for c in columns if c.writer_index == timestamp), None)
        if (designated is None) != (timestamp < 0):
            raise ValueError(f"designated timestamp {timestamp}")
        # the types of columns that were dropped or replaced are negative
        return Metadata(
            columns, tuple(abs(r.type_code) for r in records), Clock(PartitionUnit(unit), _ticks(designated)),
            designated, table_id, struct.unpack_from("<q", data, _METADATA_VERSION_AT)[0], bool(data[_WAL_AT]),
        )  # fmt: skip
    except (struct.error, ValueError, IndexError) as error:
        raise TableDamagedError("the metadata of a table is incomplete", where=where, found=str(error)) from error


def _fields(data: bytes, index: int) -> tuple[int, int, int]:
    code, flags, _, _, replaced = _RECORD.unpack_from(data, _HEADER_BYTES + index * _RECORD.size)
    return code, flags, replaced - 1


def _names(data: bytes, count: int) -> list[str]:
    place = _HEADER_BYTES + count * _RECORD.size
    names = []
    for _ in range(count):
        name, place = prefixed_text(data, place)
        if not name:
            raise ValueError("a column without a name")
        names.append(name)
    return names


def _columns(records: list[_Record], names: list[str]) -> tuple[Column, ...]:
    alive = [i for i, record in enumerate(records) if record.type_code > 0]
    symbols = [i for i in alive if records[i].type_code == SYMBOL]
    position: Mapping[int, int] = {index: i for i, index in enumerate(symbols)}
    columns = [
        Column(
            names[i], i, records[i].type_code, bool(records[i].flags & _INDEXED), bool(records[i].flags & _DEDUP_KEY),
            _former(records, i), position.get(i),
        )
        for i in alive
    ]  # fmt: skip
    # a column is in the place of the first column of its chain [QDB-FI-3]
    return tuple(sorted(columns, key=lambda column: (column.former or (column.writer_index,))[-1]))


def _former(records: list[_Record], index: int) -> tuple[int, ...]:
    """Return the chain of replaced columns, newest first."""
    chain = []
    replaced = records[index].replaced
    # the chain goes to lower writer indexes, so that it ends
    while 0 <= replaced < index and records[replaced].type_code < 0:
        chain.append(replaced)
        index, replaced = replaced, records[replaced].replaced
    return tuple(chain)


def _ticks(timestamp: Column | None) -> int:
    if timestamp is None or timestamp.type_code == TIMESTAMP:
        return 1_000_000
    if timestamp.type_code == NANOSECOND_TIMESTAMP:
        return 1_000_000_000
    raise ValueError(f"a designated timestamp of type {timestamp.type_code}")
