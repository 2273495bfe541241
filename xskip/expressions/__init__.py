"""Predicates and the expressions in them, and what they evaluate to for values that are known.

Ways in: the leaves and operands that this package exports, which index types match on, and
:mod:`~xskip.expressions.evaluate`. Imports ``types`` and what lies below; knows neither Spark nor files.
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
