"""The kinds of accumulators: which results each kind has, and how the results of parts of a file merge."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.indexes.accumulator import Accumulator, Input
from xskip.types.datatypes import atomic_name, element_of, to_json
from xskip.types.sort_keys import sort_key

__all__ = ["Accumulation", "Span"]

_PHYSICAL = {
    "date": "int",
    "timestamp": "bigint",
    "timestamp_ntz": "bigint",
    "interval year to month": "int",
    "interval day to second": "bigint",
}

#: The first row of a file, and the row after the file's last.
Span = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Accumulation:
    """An accumulator over its input."""

    input: Input
    accumulator: Accumulator

    @property
    def physical_type(self) -> str:
        """Return the type in which the kernel reads the input's values: plain numbers for dates and times."""
        if self.accumulator.kind == "counts":  # counts of NULL do not depend on the type
            return "bigint"
        element = element_of(self.input.type)
        name = atomic_name(element or self.input.type) or self.input.type
        physical = _PHYSICAL.get(name, name)
        return f"array<{physical}>" if element else physical

    @property
    def result_types(self) -> tuple[object, ...]:
        """Return the type of each result column, as schema JSON writes types."""
        value = to_json(element_of(self.physical_type) or self.physical_type)
        match self.accumulator.kind:
            case "bounds":
                return value, value
            case "counts":
                return "long", "long"
            case "values" | "ranges":
                return (_array(value),)
            case "boxes":
                return (_array("double"),)
            case "hashes" | "words":  # hashes as little-endian int64, and a Bloom filter
                return "binary", "binary"

    def decode(self, columns: Sequence[pa.ChunkedArray]) -> list[pa.ChunkedArray]:
        """Return the columns that the kernel returns, of :attr:`result_types`, with hashes as lists of int64."""
        match self.accumulator.kind:
            case "hashes" | "words":
                hashes, filters = columns
                lists = [_longs(chunk) for chunk in hashes.chunks]
                return [pa.chunked_array(lists, pa.list_(pa.int64())), filters]
            case _:
                return list(columns)

    def merge(self, columns: Sequence[pa.Array], spans: Sequence[Span]) -> list[pa.Array]:
        """Merge the rows of each file, adjacent in the decoded columns, into one row in the order of ``spans``."""
        match self.accumulator.kind:
            case "bounds":
                low, high = columns
                return [_extremes(low, spans, greatest=False), _extremes(high, spans, greatest=True)]
            case "counts":
                return [pa.array([pc.sum(c[a:b]).as_py() for a, b in spans], pa.int64()) for c in columns]
            case "ranges" | "boxes":
                return [pa.array([c[a:b].flatten() for a, b in spans], c.type) for c in columns]
            case "values":
                return [_unions(columns[0], spans, self.accumulator.cap)]
            case "hashes" | "words":
                hashes, filters = columns
                # Bloom filters of two parts of a file cannot be merged: the values of the file are unknown.
                whole = [a if b == a + 1 else None for a, b in spans]
                return [_unions(hashes, spans), filters.take(pa.array(whole, pa.int64()))]


def _array(element: str) -> object:
    return {"type": "array", "elementType": element, "containsNull": False}


def _longs(packed: pa.Array) -> pa.Array:
    """Return lists of int64 from their little-endian bytes.

    >>> _longs(pa.array([b"", (7).to_bytes(8, "little") * 2, None])).to_pylist()
    [[], [7, 7], None]
    """
    _, offsets, data = packed.buffers()
    ends = np.frombuffer(offsets, np.int32)[packed.offset : packed.offset + len(packed) + 1]
    values = np.frombuffer(data or b"", "<i8", count=int(ends[-1]) // 8)
    lists = pa.ListArray.from_arrays(pa.array(ends // 8, pa.int32()), pa.array(values, pa.int64()))
    return pc.if_else(packed.is_valid(), lists, pa.scalar(None, lists.type))


def _extremes(values: pa.Array, spans: Sequence[Span], *, greatest: bool) -> pa.Array:
    """Return the least or greatest value of each span of rows in Spark's order; null for a span without values."""
    ranks = pc.rank(sort_key(values), tiebreaker="dense").to_numpy(zero_copy_only=False)
    valid = values.is_valid().to_numpy(zero_copy_only=False)
    chosen = []
    for a, b in spans:
        rows = np.flatnonzero(valid[a:b]) + a
        best = rows[np.argmax(ranks[rows]) if greatest else np.argmin(ranks[rows])] if len(rows) else None
        chosen.append(None if best is None else int(best))
    return values.take(pa.array(chosen, pa.int64()))


def _unions(lists: pa.Array, spans: Sequence[Span], cap: int | None = None) -> pa.Array:
    """Return the distinct values of the lists in each span; null if a list is null or the values exceed the cap."""
    unions = []
    for a, b in spans:
        values = None if lists[a:b].null_count else pc.unique(lists[a:b].flatten())
        unions.append(None if values is None or (cap is not None and len(values) > cap) else values)
    return pa.array(unions, lists.type)
