"""Predicates over the columns of a dataset: a closed union of immutable nodes.

There is no Not node. :func:`negate` is total: it pushes a negation to the leaves under SQL's three-valued logic, so
that ``NOT p`` is TRUE for exactly the rows for which ``p`` is FALSE. What has no negation of its own is Unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

from xskip.expressions.operands import Elements, Operand

__all__ = [
    "And",
    "ColumnComparison",
    "Comparison",
    "Constant",
    "In",
    "IsNotNull",
    "IsNull",
    "Leaf",
    "NotIn",
    "NotStartsWith",
    "Op",
    "Or",
    "Predicate",
    "StartsWith",
    "Unknown",
    "Value",
    "negate",
    "operands",
]

#: A literal's value as Spark holds it: dates are days, timestamps and day-time intervals microseconds,
#: year-month intervals months, decimals ``decimal.Decimal``, strings ``bytes`` of UTF-8, binary ``bytes``.
Value = object


class Op(Enum):
    """The six comparisons."""

    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="

    @property
    def negated(self) -> Op:
        """The comparison that is TRUE where this one is FALSE (Spark orders all values, NaN included)."""
        return _NEGATED[self]

    @property
    def flipped(self) -> Op:
        """The comparison with its two sides exchanged."""
        return _FLIPPED[self]


_NEGATED = {Op.EQ: Op.NE, Op.NE: Op.EQ, Op.LT: Op.GE, Op.GE: Op.LT, Op.GT: Op.LE, Op.LE: Op.GT}
_FLIPPED = {Op.EQ: Op.EQ, Op.NE: Op.NE, Op.LT: Op.GT, Op.GT: Op.LT, Op.LE: Op.GE, Op.GE: Op.LE}


@dataclass(frozen=True, slots=True)
class Comparison:
    """``operand op value``; the value is not null and has the operand's type."""

    op: Op
    operand: Operand
    value: Value

    def __str__(self) -> str:
        return f"{self.operand} {self.op.value} ?"


@dataclass(frozen=True, slots=True)
class In:
    """``operand IN (values)``; ``has_null`` where the list also holds NULL.

    Without values it is TRUE for no row, and its negation is a Constant: ``NULL NOT IN ()`` is TRUE in Spark.
    """

    operand: Operand
    values: tuple[Value, ...]
    has_null: bool = False

    def __str__(self) -> str:
        return f"{self.operand} IN ({len(self.values)} values)"


@dataclass(frozen=True, slots=True)
class NotIn:
    """``operand NOT IN (values)`` with at least one value; with ``has_null`` it is TRUE for no row."""

    operand: Operand
    values: tuple[Value, ...]
    has_null: bool = False

    def __str__(self) -> str:
        return f"{self.operand} NOT IN ({len(self.values)} values)"


@dataclass(frozen=True, slots=True)
class StartsWith:
    """The UTF-8 bytes of a string column start with ``prefix``."""

    operand: Operand
    prefix: bytes

    def __str__(self) -> str:
        return f"{self.operand} LIKE '?%'"


@dataclass(frozen=True, slots=True)
class NotStartsWith:
    """The column is not null and its UTF-8 bytes do not start with ``prefix``."""

    operand: Operand
    prefix: bytes

    def __str__(self) -> str:
        return f"{self.operand} NOT LIKE '?%'"


@dataclass(frozen=True, slots=True)
class IsNull:
    """``operand IS NULL``."""

    operand: Operand

    def __str__(self) -> str:
        return f"{self.operand} IS NULL"


@dataclass(frozen=True, slots=True)
class IsNotNull:
    """``operand IS NOT NULL``."""

    operand: Operand

    def __str__(self) -> str:
        return f"{self.operand} IS NOT NULL"


@dataclass(frozen=True, slots=True)
class ColumnComparison:
    """``left op right`` of two columns, or functions of them, of one type."""

    op: Op
    left: Operand
    right: Operand

    def __str__(self) -> str:
        return f"{self.left} {self.op.value} {self.right}"


@dataclass(frozen=True, slots=True)
class Constant:
    """TRUE, FALSE or NULL for every row; only TRUE lets a row through."""

    value: bool | None

    def __str__(self) -> str:
        return {True: "TRUE", False: "FALSE", None: "NULL"}[self.value]


@dataclass(frozen=True, slots=True)
class Unknown:
    """A predicate that cannot be used, and why in a plain sentence."""

    reason: str

    def __str__(self) -> str:
        return "?"


@dataclass(frozen=True, slots=True)
class And:
    """All children are TRUE."""

    children: tuple[Predicate, ...]

    def __str__(self) -> str:
        return "(" + " AND ".join(map(str, self.children)) + ")"


@dataclass(frozen=True, slots=True)
class Or:
    """Some child is TRUE."""

    children: tuple[Predicate, ...]

    def __str__(self) -> str:
        return "(" + " OR ".join(map(str, self.children)) + ")"


#: A predicate about one operand, which an index can answer.
Leaf = Comparison | In | NotIn | StartsWith | NotStartsWith | IsNull | IsNotNull
Predicate = Leaf | ColumnComparison | Constant | Unknown | And | Or


def negate(predicate: Predicate) -> Predicate:
    """The predicate that is TRUE for exactly the rows for which ``predicate`` is FALSE.

    >>> from xskip.expressions.operands import Column
    >>> a = Column(("a",), "int")
    >>> print(negate(And((Comparison(Op.LT, a, 5), IsNull(a)))))
    (a >= ? OR a IS NOT NULL)
    >>> print(negate(Unknown("a function")))
    ?
    """
    match predicate:
        case ColumnComparison(op, left, right):
            return ColumnComparison(op.negated, left, right)
        case Constant(value):
            return Constant(None if value is None else not value)
        case Unknown():
            return predicate
        case And(children):
            return Or(tuple(negate(child) for child in children))
        case Or(children):
            return And(tuple(negate(child) for child in children))
        case _:
            return _negated_leaf(predicate)


def _negated_leaf(leaf: Leaf) -> Predicate:
    if (
        isinstance(leaf.operand, Elements) and not leaf.operand.is_one
    ):  # TRUE of no element is nothing that can be asked of some
        return Unknown("what no element of an array may be is not used")
    match leaf:
        case Comparison(op, operand, value):
            return Comparison(op.negated, operand, value)
        case In(operand, values, has_null):
            return NotIn(operand, values, has_null) if values else Constant(None if has_null else True)
        case NotIn(operand, values, has_null):
            return In(operand, values, has_null) if values else Constant(None if has_null else False)
        case StartsWith(operand, prefix):
            return NotStartsWith(operand, prefix)
        case NotStartsWith(operand, prefix):
            return StartsWith(operand, prefix)
        case IsNull(operand):
            return IsNotNull(operand)
        case IsNotNull(operand):
            return IsNull(operand)


def operands(predicate: Predicate) -> Iterator[Operand]:
    """What the leaves of a predicate are about, in order, repeats included.

    >>> from xskip.expressions.operands import Column
    >>> [str(o) for o in operands(Or((IsNull(Column(("a", "b"), "int")), Constant(True))))]
    ['a.b']
    """
    match predicate:
        case And(children) | Or(children):
            for child in children:
                yield from operands(child)
        case Constant() | Unknown():
            return
        case ColumnComparison(_, left, right):
            yield left
            yield right
        case _:
            yield predicate.operand
