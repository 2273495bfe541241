"""The binary format in which Python and Spark exchange values: see ``io.xskip.catalyst.PackedValues``."""

from __future__ import annotations

import base64
from decimal import Decimal
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.expressions.operands import Evaluated
from xskip.types.datatypes import arrow_type
from xskip.types.masks import Mask
from xskip.types.sort_keys import sort_key

__all__ = ["Packed", "numbers_in", "pack", "parted", "unpack"]


class Packed(NamedTuple):
    """Values of a single type, packed into three byte strings."""

    #: A byte per value: 0 for a value, 1 for NULL, 2 for a value that Spark failed to compute.
    states: bytes
    #: A little-endian number of 64 bits per value: integers, times and booleans as int64, floats as doubles, and for
    #: strings, binary and decimals the length in bytes as int64.
    numbers: bytes
    #: The concatenated bytes of strings, binary values, and decimals as text.
    data: bytes


def numbers_in(text: str) -> npt.NDArray[np.int64]:
    """Decode the int64 numbers that the JVM sends in base64."""
    return np.frombuffer(base64.b64decode(text), "<i8")


def pack(values: pa.Array) -> Packed:
    """Pack values, which have the Arrow type of a Spark type, for Spark."""
    states = values.is_null().cast(pa.int8()).to_numpy(zero_copy_only=False).astype(np.uint8).tobytes()
    if pa.types.is_floating(values.type):
        return Packed(states, _numbers(values.cast(pa.float64()).fill_null(0.0), "<f8"), b"")
    texts = values.cast(pa.string()).cast(pa.binary()) if pa.types.is_decimal(values.type) else sort_key(values)
    if pa.types.is_binary(texts.type):
        texts = pc.fill_null(texts, b"")
        return Packed(states, _numbers(pc.binary_length(texts), "<i8"), b"".join(texts.to_pylist()))
    return Packed(states, _numbers(texts.cast(pa.int64()).fill_null(0), "<i8"), b"")


def unpack(kind: str, packed: Packed) -> Evaluated:
    """Unpack values of a Spark type; a value that Spark failed to compute is null and marked as failed."""
    states, numbers, data = packed
    state = np.frombuffer(states, np.uint8)
    target = arrow_type(kind)
    if _has_bytes(target):
        return Evaluated(_of_bytes(target, np.frombuffer(numbers, "<i8"), data, state != 0), state == 2)
    return Evaluated(_of_numbers(target, numbers, state != 0), state == 2)


def parted(packed: Packed, kinds: list[str], counts: list[int]) -> list[Packed]:
    """Split concatenated results into those of each expression, by its Spark type and its number of values."""
    found, at, start = [], 0, 0
    for kind, count in zip(kinds, counts, strict=True):
        states, numbers = packed.states[at : at + count], packed.numbers[8 * at : 8 * (at + count)]
        size = 0
        if _has_bytes(arrow_type(kind)):
            valid = np.frombuffer(states, np.uint8) == 0
            size = int(np.frombuffer(numbers, "<i8")[valid].sum())
        found.append(Packed(states, numbers, packed.data[start : start + size]))
        at, start = at + count, start + size
    return found


def _numbers(values: pa.Array, form: str) -> bytes:
    return bytes(values.to_numpy(zero_copy_only=False).astype(form).tobytes())


def _has_bytes(kind: pa.DataType) -> bool:
    return any(test(kind) for test in (pa.types.is_string, pa.types.is_binary, pa.types.is_decimal))


def _of_bytes(target: pa.DataType, lengths: npt.NDArray[np.int64], data: bytes, missing: Mask) -> pa.Array:
    """Build an array of strings, binary values or decimals from their concatenated bytes."""
    ends = np.cumsum(np.where(missing, 0, lengths))
    starts = np.concatenate(([0], ends[:-1])) if len(ends) else ends
    texts = [None if gone else data[s:e] for gone, s, e in zip(missing, starts, ends, strict=True)]
    if pa.types.is_decimal(target):
        return pa.array([None if text is None else Decimal(text.decode()) for text in texts], target)
    raw = pa.array(texts, pa.binary())
    # Bytes of a string that are not UTF-8 stay unchanged, because strings are compared as bytes.
    return pa.Array.from_buffers(target, len(raw), raw.buffers(), raw.null_count)


def _of_numbers(target: pa.DataType, numbers: bytes, missing: Mask) -> pa.Array:
    if pa.types.is_floating(target):
        return pa.array(np.frombuffer(numbers, "<f8"), pa.float64(), mask=missing).cast(target)
    found = pa.array(np.frombuffer(numbers, "<i8"), pa.int64(), mask=missing)
    if pa.types.is_boolean(target):
        return pc.not_equal(found, 0)
    return (found.cast(pa.int32()) if pa.types.is_date32(target) else found).cast(target)
