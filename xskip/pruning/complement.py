"""Files all of whose rows match: none can satisfy the complement of the predicate. Rules: [PRU-CO]."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from xskip.clauses.clause import Clause, IndexClause, Mask, Trace, Undetermined, evaluate, is_false, map_leaves
from xskip.clauses.recorded_nulls import RecordedNulls
from xskip.expressions.condition_reasons import UnsupportedNode
from xskip.expressions.operands import Cast, Column, Computed, Elements, Operand
from xskip.expressions.predicate import (
    And,
    ColumnComparison,
    Constant,
    Equivalent,
    In,
    IsNotNull,
    IsNull,
    NotIn,
    Or,
    Predicate,
    Unknown,
    negate,
)
from xskip.metadata.table import MetadataTable
from xskip.pruning.clause_translation import IndexCatalog, translate

__all__ = ["complement", "complement_clause", "matching_wholly", "with_recorded_nulls"]


def complement(predicate: Predicate) -> Predicate:
    """Return a predicate that is TRUE for every row for which ``predicate`` is not TRUE, so FALSE or NULL [PRU-CO-1].

    >>> from xskip.expressions import Column, Comparison, Op
    >>> a = Column(("a",), "int")
    >>> print(complement(And((Comparison(Op.LT, a, 5), IsNotNull(a)))))
    ((a >= ? OR a IS NULL) OR a IS NULL)
    """
    match predicate:
        # a conjunction is not TRUE if and only if a child is not TRUE, a disjunction if and only if no child is TRUE
        case And(children):
            return Or(tuple(map(complement, children)))
        case Or(children):
            return And(tuple(map(complement, children)))
        case Equivalent(children):
            return Equivalent(tuple(map(complement, children)))
        case Constant(value):
            return Constant(value is not True)
        case Unknown():
            return predicate
        case IsNull(operand):
            return IsNotNull(operand)
        case IsNotNull(operand):
            return IsNull(operand)
        case ColumnComparison(op, left, right):
            return Or((ColumnComparison(op.negated, left, right), *_null_tests((left, right))))
        case In(_, ()) | NotIn(_, _, True):
            return Constant(True)  # the leaf is TRUE for no row
        case In(operand, values):  # where the list has NULL, the leaf is NULL for a value that the list lacks
            return _or_null(NotIn(operand, values), operand)
        case leaf:
            return _or_null(negate(leaf), leaf.operand)


def _or_null(negation: Predicate, operand: Operand) -> Predicate:
    # a leaf about an element of an array stands for one about some element, whose NULL says nothing of the others
    if isinstance(operand, Elements):
        return Unknown(UnsupportedNode("the complement of conditions on elements of an array"))
    return Or((negation, *_null_tests((operand,))))


def _null_tests(operands: Iterable[Operand]) -> Iterator[Predicate]:
    for operand in operands:
        match operand:
            # a widening cast, and a total function, are NULL exactly where their column is
            case Cast(column) | Computed(column=Column() as column, is_total=True):
                yield IsNull(column)
            case _:
                yield IsNull(operand)


def complement_clause(predicate: Predicate, catalog: IndexCatalog) -> Clause:
    """Return the clause of the complement, in which recorded numbers of NULLs stand for missing indexes."""
    return with_recorded_nulls(translate(complement(predicate), catalog), catalog)


def with_recorded_nulls(clause: Clause, catalog: IndexCatalog) -> Clause:
    """Return a clause in which recorded numbers of NULLs stand for missing indexes [PRU-CO-4]."""

    def change(leaf: IndexClause | Undetermined) -> Clause:
        match leaf:
            case Undetermined((IsNull(Column() as column) as test,)):
                name = catalog.counted_column(column)
                return leaf if name is None else RecordedNulls(test, name)
            case _:
                return leaf

    return map_leaves(clause, change)


def matching_wholly(predicate: Predicate, catalog: IndexCatalog, table: MetadataTable) -> Mask:
    """Return the files all of whose rows satisfy a predicate for certain: True for each such file [PRU-CO-3]."""
    clause = complement_clause(predicate, catalog)
    return is_false(evaluate(clause, table, np.full(len(table), True), Trace()))
