"""Values of fixed width whose Arrow form is text: UUID, IPv4, LONG256, GEOHASH and CHAR. Rules: [QDB-TY]."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

__all__ = ["Bytes", "Valid", "char_text", "geohash_text", "ipv4_text", "long256_text", "split_lengths", "utf16_text",
           "uuid_text", "validity"]  # fmt: skip

Bytes = npt.NDArray[np.uint8]
#: A truth value for each row.
Valid = npt.NDArray[np.bool_]

_HEX = np.frombuffer(b"0123456789abcdef", np.uint8)
_GEOHASH = np.frombuffer(b"0123456789bcdefghjkmnpqrstuvwxyz", np.uint8)
_DASHES = (8, 13, 18, 23)
_OCTETS = np.frombuffer(b"".join(str(octet).encode().ljust(3, b"\0") + b"." for octet in range(256)), np.uint8)
_REPLACEMENT = 0xFFFD


def validity(valid: Valid) -> pa.Buffer | None:
    """Return the bitmap of an Arrow array, or None if all rows are valid."""
    return None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))


def uuid_text(values: Bytes, valid: Valid) -> pa.Array:
    """Return the canonical text of UUIDs, whose 16 bytes are in reverse order."""
    digits = np.full((len(values), 36), ord("-"), np.uint8)
    digits[:, [place for place in range(36) if place not in _DASHES]] = _hex(values[:, ::-1])
    return _text(digits, valid)


def long256_text(values: Bytes, valid: Valid) -> pa.Array:
    """Return ``0x`` and the hexadecimal digits of numbers of 32 bytes, without leading bytes of zero."""
    digits = np.empty((len(values), 66), np.uint8)
    digits[:, 0], digits[:, 1] = ord("0"), ord("x")
    big_endian = values[:, ::-1]
    digits[:, 2:] = _hex(big_endian)
    shown = np.ones((len(values), 66), np.bool_)
    started = np.logical_or.accumulate(big_endian != 0, axis=1)
    started[:, -1] = True  # the number 0 has one byte
    shown[:, 2:] = np.repeat(started, 2, axis=1)
    return _masked_text(digits, shown, valid)


def ipv4_text(values: npt.NDArray[np.uint32], valid: Valid) -> pa.Array:
    """Return the dotted text of addresses."""
    octets = np.stack([(values >> shift & 0xFF).astype(np.uint8) for shift in (24, 16, 8, 0)], axis=1)
    digits = _OCTETS.reshape(256, 4)[octets].reshape(len(values), 16)[:, :-1]
    return _masked_text(digits, digits != 0, valid)


def geohash_text(values: npt.NDArray[np.int64], bits: int, valid: Valid) -> pa.Array:
    """Return the text of geohashes: characters of five bits if the precision is a multiple of five, or else bits."""
    step, alphabet = (5, _GEOHASH) if bits % 5 == 0 else (1, _HEX)
    shifts = np.arange(bits - step, -1, -step, dtype=np.int64)
    return _text(alphabet[values[:, None] >> shifts & (1 << step) - 1], valid)


def char_text(units: npt.NDArray[np.uint16], valid: Valid) -> pa.Array:
    """Return one-character text of UTF-16 units."""
    return utf16_text(units, np.ones(len(units), np.int64), valid)


def utf16_text(units: npt.NDArray[np.uint16], lengths: npt.NDArray[np.int64], valid: Valid) -> pa.Array:
    """Return text from the UTF-16 units of all rows, one row after the other, and the number of units of each row."""
    if not (units >= 0x80).any():
        return _array(units.astype(np.uint8), lengths, valid)
    firsts = np.zeros(len(units) + 1, np.bool_)
    ends = np.cumsum(lengths)
    firsts[ends - lengths] = True
    high, low = units & 0xFC00 == 0xD800, units & 0xFC00 == 0xDC00
    # the halves of a pair are in one row
    pairs = high[:-1] & low[1:] & ~firsts[1:-1]
    paired = np.zeros(len(units), np.bool_)
    paired[:-1] |= pairs
    paired[1:] |= pairs
    # UTF-8 has no form for a surrogate without its partner, which becomes U+FFFD [QDB-TY-4]
    units = np.where((high | low) & ~paired, np.uint16(_REPLACEMENT), units)
    sizes = 1 + (units >= 0x80).astype(np.int64) + ((units >= 0x800) & ~paired)  # both halves of a pair take two bytes
    totals = np.concatenate([[0], np.cumsum(sizes)])
    encoded = units.astype("<u2").tobytes().decode("utf-16-le").encode()
    return _array(np.frombuffer(encoded, np.uint8), totals[ends] - totals[ends - lengths], valid)


def split_lengths(
    units: npt.NDArray[np.uint16], starts: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.uint16]]:
    """Return the lengths of 32 bits with which texts start, and the UTF-16 units without them."""
    lengths = units[starts].astype(np.int64) | units[starts + 1].astype(np.int64) << 16
    is_text = np.ones(len(units), np.bool_)
    is_text[starts] = is_text[starts + 1] = False
    return lengths.astype(np.int32), units[is_text]


def _hex(values: Bytes) -> Bytes:
    """Return two hexadecimal digits for each byte."""
    return np.stack([_HEX[values >> 4], _HEX[values & 15]], axis=2).reshape(len(values), -1)


def _text(characters: Bytes, valid: Valid) -> pa.Array:
    rows, width = characters.shape
    return _array(characters, np.full(rows, width, np.int64), valid)


def _masked_text(characters: Bytes, shown: Valid, valid: Valid) -> pa.Array:
    return _array(characters[shown], shown.sum(axis=1, dtype=np.int64), valid)


def _array(characters: Bytes, lengths: npt.NDArray[np.int64], valid: Valid) -> pa.Array:
    """Return text whose bytes lie one row after the other."""
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    buffers = [validity(valid), pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(characters))]
    return pa.Array.from_buffers(pa.utf8(), len(lengths), buffers)
