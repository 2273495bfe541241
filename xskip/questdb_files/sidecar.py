"""The file ``_pm`` beside ``data.parquet``, which servers from 9.4 on write. Rules: [QDB-PM].

The layout is that of ``docs/parquet-metadata.md`` of QuestDB.
"""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

from xskip.errors import TableDamagedError, TableVersionError
from xskip.questdb_files.column_types import TIMESTAMP
from xskip.questdb_files.files import CHECKPOINT_HINT, TableFile

__all__ = ["ColumnChunk", "RowGroup", "Sidecar", "SidecarColumn", "read_sidecar"]

_HEADER = struct.Struct("<QQiII4x")
_COLUMN = struct.Struct("<QiiiiI4B")
_FOOTER = struct.Struct("<QIIQQQ")
_CHUNK = struct.Struct("<4B4x7Q")
_TRAILER = struct.Struct("<I")
_REQUIRED_BITS = 0xFFFFFFFF << 32
#: A covering index, which this reader does not need: it reads the data themselves.
_KNOWN_FOOTER_BITS = 1 << 32
_MIN_PRESENT, _MIN_INLINED, _MAX_PRESENT, _MAX_INLINED = 1, 2, 8, 16
_NULL_COUNT_PRESENT = 128
_MAX_FOOTERS = 100_000
#: The bit in the type code of the designated timestamp, which ``_meta`` does not have.
_DESIGNATED = 1 << 17


@dataclass(frozen=True, slots=True)
class SidecarColumn:
    """A column of ``data.parquet``."""

    name: str
    #: The position in ``_meta``, or -1.
    writer_index: int
    #: The code of ``_meta``, or -1 if it is not known.
    type_code: int


@dataclass(frozen=True, slots=True)
class ColumnChunk:
    """A column in a row group."""

    values: int
    nulls: int | None
    #: The bytes of the Parquet statistics.
    least: bytes | None
    greatest: bytes | None


@dataclass(frozen=True, slots=True)
class RowGroup:
    """A row group of ``data.parquet``."""

    rows: int
    #: In the order of the columns.
    chunks: tuple[ColumnChunk, ...]


@dataclass(frozen=True, slots=True)
class Sidecar:
    """The content of ``_pm`` for one size of ``data.parquet``."""

    columns: tuple[SidecarColumn, ...]
    #: The position of the designated timestamp among the columns, or -1.
    timestamp: int
    groups: tuple[RowGroup, ...]

    def time_bounds(self) -> list[tuple[int, int]] | None:
        """Return the least and the greatest designated timestamp of each row group, or None if one is unknown."""
        if self.timestamp < 0:
            return None
        bounds = []
        for group in self.groups:
            chunk = group.chunks[self.timestamp]
            if chunk.least is None or chunk.greatest is None or not len(chunk.least) == len(chunk.greatest) == 8:
                return None
            bounds.append((_signed(chunk.least), _signed(chunk.greatest)))
        return bounds


def read_sidecar(path: Path, parquet_size: int) -> Sidecar:
    """Return the content of ``_pm`` for a size of ``data.parquet``."""
    with TableFile(path, frozen=False) as file:
        (size,) = struct.unpack("<Q", file.read(0, 8))
        data = bytes(file.read(0, size))
    try:
        return _parse(data, parquet_size, path)
    except (struct.error, ValueError, IndexError) as error:
        raise _damaged(path, str(error)) from error


def _parse(data: bytes, parquet_size: int, path: Path) -> Sidecar:
    _, features, timestamp, sorting, count = _HEADER.unpack_from(data)
    _demand_known(features, 0, path)
    if not -1 <= timestamp < count or 32 + count * _COLUMN.size + 4 * sorting > len(data):
        raise ValueError(f"{count} columns, timestamp {timestamp}")
    place = _footer(data, parquet_size, path)
    _, _, groups, _, _, footer_features = _FOOTER.unpack_from(data, place)
    _demand_known(footer_features, _KNOWN_FOOTER_BITS, path)
    if place + _FOOTER.size + 4 * groups > len(data):
        raise ValueError(f"{groups} row groups")
    offsets = struct.unpack_from(f"<{groups}I", data, place + _FOOTER.size)
    return Sidecar(
        tuple(_column(data, i) for i in range(count)), timestamp, tuple(_group(data, o << 3, count) for o in offsets)
    )


def _footer(data: bytes, parquet_size: int, path: Path) -> int:
    """Return the place of the last footer for a size [QDB-PM-2]."""
    # each footer belongs to one size of data.parquet, and names the end of the footer before it
    end = len(data)
    for position in range(_MAX_FOOTERS):
        (length,) = _TRAILER.unpack_from(data, end - _TRAILER.size)
        place = end - _TRAILER.size - length
        if length < _FOOTER.size + 4 or place < _HEADER.size:
            raise ValueError(f"a footer of {length} bytes")
        check = end - 2 * _TRAILER.size
        if position == 0 and zlib.crc32(data[8:check]) != _TRAILER.unpack_from(data, check)[0]:
            raise ValueError("another checksum")
        offset, parquet_footer, _, _, previous, _ = _FOOTER.unpack_from(data, place)
        # data.parquet ends with its footer, the length of the footer in four bytes, and four bytes of magic
        if offset + parquet_footer + 8 == parquet_size:
            return int(place)
        if not 0 < previous < end:
            break
        end = previous
    raise _damaged(path, f"no footer for {parquet_size:,} bytes")


def _column(data: bytes, index: int) -> SidecarColumn:
    name_at, writer_index, code, _, _, length, *_ = _COLUMN.unpack_from(data, _HEADER.size + index * _COLUMN.size)
    if name_at + length > len(data):
        raise ValueError(f"a name at {name_at}")
    if code & 0xFF == TIMESTAMP:
        code &= ~_DESIGNATED
    return SidecarColumn(data[name_at : name_at + length].decode(), writer_index, code)


def _group(data: bytes, place: int, columns: int) -> RowGroup:
    (rows,) = struct.unpack_from("<Q", data, place)
    chunks = tuple(_chunk(data, place, place + 8 + i * _CHUNK.size) for i in range(columns))
    return RowGroup(rows, chunks)


def _chunk(data: bytes, block: int, place: int) -> ColumnChunk:
    _, _, flags, sizes, values, _, _, nulls, _, least, greatest = _CHUNK.unpack_from(data, place)
    return ColumnChunk(
        values,
        nulls if flags & _NULL_COUNT_PRESENT else None,
        _statistic(data, block, least, (flags & _MIN_PRESENT, flags & _MIN_INLINED, sizes & 15)),
        _statistic(data, block, greatest, (flags & _MAX_PRESENT, flags & _MAX_INLINED, sizes >> 4)),
    )


def _statistic(data: bytes, block: int, slot: int, form: tuple[int, int, int]) -> bytes | None:
    """Return a statistic, which is in its slot or at the place within the block that the slot names."""
    present, inlined, size = form
    if not present:
        return None
    if inlined:
        return slot.to_bytes(8, "little")[:size]
    place, length = block + (slot >> 16), slot & 0xFFFF
    if place + length > len(data):
        raise ValueError(f"a statistic at {place}")
    return data[place : place + length]


def _demand_known(features: int, known: int, path: Path) -> None:
    unknown = features & _REQUIRED_BITS & ~known
    if unknown:
        raise TableVersionError(
            "the metadata of a Parquet partition require features that this release does not know", where=str(path),
            found=f"bits {', '.join(str(bit) for bit in range(32, 64) if unknown >> bit & 1)}",
            hint="convert the partition to native",
        )  # fmt: skip


def _signed(data: bytes) -> int:
    return int.from_bytes(data, "little", signed=True)


def _damaged(path: Path, found: str) -> TableDamagedError:
    return TableDamagedError(
        "the metadata file of a Parquet partition contradicts itself", where=str(path), found=found,
        hint=CHECKPOINT_HINT,
    )  # fmt: skip
