"""Columns whose values vary in size: STRING, BINARY, VARCHAR and ARRAY. Rules: [QDB-TY].

The file ``.i`` says where the value of each row is in the file ``.d``.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from xskip.errors import TableDamagedError
from xskip.questdb_files.column_types import ColumnType, Kind
from xskip.questdb_files.files import TableFile
from xskip.questdb_files.text_values import Bytes, Valid, split_lengths, utf16_text, validity

__all__ = ["array_values", "variable_values"]

_Longs = npt.NDArray[np.int64]
#: Arrow's text has offsets of 32 bits; an array of text has at most this many bytes unless one value has more.
_MAX_BYTES = 1 << 30
#: Arrays of text have at most this many rows, so that what is computed on the way stays small.
_MAX_ROWS = 1 << 20
_AUX_BYTES = 16
_INLINED, _NULL = 1, 4
_MAX_INLINED = 9
_OFFSET_MASK = (1 << 48) - 1


def variable_values(of: ColumnType, data: TableFile, index: TableFile, rows: range) -> Iterator[pa.Array]:
    """Yield the values of a range of positions in the files ``.d`` and ``.i``, in arrays of limited size."""
    if not rows:
        return
    try:
        match of.kind:
            case Kind.STRING | Kind.BINARY:
                yield from _prefixed(of, data, index, rows)
            case Kind.VARCHAR:
                yield from _varchars(data, index, rows)
            case _:
                yield _arrays(of, data, index, rows)
    except (pa.ArrowInvalid, ValueError, IndexError) as error:
        raise TableDamagedError(
            "the files of a column contradict each other", where=str(data.path), found=str(error)
        ) from error  # fmt: skip


def _prefixed(of: ColumnType, data: TableFile, index: TableFile, rows: range) -> Iterator[pa.Array]:
    """Yield STRING or BINARY values: a length, which is -1 for null, and units or bytes."""
    for first in range(rows.start, rows.stop, _MAX_ROWS):
        count = min(_MAX_ROWS, rows.stop - first)
        offsets = np.frombuffer(index.read(8 * first, 8 * (count + 1)), np.int64)
        for part in _parts(offsets[:-1], offsets[1:]):
            ends = offsets[part.start : part.stop + 1]
            start = int(ends[0])
            raw = np.frombuffer(data.read(start, int(ends[-1]) - start), np.uint8)
            yield _strings(raw, ends - start) if of.kind is Kind.STRING else _binaries(raw, ends - start)


def _strings(raw: Bytes, ends: _Longs) -> pa.Array:
    starts, sizes = ends[:-1], np.diff(ends)
    _demand("sizes of strings", holds=bool((sizes >= 4).all() and (sizes % 2 == 0).all()))
    stated, units = split_lengths(raw.view(np.uint16), starts // 2)
    valid: Valid = stated >= 0
    lengths = (sizes - 4) // 2
    _demand("lengths of strings", holds=bool((np.where(valid, stated, 0) == lengths).all()))
    return utf16_text(units, lengths, valid)


def _binaries(raw: Bytes, ends: _Longs) -> pa.Array:
    starts, sizes = ends[:-1], np.diff(ends)
    _demand("sizes of binaries", holds=bool((sizes >= 8).all()))
    valid: Valid = raw[starts + 7] < 0x80
    low = raw[starts[:, None] + np.arange(4)].view("<u4")[:, 0]
    _demand("lengths of binaries", holds=bool((low[valid] == (sizes[valid] - 8) & 0xFFFFFFFF).all()))
    return _taken(raw, starts + 8, ends[1:], valid).cast(pa.binary())


def _varchars(data: TableFile, index: TableFile, rows: range) -> Iterator[pa.Array]:
    for start in range(rows.start, rows.stop, _MAX_ROWS):
        count = min(_MAX_ROWS, rows.stop - start)
        entries = np.frombuffer(index.read(_AUX_BYTES * start, _AUX_BYTES * count), np.uint8)
        entries = entries.reshape(-1, _AUX_BYTES)
        inlined, valid = entries[:, 0] & _INLINED != 0, entries[:, 0] & _NULL == 0
        sizes = entries.view("<u4")[:, 0] >> 4
        sizes = np.where(inlined, entries[:, 0] >> 4, np.where(valid, sizes, 0)).astype(np.int64)
        _demand("sizes of inlined text", holds=bool((sizes[inlined] <= _MAX_INLINED).all()))
        totals = np.cumsum(sizes)
        for part in _parts(totals - sizes, totals):
            at = slice(part.start, part.stop)
            yield _varchar_part(data, entries[at], sizes[at], (inlined[at], valid[at]))


def _varchar_part(data: TableFile, entries: Bytes, sizes: _Longs, flags: tuple[Valid, Valid]) -> pa.Array:
    """Return text from its entries, in which short values are and which say where the long ones are."""
    inlined, valid = flags
    long = ~inlined & valid
    starts = entries.view("<i8")[:, 1] >> 16 & _OFFSET_MASK
    if long.all():
        values = _long_values(data, starts, sizes)
    elif not long.any():
        values = _inlined(entries, sizes, valid)
    else:
        short = _inlined(entries, np.where(inlined, sizes, 0), valid)
        places = np.where(long, len(entries) + np.cumsum(long) - 1, np.arange(len(entries)))
        values = pa.concat_arrays([short, _long_values(data, starts[long], sizes[long])]).take(pa.array(places))
    return values.cast(pa.utf8())  # the cast validates UTF-8


def _inlined(entries: Bytes, sizes: _Longs, valid: Valid) -> pa.Array:
    """Return the values in the entries themselves."""
    shown = np.arange(_MAX_INLINED) < np.where(valid, sizes, 0)[:, None]
    offsets = np.concatenate([[0], np.cumsum(np.where(valid, sizes, 0))])
    # the text follows the first byte of the entry
    return _large_binary(offsets, entries[:, 1 : 1 + _MAX_INLINED][shown], valid)


def _long_values(data: TableFile, starts: _Longs, sizes: _Longs) -> pa.Array:
    base = int(starts.min())
    ends = starts + sizes
    raw = np.frombuffer(data.read(base, int(ends.max()) - base), np.uint8)
    return _taken(raw, starts - base, ends - base)


def _arrays(of: ColumnType, data: TableFile, index: TableFile, rows: range) -> pa.Array:
    entries = np.frombuffer(index.read(_AUX_BYTES * rows.start, _AUX_BYTES * len(rows)), np.int64).reshape(-1, 2)
    starts, sizes = entries[:, 0] & _OFFSET_MASK, entries[:, 1] & 0xFFFFFFFF
    valid: Valid = sizes > 0
    base = int(starts[valid].min()) if valid.any() else 0
    raw = data.read(base, int((starts + sizes)[valid].max()) - base) if valid.any() else b""
    return array_values(of.dimensions, np.frombuffer(raw, np.uint8), starts - base, sizes)


def array_values(dimensions: int, raw: Bytes, starts: _Longs, sizes: _Longs) -> pa.Array:
    """Return arrays of doubles from ranges of bytes [QDB-PQ-9]; a range without bytes is null."""
    valid: Valid = sizes > 0
    shapes = np.zeros((len(sizes), dimensions), np.int64)
    values = pa.array([], pa.float64())
    if valid.any():
        at, lengths = starts[valid], sizes[valid]
        # a value has its lengths in 32 bits each, filled up to 64 bits, and then its elements
        head = (4 * dimensions + 7) // 8 * 8
        _demand("sizes of arrays", holds=bool((lengths >= head).all()))
        shapes[valid] = raw[at[:, None] + np.arange(4 * dimensions)].view(np.int32)
        counts = shapes[valid].prod(axis=1)
        _demand("shapes of arrays", holds=bool((shapes >= 0).all() and (head + 8 * counts <= lengths).all()))
        values = _elements(raw, at + head, at + head + 8 * counts)
    return _nested(values, shapes, valid)


def _elements(raw: Bytes, starts: _Longs, ends: _Longs) -> pa.Array:
    """Return the elements of all arrays, one after the other; an element that is not finite is null."""
    chosen = _taken(raw, starts, ends)
    _, offsets, content = chosen.buffers()
    bounds = np.frombuffer(offsets, np.int64)
    doubles = np.frombuffer(content, np.uint8)[bounds[0] : bounds[len(starts)]].view(np.float64)
    return pa.Array.from_buffers(
        pa.float64(), len(doubles), [validity(np.isfinite(doubles)), pa.py_buffer(np.ascontiguousarray(doubles))]
    )


def _nested(values: pa.Array, shapes: _Longs, valid: Valid) -> pa.Array:
    """Return nested lists from elements in row-major order and the lengths of each row in each dimension."""
    outer = np.ones(len(shapes), np.int64)
    levels = []
    for dimension in range(shapes.shape[1]):
        levels.append(np.repeat(shapes[:, dimension], outer))
        outer = outer * shapes[:, dimension]
    for level, lengths in reversed(list(enumerate(levels))):
        offsets = np.zeros(len(lengths) + 1, np.int32)
        np.cumsum(lengths, out=offsets[1:])
        kind = pa.list_(values.type)
        bitmap = validity(valid) if level == 0 else None
        values = pa.Array.from_buffers(kind, len(lengths), [bitmap, pa.py_buffer(offsets)], children=[values])
    return values


def _taken(raw: Bytes, starts: _Longs, ends: _Longs, valid: Valid | None = None) -> pa.Array:
    """Return ranges of bytes as large binaries, in the order of the rows."""
    if valid is None and len(starts) and (starts[1:] == ends[:-1]).all() and (ends >= starts).all():
        _demand("places of values", holds=bool(starts[0] >= 0 and ends[-1] <= len(raw)))
        return _large_binary(np.append(starts, ends[-1]), raw)
    # Arrow's take makes rows of ranges: it gets an array that has the wanted ranges at odd places and the gaps between
    # them at even places.
    order = np.argsort(starts, kind="stable")
    first, last = starts[order], ends[order]
    _demand("places of values", holds=len(first) == 0 or bool(first[0] >= 0 and last[-1] <= len(raw)))
    _demand("places of values", holds=bool((last >= first).all() and (first[1:] >= last[:-1]).all()))
    offsets = np.empty(2 * len(starts) + 1, np.int64)
    offsets[0] = 0
    offsets[1::2], offsets[2::2] = first, last
    places = np.empty(len(starts), np.int64)
    places[order] = 2 * np.arange(len(starts)) + 1
    bitmap = None if valid is None else validity(valid)
    picked = pa.Array.from_buffers(pa.int64(), len(places), [bitmap, pa.py_buffer(places)])
    return _large_binary(offsets, raw).take(picked)


def _large_binary(offsets: _Longs, data: Bytes, valid: Valid | None = None) -> pa.Array:
    bitmap = None if valid is None else validity(valid)
    buffers = [bitmap, pa.py_buffer(offsets), pa.py_buffer(np.ascontiguousarray(data))]
    return pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


def _parts(starts: _Longs, ends: _Longs) -> Iterator[range]:
    """Yield ranges of rows whose values have a limited number of bytes together."""
    _demand("offsets of values", holds=bool((ends >= starts).all()))
    start = 0
    while start < len(starts):
        stop = int(np.searchsorted(ends, starts[start] + _MAX_BYTES, side="right"))
        stop = max(stop, start + 1)
        yield range(start, stop)
        start = stop


def _demand(what: str, *, holds: bool) -> None:
    if not holds:
        raise ValueError(what)
