"""Avro container files: the header, and the blocks in ranges of a file. Source: the specification of Avro.

.. code-block:: text

    header   magic, metadata, marker
    block    number of rows, number of bytes, rows, marker

A block belongs to the range in which the marker before it begins [MDS-PT-2].
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from io import BytesIO
from typing import BinaryIO

from xskip.errors import DatasetError

__all__ = ["blocks_in", "empty_file", "header_entries", "header_size"]

_MAGIC = b"Obj\x01"
#: No header is longer; most have some hundred bytes.
_MAX_HEADER = 1 << 20
_MARKER = 16
_CHUNK = 1 << 16


def header_entries(data: BinaryIO) -> Mapping[str, bytes]:
    """Return the metadata of a header, and read up to the marker.

    Another file raises a DatasetError, and a damaged header a ValueError, LookupError or TypeError.
    """
    if data.read(len(_MAGIC)) != _MAGIC:
        raise DatasetError("the file is no Avro file")
    found = {}
    # blocks of pairs, of which the last has no pairs
    while count := _long(data):
        if count < 0:  # then the size of the block follows
            _long(data)
        for _ in range(abs(count)):
            key = data.read(_long(data)).decode()
            found[key] = data.read(_long(data))
    return found


def header_size(data: bytes) -> int:
    """Return the number of bytes of the header with which a file begins; a file of that size has no rows.

    The errors are those of :func:`header_entries`.
    """
    beginning = BytesIO(data)
    header_entries(beginning)
    end = beginning.tell() + _MARKER
    if len(data) < end:
        raise ValueError("the header of the Avro file is incomplete")
    return end


def empty_file(header: bytes) -> bytes:
    """Return a file without rows and without a codec, with the schema of a header."""
    entry = ("avro.schema", header_entries(BytesIO(header))["avro.schema"])
    texts = b"".join(_packed(len(each)) + each for each in (entry[0].encode(), entry[1]))
    return _MAGIC + _packed(1) + texts + _packed(0) + bytes(_MARKER)


def blocks_in(read: Callable[[int, int], bytes], size: int, ranges: Iterable[tuple[int, int]]) -> bytes:
    """Return an Avro file with only the blocks that belong to some ranges of a file.

    ``read`` returns a number of bytes of the file from a position on, or fewer at its end. ``ranges`` are starts and
    lengths in bytes, in order. The errors are those of :func:`header_entries`.
    """
    head = read(0, min(size, _MAX_HEADER))
    end = header_size(head)
    marker = head[end - _MARKER : end]
    pieces = [head[:end]]
    for start, length in ranges:
        first, last = (_after_marker(read, size, marker, each) for each in (start, start + length))
        if first < last:
            pieces.append(read(first, last - first))
    return b"".join(pieces)


def _after_marker(read: Callable[[int, int], bytes], size: int, marker: bytes, position: int) -> int:
    """Return the end of the first marker that begins at a position or after it; the size of the file without one."""
    rest = b""
    while position < size:
        chunk = read(position, min(_CHUNK, size - position))
        if not chunk:
            break
        found = (rest + chunk).find(marker)
        if found >= 0:
            return position - len(rest) + found + _MARKER
        position += len(chunk)
        rest = (rest + chunk)[-(_MARKER - 1) :]
    return size


def _packed(number: int) -> bytes:
    """Return a number in the form of :func:`_long`; it is not negative."""
    rest, found = number << 1, bytearray()
    while rest > 0x7F:
        found.append(rest & 0x7F | 0x80)
        rest >>= 7
    return bytes([*found, rest])


def _long(data: BinaryIO) -> int:
    """Return a number of Avro: seven bits a byte, the lowest first, with the sign in the lowest bit."""
    number = shift = 0
    while True:
        byte = data.read(1)[0]
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return (number >> 1) ^ -(number & 1)
