"""From a predicate to verdicts: which objects can hold a matching row.

.. code-block:: text

    temp > 30 AND (city = 'Oslo' OR f(x))          the predicate
    AllOf(minmax(temp), AnyOf(valuelist(city), ?)) the clauses
    true, false, null …                            a verdict for each object
    skip = the verdict is false                    and nothing else
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from xskip.clauses import (
    AllOf,
    Always,
    AnyOf,
    Clause,
    IndexClause,
    Mask,
    Requirement,
    Trace,
    Undetermined,
    evaluate,
    is_false,
    leaves,
)
from xskip.datatypes import INTEGRAL, Array, Bloom, Opaque, Storage, Struct, atomic_name
from xskip.expressions import And, Constant, Leaf, Or, Predicate, Unknown
from xskip.indexes import index_of
from xskip.layouts.hive import PartitionClause
from xskip.metadata import IndexDefinition, MetadataTable
from xskip.operands import Column, join_path

__all__ = ["Available", "ClauseOutcome", "PruneResult", "prune", "requirements", "translate"]


#: The types of which other programs make Bloom filters.
_HASHED_ELSEWHERE = (*INTEGRAL, "string")


@dataclass(frozen=True, slots=True)
class Available:
    """What can be asked.

    Attributes
    ----------
    indexes : tuple of (IndexDefinition, Storage)
    partitions : mapping of str to str
        The partition columns of the metadata, with their types.
    queried : mapping of str to str, optional
        The partition columns of the query's own reading; None stands for the same. A name that is a partition column
        for one of them alone means other values there.
    case_sensitive : bool
    untyped : bool
        Nobody recorded the types that were hashed, and files carry their own: they are the columns' types now.
    """

    indexes: tuple[tuple[IndexDefinition, Storage], ...]
    partitions: Mapping[str, str] = field(default_factory=dict)
    queried: Mapping[str, str] | None = None
    case_sensitive: bool = False
    untyped: bool = False

    def name(self, path: tuple[str, ...]) -> str:
        """A column as metadata spells it."""
        joined = join_path(path)
        return joined if self.case_sensitive else joined.lower()


@dataclass(frozen=True, slots=True)
class ClauseOutcome:
    """How many objects one clause, asked of one index, ruled out."""

    predicate: str
    index: str
    ruled_out: int


@dataclass(frozen=True, slots=True)
class PruneResult:
    """The outcome for the objects of a metadata table.

    Attributes
    ----------
    skip : numpy.ndarray of bool
        True for the objects that certainly hold no matching row.
    outcomes : tuple of ClauseOutcome
    unused : tuple of (str, str)
        The predicates that could not be used, and indexes of which a part could not, each with a plain sentence that
        says why.
    """

    skip: Mask
    outcomes: tuple[ClauseOutcome, ...]
    unused: tuple[tuple[str, str], ...]


def translate(predicate: Predicate, available: Available) -> Clause:
    """The clauses that a predicate asks of what is available; what nothing can answer is Undetermined.

    >>> from xskip.expressions import (Comparison, Op)
    >>> a = Column(("A",), "int")
    >>> minmax = (IndexDefinition("minmax", ("a",), types=("int",)), Struct((("min", "int"), ("max", "int"))))
    >>> translate(Comparison(Op.GT, a, 5), Available((minmax,))).requires
    ('minmax', ('a',))
    >>> translate(Comparison(Op.GT, a, 5), Available(())).reason
    'no index on a'
    """
    match predicate:
        case And():
            children = tuple(_conjuncts(predicate))
            return AllOf((*(translate(child, available) for child in children), *_joint(children, available)))
        case Or(children):
            return AnyOf(tuple(translate(child, available) for child in children))
        case Constant(value):
            return Always(value is True)
        case Unknown(reason):
            return Undetermined(str(predicate), reason)
        case _:
            return _leaf(predicate, available)


def _leaf(leaf: Leaf, available: Available) -> Clause:
    """All indexes on the leaf's column, each asked by itself: any of them may rule an object out."""
    column = leaf.operand.column
    name = available.name(column.path)
    partition = _named(name, available.partitions, available)
    in_query = partition if available.queried is None else _named(name, available.queried, available)
    if (partition is None) != (in_query is None):
        return Undetermined(str(leaf), f"{name} is a partition column of the query or of the index alone")
    if partition is not None:
        if available.partitions[partition] != column.type:
            return Undetermined(
                str(leaf),
                f"partition column {name} was {available.partitions[partition]} when indexed "
                f"and is {column.type} in the query",
            )
        return PartitionClause(leaf, partition)
    on_column = [(d, s) for d, s in available.indexes if name in d.columns]
    if not on_column:
        return Undetermined(str(leaf), f"no index on {name}")
    fitting = [(d, s) for d, s in on_column if _same_type(column, d, s, available)]
    if not fitting:
        return Undetermined(str(leaf), f"column {name} is {column.type} in the query and was not when it was indexed")
    clauses = []
    for definition, storage in fitting:
        index = index_of(definition)
        clause = index.translate(leaf, definition, storage) if index else None
        if clause is not None:
            clauses.append(clause)
    if not clauses:
        kinds = ", ".join(definition.name for definition, _ in fitting)
        return Undetermined(str(leaf), f"the index on {name} ({kinds}) cannot answer this")
    return clauses[0] if len(clauses) == 1 else AllOf(tuple(clauses))


def _conjuncts(predicate: Predicate) -> Iterator[Predicate]:
    """What must all be TRUE, with no AND among it."""
    match predicate:
        case And(children):
            for child in children:
                yield from _conjuncts(child)
        case _:
            yield predicate


def _joint(conjuncts: Sequence[Predicate], available: Available) -> Iterator[Clause]:
    """The leaves that one row must satisfy, asked of each index at once where that says more than one by one."""
    by_name: dict[str, list[Leaf]] = {}
    for leaf in conjuncts:
        if not isinstance(leaf, Constant | Unknown | And | Or):
            by_name.setdefault(available.name(leaf.operand.column.path), []).append(leaf)
    partitions = {available.name((name,)) for name in (*available.partitions, *(available.queried or ()))}
    for definition, storage in available.indexes:
        about = [leaf for name in definition.columns if name not in partitions for leaf in by_name.get(name, ())]
        index = index_of(definition) if len(about) > 1 else None
        if index is not None:
            typed = [leaf for leaf in about if _same_type(leaf.operand.column, definition, storage, available)]
            clause = index.translate_all(typed, definition, storage)
            if clause is not None:
                yield clause


def _named(name: str, partitions: Mapping[str, str], available: Available) -> str | None:
    for partition in partitions:
        if available.name((partition,)) == name:
            return partition
    return None


def _same_type(column: Column, definition: IndexDefinition, storage: Storage, available: Available) -> bool:
    """Was the column of the query's type when it was indexed: by the record, and by the values kept."""
    if definition.types and definition.types[definition.columns.index(available.name(column.path))] != column.type:
        return False
    index = index_of(definition)
    if index is not None and not index.keeps_values:
        return bool(definition.types)
    match storage:
        case Struct(fields):
            return all(kind == atomic_name(column.type) for _, kind in fields)
        case Array(element):
            return element == atomic_name(column.type)
        case Opaque():
            return False
        case Bloom() if available.untyped:
            return column.type in _HASHED_ELSEWHERE
        case _:
            return bool(definition.types)


def requirements(clause: Clause) -> frozenset[Requirement]:
    """What must be read to evaluate a clause."""
    return frozenset(leaf.requires for leaf in leaves(clause) if not isinstance(leaf, Undetermined))


def prune(clause: Clause, table: MetadataTable) -> PruneResult:
    """Verdicts on every object of ``table``, which holds what the clause requires."""
    trace = Trace()
    verdicts = evaluate(clause, table, np.full(len(table), True), trace)
    unused = {leaf: None for leaf in leaves(clause) if isinstance(leaf, Undetermined)}
    unreadable = [column for column in table.indexes.values() if column.unreadable]
    locked = [column for column in table.indexes.values() if column.is_locked]
    return PruneResult(
        is_false(verdicts),
        tuple(ClauseOutcome(c.predicate, _index_name(c), count) for c, count in trace.counts),
        (
            *((leaf.predicate, leaf.reason) for leaf in unused),
            *((str(c.definition), f"the metadata of {c.unreadable:,} objects cannot be read") for c in unreadable),
            *((str(c.definition), f"its key {c.definition.key_label} is not available") for c in locked),
        ),
    )


def _index_name(clause: IndexClause) -> str:
    match clause.requires:
        case str() as partition:
            return f"partition({partition})"
        case (name, columns):
            return f"{name}({', '.join(columns)})"
