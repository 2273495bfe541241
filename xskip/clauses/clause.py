"""Clauses: what a predicate asks of the metadata, and the verdict on each object.

A verdict is true (the object may hold a matching row), false (it certainly holds none) or null (nothing is known).
**Only false skips.** The contract of a clause is one-sided: false may be said only where it is proved; true and null
are both kept and differ in reports alone. Verdicts combine in Kleene's logic:

======  ======  ===========  ==========
p       q       ``AllOf``    ``AnyOf``
======  ======  ===========  ==========
false   any     false        q
true    true    true         true
true    null    null         true
null    null    null         null
======  ======  ===========  ==========

Nothing ever negates a clause: predicates are negated before they become clauses.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from xskip.expressions.evaluate import same, to_mask
from xskip.expressions.operands import Computed
from xskip.expressions.predicate import Leaf
from xskip.metadata.table import IndexKey, MetadataTable

__all__ = [
    "AllOf",
    "Always",
    "AnyOf",
    "Clause",
    "IndexClause",
    "LeafClause",
    "Mask",
    "PartitionKey",
    "Requirement",
    "Trace",
    "Undetermined",
    "Verdicts",
    "collect_evaluations",
    "evaluate",
    "is_false",
    "leaves",
]

Mask = npt.NDArray[np.bool_]
Verdicts: TypeAlias = pa.BooleanArray


@dataclass(frozen=True, slots=True)
class PartitionKey:
    """A partition column, by its name, among what a clause reads."""

    column: str


#: What a clause reads: an index, or a partition column.
Requirement = IndexKey | PartitionKey


class IndexClause(Protocol):
    """A question to one index or one partition column."""

    @property
    def predicate(self) -> str:
        """What it answers, in words."""

    @property
    def needs(self) -> tuple[Requirement, ...]:
        """What it reads."""

    @property
    def expensive(self) -> bool:
        """True where it should see only the objects that everything cheaper has left."""

    @property
    def asks_spark(self) -> bool:
        """True where Spark evaluates a function of values of the metadata."""

    def evaluate(self, table: MetadataTable, among: Mask) -> Verdicts:
        """A verdict for each row of ``table``; outside of ``among`` it need not look, and says null."""


@dataclass(frozen=True, slots=True)
class LeafClause:
    """What clauses about one leaf share.

    Attributes
    ----------
    leaf : Leaf
        What it answers.
    expensive : bool
        Should it see only the objects that everything cheaper has left.
    """

    leaf: Leaf
    expensive: bool = field(default=False, kw_only=True)

    @property
    def predicate(self) -> str:
        """What it answers, in words."""
        return str(self.leaf)

    @property
    def asks_spark(self) -> bool:
        """Is the leaf about a function."""
        return isinstance(self.leaf.operand, Computed)


@dataclass(frozen=True, slots=True)
class Always:
    """The same verdict for every object."""

    verdict: bool


@dataclass(frozen=True, slots=True)
class Undetermined:
    """Null for every object, and why."""

    predicate: str
    reason: str


@dataclass(frozen=True, slots=True)
class AllOf:
    """False where any child is false."""

    children: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """False where all children are false."""

    children: tuple[Clause, ...]


Clause = IndexClause | Always | Undetermined | AllOf | AnyOf


class Trace:
    """How many objects each index clause called false, in the order of evaluation."""

    def __init__(self) -> None:
        self.counts: list[tuple[IndexClause, int]] = []

    def add(self, clause: IndexClause, verdicts: Verdicts) -> None:
        """Notes the outcome of one clause."""
        self.counts.append((clause, verdicts.false_count))


def leaves(clause: Clause) -> Iterator[IndexClause | Undetermined]:
    """The questions to indexes, and the places where there is nothing to ask."""
    match clause:
        case AllOf(children) | AnyOf(children):
            for child in children:
                yield from leaves(child)
        case Always():
            return
        case _:
            yield clause


def evaluate(clause: Clause, table: MetadataTable, among: Mask, trace: Trace) -> Verdicts:
    """Verdicts of a clause on every row of ``table``; rows outside of ``among`` are decided and need no look.

    Parameters
    ----------
    clause : Clause
    table : MetadataTable
        Holds what the clause requires; an index that it lacks gives null.
    among : numpy.ndarray of bool
        The rows in question.
    trace : Trace
        Is told what each index clause found.

    Returns
    -------
    pyarrow.BooleanArray
        true, false or null for each row.
    """
    match clause:
        case Always(verdict):
            return same(len(table), truth=verdict)
        case Undetermined():
            return pa.nulls(len(table), pa.bool_())
        case AllOf(children):
            return _all_of(children, table, among, trace)
        case AnyOf(children):
            return _any_of(children, table, among, trace)
        case _:
            verdicts = clause.evaluate(table, among)
            trace.add(clause, verdicts)
            return verdicts


def collect_evaluations(clause: Clause, table: MetadataTable) -> None:
    """Evaluates the parts of a clause for which Spark is asked, one by one, and keeps nothing of it."""
    for leaf in leaves(clause):
        if not isinstance(leaf, Undetermined) and leaf.asks_spark:
            leaf.evaluate(replace(table), np.full(len(table), True))


def _all_of(children: tuple[Clause, ...], table: MetadataTable, among: Mask, trace: Trace) -> Verdicts:
    total = same(len(table), truth=True)
    for child in sorted(children, key=_is_expensive):
        left = among & ~is_false(total) if _is_expensive(child) else among
        total = pc.and_kleene(total, evaluate(child, table, left, trace))
    return total


def _any_of(children: tuple[Clause, ...], table: MetadataTable, among: Mask, trace: Trace) -> Verdicts:
    total = same(len(table), truth=False)
    for child in sorted(children, key=_is_expensive):
        # a row that some child keeps is kept: only the rows that all children so far call false are in question
        left = among & is_false(total) if _is_expensive(child) else among
        total = pc.or_kleene(total, evaluate(child, table, left, trace))
    return total


def _is_expensive(clause: Clause) -> bool:
    return any(not isinstance(leaf, Undetermined) and leaf.expensive for leaf in leaves(clause))


def is_false(verdicts: Verdicts) -> Mask:
    """The rows that are certainly without a match; the one place where a verdict becomes a skip."""
    return to_mask(pc.invert(verdicts))
