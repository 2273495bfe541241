"""Columns whose values have a fixed width, from the bytes of a column file. Rules: [QDB-TY]."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from xskip.errors import TableDamagedError
from xskip.questdb_files.column_types import ColumnType, Kind
from xskip.questdb_files.text_values import (
    Valid,
    char_text,
    geohash_text,
    ipv4_text,
    long256_text,
    uuid_text,
    validity,
)

__all__ = ["absent", "fixed_values", "symbol_values"]

_NUMBERS = {
    Kind.BYTE: np.int8, Kind.SHORT: np.int16, Kind.INT: np.int32, Kind.LONG: np.int64, Kind.DATE: np.int64,
    Kind.TIMESTAMP: np.int64, Kind.FLOAT: np.float32, Kind.DOUBLE: np.float64,
}  # fmt: skip
_MIN = np.iinfo(np.int64).min
_SIGNED = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}


def absent(of: ColumnType, rows: int) -> pa.Array:
    """Return the values of rows for which a column has no files: null, or zero in a type without null [QDB-RD-4]."""
    if not of.nullable:
        zero = pa.scalar(False) if of.kind is Kind.BOOLEAN else pa.scalar(0, of.arrow)
        return pa.repeat(zero, rows)
    return pa.nulls(rows, of.arrow)


def fixed_values(of: ColumnType, data: pa.Buffer, rows: int) -> pa.Array:
    """Return the values in the bytes of a column file, for all types of fixed width but SYMBOL."""
    match of.kind:
        case Kind.BOOLEAN:
            bits = np.packbits(np.frombuffer(data, np.uint8) != 0, bitorder="little")
            return pa.Array.from_buffers(of.arrow, rows, [None, pa.py_buffer(bits)])
        case Kind.DECIMAL:
            return _decimals(of, data, rows)
        case Kind.CHAR | Kind.IPV4 | Kind.GEOHASH | Kind.UUID | Kind.LONG128 | Kind.LONG256:
            return _texts(of, data)
        case _:
            return _numbers(of, data, rows)


def symbol_values(data: pa.Buffer, dictionary: pa.Array, where: str) -> pa.Array:
    """Return the values of a SYMBOL column from its keys; an error names the file ``where``."""
    keys = np.frombuffer(data, np.int32)
    valid = keys >= 0
    greatest = int(keys.max()) if len(keys) else -1
    if greatest >= len(dictionary) or (keys[~valid] != np.iinfo(np.int32).min).any():
        raise TableDamagedError(
            "a SYMBOL column has a key without a value", where=where, found=f"key {greatest}",
            expected=f"less than {len(dictionary)}",
        )  # fmt: skip
    bitmap = validity(valid)
    if bitmap is not None:  # Arrow looks up the keys of null rows too
        data = pa.py_buffer(np.where(valid, keys, np.int32(0)))
    indices = pa.Array.from_buffers(pa.int32(), len(keys), [bitmap, data])
    return pa.DictionaryArray.from_arrays(indices, dictionary, safe=False)


def _numbers(of: ColumnType, data: pa.Buffer, rows: int) -> pa.Array:
    kind: Any = _NUMBERS[of.kind]
    values = np.frombuffer(data, kind)
    bitmap = None
    if of.nullable:
        valid = np.isfinite(values) if values.dtype.kind == "f" else values != np.iinfo(kind).min
        bitmap = validity(valid)
    # the bytes of the file are the buffer of the array, without a copy
    return pa.Array.from_buffers(of.arrow, rows, [bitmap, data])


def _texts(of: ColumnType, data: pa.Buffer) -> pa.Array:
    match of.kind:
        case Kind.CHAR:
            units = np.frombuffer(data, np.uint16)
            return char_text(units, units != 0)
        case Kind.IPV4:
            addresses = np.frombuffer(data, np.uint32)
            return ipv4_text(addresses, addresses != 0)
        case Kind.GEOHASH:
            hashes = np.frombuffer(data, _SIGNED[of.width]).astype(np.int64)
            return geohash_text(hashes, of.bits, hashes >= 0)
        case _:
            words = np.frombuffer(data, np.int64).reshape(-1, of.width // 8)
            valid: Valid = (words != _MIN).any(axis=1)
            raw = np.frombuffer(data, np.uint8).reshape(-1, of.width)
            return long256_text(raw, valid) if of.kind is Kind.LONG256 else uuid_text(raw, valid)


def _decimals(of: ColumnType, data: pa.Buffer, rows: int) -> pa.Array:
    arrow_words = of.arrow.bit_width // 64
    if of.width <= 8:
        kind: Any = _SIGNED[of.width]
        small = np.frombuffer(data, kind)
        valid: Valid = small != np.iinfo(kind).min
        words: npt.NDArray[np.int64] = np.empty((rows, arrow_words), np.int64)
        words[:, 0] = small
        words[:, 1:] = (words[:, 0] >> 63)[:, None]
    else:
        stored = np.frombuffer(data, np.int64).reshape(rows, -1)
        valid = (stored[:, 0] != _MIN) | (stored[:, 1:] != 0).any(axis=1)
        # files have the most significant word first, and Arrow has the least significant one first
        words = np.ascontiguousarray(stored[:, ::-1])
    return pa.Array.from_buffers(of.arrow, rows, [validity(valid), pa.py_buffer(words)])
