"""Numbers of data files, which xskip stores in footer entries of each metadata file: sizes, rows and NULLs.

Rules: [MDS-O-4], [MDS-O-5] and [MDS-O-6].
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Collection

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from xskip.errors import MetadataCorruptError
from xskip.metadata.file_counts import FileCounts

__all__ = ["COUNTS", "SIZES", "pack_counts", "pack_numbers", "unpack_counts", "unpack_sizes"]

#: The keys of the footer entries.
SIZES, COUNTS = b"io.xskip.object.sizes", b"io.xskip.object.counts"


def pack_numbers(numbers: pa.Array) -> bytes:
    """Encode numbers of data files, which are not negative and null if unknown, as text.

    The numbers are little-endian int64, -1 for an unknown number, compressed by zlib and encoded in base 64.

    >>> np.frombuffer(zlib.decompress(base64.b64decode(pack_numbers(pa.array([100, None])))), "<i8").tolist()
    [100, -1]
    """
    values = numbers.fill_null(-1).to_numpy(zero_copy_only=False).astype("<i8")
    return base64.b64encode(zlib.compress(values.tobytes()))


def _unpacked(packed: bytes | str, rows: int) -> pa.Array:
    """Decode numbers; ValueError or zlib.error means that they cannot be decoded."""
    # One byte more than the rows need reveals an entry that is too long, without inflating all of it.
    inflater = zlib.decompressobj()
    inflated = inflater.decompress(base64.b64decode(packed, validate=True), 8 * rows + 1)
    if len(inflated) <= 8 * rows and (not inflater.eof or inflater.unused_data):
        raise ValueError("the compressed data ends too early or too late")
    numbers = np.frombuffer(inflated, "<i8")
    return pa.array(numbers, pa.int64(), mask=numbers < 0)


def unpack_sizes(footer: pq.FileMetaData, where: str) -> pa.Array:
    """Decode the sizes of data files, one for each row of a metadata file and null if unknown.

    MetadataCorruptError means that the entry cannot be decoded, or that it has another number of sizes than the file
    has rows.
    """
    rows, packed = footer.num_rows, (footer.metadata or {}).get(SIZES)
    if packed is None:
        return pa.nulls(rows, pa.int64())
    try:
        numbers = _unpacked(packed, rows)
    except (ValueError, zlib.error) as error:
        raise MetadataCorruptError("cannot decode the file sizes in the metadata file", where=where) from error
    if len(numbers) != rows:
        raise MetadataCorruptError(
            "the number of file sizes differs from the number of rows",
            where=where,
            found=str(len(numbers)),
            expected=str(rows),
        )
    return numbers


def pack_counts(counts: FileCounts) -> bytes:
    """Encode the counts of data files as a JSON object; a column of which nothing is known is left out.

    >>> json.loads(pack_counts(FileCounts(pa.array([3]), {"a": pa.array([None], pa.int64())})))
    {'rows': 'eJxjZoAAAAAgAAQ=', 'nulls': {}}
    """
    nulls = {name: pack_numbers(v).decode() for name, v in counts.nulls.items() if v.null_count < len(v)}
    return json.dumps({"rows": pack_numbers(counts.rows).decode(), "nulls": nulls}).encode()


def unpack_counts(footer: pq.FileMetaData, columns: Collection[str], limit: int) -> FileCounts | None:
    """Decode the counts of data files, one for each row of a metadata file and null if unknown.

    Only the NULLs of the given columns are decoded. None means that nothing is known: without the entry, and if it is
    damaged or decodes to more than ``limit`` bytes.
    """
    rows, packed = footer.num_rows, (footer.metadata or {}).get(COUNTS)
    if packed is None or 8 * rows * (1 + len(columns)) > limit:
        return None
    try:
        entry = json.loads(packed)
        nulls = {name: _unpacked(text, rows) for name, text in entry["nulls"].items() if name in columns}
        counts = FileCounts(_unpacked(entry["rows"], rows), nulls)
    except _DAMAGED:
        return None
    is_whole = all(len(each) == rows for each in (counts.rows, *nulls.values()))
    return counts.plausible() if is_whole else None


_DAMAGED = (ValueError, TypeError, AttributeError, LookupError, RecursionError, zlib.error)
