"""Digests that vouch for metadata: of each file's footer in the record, and of the record in itself.

Pages of a file carry checksums of their own, footers and records do not. Rules: specs/metadatastore.rst, [MDS-D].
"""

from __future__ import annotations

import os
import re
import zlib
from pathlib import Path

from xskip.errors import MetadataCorruptError

__all__ = ["footer_digest", "sealed", "tail_digest", "unsealed"]

_END = 8  # the footer's length and the magic
_SEAL = re.compile(rb',\n "checksum": "([0-9a-f]{8})"\n}\Z')


def tail_digest(tail: bytes) -> str:
    """Return the digest of a Parquet footer with its length and the magic.

    >>> tail_digest(b"PAR1")
    '424208a5'
    """
    return f"{zlib.crc32(tail):08x}"


def footer_digest(path: Path) -> str:
    """Return the digest of the footer of a Parquet file, with its length and the magic.

    Raises
    ------
    MetadataCorruptError
        The file is shorter than its footer.
    """
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _END, 0))
        length = int.from_bytes(file.read(_END)[:4], "little") + _END
        if not _END < length <= size:
            raise MetadataCorruptError("a metadata file is not whole", where=str(path), found=f"{size} bytes")
        file.seek(size - length)
        return tail_digest(file.read())


def sealed(text: bytes) -> bytes:
    r"""Return the JSON of an object with its digest as the last entry.

    >>> sealed(b'{\n "a": 1\n}')
    b'{\n "a": 1,\n "checksum": "45f095c3"\n}'
    """
    return text.removesuffix(b"\n}") + b',\n "checksum": "%s"\n}' % tail_digest(text).encode()


def unsealed(data: bytes) -> bytes:
    """Return the JSON that :func:`sealed` was given; what has no digest comes back as it is.

    Raises
    ------
    MetadataCorruptError
        The digest is of other bytes.
    """
    found = _SEAL.search(data)
    if found is None:
        return data
    text = data[: found.start()] + b"\n}"
    if tail_digest(text).encode() != found[1]:
        raise MetadataCorruptError("a commit record is not as it was written", expected=f"checksum {found[1].decode()}")
    return text
