"""Digests that detect damage in the footers of metadata files and in commit records. Rules: [MDS-D].

Parquet pages have checksums, but footers and commit records do not.
"""

from __future__ import annotations

import os
import re
import zlib
from pathlib import Path

from xskip.errors import MetadataCorruptError

__all__ = ["RESTORE_HINT", "footer_digest", "sealed", "tail_digest", "unsealed"]

#: What to do with a damaged metadata file.
RESTORE_HINT = "restore the file, or drop the index and create it again"
_END = 8  # the bytes of the footer's length and of the magic number
_SEAL = re.compile(rb',\n "checksum": "([0-9a-f]{8})"\n}\Z')


def tail_digest(tail: bytes) -> str:
    """Return the CRC-32, in hexadecimal digits, of a footer and the eight bytes after it, up to the end of the file.

    >>> tail_digest(b"PAR1")
    '424208a5'
    """
    return f"{zlib.crc32(tail):08x}"


def footer_digest(path: Path) -> str:
    """Return the :func:`tail_digest` of a local Parquet file.

    MetadataCorruptError means that the file is shorter than its footer.
    """
    with path.open("rb") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(max(size - _END, 0))
        length = int.from_bytes(file.read(_END)[:4], "little") + _END
        if not _END < length <= size:
            raise MetadataCorruptError(
                "the metadata file is damaged or incomplete", where=str(path), found=f"{size:,} bytes",
                expected="a Parquet file with its footer", hint=RESTORE_HINT,
            )  # fmt: skip
        file.seek(size - length)
        return tail_digest(file.read())


def sealed(text: bytes) -> bytes:
    r"""Append a checksum as the last entry of a JSON object, which ends with a newline and a brace.

    >>> sealed(b'{\n "a": 1\n}')
    b'{\n "a": 1,\n "checksum": "45f095c3"\n}'
    """
    return text.removesuffix(b"\n}") + b',\n "checksum": "%s"\n}' % tail_digest(text).encode()


def unsealed(data: bytes) -> bytes:
    """Remove the checksum that :func:`sealed` appended; without a checksum, return the data unchanged.

    MetadataCorruptError means that the checksum does not match the content.
    """
    found = _SEAL.search(data)
    if found is None:
        return data
    text = data[: found.start()] + b"\n}"
    if tail_digest(text).encode() != found[1]:
        raise MetadataCorruptError(
            "a commit record does not match its checksum", expected=f"checksum {found[1].decode()}"
        )
    return text
