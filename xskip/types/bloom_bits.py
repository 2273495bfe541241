"""Spark's Bloom filter: its hash functions, its bits and its serialized form.

Source: ``org.apache.spark.util.sketch.BloomFilterImpl``, version 1 [PRU-BF-3].
"""

from __future__ import annotations

import math
import struct

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from xskip.errors import MetadataCorruptError

__all__ = [
    "V1",
    "HashPair",
    "build",
    "check_bytes",
    "hash_bytes",
    "hash_long",
    "hash_value",
    "might_contain",
    "size_for",
]

V1 = 1
#: Two 32-bit hashes of one value, as signed integers.
HashPair = tuple[int, int]

_M32 = 0xFFFFFFFF
_HEADER = struct.Struct(">iii")  # version, number of hash functions, number of 64-bit words
_MAX_WORDS = 1 << 26  # 512 MiB
_PROBES = 1 << 16  # pairs of a value and a filter in one step
_MAX_HASHES = 1024  # far more than any useful false positive rate needs


def _mix_k(k: int) -> int:
    k = k * 0xCC9E2D51 & _M32
    k = (k << 15 | k >> 17) & _M32
    return k * 0x1B873593 & _M32


def _mix_h(h: int, k: int) -> int:
    h ^= _mix_k(k)
    h = (h << 13 | h >> 19) & _M32
    return (h * 5 + 0xE6546B64) & _M32


def _finish(h: int, length: int) -> int:
    h ^= length
    h ^= h >> 16
    h = h * 0x85EBCA6B & _M32
    h ^= h >> 13
    h = h * 0xC2B2AE35 & _M32
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


def _murmur_long(value: int, seed: int) -> int:
    h = _mix_h(seed & _M32, value & _M32)
    return _finish(_mix_h(h, value >> 32 & _M32), 8)


def _murmur_bytes(data: bytes, seed: int) -> int:
    h = seed & _M32
    whole = len(data) & ~3
    for (word,) in struct.iter_unpack("<I", data[:whole]):
        h = _mix_h(h, word)
    # Murmur3_x86_32.hashUnsafeBytes sign-extends and mixes each byte of the tail, unlike the published Murmur3
    for (byte,) in struct.iter_unpack("b", data[whole:]):
        h = _mix_h(h, byte & _M32)
    return _finish(h, len(data))


def hash_long(value: int) -> HashPair:
    """Return the hashes of an integer; Spark hashes every integral type as a long."""
    h1 = _murmur_long(value, 0)
    return h1, _murmur_long(value, h1)


def hash_bytes(value: bytes) -> HashPair:
    """Return the hashes of a binary value, or of the UTF-8 bytes of a string."""
    h1 = _murmur_bytes(value, 0)
    return h1, _murmur_bytes(value, h1)


def hash_value(value: object) -> HashPair:
    """Return the hashes of bytes or of an integer; others raise a TypeError."""
    match value:
        case bytes():
            return hash_bytes(value)
        case int() if not isinstance(value, bool):
            return hash_long(value)
        case _:
            raise TypeError(f"Bloom filters do not support values of the type {type(value).__name__}")


def size_for(items: int, fpp: float) -> tuple[int, int]:
    """Return Spark's numbers of hash functions and of 64-bit words for a filter of ``items`` distinct values."""
    items = max(items, 1)
    # m = -n * ln p / (ln 2)^2 bits and k = m / n * ln 2 functions give the rate p with the fewest bits
    bits = int(-items * math.log(fpp) / (math.log(2) * math.log(2)))
    # floor(x + 0.5) is Java's Math.round
    hashes = max(1, math.floor(bits / items * math.log(2) + 0.5))
    return hashes, max(1, -(-bits // 64))


def _positions(h1: npt.NDArray[np.int32], h2: npt.NDArray[np.int32], i: int) -> npt.NDArray[np.int64]:
    """Return the position that the i-th hash function selects, before the modulus."""
    with np.errstate(over="ignore"):
        # Java's int arithmetic wraps around, and a negative sum stands for its complement
        combined = h1 + np.int32(i) * h2
    positions: npt.NDArray[np.int64] = np.where(combined < 0, ~combined, combined).astype(np.int64)
    return positions


def build(pairs: npt.NDArray[np.int64], hashes: int, words: int) -> bytes:
    """Build a filter in the serialized form of ``BloomFilter.writeTo``, version 1.

    ``pairs`` holds the hashes of the values: the first hash in the upper 32 bits, the second one in the lower 32 bits.
    :func:`size_for` gives ``hashes`` and ``words``.
    """
    combined, step = (pairs >> 32).astype(np.int32), pairs.astype(np.int32)
    bits = np.zeros(words * 64, np.bool_)
    size = np.uint32(min(bits.size, 1 << 31))  # positions are below 2**31 in filters of any size
    with np.errstate(over="ignore"):
        for _ in range(hashes):
            combined += step
            positions = (combined ^ (combined >> 31)).view(np.uint32)  # the complement of a negative sum
            positions -= positions // size * size  # division by a scalar is faster than %
            bits[positions] = True
    longs = np.packbits(bits, bitorder="little").view("<u8").astype(">u8")
    return _HEADER.pack(V1, hashes, words) + longs.tobytes()


def might_contain(filters: pa.Array, values: list[HashPair], among: npt.NDArray[np.bool_]) -> pa.BooleanArray:
    """Return whether each serialized filter may contain a value of the list; false means that it certainly has none.

    Null where ``among`` is False, and where the filter is null, damaged or of another version [PRU-BF-2].
    """
    rows = np.flatnonzero(among & filters.is_valid().to_numpy(zero_copy_only=False))
    # -1 is unknown
    verdicts = np.full(len(filters), -1, np.int8)
    if rows.size:
        _, offset_buffer, data_buffer = filters.buffers()
        offsets = np.frombuffer(offset_buffer, np.int32)[filters.offset :][: len(filters) + 1].astype(np.int64)
        data = np.frombuffer(data_buffer, np.uint8)
        _probe(data, offsets, rows, values, verdicts)
    return pa.array(verdicts == 1, mask=verdicts < 0)


def _probe(
    data: npt.NDArray[np.uint8],
    offsets: npt.NDArray[np.int64],
    rows: npt.NDArray[np.intp],
    values: list[HashPair],
    verdicts: npt.NDArray[np.int8],
) -> None:
    """Fill ``verdicts`` for ``rows``, with filters of the same number of hash functions in one call."""
    length = offsets[rows + 1] - offsets[rows]
    rows = rows[length >= _HEADER.size]
    header = data[offsets[rows][:, None] + np.arange(_HEADER.size)]
    version, hashes, words = (np.ascontiguousarray(header[:, i : i + 4]).view(">i4")[:, 0] for i in (0, 4, 8))
    whole = offsets[rows + 1] - offsets[rows] == _HEADER.size + 8 * words.astype(np.int64)
    sound = (version == V1) & (hashes > 0) & (hashes <= _MAX_HASHES) & (words > 0) & whole
    pairs = np.array(values, np.int32).reshape(-1, 2)
    for count in np.unique(hashes[sound]):
        chosen = np.flatnonzero(sound & (hashes == count))
        sizes = words[chosen].astype(np.int64) * 64
        starts = offsets[rows[chosen]] + _HEADER.size
        verdicts[rows[chosen]] = _find(data, np.stack((starts, sizes)), pairs, int(count))


def _find(
    data: npt.NDArray[np.uint8], places: npt.NDArray[np.int64], pairs: npt.NDArray[np.int32], count: int
) -> npt.NDArray[np.bool_]:
    """Return which filters may contain at least one value; all filters have ``count`` hash functions.

    ``places`` holds the position of the first byte of each filter, and the number of bits of each filter.
    """
    found = np.zeros(places.shape[1], np.bool_)
    left = np.arange(found.size)
    done = 0
    while left.size and done < len(pairs):
        # blocks of values keep the number of steps low for many values in few filters
        block = pairs[done : done + max(1, _PROBES // left.size)]
        done += len(block)
        value, filter_ = np.repeat(np.arange(len(block)), left.size), np.tile(left, len(block))
        for i in range(1, count + 1):
            start, size = places[:, filter_]
            bit = _positions(block[value, 0], block[value, 1], i) % size
            # bit b of the filter is bit b%64 of a big-endian long, so its byte counts from the end of that long
            byte = data[start + bit // 64 * 8 + (7 - bit % 64 // 8)]
            hit = (byte >> (bit % 8).astype(np.uint8) & 1).astype(np.bool_)
            # a missing bit proves that the filter lacks the value: no further test of this pair
            value, filter_ = value[hit], filter_[hit]
        found[filter_] = True
        # one match decides a filter: no further test of it
        left = left[~found[left]]
    return found


def check_bytes(raw: bytes) -> bytes:
    """Return the bytes of a filter, or raise MetadataCorruptError if the header contradicts itself or the length.

    The function does not check filters of other versions than 1.
    """
    if len(raw) < _HEADER.size:
        raise MetadataCorruptError("the Bloom filter has no header", found=f"{len(raw)} bytes")
    version, hashes, words = _HEADER.unpack_from(raw)
    if version != V1:  # later versions have another header; xskip copies these filters and never probes them
        return raw
    if not 0 < hashes <= _MAX_HASHES or not 0 < words <= _MAX_WORDS or len(raw) != _HEADER.size + 8 * words:
        raise MetadataCorruptError(
            "the header of the Bloom filter is invalid or contradicts its length", found=f"{len(raw)} bytes"
        )
    return raw
