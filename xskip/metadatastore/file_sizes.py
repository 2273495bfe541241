"""The sizes of data files, which xskip stores in a footer entry of each metadata file."""

from __future__ import annotations

import base64
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from xskip.errors import MetadataCorruptError

__all__ = ["SIZES", "pack_sizes", "unpack_sizes"]

#: The key of the footer entry.
SIZES = b"io.xskip.object.sizes"


def pack_sizes(sizes: pa.Array) -> bytes:
    """Encode the sizes of data files, in bytes and null if unknown, as the content of the footer entry.

    The numbers are little-endian int64, -1 for an unknown size, compressed by zlib and encoded in base 64.

    >>> np.frombuffer(zlib.decompress(base64.b64decode(pack_sizes(pa.array([100, None])))), "<i8").tolist()
    [100, -1]
    """
    numbers = sizes.fill_null(-1).to_numpy(zero_copy_only=False).astype("<i8")
    return base64.b64encode(zlib.compress(numbers.tobytes()))


def unpack_sizes(footer: pq.FileMetaData, where: str) -> pa.Array:
    """Decode the sizes of data files, one for each row of a metadata file and null if unknown.

    MetadataCorruptError means that the entry cannot be decoded, or that it has another number of sizes than the file
    has rows.
    """
    rows, packed = footer.num_rows, (footer.metadata or {}).get(SIZES)
    if packed is None:
        return pa.nulls(rows, pa.int64())
    try:
        # One byte more than the rows need reveals an entry that is too long, without inflating all of it.
        inflater = zlib.decompressobj()
        inflated = inflater.decompress(base64.b64decode(packed, validate=True), 8 * rows + 1)
        if len(inflated) <= 8 * rows and (not inflater.eof or inflater.unused_data):
            raise ValueError("the compressed data ends too early or too late")
        numbers = np.frombuffer(inflated, "<i8")
    except (ValueError, zlib.error) as error:
        raise MetadataCorruptError("cannot decode the file sizes in the metadata file", where=where) from error
    if len(numbers) != rows:
        raise MetadataCorruptError(
            "the number of file sizes differs from the number of rows",
            where=where,
            found=str(len(numbers)),
            expected=str(rows),
        )
    return pa.array(numbers, pa.int64(), mask=numbers < 0)
