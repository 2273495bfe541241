"""Predicates, their operands, and the evaluation of both on known values.

Entry points: the leaves and operands that this package exports, which index types match on, and
:mod:`~xskip.expressions.evaluate`. This package imports ``types`` and the layers below it. It depends neither on Spark
nor on files.
"""

from xskip.expressions.operands import Call, Cast, Column, Computed, Derived, Elements, FileColumn
from xskip.expressions.predicate import (
    Comparison,
    In,
    IsNotNull,
    IsNull,
    Leaf,
    NotIn,
    NotStartsWith,
    Op,
    Predicate,
    StartsWith,
)

__all__ = [
    "Call",
    "Cast",
    "Column",
    "Comparison",
    "Computed",
    "Derived",
    "Elements",
    "FileColumn",
    "In",
    "IsNotNull",
    "IsNull",
    "Leaf",
    "NotIn",
    "NotStartsWith",
    "Op",
    "Predicate",
    "StartsWith",
]
