"""The values of columns of ``data.parquet`` in the Arrow types of the table. Rules: [QDB-PQ]."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.errors import UnsupportedTypeError
from xskip.questdb_files.column_types import ColumnType, Kind, keeps_values
from xskip.questdb_files.fixed_columns import fixed_values
from xskip.questdb_files.text_values import Valid, long256_text, uuid_text, validity
from xskip.questdb_files.variable_columns import array_values

__all__ = ["changed_type", "parquet_values"]

_NATIVE = {Kind.CHAR: (pa.uint16(), 0), Kind.IPV4: (pa.uint32(), 0)}
_GEOHASH_INTEGERS = {1: pa.int8(), 2: pa.int16(), 4: pa.int32(), 8: pa.int64()}


def parquet_values(of: ColumnType, stored: pa.Array) -> pa.Array:
    """Return values of a Parquet file in the Arrow type of the column type with which it was written."""
    if isinstance(stored, pa.ExtensionArray):
        stored = stored.storage
    match of.kind:
        case Kind.CHAR | Kind.IPV4:
            integers, null = _NATIVE[of.kind]
            return _through_native(of, stored, integers, null)
        case Kind.GEOHASH:
            return _through_native(of, stored, _GEOHASH_INTEGERS[of.width], -1)
        case Kind.UUID | Kind.LONG128 | Kind.LONG256:
            return _wide(of, stored)
        case Kind.FLOAT | Kind.DOUBLE:
            return _through_native(of, stored, of.arrow, float("nan"))
        case Kind.BOOLEAN | Kind.BYTE | Kind.SHORT:
            zero: Any = False if of.kind is Kind.BOOLEAN else 0
            return stored.cast(of.arrow).fill_null(zero)
        case Kind.SYMBOL:
            return _symbols(of, stored)
        case Kind.ARRAY:
            return _arrays(of, stored)
        case _:
            return stored.cast(of.arrow)


def changed_type(values: pa.Array, former: ColumnType, now: ColumnType, where: str) -> pa.Array:
    """Return values that were written before a change of the column's type [QDB-PQ-6]."""
    if former == now:
        return values
    if keeps_values(former, now):
        if now.kind is Kind.SYMBOL:
            return values.cast(pa.utf8()).dictionary_encode().cast(now.arrow)
        with suppress(pa.ArrowInvalid):
            return values.cast(now.arrow)
    # only the server knows what becomes of values without an exact form
    raise UnsupportedTypeError(
        "a Parquet partition has a column of a former type, whose values have no exact form in the new type",
        where=where, found=former.kind.name, expected=now.kind.name,
        hint="convert the partition to native before the change of the type",
    )  # fmt: skip


def _through_native(of: ColumnType, stored: pa.Array, integers: pa.DataType, null: float) -> pa.Array:
    """Return values by way of their native form, so that one function decides what is null."""
    if stored.type != integers:
        stored = stored.view(integers) if stored.type.bit_width == integers.bit_width else stored.cast(integers)
    native = stored.fill_null(pa.scalar(null, integers)) if stored.null_count else stored
    values = np.ascontiguousarray(native.to_numpy(zero_copy_only=False))
    return fixed_values(of, pa.py_buffer(values), len(values))


def _wide(of: ColumnType, stored: pa.Array) -> pa.Array:
    valid: Valid = np.asarray(stored.is_valid())
    _, content = stored.buffers()
    raw = np.frombuffer(content, np.uint8)[stored.offset * of.width : (stored.offset + len(stored)) * of.width]
    raw = raw.reshape(-1, of.width)
    if of.kind is Kind.LONG256:
        return long256_text(raw, valid)
    # files have UUIDs in the canonical order, and the other types in that of native files
    return uuid_text(raw[:, ::-1] if of.kind is Kind.UUID else raw, valid)


def _symbols(of: ColumnType, stored: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(stored.type):
        return stored.cast(of.arrow)
    return stored.cast(pa.utf8()).dictionary_encode().cast(of.arrow)


def _arrays(of: ColumnType, stored: pa.Array) -> pa.Array:
    """Return arrays of doubles, which files store as nested lists, or in the bytes of native files."""
    if pa.types.is_list(stored.type):
        return _finite(stored, of.dimensions)
    values = stored.cast(pa.large_binary()).fill_null(b"")
    _, offsets, content = values.buffers()
    ends = np.frombuffer(offsets, np.int64)[values.offset : values.offset + len(values) + 1]
    raw = np.frombuffer(content or b"", np.uint8)
    return array_values(of.dimensions, raw, ends[:-1], np.diff(ends))


def _finite(stored: pa.Array, dimensions: int) -> pa.Array:
    """Return nested lists with null for the elements that are not finite."""
    if dimensions == 0:
        return pc.if_else(pc.is_finite(stored), stored, pa.scalar(None, pa.float64()))
    offsets = np.asarray(stored.offsets).astype(np.int32)
    children = _finite(stored.values.slice(offsets[0], offsets[-1] - offsets[0]), dimensions - 1)
    bitmap = validity(np.asarray(stored.is_valid())) if stored.null_count else None
    return pa.Array.from_buffers(
        pa.list_(children.type), len(stored), [bitmap, pa.py_buffer(offsets - offsets[0])], children=[children]
    )
