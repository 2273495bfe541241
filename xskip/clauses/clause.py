"""Clauses, and the verdict of a clause on each file.

A verdict is true (the file may hold a matching row), false (the file certainly holds no matching row) or null (the
metadata does not decide). **Only false skips a file**: a clause returns false only where the metadata proves that no
row matches. True and null both keep the file and differ only in reports. Verdicts combine in Kleene's logic [PRU-V-1].
No code negates a clause: predicates are negated before they become clauses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Protocol, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from xskip.expressions.condition_reasons import Reason
from xskip.expressions.operands import Computed
from xskip.expressions.predicate import Leaf, Predicate
from xskip.metadata.table import MetadataTable, Requirement
from xskip.types.masks import Mask, from_mask, same, to_mask

__all__ = [
    "AllOf",
    "Always",
    "AnyOf",
    "Clause",
    "IndexClause",
    "LeafClause",
    "Mask",
    "Subject",
    "Trace",
    "Undetermined",
    "Verdicts",
    "evaluate",
    "is_false",
    "leaves",
    "map_leaves",
    "subjects",
]

Verdicts: TypeAlias = pa.BooleanArray
#: What a report is about: a predicate, or the text of a clause of a user's index type.
Subject: TypeAlias = Predicate | str


class IndexClause(Protocol):
    """A clause that evaluates leaves with indexes, partition columns or attributes of files."""

    @property
    def predicate(self) -> str:
        """Return the text of the predicate that this clause answers, for reports."""

    @property
    def needs(self) -> tuple[Requirement, ...]:
        """Return the indexes and partition columns that this clause reads."""

    @property
    def expensive(self) -> bool:
        """Return True if this clause must run only on the files that all cheaper clauses leave undecided."""

    @property
    def asks_spark(self) -> bool:
        """Return True if Spark must evaluate a function on values of the metadata."""

    def evaluate(self, table: MetadataTable, among: Mask) -> Verdicts:
        """Return a verdict for each row (file) of a metadata table.

        ``among``, of the table's length, is True for the rows that need a verdict; all other rows may get null.
        """


@dataclass(frozen=True, slots=True)
class LeafClause:
    """The common base of clauses over one leaf."""

    leaf: Leaf
    #: True if the clause must run only on the files that all cheaper clauses leave undecided.
    expensive: bool = field(default=False, kw_only=True)

    @property
    def leaves(self) -> tuple[Leaf, ...]:
        """Return the leaves that the clause answers together."""
        return (self.leaf,)

    @property
    def predicate(self) -> str:
        """Return the text of the leaves, joined by AND."""
        return " AND ".join(map(str, self.leaves))

    @property
    def asks_spark(self) -> bool:
        """Return True if a leaf is about a function, which Spark must evaluate."""
        return any(isinstance(leaf.operand, Computed) for leaf in self.leaves)


@dataclass(frozen=True, slots=True)
class Always:
    """A clause with the same verdict for every file."""

    verdict: bool


@dataclass(frozen=True, slots=True)
class Undetermined:
    """A clause that is null for every file."""

    #: The predicates that no metadata answers; empty for a part of a predicate without a text.
    predicates: tuple[Subject, ...]
    #: Why no metadata answers the predicates.
    reason: Reason


@dataclass(frozen=True, slots=True)
class AllOf:
    """The conjunction of clauses: false where at least one child is false."""

    children: tuple[Clause, ...]


@dataclass(frozen=True, slots=True)
class AnyOf:
    """The disjunction of clauses: false where all children are false."""

    children: tuple[Clause, ...]


Clause = IndexClause | Always | Undetermined | AllOf | AnyOf


class Trace:
    """A log of the verdicts of index clauses, in the order of evaluation."""

    def __init__(self) -> None:
        #: Each clause with its number of false verdicts.
        self.counts: list[tuple[IndexClause, int]] = []
        self._verdicts: list[tuple[Verdicts, Mask]] = []

    def add(self, clause: IndexClause, verdicts: Verdicts, among: Mask) -> None:
        """Record the verdicts of one clause; ``among`` is True for the files that needed a verdict."""
        self.counts.append((clause, verdicts.false_count))
        self._verdicts.append((verdicts, among))

    def ruled_out(self, listed: Mask) -> list[tuple[IndexClause, int]]:
        """Return for each clause the number of files among ``listed`` that it ruled out."""
        false = (int((is_false(verdicts) & listed).sum()) for verdicts, _ in self._verdicts)
        return [(clause, count) for (clause, _), count in zip(self.counts, false, strict=True)]

    def unknown(self, kept: Mask) -> list[int]:
        """Return for each clause the number of files among ``kept`` that needed a verdict and got null."""
        files: dict[int, pa.BooleanArray] = {}  # most clauses share one mask of the files that need a verdict
        for verdicts, among in self._verdicts:
            if verdicts.null_count and id(among) not in files:
                files[id(among)] = from_mask(among & kept)
        return [
            pc.and_(verdicts.is_null(), files[id(among)]).true_count if verdicts.null_count else 0
            for verdicts, among in self._verdicts
        ]


def leaves(clause: Clause) -> Iterator[IndexClause | Undetermined]:
    """Yield the index clauses and the undetermined clauses inside a clause, in order."""
    match clause:
        case AllOf(children) | AnyOf(children):
            for child in children:
                yield from leaves(child)
        case Always():
            return
        case _:
            yield clause


def map_leaves(clause: Clause, change: Callable[[IndexClause | Undetermined], Clause]) -> Clause:
    """Return a clause with other clauses in place of its :func:`leaves`."""
    match clause:
        case AllOf(children):
            return AllOf(tuple(map_leaves(child, change) for child in children))
        case AnyOf(children):
            return AnyOf(tuple(map_leaves(child, change) for child in children))
        case Always():
            return clause
        case _:
            return change(clause)


def subjects(clause: IndexClause | Undetermined) -> tuple[Subject, ...]:
    """Return what a clause answers: its leaves, or the text of a clause without leaves."""
    match clause:
        case Undetermined(predicates):
            return predicates
        case LeafClause():
            return clause.leaves
        case _:
            return (clause.predicate,)


def evaluate(clause: Clause, table: MetadataTable, among: Mask, trace: Trace) -> Verdicts:
    """Evaluate a clause on every row of a metadata table, and add the verdicts of index clauses to ``trace``.

    ``among``, of the table's length, is True for the rows that need a verdict; all other rows are already decided.
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
            trace.add(clause, verdicts, among)
            return verdicts


def _all_of(children: tuple[Clause, ...], table: MetadataTable, among: Mask, trace: Trace) -> Verdicts:
    total = same(len(table), truth=True)
    for child in sorted(children, key=_is_expensive):
        # false AND x = false: a row that a cheaper child rules out needs no verdict, and a null there changes nothing
        left = among & ~is_false(total) if _is_expensive(child) else among
        total = pc.and_kleene(total, evaluate(child, table, left, trace))
    return total


def _any_of(children: tuple[Clause, ...], table: MetadataTable, among: Mask, trace: Trace) -> Verdicts:
    total = same(len(table), truth=False)
    for child in sorted(children, key=_is_expensive):
        # true OR x = true, and null OR x is true or null: one true or null child keeps a row, so that an expensive
        # child matters only where all earlier children are false
        left = among & is_false(total) if _is_expensive(child) else among
        total = pc.or_kleene(total, evaluate(child, table, left, trace))
    return total


def _is_expensive(clause: Clause) -> bool:
    return any(not isinstance(leaf, Undetermined) and leaf.expensive for leaf in leaves(clause))


def is_false(verdicts: Verdicts) -> Mask:
    """Return a mask of the rows that certainly hold no match: the only place where a verdict becomes a skip."""
    return to_mask(pc.invert(verdicts))
