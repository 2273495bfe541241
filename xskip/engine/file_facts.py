"""Facts of files beyond "skip", for planners: files that match wholly, rows, bounds and NULLs."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.clause import Clause, Mask
from xskip.engine.decision import Evidence
from xskip.engine.selection import collect_evaluations
from xskip.expressions.operands import Column
from xskip.expressions.predicate import And, Predicate
from xskip.indexes.file_bounds import bounds_of_files
from xskip.metadata.file_counts import FileCounts
from xskip.metadata.table import MetadataTable, PartitionKey
from xskip.metadatastore.snapshot import Snapshot
from xskip.protocol.answer import Answer, Section
from xskip.protocol.packed_values import Packed, pack
from xskip.pruning.clause_translation import translate
from xskip.pruning.complement import complement_clause, with_recorded_nulls
from xskip.pruning.prune import prune, requirements
from xskip.types.datatypes import arrow_type
from xskip.types.masks import to_mask
from xskip.types.sort_keys import sort_key

__all__ = ["ColumnFacts", "FileFacts", "PredicateFacts", "column_facts", "file_facts", "predicate_facts"]

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


@dataclass(frozen=True, slots=True)
class PredicateFacts:
    """The facts about a predicate in the files that are left."""

    predicate: Predicate
    #: True for each file that certainly has no row that satisfies the predicate.
    none: Mask
    #: True for each file all of whose rows satisfy the predicate for certain.
    whole: Mask
    #: Whether both hold only for files with the partition values of the snapshot.
    uses_partitions: bool

    def to_bytes(self) -> bytes:
        """Return the predicate's part of the section."""
        return Answer.bits(self.none) + Answer.bits(self.whole)


def _bounds_bytes(side: Packed) -> bytes:
    states = Answer.integers(np.frombuffer(side.states, np.uint8).astype(np.int64))
    numbers = Answer.integers(np.frombuffer(side.numbers, "<i8"))
    return b"".join((states, numbers, struct.pack("<q", len(side.data)), side.data))


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The facts about the files of a snapshot that are left, in their order."""

    conditions: Predicate
    #: int64: the positions of the files in the snapshot; None for all of its files.
    left: pa.Array | None
    #: True for each file all of whose rows satisfy the conditions for certain.
    whole: Mask
    #: int64, without nulls: the number of rows of each file; -1 if it is unknown.
    rows: pa.Array
    #: Whether ``whole`` holds only for files with the partition values of the snapshot.
    uses_partitions: bool
    columns: tuple[ColumnFacts, ...] = ()
    predicates: tuple[PredicateFacts, ...] = ()

    @property
    def depends_on_partitions(self) -> bool:
        """Return whether the facts hold only for files with the partition values of the snapshot."""
        return self.uses_partitions or any(each.uses_partitions for each in self.predicates)

    @property
    def all_conditions(self) -> Predicate:
        """Return a predicate with all conditions and predicates that the facts are about."""
        return And((self.conditions, *(each.predicate for each in self.predicates)))

    @property
    def sections(self) -> Mapping[Section, bytes]:
        """Return the sections of the answer."""
        rows = Answer.integers(self.rows.to_numpy())
        columns = b"".join(column.to_bytes() for column in self.columns)
        sections = {Section.WHOLE: Answer.bits(self.whole), Section.ROWS: rows, Section.COLUMNS: columns}
        if self.predicates:
            sections[Section.PREDICATES] = b"".join(predicate.to_bytes() for predicate in self.predicates)
        return sections


def file_facts(conditions: Predicate, evidence: Evidence, snapshot: Snapshot, skip: Mask) -> FileFacts:
    """Return which files of a snapshot match conditions wholly, and the numbers of rows [PRU-CO-3] [PRU-CO-5].

    ``evidence`` is that of the decision about the filters, which rules out the files at which ``skip`` is True.
    """
    clause = complement_clause(conditions, evidence.selection.catalog)
    left = pa.array(np.flatnonzero(~skip)) if skip.any() else None
    rows = _take(snapshot.counts(), left).plausible().rows
    whole = _ruled_out(clause, evidence, snapshot, left) & to_mask(rows.is_valid())
    return FileFacts(conditions, left, whole, pc.fill_null(rows, _UNKNOWN), _uses_partitions(clause))


def predicate_facts(
    predicates: Iterable[Predicate], evidence: Evidence, snapshot: Snapshot, facts: FileFacts
) -> tuple[PredicateFacts, ...]:
    """Return of each predicate in which of the files that are left no row, and in which all rows satisfy it."""
    catalog = evidence.selection.catalog
    found = []
    for predicate in predicates:
        clauses = with_recorded_nulls(translate(predicate, catalog), catalog), complement_clause(predicate, catalog)
        none, whole = (_ruled_out(clause, evidence, snapshot, facts.left) for clause in clauses)
        # statistics that rule out every row of a file with rows contradict themselves [PRU-CO-5]
        is_sound = ~(none & whole) | (facts.rows.to_numpy() == 0)
        uses_partitions = any(map(_uses_partitions, clauses))
        found.append(PredicateFacts(predicate, none & is_sound, whole & is_sound, uses_partitions))
    return tuple(found)


def _ruled_out(clause: Clause, evidence: Evidence, snapshot: Snapshot, left: pa.Array | None) -> Mask:
    """Return the files that a clause rules out, among those that are left."""
    table = _take(snapshot.load_proven(requirements(clause), evidence.profile), left)
    table = replace(table, counts=_take(snapshot.counts(), left).plausible())
    evidence.functions.evaluate(collect_evaluations(clause, table, evidence.functions))
    return prune(clause, table).skip


def _uses_partitions(clause: Clause) -> bool:
    return any(isinstance(need, PartitionKey) for need in requirements(clause))


def column_facts(
    columns: Iterable[Column], evidence: Evidence, snapshot: Snapshot, facts: FileFacts
) -> tuple[ColumnFacts, ...]:
    """Return the bounds and the numbers of NULLs of columns in the files that are left."""
    rows = facts.rows
    catalog, counts = evidence.selection.catalog, _take(snapshot.counts(), facts.left).plausible()
    found = []
    for column in columns:
        name = catalog.counted_column(column)
        known = None if name is None else counts.nulls.get(name)
        nulls = pa.array(np.full(len(rows), _UNKNOWN)) if known is None else pc.fill_null(known, _UNKNOWN)
        key = catalog.bounds_of(column)
        table = snapshot.load_proven(() if key is None else (key,), evidence.profile)
        found.append(_of_column(column, _take(table, facts.left), nulls, rows))
    return tuple(found)


def _take(files: _Files, left: pa.Array | None) -> _Files:
    """Return the metadata or the counts of the files that are left."""
    return files if left is None else files.take(left)


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
