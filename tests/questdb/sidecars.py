"""Metadata files of Parquet partitions, by their public specification: no server that the tests can run writes them."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass, field

_SMALL = 8
_DESIGNATED = 1 << 17
#: The physical types of Parquet by the tag of the type code; others are texts or bytes.
_PHYSICAL = {1: 0, 2: 1, 3: 1, 4: 1, 5: 1, 6: 2, 7: 2, 8: 2, 9: 4, 10: 5, 25: 1}
_BYTES = 6


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
        self, parquet_size: int, groups: list[tuple[int, list[tuple[bytes, bytes] | None]]], *, features: int = 0
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

    def _group(self, rows: int, bounds: list[tuple[bytes, bytes] | None]) -> int:
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
