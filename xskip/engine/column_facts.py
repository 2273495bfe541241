"""Facts of columns in files, for planners: bounds and NULLs."""

from __future__ import annotations

import struct
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.engine.decision import Evidence
from xskip.expressions.operands import Column
from xskip.indexes.file_bounds import bounds_of_files
from xskip.metadata.file_counts import FileCounts
from xskip.metadata.table import MetadataTable
from xskip.metadatastore.snapshot import Snapshot
from xskip.protocol.answer import Answer
from xskip.protocol.packed_values import Packed, pack
from xskip.types.datatypes import arrow_type
from xskip.types.masks import to_mask
from xskip.types.sort_keys import sort_key

__all__ = ["ColumnFacts", "column_facts", "files_left"]

_UNKNOWN = -1
_Files = TypeVar("_Files", MetadataTable, FileCounts)
#: The states of a bound [JVM-AN-4]: a row has it, no row has a value, nothing is known, no row need have it.
_VALUE, _NO_VALUE, _NOTHING, _LOOSE = range(4)


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """The facts about a column in the files that are left."""

    #: int64, without nulls: the number of NULLs in each file; -1 if it is unknown.
    nulls: pa.Array
    low: Packed
    high: Packed

    def to_bytes(self) -> bytes:
        """Return the column's part of the section."""
        return b"".join((Answer.integers(self.nulls.to_numpy()), *map(_bounds_bytes, (self.low, self.high))))


def _bounds_bytes(side: Packed) -> bytes:
    states = Answer.integers(np.frombuffer(side.states, np.uint8).astype(np.int64))
    numbers = Answer.integers(np.frombuffer(side.numbers, "<i8"))
    return b"".join((states, numbers, struct.pack("<q", len(side.data)), side.data))


def files_left(files: _Files, left: pa.Array | None) -> _Files:
    """Return the metadata or the counts of the files that are left."""
    return files if left is None else files.take(left)


def column_facts(
    columns: Iterable[Column], evidence: Evidence, snapshot: Snapshot, left: pa.Array | None, rows: pa.Array
) -> tuple[ColumnFacts, ...]:
    """Return the bounds and the numbers of NULLs of columns in the files that are left."""
    catalog, counts = evidence.selection.catalog, files_left(snapshot.counts(), left).plausible()
    found = []
    for column in columns:
        name = catalog.counted_column(column)
        known = None if name is None else counts.nulls.get(name)
        nulls = pa.array(np.full(len(rows), _UNKNOWN)) if known is None else pc.fill_null(known, _UNKNOWN)
        key = catalog.bounds_of(column)
        table = snapshot.load_proven(() if key is None else (key,), evidence.profile)
        found.append(_of_column(column, files_left(table, left), nulls, rows))
    return tuple(found)


def _of_column(column: Column, table: MetadataTable, nulls: pa.Array, rows: pa.Array) -> ColumnFacts:
    index = next(iter(table.indexes.values()), None)
    if index is None:
        nothing = Packed(bytes([_NOTHING]) * len(rows), bytes(8 * len(rows)), b"")
        return ColumnFacts(nulls, nothing, nothing)
    if pa.types.is_struct(index.values.type):
        low, high = (pc.struct_field(index.values, side).cast(arrow_type(column.type)) for side in (0, 1))
    else:
        low, high = bounds_of_files(index.values)
    states = _states(index.values, low, high)
    # rows without NULL have values, and NULLs have none: counts and bounds can contradict each other
    is_filled = pc.less(nulls, rows)
    are_counted = to_mask(pc.and_(pc.greater_equal(nulls, 0), pc.greater_equal(rows, 0)))
    states[are_counted & (to_mask(is_filled) != (states == _VALUE))] = _NOTHING
    return ColumnFacts(nulls, _packed(low, states), _packed(high, states))


def _states(values: pa.Array, low: pa.Array, high: pa.Array) -> npt.NDArray[np.uint8]:
    """Return the state of both bounds of each file, of which either both have a value or none has one."""
    has_low, has_high, is_known = (to_mask(each.is_valid()) for each in (low, high, values))
    in_order = to_mask(pc.less_equal(sort_key(low), sort_key(high)))
    states = np.full(len(values), _NOTHING, np.uint8)
    states[is_known & ~has_low & ~has_high] = _NO_VALUE
    states[is_known & has_low & has_high & in_order] = _VALUE
    return states


def _packed(side: pa.Array, states: npt.NDArray[np.uint8]) -> Packed:
    has_value = states == _VALUE
    packed = pack(pc.if_else(pa.array(has_value), side, pa.scalar(None, side.type)))
    shown = states.copy()
    if pa.types.is_floating(side.type):  # both zeros are one value, and rows can have either
        shown[has_value & to_mask(pc.equal(side, 0.0))] = _LOOSE
    return packed._replace(states=shown.tobytes())
