"""Facts of columns in files, for planners: bounds, NULLs and distinct values."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.engine.decision import Evidence
from xskip.engine.scan_units import ScanUnits
from xskip.expressions.operands import Column
from xskip.indexes.file_bounds import bounds_of_files
from xskip.metadata.table import IndexKey
from xskip.protocol.answer import Answer
from xskip.protocol.packed_values import Packed, pack
from xskip.protocol.request import FactsRequest
from xskip.types.datatypes import arrow_type
from xskip.types.masks import from_mask, to_mask
from xskip.types.sort_keys import sort_key

__all__ = ["ColumnFacts", "column_facts"]

_UNKNOWN = -1
#: The need for which distinct values serve, beside bounds.
_PARTNER = "partner"
#: The most files of an index whose lists are loaded: those of more files cost time, and bounds serve, too.
_MAX_FILES_OF_LISTS = 10_000
#: The most distinct values of a column in an answer, of all files together.
_MAX_VALUES = 10_000
#: The states of a bound [JVM-AN-4]: a row has it, no row has a value, nothing is known, no row need have it.
_VALUE, _NO_VALUE, _NOTHING, _LOOSE = range(4)


@dataclass(frozen=True, slots=True)
class ColumnFacts:
    """The facts about a column in the units of a scan."""

    #: int64, without nulls: the number of NULLs in each unit; -1 if it is unknown.
    nulls: pa.Array
    low: Packed
    high: Packed
    #: int64, without nulls: the number of distinct values of each unit; -1 if the values are unknown.
    distinct: pa.Array
    #: The distinct values of each unit where they are known, in the order of the units.
    values: Packed

    def to_bytes(self) -> bytes:
        """Return the column's part of the section."""
        nulls, distinct = (Answer.integers(each.to_numpy()) for each in (self.nulls, self.distinct))
        low, high, values = map(_packed_bytes, (self.low, self.high, self.values))
        return b"".join((nulls, low, high, distinct, values))


def _packed_bytes(packed: Packed) -> bytes:
    states = Answer.integers(np.frombuffer(packed.states, np.uint8).astype(np.int64))
    numbers = Answer.integers(np.frombuffer(packed.numbers, "<i8"))
    return b"".join((states, numbers, struct.pack("<q", len(packed.data)), packed.data))


def column_facts(
    request: FactsRequest, evidence: Evidence, units: ScanUnits, rows: pa.Array
) -> tuple[ColumnFacts, ...]:
    """Return the bounds, the numbers of NULLs and the distinct values of columns in units.

    Only a ``partner`` needs the values [JVM-RQ-6].
    """
    catalog, counts = evidence.selection.catalog, units.counts()

    def values_in(key: IndexKey | None) -> pa.Array | None:
        index = next(iter(units.load(() if key is None else (key,)).indexes.values()), None)
        return None if index is None else index.values

    found = []
    all_needs = request.needs or ((),) * len(request.columns)
    for column, needs in zip(request.columns, all_needs, strict=True):
        name = catalog.counted_column(column)
        known = None if name is None else counts.nulls.get(name)
        nulls = pa.array(np.full(len(rows), _UNKNOWN)) if known is None else pc.fill_null(known, _UNKNOWN)
        bounds = _Bounds.of(column, values_in(catalog.bounds_of(column)), nulls, rows)
        has_lists = _PARTNER in needs and units.snapshot.rows <= _MAX_FILES_OF_LISTS
        found.append(bounds.facts(nulls, values_in(catalog.values_of(column)) if has_lists else None))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Bounds:
    """The bounds of a column in each file."""

    low: pa.Array
    high: pa.Array
    states: npt.NDArray[np.uint8]

    @classmethod
    def of(cls, column: Column, values: pa.Array | None, nulls: pa.Array, rows: pa.Array) -> _Bounds:
        """Return the bounds in the values of an index; None for no index."""
        kind = arrow_type(column.type)
        if values is None:
            return cls(pa.nulls(len(rows), kind), pa.nulls(len(rows), kind), np.full(len(rows), _NOTHING, np.uint8))
        if pa.types.is_struct(values.type):
            low, high = (pc.struct_field(values, side).cast(kind) for side in (0, 1))
        else:
            low, high = bounds_of_files(values)
        states = _states(values, low, high)
        # rows without NULL have values, and NULLs have none: counts and bounds can contradict each other
        is_filled = pc.less(nulls, rows)
        are_counted = to_mask(pc.and_(pc.greater_equal(nulls, 0), pc.greater_equal(rows, 0)))
        states[are_counted & (to_mask(is_filled) != (states == _VALUE))] = _NOTHING
        return cls(low, high, states)

    def facts(self, nulls: pa.Array, lists: pa.Array | None) -> ColumnFacts:
        """Return the facts of a column with these bounds, and with lists of its distinct values if there are any."""
        sides = self.low, self.high
        if lists is None or lists.flatten().null_count:
            nothing = pa.array(np.full(len(self.states), _UNKNOWN))
            low, high = (_packed(side, self.states) for side in sides)
            return ColumnFacts(nulls, low, high, nothing, Packed(b"", b"", b""))
        least, greatest = bounds_of_files(lists)
        is_within = to_mask(
            pc.and_(
                pc.less_equal(sort_key(self.low), sort_key(least)),
                pc.less_equal(sort_key(greatest), sort_key(self.high)),
            )
        )
        # a list with a value beyond the bounds, or with none, contradicts them
        is_wrong = to_mask(lists.is_valid()) & (self.states == _VALUE) & ~is_within
        states = np.where(is_wrong, np.uint8(_NOTHING), self.states)
        lists = pc.if_else(from_mask(states == _VALUE), lists, pa.scalar(None, lists.type))
        if pc.sum(pc.list_value_length(lists), min_count=0).as_py() > _MAX_VALUES:
            lists = pa.nulls(len(lists), lists.type)
        distinct = pc.fill_null(pc.list_value_length(lists), _UNKNOWN).cast(pa.int64())
        low, high = (_packed(side, states) for side in sides)
        return ColumnFacts(nulls, low, high, distinct, pack(lists.flatten()))


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
