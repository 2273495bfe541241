"""Parts of metadata files that are small enough for one Spark task, and the metadata tables in their bytes."""

from __future__ import annotations

import io
import struct
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.parquet as pq

from xskip.errors import MetadataCorruptError
from xskip.metadata.table import MetadataTable, Requirement
from xskip.metadatastore.codec import READING, MetadataFile, columns_of, decode, leaf_paths, part_of
from xskip.metadatastore.digests import tail_digest
from xskip.metadatastore.schema import leaves_under

__all__ = ["Part", "parts_of"]

#: The approximate maximum number of rows and bytes in a part.
_ROWS = 50_000
_BYTES = 32 << 20
#: The maximum gap in bytes between two ranges that are merged into one range.
_GAP = 1 << 18
_END = 8  # the bytes of the footer's length and of the magic number
_SIZE = struct.Struct("<q")


@dataclass(frozen=True, slots=True)
class Part:
    """A selection of row groups of one metadata file."""

    #: The position of the file in the snapshot.
    file: int
    #: The positions of the row groups in the file.
    groups: tuple[int, ...]
    #: For each row group, the ordinals of its data files in the snapshot: the first, and the last plus one.
    spans: tuple[tuple[int, int], ...]
    #: The number of bytes from the start of the footer to the end of the file.
    tail: int
    #: The byte ranges of the requested columns in the file: start and length, in order.
    ranges: tuple[tuple[int, int], ...]
    #: The digest of the footer; empty if the commit record contains none.
    digest: str = ""

    @property
    def ordinals(self) -> npt.NDArray[np.int64]:
        """Return the ordinals of the part's data files in the snapshot, in row order."""
        return np.concatenate([np.arange(*span) for span in self.spans])

    @property
    def layout(self) -> list[int]:
        """Return the part as numbers for the JVM, in the layout that ``io.xskip.files.RangeReader`` reads."""
        return [self.file, self.tail, len(self.ranges), *(number for each in self.ranges for number in each)]

    def table(self, data: bytes, wanted: Iterable[Requirement], *, has_names: bool) -> MetadataTable:
        """Decode the metadata table of the part from the bytes that the JVM read.

        These are the size of the file as little-endian int64, the footer, then the ranges. ``wanted`` and ``has_names``
        must be those for which the ranges were selected. MetadataCorruptError means that the footer does not match its
        digest, or that the rows cannot be read.
        """
        (size,) = _SIZE.unpack_from(data)
        at = _SIZE.size + self.tail
        tail = data[_SIZE.size : at]
        if self.digest and tail_digest(tail) != self.digest:
            raise MetadataCorruptError("a metadata file differs from its commit record", where=f"file {self.file}")
        footer = pq.read_metadata(pa.BufferReader(b"PAR1" + tail))
        pieces = [(size - self.tail, tail)]
        for start, length in self.ranges:
            pieces.append((start, data[at : at + length]))
            at += length
        reader = pq.ParquetFile(
            pa.PythonFile(_Pieces(size, pieces), mode="r"),
            metadata=footer,
            pre_buffer=False,
            **READING,
        )
        file = part_of(reader, Path(f"metadata file {self.file}"), self.groups, has_names=has_names)
        return decode(file, wanted)


class _Pieces(io.RawIOBase):
    """A file of which only some byte ranges are available; a read of other bytes raises an error."""

    def __init__(self, size: int, pieces: Sequence[tuple[int, bytes]]) -> None:
        self._size = size
        self._pieces = pieces
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        self._at = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        return self._at

    def read(self, size: int = -1) -> bytes:
        end = self._size if size < 0 else min(self._at + size, self._size)
        for start, data in self._pieces:
            if start <= self._at and end <= start + len(data):
                found = data[self._at - start : end - start]
                self._at = end
                return found
        raise OSError(f"bytes {self._at} to {end} of a metadata file belong to no requested column")


def parts_of(
    files: Sequence[MetadataFile], kept: Iterable[tuple[int, int]], wanted: set[Requirement], *, has_names: bool
) -> list[Part]:
    """Divide row groups into parts that one task can hold in memory.

    ``files`` are all metadata files of a snapshot. ``kept`` has, for each row group to read, the position of its file
    and its position in the file, in order.
    """
    groups: dict[int, list[int]] = {}
    for file, group in kept:
        groups.setdefault(file, []).append(group)
    firsts = np.cumsum([0, *(file.rows for file in files)]).tolist()
    parts = []
    for i, of_file in groups.items():
        footer, paths = files[i].footer, leaf_paths(files[i].footer)
        names = columns_of(files[i], wanted)
        leaves = set(leaves_under(names if has_names else names[1:], paths))
        columns = [c for c, path in enumerate(paths) if path in leaves]
        ends = np.cumsum([firsts[i], *(footer.row_group(g).num_rows for g in range(footer.num_row_groups))]).tolist()
        for some in _shared_out(footer, of_file, columns):
            spans = tuple((ends[group], ends[group + 1]) for group in some)
            ranges = tuple(_joined(_chunks(footer, some, columns)))
            # serialized_size counts neither the footer's length nor the magic number.
            parts.append(Part(i, tuple(some), spans, footer.serialized_size + _END, ranges, files[i].digest))
    return parts


def _shared_out(footer: pq.FileMetaData, groups: Sequence[int], columns: Sequence[int]) -> Iterator[list[int]]:
    some: list[int] = []
    rows = size = 0
    for group in groups:
        more = footer.row_group(group).num_rows
        bytes_more = sum(footer.row_group(group).column(c).total_uncompressed_size for c in columns)
        if some and (rows + more > _ROWS or size + bytes_more > _BYTES):
            yield some
            some, rows, size = [], 0, 0
        some.append(group)
        rows, size = rows + more, size + bytes_more
    if some:
        yield some


def _chunks(footer: pq.FileMetaData, groups: Sequence[int], columns: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Yield the start and the length in bytes of each requested column in each row group."""
    for group in groups:
        for c in columns:
            chunk = footer.row_group(group).column(c)
            # Like Arrow, which reads the range: a dictionary page comes before the data pages, and an offset of 0 is
            # none.
            starts = [chunk.data_page_offset]
            if chunk.has_dictionary_page and chunk.dictionary_page_offset > 0:
                starts.append(chunk.dictionary_page_offset)
            yield min(starts), chunk.total_compressed_size


def _joined(ranges: Iterable[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield the byte ranges, with near neighbours and the gaps between them merged into one range.

    >>> list(_joined([(4, 6), (10, 5), (1_000_000, 7)]))
    [(4, 11), (1000000, 7)]
    """
    ordered = sorted(ranges)
    if not ordered:
        return
    begin, end = ordered[0][0], sum(ordered[0])
    for _, (start, length) in pairwise(ordered):
        if start - end > _GAP:
            yield begin, end - begin
            begin = start
        end = max(end, start + length)
    yield begin, end - begin
