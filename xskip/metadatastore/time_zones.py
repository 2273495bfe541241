"""Removal of statistics that depend on the JVM's default time zone. Rules: [PRU-RD-8]."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

import pyarrow as pa
import pyarrow.compute as pc

from xskip.metadata.table import IndexColumn, IndexDefinition, MetadataTable
from xskip.types.datatypes import Array, Opaque, Storage, Struct, value_type

__all__ = ["FORMATS", "in_every_zone"]

#: The formats in which only old timestamps depend on the time zone.
FORMATS = ("parquet", "avro")
# Spark rebases old timestamps of Parquet and Avro files from the Julian calendar if a file's writer or a setting
# requires this, and uses the JVM's default time zone. It rebases no timestamp from 1900 on, in any time zone.
# 1901-01-01 in microseconds. Zones differ by less than a year: a timestamp from then on in one zone is not before 1900
# in any other zone, so Spark did not rebase it.
_SETTLED = -2_177_452_800_000_000


def in_every_zone(table: MetadataTable, definitions: Iterable[IndexDefinition]) -> MetadataTable:
    """Return the metadata with null in place of values that can differ in another default time zone of the JVM.

    ``definitions`` are the indexes with the recorded types of their columns.
    """
    timeless = {d.key for d in definitions if d.key in table.indexes and _is_timeless(d, table.indexes[d.key].storage)}
    indexes = {key: column if key in timeless else _settled(column) for key, column in table.indexes.items()}
    return replace(table, indexes=indexes)


def _is_timeless(definition: IndexDefinition, storage: Storage) -> bool:
    if isinstance(storage, Opaque):
        return False
    # Without recorded types, the stored types decide. Bloom filters have no stored type, but no other program creates
    # Bloom filters of timestamps.
    kinds = (*definition.types, value_type(storage) or "", definition.expression or "")
    return not any("timestamp" in kind for kind in kinds)


def _settled(column: IndexColumn) -> IndexColumn:
    definition, values = column.definition, column.values
    unknown = pa.nulls(len(values), values.type)
    if definition.expression is not None:
        return replace(column, values=unknown)
    if definition.name == "minmax" and isinstance(column.storage, Struct):
        least = pc.coalesce(pc.struct_field(values, 0), pc.struct_field(values, 1))
    elif definition.name == "valuelist" and isinstance(column.storage, Array):
        least = _least(values)
    else:
        return replace(column, values=unknown)
    settled = pc.fill_null(pc.greater_equal(_microseconds(least), _SETTLED), False)
    # null bounds in a valid struct, and empty lists, represent no value that a time zone could change
    empty = pc.and_(values.is_valid(), least.is_null())
    return replace(column, values=pc.if_else(pc.or_(settled, empty), values, unknown))


def _least(lists: pa.Array) -> pa.Array:
    """Return the least value of each list; null for an empty list."""
    flat = pa.table({"of": pc.list_parent_indices(lists), "value": _microseconds(pc.list_flatten(lists))})
    found = flat.group_by("of").aggregate([("value", "min")])
    at = pc.index_in(pa.array(range(len(lists)), pa.int64()), pc.cast(found["of"], pa.int64()).combine_chunks())
    return found["value_min"].combine_chunks().take(at)


def _microseconds(values: pa.Array) -> pa.Array:
    kind = values.type
    return pc.cast(pc.cast(values, pa.timestamp("us", kind.tz)), pa.int64()) if pa.types.is_timestamp(kind) else values
