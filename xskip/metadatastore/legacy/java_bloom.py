"""Bloom filters in Java's serialisation, which is their form in metadata files."""

from __future__ import annotations

import itertools

from xskip.errors import MetadataCorruptError
from xskip.metadatastore.legacy.java_stream import ClassSpec, JavaObject, StreamWriter, parse_stream
from xskip.types.bloom_bits import check_bytes

__all__ = ["NEW_PACKAGE", "OLD_PACKAGE", "unwrap", "wrap"]

#: The Java packages of the metadata classes, before and after the other program was renamed to Xskipper.
OLD_PACKAGE, NEW_PACKAGE = "com.ibm.metaindex.metadata.index.types", "io.xskipper.index.metadata"
#: For each package, the pairs of serial version UIDs that programs have written: of the parent class and of Spark's
#: class. xskip writes the first pair.
_WRAPPERS = {
    NEW_PACKAGE: (
        ("25e4f553292c5e68", "394d74921a9bcc14"),
        ("603f5d1b7b764446", "8303774076ceabf6"),
    ),
    OLD_PACKAGE: (
        ("f7b012bf742b86a4", "8303774076ceabf6"),
        ("aca70fab3015217f", "394d74921a9bcc14"),
    ),
}
_IMPLEMENTATION = "org.apache.spark.util.sketch.BloomFilterImpl"
_BLOCK, _BLOCK_LONG, _END = 0x77, 0x7A, b"\x78"
_BLOCK_SIZE = 1024


def _prefix(package: str, *uids: str) -> bytes:
    """Return the bytes of a stream before the bytes of the filter."""
    parent, implementation = (int.from_bytes(bytes.fromhex(uid), "big", signed=True) for uid in uids)
    wrapper, base = f"{package}.BloomFilterMetaData", f"{package}.MetadataType"
    fields = (("numHashFunctions", "I"), ("bits", "Lorg/apache/spark/util/sketch/BitArray;"))
    writer = StreamWriter(
        {
            wrapper: ClassSpec(1, (("bloomFilter", "Lorg/apache/spark/util/sketch/BloomFilter;"),), base),
            base: ClassSpec(parent),
            _IMPLEMENTATION: ClassSpec(implementation, fields, writes=True),
        }
    )
    writer.begin(wrapper)
    writer.begin(_IMPLEMENTATION)
    return bytes(writer.data)


_PREFIXES = {package: tuple(_prefix(package, *uids) for uids in known) for package, known in _WRAPPERS.items()}
_KNOWN = (_IMPLEMENTATION, *(f"{p}.{c}" for p in _WRAPPERS for c in ("BloomFilterMetaData", "MetadataType")))


def wrap(filter_bytes: bytes, package: str = NEW_PACKAGE) -> bytes:
    """Return the stream that holds a filter in a metadata file: ``BloomFilterMetaData`` around ``BloomFilterImpl``.

    ``filter_bytes`` is the filter as Spark writes it. Versions before 3 use the package :data:`OLD_PACKAGE`.
    """
    pieces = [_PREFIXES[package][0]]
    for at in range(0, len(filter_bytes), _BLOCK_SIZE):
        block = filter_bytes[at : at + _BLOCK_SIZE]
        if len(block) < 256:
            pieces.append(bytes((_BLOCK, len(block))))
        else:
            pieces.append(bytes((_BLOCK_LONG,)) + len(block).to_bytes(4, "big"))
        pieces.append(block)
    return b"".join((*pieces, _END))


def unwrap(stream: bytes) -> bytes:
    """Return the filter, as Spark writes it, in a result of :func:`wrap` or in a stream of another program.

    MetadataCorruptError means that the stream contains anything except the known classes, ends early, or has
    contradictory lengths.
    """
    # A stream with a prefix that programs are known to write needs no parser.
    for prefix in itertools.chain(*_PREFIXES.values()):
        if stream.startswith(prefix) and (blocks := _blocks(stream, len(prefix))) is not None:
            return check_bytes(blocks)
    match parse_stream(stream, _KNOWN, silent=(_IMPLEMENTATION,)):
        case JavaObject(_, {"bloomFilter": JavaObject(_, _, pieces)}) if all(isinstance(p, bytes) for p in pieces):
            return check_bytes(b"".join(piece for piece in pieces if isinstance(piece, bytes)))
        case _:
            raise MetadataCorruptError("the serialised object is not a Bloom filter", expected="BloomFilterMetaData")


def _blocks(stream: bytes, at: int) -> bytes | None:
    """Return the content of the blocks from ``at`` to the end of a stream; None if anything else follows."""
    pieces = []
    while at + 5 < len(stream) and stream[at] in (_BLOCK, _BLOCK_LONG):
        width = 1 if stream[at] == _BLOCK else 4
        start = at + 1 + width
        at = start + int.from_bytes(stream[at + 1 : start], "big")
        pieces.append(stream[start:at])
    return b"".join(pieces) if stream[at:] == _END else None
