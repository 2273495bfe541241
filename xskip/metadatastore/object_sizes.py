"""The sizes of objects, which a metadata file of ours keeps in a footer entry of its own."""

from __future__ import annotations

import base64
import zlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from xskip.errors import MetadataCorruptError

__all__ = ["SIZES", "pack_sizes", "unpack_sizes"]

#: The footer entry.
SIZES = b"io.xskip.object.sizes"


def pack_sizes(sizes: pa.Array) -> bytes:
    """What the entry holds: the sizes as little-endian int64, -1 where one is not known, compressed.

    >>> np.frombuffer(zlib.decompress(base64.b64decode(pack_sizes(pa.array([100, None])))), "<i8").tolist()
    [100, -1]
    """
    numbers = sizes.fill_null(-1).to_numpy(zero_copy_only=False).astype("<i8")
    return base64.b64encode(zlib.compress(numbers.tobytes()))


def unpack_sizes(footer: pq.FileMetaData, where: str) -> pa.Array:
    """The sizes of all rows of a file, null where nobody recorded them.

    Raises
    ------
    MetadataCorruptError
        The entry cannot be read, or is of another number of rows.
    """
    rows, packed = footer.num_rows, (footer.metadata or {}).get(SIZES)
    if packed is None:
        return pa.nulls(rows, pa.int64())
    try:
        inflated = zlib.decompressobj().decompress(base64.b64decode(packed), 8 * rows + 1)
        numbers = np.frombuffer(inflated, "<i8")
    except (ValueError, zlib.error) as error:
        raise MetadataCorruptError("object sizes that cannot be read", where=where) from error
    if len(numbers) != rows:
        raise MetadataCorruptError(
            "another number of sizes than of rows", where=where, found=str(len(numbers)), expected=str(rows)
        )
    return pa.array(numbers, pa.int64(), mask=numbers < 0)
