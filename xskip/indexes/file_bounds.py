"""The least and the greatest value of a column in each file, for reports."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from xskip.metadata.table import IndexDefinition
from xskip.types.datatypes import Array, Storage, Struct
from xskip.types.masks import from_mask
from xskip.types.sort_keys import sort_key

__all__ = ["FileBounds", "bounded_type", "bounds_of_files"]

_LISTS = ("gaplist", "valuelist")
_INTERVAL = "interval"  # metadata have numbers of months or microseconds, which readers could not tell apart


class FileBounds(NamedTuple):
    """Bounds of a column in each file, as values of the column."""

    #: Null where the index has no such bound, or the bounds contradict each other.
    low: pa.Array
    high: pa.Array


def bounded_type(definition: IndexDefinition, storage: Storage) -> str | None:
    """Return the Spark type of the bounds that an index has, or None if it has no bounds of a column to show."""
    if len(definition.columns) != 1 or definition.expression is not None:
        return None
    match storage:
        case Struct((("min", low), ("max", high))) if low == high:
            kind = low
        case Array(element) if definition.name in _LISTS:
            kind = element
        case _:
            return None
    return None if kind.startswith(_INTERVAL) else kind


def bounds_of_files(values: pa.Array) -> FileBounds:
    """Return the bounds in the values of an index (structs of bounds, or lists) with a :func:`bounded_type`."""
    if pa.types.is_struct(values.type):
        low, high = (pc.struct_field(values, side) for side in (0, 1))
        low, high = (pc.if_else(values.is_valid(), side, pa.scalar(None, side.type)) for side in (low, high))
    else:
        low, high = _of_lists(values)
    contradictory = pc.greater(sort_key(low), sort_key(high)).fill_null(False)
    return FileBounds(*(pc.if_else(contradictory, pa.scalar(None, side.type), side) for side in (low, high)))


def _of_lists(lists: pa.Array) -> tuple[pa.Array, pa.Array]:
    flat, rows = lists.flatten(), pc.list_parent_indices(lists)
    there = flat.is_valid()
    flat, rows = flat.filter(there), rows.filter(there)
    # sorted by file and then by key, the values of a file have the least one first and the greatest one last
    order = pc.sort_indices(
        pa.table({"row": rows, "key": sort_key(flat)}), [("row", "ascending"), ("key", "ascending")]
    )
    flat, sorted_rows = flat.take(order), rows.take(order).to_numpy(zero_copy_only=False)
    starts = np.searchsorted(sorted_rows, np.arange(len(lists)), "left")
    ends = np.searchsorted(sorted_rows, np.arange(len(lists)), "right")
    filled = from_mask(ends > starts)
    if not len(flat):
        return pa.nulls(len(lists), flat.type), pa.nulls(len(lists), flat.type)
    last = len(flat) - 1
    low, high = (flat.take(pa.array(np.clip(places, 0, last))) for places in (starts, ends - 1))
    none = pa.scalar(None, flat.type)
    return pc.if_else(filled, low, none), pc.if_else(filled, high, none)
