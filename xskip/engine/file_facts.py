"""Facts of files beyond "skip", for planners: files that match predicates wholly, and their rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.compute as pc

from xskip.clauses.clause import Clause, Mask
from xskip.engine.column_facts import ColumnFacts
from xskip.engine.decision import Evidence
from xskip.engine.scan_units import ScanUnits
from xskip.expressions.operands import Column
from xskip.expressions.predicate import And, Predicate, operands
from xskip.metadata.table import PartitionKey
from xskip.protocol.answer import Answer, Section
from xskip.pruning.clause_translation import translate
from xskip.pruning.complement import complement_clause, with_recorded_nulls
from xskip.pruning.prune import requirements
from xskip.types.masks import to_mask

__all__ = ["FileFacts", "PredicateFacts", "file_facts", "has_fields", "predicate_facts"]

_UNKNOWN = -1


@dataclass(frozen=True, slots=True)
class PredicateFacts:
    """The facts about a predicate in the units of a scan."""

    predicate: Predicate
    #: True for each unit that certainly has no row that satisfies the predicate.
    none: Mask
    #: True for each unit all of whose rows satisfy the predicate for certain.
    whole: Mask
    #: Whether both hold only for files with the partition values of the snapshot.
    uses_partitions: bool

    def to_bytes(self) -> bytes:
        """Return the predicate's part of the section."""
        return Answer.bits(self.none) + Answer.bits(self.whole)


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The facts about the units of a scan, in their order."""

    conditions: Predicate
    units: ScanUnits
    #: True for each unit all of whose rows satisfy the conditions for certain.
    whole: Mask
    #: int64, without nulls: the number of rows of each unit; -1 if it is unknown.
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
        ranges = self.units.ranges()
        if ranges is not None:
            sections[Section.UNITS] = ranges.to_bytes()
        return sections


def file_facts(conditions: Predicate, evidence: Evidence, units: ScanUnits) -> FileFacts:
    """Return which units match conditions wholly, and the numbers of rows [PRU-CO-3] [PRU-CO-5].

    ``evidence`` is that of the decision about the filters, which leaves the units.
    """
    clause = complement_clause(conditions, evidence.selection.catalog)
    rows = units.counts().rows
    whole = units.ruled_out(clause, evidence.functions) & to_mask(rows.is_valid())
    return FileFacts(conditions, units, whole, pc.fill_null(rows, _UNKNOWN), _uses_partitions(clause))


def has_fields(conditions: Predicate) -> bool:
    """Return whether conditions are on fields of structs [PLN-LM-8].

    Spark's ORC reader passes over rows whose struct is NULL if a filter asks for a NULL field.
    """
    return any(isinstance(operand, Column) and len(operand.path) > 1 for operand in operands(conditions))


def predicate_facts(
    predicates: Iterable[Predicate], evidence: Evidence, facts: FileFacts
) -> tuple[PredicateFacts, ...]:
    """Return of each predicate in which units no row, and in which all rows satisfy it."""
    catalog = evidence.selection.catalog
    found = []
    for predicate in predicates:
        clauses = with_recorded_nulls(translate(predicate, catalog), catalog), complement_clause(predicate, catalog)
        none, whole = (facts.units.ruled_out(clause, evidence.functions) for clause in clauses)
        # statistics that rule out every row of a unit with rows contradict themselves [PRU-CO-5]
        is_sound = ~(none & whole) | (facts.rows.to_numpy() == 0)
        uses_partitions = any(map(_uses_partitions, clauses))
        found.append(PredicateFacts(predicate, none & is_sound, whole & is_sound, uses_partitions))
    return tuple(found)


def _uses_partitions(clause: Clause) -> bool:
    return any(isinstance(need, PartitionKey) for need in requirements(clause))
