"""Metadata files of Parquet partitions, by their public specification: no server that the tests can run writes them."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from xskip.questdb.table import open_table

#: The least and the greatest value of a column, or None.
Pair: TypeAlias = tuple[bytes, bytes] | None
_SMALL = 8
_DESIGNATED = 1 << 17
#: The physical types of Parquet by the tag of the type code; others are texts or bytes.
_PHYSICAL = {1: 0, 2: 1, 3: 1, 4: 1, 5: 1, 6: 2, 7: 2, 8: 2, 9: 4, 10: 5, 25: 1}
_BYTES = 6
#: The form of bounds by the tag of the type code.
_FORMS = {5: "<i", 6: "<q", 7: "<q", 8: "<q", 9: "<f", 10: "<d"}


@dataclass
class SidecarFile:
    """The bytes of a file ``_pm``, to which versions are appended.

    ``columns`` has name, writer index and type of each column.
    """

    columns: list[tuple[str, int, int]]
    timestamp: int
    features: int = 0
    data: bytearray = field(default_factory=bytearray)
    _footer_end: int = 0

    def __post_init__(self) -> None:
        names = b"".join(name.encode() for name, _, _ in self.columns)
        place = 32 + 32 * len(self.columns)
        self.data += struct.pack("<QQiIII", 0, self.features, self.timestamp, 0, len(self.columns), 0)
        for position, (name, writer_index, code) in enumerate(self.columns):
            size, physical = len(name.encode()), _PHYSICAL.get(code & 0xFF, _BYTES)
            stored = code | _DESIGNATED if position == self.timestamp else code
            self.data += struct.pack("<QiiiiI4B", place, writer_index, stored, 0, 0, size, physical, 0, 1, 0)
            place += size
        self.data += names

    def version(
        self, parquet_size: int, groups: Sequence[tuple[int, Sequence[Pair]]], *, features: int = 0
    ) -> SidecarFile:
        """Append a version for a size of ``data.parquet``; a group has its rows and the bounds of each column."""
        places = [self._group(rows, bounds) for rows, bounds in groups]
        start = len(self.data)
        self.data += struct.pack("<QIIQQQ", parquet_size - 108, 100, len(groups), 0, self._footer_end, features)
        self.data += struct.pack(f"<{len(places)}I", *(place >> 3 for place in places))
        self.data += struct.pack("<I", zlib.crc32(self.data[8:]))
        self.data += struct.pack("<I", len(self.data) - start)
        self._footer_end = len(self.data)
        self.data[:8] = struct.pack("<Q", len(self.data))
        return self

    def _group(self, rows: int, bounds: Sequence[Pair]) -> int:
        self.data += bytes(-len(self.data) % 8)
        place = len(self.data)
        chunks, outside = b"", b""
        for pair in bounds:
            flags, sizes, slots = 128, 0, [0, 0]
            for i, value in enumerate(pair or ()):
                flags |= 1 << 3 * i
                if len(value) <= _SMALL:
                    flags |= 2 << 3 * i
                    sizes |= len(value) << 4 * i
                    slots[i] = int.from_bytes(value, "little")
                else:
                    slots[i] = (8 + 64 * len(bounds) + len(outside)) << 16 | len(value)
                    outside += value
            chunks += struct.pack("<4B4x7Q", 0, 1, flags, sizes, rows, 4, 100, 0, 0, *slots)
        self.data += struct.pack("<Q", rows) + chunks + outside
        return place


def describe_partitions(folder: Path) -> None:
    """Write the file ``_pm`` of each Parquet partition of a table, with the bounds of its numbers and times."""
    table = open_table(folder)
    metadata = table.snapshot().metadata
    assert metadata.timestamp is not None
    for piece in table.pieces:
        size = piece.record.parquet_size
        if not piece.is_parquet or size is None:
            continue
        path = piece.folder / "data.parquet"
        file = pq.ParquetFile(pa.BufferReader(path.read_bytes()[:size]))
        indices = [int(each.metadata[b"PARQUET:field_id"]) for each in file.schema_arrow]
        codes = [metadata.type_codes[index] for index in indices]
        columns = list(zip(file.schema_arrow.names, indices, codes, strict=True))
        groups = [file.read_row_group(number) for number in range(file.num_row_groups)]
        described = [
            (rows.num_rows, [_bounds(values, code) for values, code in zip(rows.columns, codes, strict=True)])
            for rows in groups
        ]
        sidecar = SidecarFile(columns, indices.index(metadata.timestamp.writer_index)).version(size, described)
        path.with_name("_pm").write_bytes(sidecar.data)


def _bounds(values: pa.ChunkedArray, code: int) -> Pair:
    form = _FORMS.get(code & 0xFF)
    if form is None or values.null_count == len(values):
        return None
    plain = values.cast(pa.int64()) if pa.types.is_timestamp(values.type) else values
    found = pc.min_max(plain)
    return struct.pack(form, found["min"].as_py()), struct.pack(form, found["max"].as_py())
